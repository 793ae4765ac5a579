"""An API server that knows Leases only, and clients that can be cut off from it."""

import asyncio
import copy
from collections.abc import AsyncIterator
from itertools import count
from typing import cast

from quiver.kube import (
    AlreadyExists,
    Client,
    Conflict,
    KubeError,
    NotFound,
    Object,
    Timeout,
    WatchEvent,
)


class LeaseServer:
    def __init__(self) -> None:
        self.leases: dict[str, Object] = {}
        self.history: list[WatchEvent] = []
        self.watches: list[asyncio.Queue[WatchEvent]] = []
        self._versions = count(1)

    @property
    def version(self) -> str:
        return str(next(self._versions))

    def spec(self, name: str) -> Object:
        return dict(self.leases[name]["spec"])

    def since(self, version: str) -> list[WatchEvent]:
        return [event for event in self.history if _version(event.object) > int(version)]

    def put(self, event: str, obj: Object) -> Object:
        obj = copy.deepcopy(obj)
        obj["metadata"]["resourceVersion"] = self.version
        name = obj["metadata"]["name"]
        if event == "DELETED":
            del self.leases[name]
        else:
            self.leases[name] = obj
        self.history.append(WatchEvent(event, copy.deepcopy(obj)))
        for watch in self.watches:
            watch.put_nowait(self.history[-1])
        return copy.deepcopy(obj)


class LeaseClient:
    """While it `is_cut`, requests hang until their deadline; `failing` ones fail at once."""

    def __init__(self, server: LeaseServer, deadline: float = 30.0) -> None:
        self.server = server
        self.calls: list[tuple[str, str]] = []
        self.is_cut = False
        self.is_deaf = False
        """Its watches tell nothing, and nothing else is wrong."""
        self.loses_answers = 0
        self.delay = 0.0
        """How long an answer is on its way."""
        self.failing: list[KubeError] = []
        self._deadline = deadline
        self._whole = self

    @property
    def client(self) -> Client:
        return cast(Client, self)

    def within(self, deadline: float) -> "LeaseClient":
        view = copy.copy(self)
        view._deadline = deadline
        return view

    async def get(self, _: str, __: str, name: str, *___: str) -> Object:
        await self._arrive("get", name)
        return await self._answer(copy.deepcopy(self._found(name)))

    async def create(self, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        await self._arrive("create", name)
        if name in self.server.leases:
            raise AlreadyExists(409, "AlreadyExists", name)
        metadata = obj["metadata"] | {"uid": f"uid-{self.server.version}"}
        return await self._answer(self.server.put("ADDED", obj | {"metadata": metadata}))

    async def replace(self, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        await self._arrive("replace", name)
        found = self._found(name)
        if found["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            raise Conflict(409, "Conflict", name)
        return await self._answer(self.server.put("MODIFIED", obj))

    async def delete(
        self, _: str, __: str, name: str, *___: str, missing_ok: bool, version: str | None
    ) -> None:
        assert missing_ok
        await self._arrive("delete", name)
        found = self.server.leases.get(name)
        if found is None:
            return
        if version is not None and found["metadata"]["resourceVersion"] != version:
            raise Conflict(409, "Conflict", name)
        self.server.put("DELETED", found)

    async def list_with_version(self, *_: str, labels: str) -> tuple[list[Object], str]:
        """All there are: these tests have no others."""
        assert labels
        await self._arrive("list", "")
        found = copy.deepcopy([*self.server.leases.values()])
        for obj in found:
            del obj["kind"], obj["apiVersion"]
        version = self.server.version
        if self._whole.delay:
            await asyncio.sleep(self._whole.delay)
        return found, version

    async def watch(
        self, _: str, __: str, since: str, *___: str, labels: str, idle: float
    ) -> AsyncIterator[WatchEvent]:
        assert labels
        assert idle
        await self._arrive("watch", "")
        events: asyncio.Queue[WatchEvent] = asyncio.Queue()
        for event in self.server.since(since):
            events.put_nowait(event)
        self.server.watches.append(events)
        try:
            while True:
                event = await events.get()
                if self._whole.is_cut:
                    raise Timeout("the watch broke off")
                if not self._whole.is_deaf:
                    yield event
        finally:
            self.server.watches.remove(events)

    def _found(self, name: str) -> Object:
        if name not in self.server.leases:
            raise NotFound(404, "NotFound", name)
        return self.server.leases[name]

    async def _arrive(self, verb: str, name: str) -> None:
        # As on a real network, nothing is answered at once.
        await asyncio.sleep(0.001)
        self.calls.append((verb, name))
        if self._whole.failing:
            raise self._whole.failing.pop(0)
        if self._whole.is_cut:
            await asyncio.sleep(self._deadline)
            raise Timeout(f"{verb} {name} was not answered")

    async def _answer(self, obj: Object) -> Object:
        if self._whole.loses_answers:
            self._whole.loses_answers -= 1
            await asyncio.sleep(self._deadline)
            raise Timeout("the answer was lost")
        return obj


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])
