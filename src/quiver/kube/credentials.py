"""The credential to use now. Files rotate and plugins expire, so every attempt asks."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

from quiver.kube.config import CredentialFiles, KubeConfig
from quiver.kube.errors import CredentialError
from quiver.kube.execplugin import run_plugin
from quiver.kube.secretive import Secretive

LOOK_EVERY = 1.0
READ_EVERY = 60.0


class Credential(Secretive, frozen=True, kw_only=True):
    hidden: ClassVar[frozenset[str]] = frozenset({"ca", "certificate", "key", "token"})

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    token: str | None = None


class Credentials(Protocol):
    async def current(self) -> Credential: ...

    def reject(self, refused: Credential) -> bool:
        """The server answered 401 to this one. True: ask again, there may be another."""
        ...


def credentials_for(
    config: KubeConfig,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    now: Callable[[], float] = time.time,
) -> Credentials:
    if config.plugin is not None:
        return PluginCredentials(config, now=now)
    if config.files.any_named:
        return FileCredentials(config, monotonic=monotonic)
    return FixedCredentials(config)


class FixedCredentials:
    def __init__(self, config: KubeConfig) -> None:
        self._credential = _configured(config)

    async def current(self) -> Credential:
        return self._credential

    def reject(self, refused: Credential) -> bool:  # noqa: ARG002
        return False


class FileCredentials:
    """Reads the files again when one has changed, and once a minute whatever they look like."""

    def __init__(self, config: KubeConfig, *, monotonic: Callable[[], float]) -> None:
        self._files = config.files
        self._credential = _configured(config)
        self._monotonic = monotonic
        # The files may have changed since the configuration was read: look at the first use.
        self._looked = self._read_at = float("-inf")
        self._marks: tuple[object, ...] = ()

    async def current(self) -> Credential:
        if self._monotonic() - self._looked >= LOOK_EVERY:
            self._look()
        return self._credential

    def reject(self, refused: Credential) -> bool:
        if self._credential is refused:
            self._read()
        return self._credential != refused

    def _look(self) -> None:
        self._looked = self._monotonic()
        marks = _marks(self._files)
        if marks != self._marks or self._looked - self._read_at >= READ_EVERY:
            self._marks = marks
            self._read()

    def _read(self) -> None:
        self._read_at = self._monotonic()
        held, files = self._credential, self._files
        token = _text(files.token, held.token)
        fresh = Credential(
            ca=_text(files.ca, held.ca),
            certificate=_text(files.certificate, held.certificate),
            key=_text(files.key, held.key),
            token=token.strip() if token else token,
        )
        if fresh != held:
            self._credential = fresh


class PluginCredentials:
    """Runs the plugin once for all who wait, and again shortly before its credential expires."""

    def __init__(self, config: KubeConfig, *, now: Callable[[], float]) -> None:
        self._config = config
        self._now = now
        self._running = asyncio.Lock()
        self._held: Credential | None = None
        self._renew_at = float("inf")

    async def current(self) -> Credential:
        if (held := self._usable()) is not None:
            return held
        async with self._running:
            return self._usable() or await self._renewed()

    def reject(self, refused: Credential) -> bool:
        if self._held is refused:
            self._held = None
        return True

    def _usable(self) -> Credential | None:
        return self._held if self._now() < self._renew_at else None

    async def _renewed(self) -> Credential:
        assert self._config.plugin is not None
        printed = await run_plugin(self._config.plugin, self._config)
        self._renew_at = _renewal(printed.expires, self._now())
        self._held = Credential(
            ca=self._config.ca,
            certificate=printed.certificate or self._config.certificate,
            key=printed.key or self._config.key,
            token=printed.token or self._config.token,
        )
        return self._held


def _renewal(expires: float | None, now: float) -> float:
    """A minute before the end, or in the last quarter of a short life."""
    if expires is None:
        return float("inf")
    return expires - min(60.0, max(0.0, expires - now) / 4)


def _configured(config: KubeConfig) -> Credential:
    return Credential(
        ca=config.ca, certificate=config.certificate, key=config.key, token=config.token
    )


def _marks(files: CredentialFiles) -> tuple[object, ...]:
    return tuple(_mark(path) for path in (files.ca, files.certificate, files.key, files.token))


def _mark(path: Path | None) -> object:
    """Changes when the file does; a mounted Secret changes by a swapped link."""
    if path is None:
        return None
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _text(path: Path | None, held: str | None) -> str | None:
    """While a file is being replaced, what is held is better than nothing."""
    if path is None:
        return held
    try:
        return path.read_text() or held
    except OSError as error:
        if held is None:
            raise CredentialError(f"cannot read {path}: {error}") from error
        return held
