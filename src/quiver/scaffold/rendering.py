"""From templates and names to the texts of the files."""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from quiver import __version__
from quiver.scaffold.names import Names

SUFFIX = ".template"
_PLACE = re.compile(r"<<(\w+)>>")


def templates() -> dict[str, str]:
    """The text of each template, by its path."""
    return dict(sorted(_below(files(__package__) / "templates", "")))


def rendered(templates: Mapping[str, str], names: Names) -> dict[str, str]:
    """The text of each file of the repository, by its path."""
    words = {
        "operator": names.operator,
        "package": names.package,
        "controller": names.controller,
        "kind": names.kind,
        "plural": names.plural,
        "group": names.group,
        "quiver": __version__,
    }
    return {
        path.removesuffix(SUFFIX).replace("__package__", names.package): _filled(text, words)
        for path, text in templates.items()
    }


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: words[place[1]], text)


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        path = prefix + entry.name
        if entry.is_dir():
            yield from _below(entry, f"{path}/")
        elif path.endswith(SUFFIX):
            yield path, entry.read_text(encoding="utf-8")
