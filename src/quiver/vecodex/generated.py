"""Files of the repository that are made from the types: `python -m quiver.vecodex.generated`."""

from pathlib import Path

from quiver.engine.crd import reference_markdown, to_yaml
from quiver.vecodex.api import VecodexSet

_NOTICE = "python -m quiver.vecodex.generated"


def generated() -> dict[str, str]:
    """Their texts, by their paths in the repository."""
    reference = (
        f"# Reference\n\n<!-- Made by `{_NOTICE}` from src/quiver/vecodex/api.py. -->\n\n"
        f"How to use it is told in the [guide](README.md).\n\n{reference_markdown(VecodexSet)}"
    )
    return {
        "config/crd/bases/apps.vecodex.link_vecodexsets.yaml": (
            f"# Made by `{_NOTICE}`.\n{to_yaml([VecodexSet])}"
        ),
        "docs/vecodex/reference.md": reference,
    }


def write(root: Path) -> None:
    for path, text in generated().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


if __name__ == "__main__":
    write(Path.cwd())
