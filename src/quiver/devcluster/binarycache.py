"""Ready programs on disk: `bin/linux-<arch>/<name>/<version>/` holds the file and `entry.json`.

An entry appears by one rename of a finished directory, so it is whole or not there. Everything
that writes holds the lock of the program's upstream.
"""

import contextlib
import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

import msgspec

from quiver.devcluster.catalog import Binary, BinaryError, Upstream

_ENTRY = "entry.json"


class Corrupted(Exception):
    """The entry is there and its file is not what was put there."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    sha256: str
    size: int
    source: str
    """`release` or `built`."""
    origin: str
    """The URL it was downloaded from, or the package it was built from."""


class BinaryCache:
    def __init__(self, root: Path, arch: str) -> None:
        self.root = root
        self.logs = root / "logs"
        self.downloads = root / "downloads"
        self._platform = f"linux-{arch}"

    def path(self, binary: Binary) -> Path:
        return self._folder(binary) / binary.file

    def read(self, binary: Binary) -> Path | None:
        """The program if it is there and intact, None if it is not there, else `Corrupted`."""
        folder = self._folder(binary)
        if not folder.is_dir():
            return None
        path = folder / binary.file
        try:
            entry = msgspec.json.decode((folder / _ENTRY).read_bytes(), type=Entry)
            intact = path.stat().st_size == entry.size and sha256_of(path) == entry.sha256
        except (OSError, msgspec.DecodeError) as error:
            raise Corrupted(str(error)) from error
        if not intact:
            raise Corrupted(f"{path} does not have the checksum it was stored with")
        return path

    def add(self, binary: Binary, file: Path, *, source: str, origin: str) -> Path:
        """Move a finished `file` in, replacing what is there."""
        file.chmod(0o755)
        entry = Entry(
            sha256=sha256_of(file), size=file.stat().st_size, source=source, origin=origin
        )
        staged = Path(tempfile.mkdtemp(dir=file.parent))
        staged.chmod(0o755)
        file.rename(staged / binary.file)
        (staged / _ENTRY).write_bytes(msgspec.json.format(msgspec.json.encode(entry)) + b"\n")
        self.discard(binary)
        folder = self._folder(binary)
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged.rename(folder)
        return folder / binary.file

    def discard(self, binary: Binary) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._folder(binary))

    @contextlib.contextmanager
    def workspace(self, upstream: Upstream) -> Iterator[Path]:
        """An empty directory on the cache's file system. The caller holds the upstream's lock."""
        parent = self.root / "work" / self._platform / upstream.folder
        # The lock is ours, so whatever is here was left by a process that was killed.
        shutil.rmtree(parent, ignore_errors=True)
        parent.mkdir(parents=True, exist_ok=True)
        # A new name each time: the orphaned compiler of a killed process may still write.
        work = Path(tempfile.mkdtemp(dir=parent))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    @contextlib.contextmanager
    def locked(
        self, name: str, waiting: Callable[[], AbstractContextManager[object]]
    ) -> Iterator[None]:
        """One process at a time per `name`; `waiting` is entered while another one is at it."""
        with self._lock_file(name) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                with waiting():
                    fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _lock_file(self, name: str) -> TextIO:
        path = self.root / "locks" / f"{self._platform}-{name}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("w")
        except OSError as error:
            raise BinaryError(
                f"cannot write to the cache {self.root} ({error.strerror}): set QUIVER_CACHE to a"
                " directory that you can write to"
            ) from error

    def _folder(self, binary: Binary) -> Path:
        return self.root / "bin" / self._platform / binary.name / binary.version


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
