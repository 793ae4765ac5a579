"""A live copy of some kinds of objects, for controllers that look at all of them at once."""

import asyncio
import logging

from quiver.kube import Client, Object
from quiver.kube.errors import KubeError

log = logging.getLogger(__name__)

RETRY_AFTER = 1.0


class Mirror:
    """Keeps `objects(kind)` up to date and wakes whoever waits in `changed()`."""

    def __init__(self, client: Client, kinds: list[tuple[str, str]]) -> None:
        self._client = client
        self._kinds = kinds
        self._objects: dict[str, dict[str, Object]] = {}
        self._changed = asyncio.Event()

    def objects(self, kind: str) -> list[Object]:
        return list(self._objects[kind].values())

    def is_complete(self) -> bool:
        return len(self._objects) == len(self._kinds)

    async def changed(self, *, timeout: float | None = None) -> None:
        """Return at the next change, or at once if there was one since the last call."""
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for api_version, kind in self._kinds:
                tasks.create_task(self._follow(api_version, kind))

    async def _follow(self, api_version: str, kind: str) -> None:
        while True:
            try:
                await self._list_and_watch(api_version, kind)
            except KubeError as error:
                log.warning("following %s: %s", kind, error)
                await asyncio.sleep(RETRY_AFTER)

    async def _list_and_watch(self, api_version: str, kind: str) -> None:
        items, version = await self._client.list_with_version(api_version, kind)
        self._objects[kind] = {item["metadata"]["uid"]: item for item in items}
        self._changed.set()
        async for event in self._client.watch(api_version, kind, version):
            uid = event.object["metadata"]["uid"]
            if event.type == "DELETED":
                self._objects[kind].pop(uid, None)
            else:
                self._objects[kind][uid] = event.object
            self._changed.set()
