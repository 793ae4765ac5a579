"""The operator's own image, made of the Python that runs this, without Docker.

Three layers, from what changes least to what changes most: the interpreter with its shared
libraries, the packages the operator needs, the operator.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import quiver
from quiver.images.entries import CA_BUNDLE, NONROOT, Content, Entry, HostFile, Symlink
from quiver.images.errors import CannotCollect
from quiver.images.installed import closure, distribution_files, metadata_files
from quiver.images.interpreter import Interpreter, tree
from quiver.images.libraries import library_files, shared_libraries
from quiver.images.oci import Descriptor, RunConfig
from quiver.images.pack import pack

DISTRIBUTION = "quiver-operator"
PYTHON = "/usr/local/bin/python3"

_ZONEINFO = Path("/usr/share/zoneinfo")
_NOT_ZONES = {"localtime", "posix", "right"}
_NSSWITCH = Content("/etc/nsswitch.conf", b"hosts: files dns\n")


def pack_operator(
    into: Path, *, extras: Iterable[str] = (), interpreter: Interpreter | None = None
) -> Descriptor:
    """Write the operator's image into the layout and return its manifest."""
    python = interpreter or Interpreter.running()
    _require_same_version(python)
    packages = _packages(python, extras)
    return pack(
        into,
        below=[_python(python, packages), packages],
        files=_operator(python),
        config=_config(),
    )


def _python(python: Interpreter, packages: list[Entry]) -> list[Entry]:
    """The interpreter, and the libraries of it and of all extension modules above it."""
    own = python.files()
    sources = [entry.source for entry in [*own, *packages] if isinstance(entry, HostFile)]
    libraries = _outside(shared_libraries(sources), sources)
    link = Symlink(PYTHON, str(python.executable))
    return [*own, *library_files(libraries), *_zones(), _NSSWITCH, link]


def _outside(libraries: list[Path], collected: list[Path]) -> list[Path]:
    """Without those that a package brings along: they are in the image beside their module."""
    known = {path.resolve() for path in collected}
    return [path for path in libraries if path.resolve() not in known]


def _packages(python: Interpreter, extras: Iterable[str]) -> list[Entry]:
    found: list[Entry] = []
    for name in closure(DISTRIBUTION, extras):
        found += distribution_files(name, python.site)
    return found


def _operator(python: Interpreter) -> list[Entry]:
    source = Path(quiver.__file__).parent
    code = tree(source, at=python.site / "quiver", wanted=_is_source)
    return [*code, *metadata_files(DISTRIBUTION, python.site)]


def _is_source(path: Path) -> bool:
    return path.name != "__pycache__" and not path.name.startswith(".")


def _zones() -> list[Entry]:
    if not _ZONEINFO.is_dir():
        return []
    return tree(_ZONEINFO, at=_ZONEINFO, wanted=lambda path: path.name not in _NOT_ZONES)


def _config() -> RunConfig:
    return RunConfig(
        entrypoint=(PYTHON, "-m", "quiver"),
        user=f"{NONROOT}:{NONROOT}",
        working_dir="/",
        env=(
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "LANG=C.UTF-8",
            "PYTHONDONTWRITEBYTECODE=1",
            "PYTHONUNBUFFERED=1",
            *((f"SSL_CERT_FILE={CA_BUNDLE}",) if CA_BUNDLE.is_file() else ()),
        ),
        labels={
            "org.opencontainers.image.title": DISTRIBUTION,
            "org.opencontainers.image.version": quiver.__version__,
        },
    )


def _require_same_version(python: Interpreter) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if python.version != here:
        raise CannotCollect(
            f"{python.executable} is Python {python.version}, but the packages are installed for "
            f"{here}. Run `quiver` with the Python that the image shall have."
        )
