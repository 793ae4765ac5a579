"""The shared cache: one informer for each kind and selector, whoever asks for it.

Reads never reach the API server. The answer to every write is put here before the next decision
(`written`), so that nobody acts on a world older than his own last write; and a write whose answer
was lost puts its object in doubt, until it is read back from the server.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from quiver.engine.controller import Change
from quiver.engine.identity import Identity, identity_of
from quiver.engine.kinds import Key, Kind
from quiver.engine.observe.metrics import CacheSize
from quiver.engine.reflector import Reflector, Source
from quiver.engine.store import Store
from quiver.kube import Client, NotFound

Handler = Callable[[Change], None]
Who = object
"""Whoever subscribes and writes: it is not told of what it wrote itself."""

EVERYWHERE: Sequence[str] = ("",)


class Informer:
    """The objects of one source, and who wants to hear of them."""

    def __init__(self, client: Client, source: Source, namespaces: Sequence[str]) -> None:
        self.source = source
        self.store = Store(source.kind, only=source.only)
        self._client = client
        self._handlers: list[tuple[Who, Handler]] = []
        self._doubted: set[Key] = set()
        self._held_back: dict[tuple[int, Key], list[Change]] = {}
        scopes = namespaces if source.kind.namespaced else EVERYWHERE
        self._reflectors = [
            Reflector(client, source, self.store, namespace=scope, notify=self._changed)
            for scope in scopes
        ]

    @property
    def kind(self) -> Kind:
        return self.source.kind

    @property
    def is_synced(self) -> bool:
        return all(reflector.is_synced for reflector in self._reflectors)

    @property
    def trouble(self) -> str | None:
        return next((it.trouble for it in self._reflectors if it.trouble), None)

    def size(self) -> CacheSize:
        return CacheSize(len(self.store), self.store.bytes)

    def subscribe(self, who: Who, handler: Handler) -> None:
        self._handlers.append((who, handler))

    def unsubscribe(self, who: Who) -> None:
        self._handlers = [pair for pair in self._handlers if pair[0] is not who]

    async def synced(self) -> None:
        for reflector in self._reflectors:
            await reflector.synced()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())

    async def write(self, key: Key, request: Awaitable[bytes], *, by: Who) -> Identity:
        """Send a write and take its answer. `by` is not told of what it wrote itself.

        The watch mostly brings the news before the answer comes: meanwhile what concerns this
        key is held back, and told only if it turns out to be somebody else's doing.
        """
        place = (id(by), key)
        held = self._held_back[place] = []
        version = 0
        try:
            raw = await request
            identity = identity_of(raw)
            version = identity.version
            self._written(raw, identity, by)
        finally:
            # Two owners may want the same name, and then two of us write it at once.
            if self._held_back.get(place) is held:
                del self._held_back[place]
            if any(_version_after(change) != version for change in held):
                self._tell(held[-1], only=by)
        return identity

    def written(self, raw: bytes, *, by: Who | None = None) -> None:
        """The answer to a write. `by` wrote it and need not be told."""
        self._written(raw, identity_of(raw), by)

    def doubt(self, key: Key) -> None:
        """A write may have happened or not: read the object back before the next decision."""
        self._doubted.add(key)

    async def settle_doubt(self, key: Key) -> None:
        if key not in self._doubted:
            return
        raw = await self.read(key)
        if raw is None:
            self.gone(key)
        self._doubted.discard(key)

    async def read(self, key: Key) -> bytes | None:
        """From the server, past the cache, which takes the answer."""
        try:
            raw = await self._client.get_raw(
                self.kind.api_version, self.kind.name, key.name, key.namespace or None
            )
        except NotFound:
            return None
        self.written(raw)
        return raw

    def gone(self, key: Key, *, by: Who | None = None) -> None:
        """The server says that there is no such object."""
        entry = self.store.entry(key)
        if entry is not None and self.store.removed(key, entry.version) is not None:
            self._tell(Change(self.kind, key, entry.raw, None), but=by)

    def _written(self, raw: bytes, identity: Identity, by: Who | None) -> None:
        self._doubted.discard(identity.key)
        news = self.store.written(raw, identity)
        if news is not None and (by is None or len(self._handlers) > 1):
            self._tell(Change(self.kind, *news), but=by)

    def _changed(self, key: Key, before: bytes | None, after: bytes | None) -> None:
        if self._handlers:
            self._tell(Change(self.kind, key, before, after))

    def _tell(self, change: Change, *, but: Who | None = None, only: Who | None = None) -> None:
        for who, handler in self._handlers:
            if who is but or (only is not None and who is not only):
                continue
            held = self._held_back.get((id(who), change.key)) if self._held_back else None
            if held is None:
                handler(change)
            else:
                held.append(change)


def _version_after(change: Change) -> int:
    return identity_of(change.after).version if change.after else -1


class Cache:
    """Informers, made on demand and started with `run`."""

    def __init__(self, client: Client, *, namespaces: Sequence[str] = EVERYWHERE) -> None:
        self._client = client
        self._namespaces = namespaces or EVERYWHERE
        self._informers: dict[Source, Informer] = {}
        self._group: asyncio.TaskGroup | None = None

    def informer(self, source: Source) -> Informer:
        found = self._informers.get(source)
        if found is None:
            found = self._informers[source] = Informer(self._client, source, self._namespaces)
            self._start(found)
        return found

    def informers(self) -> list[Informer]:
        return list(self._informers.values())

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for informer in self._informers.values():
                    self._start(informer)
                await asyncio.Event().wait()
            finally:
                self._group = None

    async def synced(self) -> None:
        for informer in self.informers():
            await informer.synced()

    def trouble(self) -> str | None:
        """Which kind is not up to date and why; None if all are."""
        for informer in self._informers.values():
            if informer.trouble:
                return f"{informer.kind}: {informer.trouble}"
            if not informer.is_synced:
                return f"{informer.kind} is not listed yet"
        return None

    def _start(self, informer: Informer) -> None:
        if self._group is not None:
            self._group.create_task(informer.run(), name=f"watch {informer.kind}")
