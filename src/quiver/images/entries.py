"""What an image is made of: directories, files and links, each at an absolute path."""

import posixpath
from collections.abc import Iterable
from pathlib import Path

import msgspec

from quiver.images.errors import BadEntry

NONROOT = 65532
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")

_PASSWD = f"""\
root:x:0:0:root:/root:/sbin/nologin
nonroot:x:{NONROOT}:{NONROOT}:nonroot:/home/nonroot:/sbin/nologin
"""
_GROUP = f"root:x:0:\nnonroot:x:{NONROOT}:\n"


class Directory(msgspec.Struct, frozen=True):
    path: str
    mode: int = 0o755
    uid: int = 0
    gid: int = 0


class HostFile(msgspec.Struct, frozen=True):
    """A file of this machine, read when the image is packed."""

    path: str
    source: Path
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


class Content(msgspec.Struct, frozen=True):
    path: str
    data: bytes
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


class Symlink(msgspec.Struct, frozen=True):
    path: str
    target: str
    uid: int = 0
    gid: int = 0


Entry = Directory | HostFile | Content | Symlink


def base_entries(ca_bundle: Path = CA_BUNDLE) -> list[Entry]:
    """What every image has: users, a place for temporary files, and the host's CAs if any."""
    entries: list[Entry] = [
        Directory("/tmp", mode=0o1777),  # noqa: S108
        Directory("/home/nonroot", mode=0o700, uid=NONROOT, gid=NONROOT),
        Content("/etc/passwd", _PASSWD.encode()),
        Content("/etc/group", _GROUP.encode()),
    ]
    if ca_bundle.is_file():
        entries.append(HostFile(str(CA_BUNDLE), ca_bundle))
    return entries


def same_mode(source: Path) -> int:
    """Executable or not, like the file on the host; nothing else of its mode is taken."""
    return 0o755 if source.stat().st_mode & 0o100 else 0o644


def overlaid(lower: Iterable[Entry], upper: Iterable[Entry]) -> list[Entry]:
    """Both, and where both have a path, the upper one."""
    above = list(upper)
    taken = {entry.path for entry in above}
    return [entry for entry in lower if entry.path not in taken] + above


def arranged(entries: Iterable[Entry]) -> list[Entry]:
    """In the order of a tar: parents first, missing parents added, each path once."""
    by_path: dict[str, Entry] = {}
    for entry in entries:
        _check_path(entry.path)
        if by_path.setdefault(entry.path, entry) != entry:
            raise BadEntry(f"{entry.path} is in the image twice, with different content.")
    for path in list(by_path):
        _add_parents(path, by_path)
    return sorted(by_path.values(), key=lambda entry: entry.path.split("/"))


def _check_path(path: str) -> None:
    plain = posixpath.normpath(path) == path and not path.startswith("//")
    if not plain or not path.startswith("/") or path == "/" or "\0" in path:
        raise BadEntry(f"{path!r} cannot be a path in an image; write it like `/etc/passwd`.")


def _add_parents(path: str, by_path: dict[str, Entry]) -> None:
    parent = posixpath.dirname(path)
    while parent != "/":
        found = by_path.setdefault(parent, Directory(parent))
        if not isinstance(found, Directory):
            raise BadEntry(f"{path} cannot be in the image: {parent} is not a directory there.")
        parent = posixpath.dirname(parent)
