"""Paths of ready programs: from the cache, else from an official release, else built."""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from quiver.devcluster import catalog, paths
from quiver.devcluster.binarycache import BinaryCache, Corrupted
from quiver.devcluster.catalog import Binary, BinaryError, Upstream
from quiver.devcluster.gobuild import GoBuilder
from quiver.devcluster.progress import Progress
from quiver.devcluster.releases import ReleaseError, Releases

__all__ = ["Binaries", "BinaryError"]

_GB = 1024**3
# An ordinary user's PATH often lacks the directories where distributions put runc.
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


def _on_system(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path=_SYSTEM_PATH)


class Binaries:
    def __init__(
        self,
        *,
        cache: BinaryCache,
        releases: Releases,
        builder: GoBuilder,
        progress: Progress,
        known: dict[str, Binary] = catalog.BINARIES,
        free_bytes: Callable[[Path], int] = _free_bytes,
        on_system: Callable[[str], str | None] = _on_system,
    ) -> None:
        self._cache = cache
        self._releases = releases
        self._builder = builder
        self._progress = progress
        self._known = known
        self._free_bytes = free_bytes
        self._on_system = on_system
        self._told: set[str] = set()

    @classmethod
    def default(cls, progress: Progress | None = None) -> Self:
        arch = paths.architecture()
        cache = BinaryCache(paths.cache_dir(), arch)
        base = os.environ.get("QUIVER_RELEASES", "")
        return cls(
            cache=cache,
            releases=Releases(cache.downloads, arch=arch, base=base),
            builder=GoBuilder(paths.upstream_dir(), cache, arch=arch),
            progress=progress or Progress(),
        )

    def find(self, name: str) -> Path | None:
        """The program if it is here and intact. Never downloads or builds."""
        binary = self._named(name)
        try:
            return self._system(binary) or self._cache.read(binary)
        except Corrupted as damage:
            self._progress.line(f"the cached {binary} is damaged: {damage}")
            return None

    def ensure(self, names: Iterable[str]) -> dict[str, Path]:
        """All of these programs, ready to run; what is missing is downloaded or built."""
        wanted = [self._named(name) for name in dict.fromkeys(names)]
        ready = {binary.name: path for binary in wanted if (path := self._ready(binary))}
        missing = [binary for binary in wanted if binary.name not in ready]
        for group in _by_upstream(missing):
            ready |= self._obtain(group)
        return {binary.name: ready[binary.name] for binary in wanted}

    def _named(self, name: str) -> Binary:
        if binary := self._known.get(name):
            return binary
        raise BinaryError(f"there is no program {name!r}; there are {', '.join(self._known)}")

    def _system(self, binary: Binary) -> Path | None:
        found = self._on_system(binary.name) if binary.prefer_system else None
        return Path(found) if found else None

    def _ready(self, binary: Binary) -> Path | None:
        """Says nothing of damage: whoever gets the lock reports and repairs it."""
        try:
            return self._system(binary) or self._cache.read(binary)
        except Corrupted:
            return None

    def _obtain(self, group: Sequence[Binary]) -> dict[str, Path]:
        upstream = group[0].upstream
        try:
            with self._cache.locked(upstream.folder, lambda: self._waiting(group)):
                self._discard_damaged(group)
                ready = {binary.name: path for binary in group if (path := self._ready(binary))}
                missing = [binary for binary in group if binary.name not in ready]
                return ready | self._fresh(upstream, missing) if missing else ready
        except OSError as error:
            raise BinaryError(
                f"cannot keep {_names(group)} in the cache {self._cache.root}: {error}"
            ) from error

    def _waiting(self, group: Sequence[Binary]) -> AbstractContextManager[object]:
        return self._progress.step(f"waiting for another process that gets {_names(group)}")

    def _discard_damaged(self, group: Sequence[Binary]) -> None:
        for binary in group:
            try:
                self._cache.read(binary)
            except Corrupted as damage:
                self._progress.line(f"the cached {binary} is damaged, getting it again: {damage}")
                self._cache.discard(binary)

    def _fresh(self, upstream: Upstream, missing: Sequence[Binary]) -> dict[str, Path]:
        self._check_disk(upstream)
        with self._cache.workspace(upstream) as work:
            ready = self._downloaded(upstream, missing, work)
            rest = [binary for binary in missing if binary.name not in ready]
            return ready | self._built(upstream, rest, work) if rest else ready

    def _downloaded(
        self, upstream: Upstream, missing: Sequence[Binary], work: Path
    ) -> dict[str, Path]:
        ready: dict[str, Path] = {}
        if not self._releases.may_have(upstream) or self._is_out_of_reach(upstream):
            return ready
        for url, group in self._releases.by_url(missing).items():
            try:
                ready |= self._download(url, group, work)
            except ReleaseError as error:
                self._progress.line(f"{error}: building {upstream.folder} instead")
                break
        return ready

    def _download(self, url: str, group: Sequence[Binary], work: Path) -> dict[str, Path]:
        with self._progress.step(f"downloading {_names(group)}") as step:
            files = self._releases.fetch(url, group, work, step.note)
            return {
                binary.name: self._cache.add(
                    binary, files[binary.name], source="release", origin=url
                )
                for binary in group
            }

    def _built(self, upstream: Upstream, rest: Sequence[Binary], work: Path) -> dict[str, Path]:
        text = f"building {_names(rest)}"
        with self._progress.step(text, usually=upstream.usually, first_time_only=True) as step:
            files = self._builder.build(rest, work, step.note)
            return {
                binary.name: self._cache.add(
                    binary, files[binary.name], source="built", origin=binary.package
                )
                for binary in rest
            }

    def _is_out_of_reach(self, upstream: Upstream) -> bool:
        host = self._releases.unreachable_host(upstream)
        if host and host not in self._told:
            self._told.add(host)
            self._progress.line(f"{host} does not answer: building from source instead")
        return host is not None

    def _check_disk(self, upstream: Upstream) -> None:
        free = self._free_bytes(self._cache.root)
        if free < upstream.disk_gb * _GB:
            raise BinaryError(
                f"{upstream.folder} needs {upstream.disk_gb} GB of free disk and"
                f" {self._cache.root} has {free / _GB:.1f} GB: free some there, or set QUIVER_CACHE"
                " to a directory on a larger disk"
            )


def _by_upstream(binaries: Sequence[Binary]) -> list[list[Binary]]:
    groups: dict[str, list[Binary]] = {}
    for binary in binaries:
        groups.setdefault(binary.upstream.folder, []).append(binary)
    return list(groups.values())


def _names(binaries: Sequence[Binary]) -> str:
    return ", ".join(binary.name for binary in binaries)
