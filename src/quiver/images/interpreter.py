"""A Python interpreter on this host: where its parts are, and which of them an image needs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from quiver.images.entries import Entry, HostFile, same_mode
from quiver.images.errors import CannotCollect

_PROBE = """
import json, os, site, sys, sysconfig
print(json.dumps({
    "version": "%d.%d" % sys.version_info[:2],
    "executable": os.path.realpath(sys.executable),
    "libraries": sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}),
    "site": site.getsitepackages()[0],
}))
"""
_LEFT_OUT = {
    "__pycache__",
    "dist-packages",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "site-packages",
    "test",
    "tests",
    "tkinter",
    "turtledemo",
}
_LEFT_OUT_BY_START = ("config-", "_tkinter.", "_test", "_ctypes_test.", "_xxtest", "xxlimited")


class Interpreter(msgspec.Struct, frozen=True):
    """Asked of the interpreter itself, since Debian and others move its folders."""

    version: str
    executable: Path
    libraries: tuple[Path, ...]
    site: Path

    @classmethod
    def probe(cls, python: Path) -> "Interpreter":
        try:
            answer = subprocess.run(
                [python, "-I", "-c", _PROBE], check=True, capture_output=True, timeout=30
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise CannotCollect(f"{python} cannot be used for an image: {error}.") from error
        return msgspec.json.decode(answer.stdout, type=cls, dec_hook=_as_path)

    @classmethod
    def running(cls) -> "Interpreter":
        """The one under the running virtual environment."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return cls.probe(Path(sys.base_prefix) / "bin" / f"python{version}")

    def files(self) -> list[Entry]:
        """The program and its standard library, at the paths they have on this host."""
        found: list[Entry] = [HostFile(str(self.executable), self.executable, mode=0o755)]
        for library in self.libraries:
            found += tree(library, at=library, wanted=_is_needed)
        return found


def tree(source: Path, *, at: Path, wanted: Callable[[Path], bool]) -> list[Entry]:
    """All files under a folder, placed under `at`; links to files become files."""
    found: list[Entry] = []
    for path in sorted(source.iterdir()):
        if not wanted(path):
            continue
        if path.is_file():
            found.append(HostFile(str(at / path.name), path, mode=same_mode(path)))
        elif path.is_dir() and not path.is_symlink():
            found += tree(path, at=at / path.name, wanted=wanted)
    return found


def _is_needed(path: Path) -> bool:
    left_out = path.name in _LEFT_OUT or path.name.startswith(_LEFT_OUT_BY_START)
    return not left_out and path.suffix != ".a"


def _as_path(kind: type, value: object) -> object:
    return Path(str(value)) if kind is Path else value
