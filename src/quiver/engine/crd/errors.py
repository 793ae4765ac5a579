"""What can be wrong with a declaration, and with an object."""


class CannotDeclare(TypeError):
    """A type that cannot become a CustomResourceDefinition; the sentence names the field."""

    def __init__(self, place: str, sentence: str) -> None:
        super().__init__(f"{place}: {sentence}")


class CannotDecode(ValueError):
    """An object that does not fit its type; the sentence names the object and the field."""
