"""What all verbs share: the way from a kind and a name to a request and its answer."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from quiver.kube.config import KubeConfig
from quiver.kube.discovery import Discovery
from quiver.kube.request import JSON, Request
from quiver.kube.resource import Resource
from quiver.kube.transport import Transport

Object: TypeAlias = dict[str, Any]
Objects: TypeAlias = list[Object]
Headers: TypeAlias = tuple[tuple[str, str], ...]

_NOTHING: Mapping[str, str] = {}


class Calls:
    def __init__(
        self,
        config: KubeConfig,
        transport: Transport,
        *,
        deadline: float,
        manager: str,
        headers: Headers,
    ) -> None:
        self.config = config
        self.discovery = Discovery(self._discover)
        self._transport = transport
        self._deadline = deadline
        self._manager = manager
        self._headers = headers

    async def _exchange(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        subject: str,
        query: Mapping[str, str] = _NOTHING,
        content_type: str = JSON,
        may_repeat: bool = False,
    ) -> bytes:
        request = self._request(
            method,
            path,
            body,
            subject=subject,
            query=query,
            content_type=content_type,
            may_repeat=may_repeat,
        )
        return await self._transport.exchange(request)

    def _request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        subject: str,
        query: Mapping[str, str] = _NOTHING,
        content_type: str = JSON,
        accept: str = JSON,
        may_repeat: bool = False,
        idle: float | None = None,
    ) -> Request:
        return Request(
            method=method,
            path=path,
            deadline=self._deadline,
            subject=subject,
            query=query,
            body=None if body is None else msgspec.json.encode(body),
            content_type=content_type,
            accept=accept,
            headers=self._headers,
            may_repeat=may_repeat,
            idle=idle,
        )

    async def _one(
        self,
        verb: str,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None,
        subresource: str | None = None,
    ) -> tuple[str, str]:
        """The path of one object, and the words for what is done to it."""
        resource = await self.discovery.find(api_version, kind)
        namespace = self._namespace(resource, namespace)
        url = resource.url(namespace, name, subresource)
        return url, subject_of(verb, kind, namespace, name, subresource)

    async def _addressed(
        self, verb: str, obj: Object, subresource: str | None = None
    ) -> tuple[str, str]:
        """As `_one`, for an object that says itself what it is and where."""
        metadata = obj["metadata"]
        return await self._one(
            verb,
            obj["apiVersion"],
            obj["kind"],
            metadata.get("name", ""),
            metadata.get("namespace"),
            subresource,
        )

    def _namespace(self, resource: Resource, namespace: str | None) -> str | None:
        if not resource.namespaced:
            return None
        return namespace or self.config.namespace

    async def _discover(self, path: str) -> bytes:
        return await self._exchange("GET", path, subject="", may_repeat=True)


def subject_of(
    verb: str,
    kind: str,
    namespace: str | None,
    name: str | None = None,
    subresource: str | None = None,
) -> str:
    """`apply Deployment/scale team/web`; without a name, the namespace that was asked."""
    what = f"{kind}/{subresource}" if subresource else kind
    if name:
        return f"{verb} {what} {namespace}/{name}" if namespace else f"{verb} {what} {name}"
    return f"{verb} {what} in {namespace or 'all namespaces'}"


def decoded(raw: bytes | msgspec.Raw) -> Object:
    return dict(msgspec.json.decode(raw))
