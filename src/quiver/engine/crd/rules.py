"""Validation in CEL, on a Struct by `@rules(…)` or on a field by `Annotated[…]`.

Helpers name fields as Python does; the text of a `Rule` is CEL and names them as JSON does.
A rule that reads `oldSelf` is checked on updates only, and only where the API server can tell
which old value belongs to which new one: not below a list, unless it is a `ListMap`.
"""

import re
from collections.abc import Callable
from typing import ClassVar, Literal, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import FieldInfo

from quiver.engine.crd.errors import CannotDeclare

Reason = Literal[
    "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"
]
T = TypeVar("T", bound=Struct)

_OLD_SELF = re.compile(r"\boldSelf\b")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_RESERVED = frozenset(
    (
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
        "function", "if", "import", "let", "loop", "package", "namespace", "return", "var",
        "void", "while",
    )
)  # fmt: skip


class Rule(Struct, frozen=True):
    """One entry of `x-kubernetes-validations`: CEL that must be true, and what to say if not."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: Reason | None = None
    field_path: str = ""
    optional_old_self: bool = False

    def is_transition(self) -> bool:
        return _OLD_SELF.search(self.rule) is not None

    def manifest(self) -> dict[str, object]:
        entry = {
            "rule": self.rule,
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        return {key: value for key, value in entry.items() if value}


class Immutable(Struct, frozen=True):
    """On a field: once set it can be neither changed nor, if it is optional, taken away."""

    message: str

    def on_value(self) -> Rule:
        return Rule("self == oldSelf", self.message)

    def on_owner(self, name: str) -> Rule:
        """Rules of a field are not asked when the field goes away; its owner's rules are."""
        path = cel_name(name)
        rule = f"!has(oldSelf.{path}) || has(self.{path})"
        return Rule(rule, self.message, field_path=field_path(name))


class Group:
    """How many of several optional fields must be set."""

    how_many: ClassVar[str]
    comparison: ClassVar[str]

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def rule(self, names: list[str]) -> Rule:
        # A sum, because a list with a filter costs several times more of the server's budget.
        count = " + ".join(f"(has(self.{cel_name(name)}) ? 1 : 0)" for name in names)
        return Rule(
            f"{count} {self.comparison}", f"{self.how_many} of {', '.join(names)} must be set"
        )


class ExactlyOne(Group):
    """`@rules(ExactlyOne("s3", "gcs"))`"""

    how_many, comparison = "exactly one", "== 1"


class AtMostOne(Group):
    how_many, comparison = "at most one", "<= 1"


class AtLeastOne(Group):
    how_many, comparison = "at least one", ">= 1"


Declared = Rule | Group

_declared: WeakKeyDictionary[type[Struct], tuple[Declared, ...]] = WeakKeyDictionary()


def rules(*declared: Declared) -> Callable[[type[T]], type[T]]:
    """Rules about several fields of one Struct. Subclasses have them too."""

    def declare(cls: type[T]) -> type[T]:
        _declared[cls] = declared
        return cls

    return declare


def rules_of(cls: type[Struct], fields: tuple[FieldInfo, ...], place: str) -> list[Rule]:
    """The Struct's rules, its bases' first."""
    inherited = (_declared.get(base, ()) for base in reversed(cls.__mro__))
    by_name = {field.name: field for field in fields}
    return [_resolved(entry, by_name, place) for entries in inherited for entry in entries]


def _resolved(entry: Declared, fields: dict[str, FieldInfo], place: str) -> Rule:
    if isinstance(entry, Rule):
        return entry
    for name in entry.fields:
        if name not in fields:
            raise CannotDeclare(place, f"a rule names the field {name!r}, which is not there")
        if fields[name].default is not None:
            raise CannotDeclare(
                f"{place}.{fields[name].encode_name}",
                "a field that competes with others must be able to be absent: write `… | None"
                " = None`",
            )
    return entry.rule([fields[name].encode_name for name in entry.fields])


def cel_name(name: str) -> str:
    """A field's name as CEL writes it."""
    if name in _RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda match: _ESCAPES[match[0]], name)


def field_path(name: str) -> str:
    return f".{name}" if _IDENTIFIER.fullmatch(name) else f"['{name}']"
