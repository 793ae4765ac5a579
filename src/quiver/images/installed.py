"""The installed Python packages that one of them needs, and the files they consist of."""

from collections.abc import Callable, Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from quiver.images.entries import Entry, HostFile, same_mode
from quiver.images.errors import CannotCollect
from quiver.images.markers import marker_environment
from quiver.images.requirements import Requirement, canonical

Requires = Callable[[str], Iterable[str]]


def installed_requires(name: str) -> list[str]:
    return find(name).requires or []


def closure(
    name: str, extras: Iterable[str] = (), *, requires: Requires = installed_requires
) -> list[str]:
    """Everything that must be installed beside `name`, sorted, without `name` itself."""
    environment = marker_environment()
    known: dict[str, frozenset[str]] = {}
    pending = [(canonical(name), frozenset(extras))]
    while pending:
        current, asked = pending.pop()
        if current in known and asked <= known[current]:
            continue
        known[current] = known.get(current, frozenset()) | asked
        needed = [Requirement.parse(text) for text in requires(current)]
        wanted = [one for one in needed if one.wanted(known[current], environment)]
        pending += [(one.name, frozenset(one.extras)) for one in wanted]
    return sorted(known.keys() - {canonical(name)})


def find(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError as error:
        raise CannotCollect(
            f"The Python package {name} is needed in the image but not installed here. "
            f"Install it with `python -m pip install {name}`."
        ) from error


def distribution_files(name: str, site: Path) -> list[Entry]:
    """The package as it would be in the folder `site` of the image, without scripts."""
    found = find(name)
    if found.files is None:
        raise CannotCollect(
            f"The Python package {name} has no list of its files. Install it with pip, "
            "not with the system's package manager."
        )
    wanted = [path for path in found.files if _belongs_in_site(path.parts)]
    return [_entry(site / path, Path(str(path.locate()))) for path in wanted]


def metadata_files(name: str, site: Path) -> list[Entry]:
    """What `importlib.metadata` reads of a package: its version and its entry points."""
    files = find(name).files or []
    wanted = [path for path in files if path.name in {"METADATA", "entry_points.txt"}]
    return [_entry(site / path, Path(str(path.locate()))) for path in wanted]


def _belongs_in_site(parts: tuple[str, ...]) -> bool:
    return ".." not in parts and "__pycache__" not in parts


def _entry(target: Path, source: Path) -> HostFile:
    if not source.is_file():
        raise CannotCollect(f"{source} is missing from an installed package; install it again.")
    return HostFile(str(target), source, mode=same_mode(source))
