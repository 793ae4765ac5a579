"""Requests to one API server over a keep-alive pool. Every request has a deadline."""

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, NamedTuple, Self

import aiohttp
import msgspec
from yarl import URL

from quiver.kube.config import KubeConfig
from quiver.kube.errors import NotFound, Unreachable, error_from

Object = dict[str, Any]
Objects = list[Object]

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_BOOKMARK = "BOOKMARK"
_MAX_EVENT_BYTES = 16 * 1024 * 1024


class WatchEvent(NamedTuple):
    type: str
    object: Object


class _Resource(NamedTuple):
    path: str
    plural: str
    namespaced: bool

    def url(self, namespace: str | None, name: str | None, subresource: str | None = None) -> str:
        parts = [self.path]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


class Client:
    """Kinds are named as in a manifest: `apiVersion` and `kind`; discovery finds the path."""

    def __init__(
        self, config: KubeConfig, *, deadline: float = 30.0, manager: str = "quiver"
    ) -> None:
        self.config = config
        self._deadline = deadline
        self._manager = manager
        self._resources: dict[tuple[str, str], _Resource] = {}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self.config.token}"} if self.config.token else {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self.config.tls(), limit=64),
            headers={"Accept": "application/json", "User-Agent": "quiver"} | headers,
            read_bufsize=256 * 1024,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()

    async def get(
        self, api_version: str, kind: str, name: str, namespace: str | None = None
    ) -> Object:
        resource = await self._resource(api_version, kind)
        return await self.json("GET", resource.url(namespace, name))

    async def list(
        self, api_version: str, kind: str, namespace: str | None = None, *, labels: str = ""
    ) -> Objects:
        return (await self.list_with_version(api_version, kind, namespace, labels=labels))[0]

    async def list_with_version(
        self, api_version: str, kind: str, namespace: str | None = None, *, labels: str = ""
    ) -> tuple[Objects, str]:
        """All objects, and the version from which a watch goes on without a gap."""
        resource = await self._resource(api_version, kind)
        query = {"labelSelector": labels} if labels else {}
        answer = await self.json("GET", resource.url(namespace, None), query=query)
        return answer["items"], answer["metadata"]["resourceVersion"]

    async def create(self, obj: Object) -> Object:
        resource, namespace, _ = await self._address(obj)
        return await self.json("POST", resource.url(namespace, None), obj)

    async def apply(self, obj: Object, *, force: bool = False) -> Object:
        resource, namespace, name = await self._address(obj)
        query = {"fieldManager": self._manager, "force": str(force).lower()}
        url = resource.url(namespace, name)
        return await self.json("PATCH", url, obj, query=query, content_type=APPLY_PATCH)

    async def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        patch: Object,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
    ) -> Object:
        resource = await self._resource(api_version, kind)
        url = resource.url(namespace, name, subresource)
        return await self.json("PATCH", url, patch, content_type=MERGE_PATCH)

    async def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        missing_ok: bool = False,
    ) -> None:
        resource = await self._resource(api_version, kind)
        try:
            await self.json("DELETE", resource.url(namespace, name))
        except NotFound:
            if not missing_ok:
                raise

    async def watch(
        self, api_version: str, kind: str, since: str, namespace: str | None = None
    ) -> AsyncIterator[WatchEvent]:
        """Changes after version `since`, until the server ends the watch. Bookmarks are hidden."""
        resource = await self._resource(api_version, kind)
        query = {"watch": "true", "resourceVersion": since, "allowWatchBookmarks": "true"}
        # The server sends bookmarks about once a minute; silence beyond that is a dead connection.
        timeout = aiohttp.ClientTimeout(total=None, connect=self._deadline, sock_read=150)
        try:
            async with self._open().get(
                self._url(resource.url(namespace, None), query), timeout=timeout
            ) as answer:
                if answer.status != 200:
                    raise error_from(answer.status, await answer.read())
                async for line in _lines(answer.content):
                    event = msgspec.json.decode(line)
                    if event["type"] == "ERROR":
                        raise error_from(0, msgspec.json.encode(event["object"]))
                    if event["type"] != _BOOKMARK:
                        yield WatchEvent(event["type"], event["object"])
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"the watch on {kind} broke off: {error!r}") from error

    async def json(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        answer = await self.raw(method, path, body, query=query, content_type=content_type)
        return dict(msgspec.json.decode(answer))

    async def raw(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        data = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": content_type}
        try:
            async with (
                asyncio.timeout(self._deadline),
                self._open().request(
                    method, self._url(path, query), data=data, headers=headers
                ) as answer,
            ):
                payload = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(
                f"{method} {path} on {self.config.server} failed: {error!r}"
            ) from error
        if answer.status >= 400:
            raise error_from(answer.status, payload)
        return payload

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("use the client as a context: `async with Client(config) as client`")
        return self._session

    def _url(self, path: str, query: dict[str, str] | None) -> URL:
        return URL(self.config.server + path).update_query(query or {})

    async def _address(self, obj: Object) -> tuple[_Resource, str | None, str]:
        resource = await self._resource(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", self.config.namespace)
        return resource, namespace, metadata.get("name", "")

    async def _resource(self, api_version: str, kind: str) -> _Resource:
        found = self._resources.get((api_version, kind))
        if found is None:
            await self._discover(api_version)
            found = self._resources.get((api_version, kind))
        if found is None:
            raise NotFound(404, "NotFound", f"the server has no kind {kind} in {api_version}")
        return found

    async def _discover(self, api_version: str) -> None:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        for entry in (await self.json("GET", path))["resources"]:
            if "/" not in entry["name"]:
                resource = _Resource(path, entry["name"], entry["namespaced"])
                self._resources[api_version, entry["kind"]] = resource


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Lines of any length up to the largest object; `readline` stops at the buffer's size."""
    rest = bytearray()
    async for chunk in stream.iter_any():
        rest += chunk
        if len(rest) > _MAX_EVENT_BYTES:
            raise Unreachable("a watch event is larger than any Kubernetes object can be")
        *lines, tail = rest.split(b"\n")
        rest = bytearray(tail)
        for line in lines:
            if line:
                yield bytes(line)
