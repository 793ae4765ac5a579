"""Keeps a store in step with one API server, for as long as it runs.

A reflector lists by a streaming list (WatchList) where the server has it, else page by page, then
watches. When the connection breaks it resumes at the version it has seen; when the server has
forgotten that version (410) it lists again and reports as deleted what is no longer there. While
it cannot reach the server the store stays as it was: old, but never wrong about the past.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from quiver.engine.identity import identity_of, version_number
from quiver.engine.kinds import Key, Kind
from quiver.engine.store import Store
from quiver.kube import ApiError, Client, Gone, KubeError, NotFound, RawEvent, ends_initial_events
from quiver.kube.events import BOOKMARK

log = logging.getLogger(__name__)

DELETED = "DELETED"
SHORTEST_PAUSE = 0.25
LONGEST_PAUSE = 15.0
# As client-go: watches end and begin anew after 5 to 10 minutes, so that they spread over servers.
SHORTEST_WATCH = 300

Notify = Callable[[Key, bytes | None, bytes | None], None]


@dataclass(frozen=True, slots=True)
class Source:
    """Which objects one informer holds; several reflectors may fill it, one per namespace."""

    kind: Kind
    labels: str = ""
    metadata_only: bool = False
    only: type[msgspec.Struct] | None = None


class Reflector:
    """`notify` hears of every change, also of those that a list reveals."""

    def __init__(
        self,
        client: Client,
        source: Source,
        store: Store,
        *,
        namespace: str = "",
        notify: Notify,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._source = source
        self._store = store
        self._scope = namespace
        self._notify = notify
        self._jitter = jitter
        self._sleep = sleep
        self._version = ""
        self._streams_lists = True
        self._failures = 0
        self._synced = asyncio.Event()
        self.trouble: str | None = None
        """Why the store is not up to date, in words; None if it is."""

    @property
    def is_synced(self) -> bool:
        return self._synced.is_set()

    async def synced(self) -> None:
        await self._synced.wait()

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
                self._failures = 0
            except KubeError as error:
                if isinstance(error, Gone) and self._version:
                    self._version = ""
                    continue
                self._complain(error)
                await self._sleep(self._pause())

    async def _follow(self) -> None:
        if self._version:
            await self._consume(self._watch(self._version), pending=None)
        elif self._streams_lists:
            await self._stream_list()
        else:
            await self._list()

    async def _stream_list(self) -> None:
        self._store.restarted(self._scope)
        try:
            await self._consume(self._watch("", initial=True), pending=set())
        except ApiError as error:
            if error.status not in (400, 422):
                raise
            log.debug("%s: no streaming lists on this server: %s", self._source.kind, error)
            self._streams_lists = False

    async def _list(self) -> None:
        kind, source = self._source.kind, self._source
        self._store.restarted(self._scope)
        found: set[Key] = set()
        version = ""
        pages = self._client.pages(
            kind.api_version, kind.name, self._scope or None,
            labels=source.labels, metadata_only=source.metadata_only,
        )  # fmt: skip
        async with aclosing(pages):
            async for page in pages:
                if page.is_first:
                    found.clear()
                found.update(self._take(item) for item in page.items)
                version = page.metadata.resource_version
        self._complete(found, version)

    def _watch(self, since: str, *, initial: bool = False) -> AsyncIterator[RawEvent]:
        kind, source = self._source.kind, self._source
        return self._client.watch_raw(
            kind.api_version, kind.name, since, self._scope or None,
            bookmarks=True, initial_events=initial, labels=source.labels,
            metadata_only=source.metadata_only,
            timeout=int(SHORTEST_WATCH * (1 + self._jitter())),
        )  # fmt: skip

    async def _consume(self, events: AsyncIterator[RawEvent], *, pending: set[Key] | None) -> None:
        """`pending` collects the keys of a streaming list until its end is announced."""
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                if pending is None:
                    self._recovered()
                    self._handle(event)
                elif ends_initial_events(event):
                    self._complete(pending, identity_version(event.object))
                    pending = None
                elif event.type == BOOKMARK:
                    continue
                elif event.type == DELETED:
                    pending.discard(self._forget(event.object))
                else:
                    pending.add(self._take(event.object))

    def _handle(self, event: RawEvent) -> None:
        if event.type == DELETED:
            self._forget(event.object)
        elif event.type != BOOKMARK:
            self._take(event.object)
        self._advance(identity_version(event.object))

    def _take(self, raw: bytes | msgspec.Raw) -> Key:
        news = self._store.observed(raw)
        if news is None:
            return identity_of(raw).key
        key, before, after = news
        self._notify(key, before, after)
        return key

    def _forget(self, raw: bytes) -> Key:
        identity = identity_of(raw)
        before = self._store.removed(identity.key, identity.version)
        if before is not None:
            self._notify(identity.key, before, None)
        return identity.key

    def _complete(self, found: set[Key], version: str) -> None:
        """A list is complete: what it does not have is gone, unless we wrote it since."""
        number = version_number(version)
        for key in self._store.in_namespace(self._scope):
            if key not in found and (before := self._store.removed(key, number)) is not None:
                self._notify(key, before, None)
        self._advance(version)
        self._recovered()
        self._synced.set()

    def _advance(self, version: str) -> None:
        self._version = version
        self._store.progressed(self._scope, version_number(version))

    def _recovered(self) -> None:
        self._failures = 0
        if self.trouble is not None:
            log.info("%s: the watch is back", self._source.kind)
            self.trouble = None

    def _complain(self, error: KubeError) -> None:
        if isinstance(error, NotFound):
            # The kind may come back under another path or version.
            self._client.discovery.forget(self._source.kind.api_version)
            self._version = ""
            self._empty()
        if self.trouble is None:
            log.warning("%s: %s", self._source.kind, error)
        self.trouble = str(error)
        self._failures += 1

    def _empty(self) -> None:
        """The kind is not served any more, and its objects went with it."""
        for key in self._store.in_namespace(self._scope):
            entry = self._store.entry(key)
            if entry is not None and self._store.removed(key, entry.version) is not None:
                self._notify(key, entry.raw, None)

    def _pause(self) -> float:
        doubled = SHORTEST_PAUSE * 2.0 ** min(self._failures - 1, 10)
        return float(min(doubled, LONGEST_PAUSE)) * (1 + self._jitter()) / 2


class _Versioned(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str = ""


class _Bookmark(msgspec.Struct, gc=False):
    metadata: _Versioned


_bookmark = msgspec.json.Decoder(_Bookmark)


def identity_version(raw: bytes) -> str:
    """Of any event: a bookmark has a version and no name."""
    return _bookmark.decode(raw).metadata.resource_version
