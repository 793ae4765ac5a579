"""A Kubernetes client without a server: it holds objects, remembers writes, and plays a script."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import cast

import msgspec

from quiver.kube import Client, Object, WatchEvent
from quiver.kube.errors import KubeError

Objects = list[Object]


class Write(msgspec.Struct, frozen=True, kw_only=True):
    verb: str
    kind: str
    name: str
    body: Object = {}
    subresource: str = ""


class ScriptedClient:
    """`objects` are what is listed; `tell` what a watch sees next; `refuse` what a write meets."""

    def __init__(self, **objects: Objects) -> None:
        self.objects = objects
        self.writes: list[Write] = []
        self.lists: list[str] = []
        self.failing_lists: list[KubeError] = []
        self.watched_since: list[str] = []
        self._refusals: dict[tuple[str, str], KubeError] = {}
        self._script: dict[str, asyncio.Queue[WatchEvent | KubeError | None]] = {}
        self._something_written = asyncio.Event()

    @property
    def client(self) -> Client:
        return cast(Client, self)

    def tell(self, kind: str, next_: WatchEvent | KubeError | None) -> None:
        """An event, an error that breaks the watch, or None for a watch that simply ends."""
        self._queue(kind).put_nowait(next_)

    def refuse(self, verb: str, kind: str, error: KubeError) -> None:
        self._refusals[verb, kind] = error

    def written(self, verb: str, kind: str) -> list[Write]:
        return [write for write in self.writes if (write.verb, write.kind) == (verb, kind)]

    async def until_written(self, holds: Callable[[], object], *, within: float = 10.0) -> None:
        async with asyncio.timeout(within):
            while not holds():
                await self._something_written.wait()
                self._something_written.clear()

    async def list(self, api_version: str, kind: str) -> Objects:
        return (await self.list_with_version(api_version, kind))[0]

    async def list_with_version(self, _: str, kind: str) -> tuple[Objects, str]:
        self.lists.append(kind)
        if self.failing_lists:
            raise self.failing_lists.pop(0)
        return [*self.objects.get(kind, ())], f"version-{len(self.lists)}"

    async def watch(self, _: str, kind: str, since: str) -> AsyncIterator[WatchEvent]:
        self.watched_since.append(since)
        while (next_ := await self._queue(kind).get()) is not None:
            if isinstance(next_, KubeError):
                raise next_
            yield next_

    async def create(self, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        return self._write(Write(verb="create", kind=obj["kind"], name=name, body=obj))

    async def patch(
        self,
        _: str,
        kind: str,
        name: str,
        patch: Object,
        namespace: str | None = None,  # noqa: ARG002
        *,
        subresource: str = "",
    ) -> Object:
        write = Write(verb="patch", kind=kind, name=name, body=patch, subresource=subresource)
        return self._write(write)

    async def delete(self, _: str, kind: str, name: str, *, missing_ok: bool) -> None:
        assert missing_ok
        self._write(Write(verb="delete", kind=kind, name=name))

    def _write(self, write: Write) -> Object:
        if error := self._refusals.get((write.verb, write.kind)):
            raise error
        self.writes.append(write)
        self._something_written.set()
        return write.body

    def _queue(self, kind: str) -> asyncio.Queue[WatchEvent | KubeError | None]:
        return self._script.setdefault(kind, asyncio.Queue())
