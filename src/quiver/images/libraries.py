"""The shared libraries that programs and extension modules load, with the loader itself."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from quiver.images.elf import is_elf
from quiver.images.entries import Entry, HostFile
from quiver.images.errors import CannotCollect

_LOADED = re.compile(r"^\s+(?:\S+ => )?(/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_LOADER_CACHE = Path("/etc/ld.so.cache")

# glibc opens these by name when a thread ends or a host is looked up; no file lists them.
_OPENED_BY_GLIBC = ("libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")


def shared_libraries(files: Iterable[Path]) -> list[Path]:
    """Every library that the host's loader would load for these files, sorted."""
    binaries = sorted({str(path) for path in files if is_elf(path)})
    if not binaries:
        return []
    listed = loaded_in(_ldd(binaries))
    return sorted(listed | _opened_by_glibc(listed))


def loaded_in(listing: str) -> set[Path]:
    """The paths in the output of `ldd`. What the host does not find, the host does not need."""
    return {Path(path) for path in _LOADED.findall(listing)}


def library_files(libraries: Iterable[Path]) -> list[Entry]:
    """The libraries where the loader looks for them, and the cache that tells it where."""
    found: list[Entry] = [HostFile(str(path), path, mode=0o755) for path in libraries]
    if _LOADER_CACHE.is_file():
        found.append(HostFile(str(_LOADER_CACHE), _LOADER_CACHE))
    return found


def _ldd(binaries: list[str]) -> str:
    try:
        # It exits with 1 when one of the files is static; its output is still right.
        answer = subprocess.run(
            ["ldd", *binaries], check=False, capture_output=True, text=True, timeout=120
        )
    except OSError as error:
        raise CannotCollect(f"`ldd` cannot run, which lists shared libraries: {error}.") from error
    return answer.stdout


def _opened_by_glibc(listed: Iterable[Path]) -> set[Path]:
    folders = {path.parent for path in listed if path.name == "libc.so.6"}
    candidates = (folder / name for folder in folders for name in _OPENED_BY_GLIBC)
    return {path for path in candidates if path.is_file()}
