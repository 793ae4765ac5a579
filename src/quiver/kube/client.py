"""One API server in the hands of a program.

Kinds are named as in a manifest, by `apiVersion` and `kind`; discovery finds the path. Where no
namespace is given, one object is looked for in that of the context, and lists and watches span
all. Reads and `apply` are repeated when the connection or the server fails, other writes are not:
after `Unreachable` such a write may have happened, and the caller has to look.
"""

import copy
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

from quiver.kube.backoff import Backoff
from quiver.kube.calls import Object, Objects, decoded
from quiver.kube.config import Impersonation, KubeConfig
from quiver.kube.events import WatchEvent
from quiver.kube.interceptor import Interceptor
from quiver.kube.reading import Reading
from quiver.kube.request import JSON
from quiver.kube.transport import Transport
from quiver.kube.watching import Watching
from quiver.kube.writing import Writing

__all__ = ["Client", "Object", "Objects", "WatchEvent"]


class Client(Reading, Writing, Watching):
    def __init__(
        self,
        config: KubeConfig,
        *,
        deadline: float = 30.0,
        manager: str = "quiver",
        connections: int = 64,
        backoff: Backoff | None = None,
        interceptor: Interceptor | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        transport = Transport(
            config,
            connections=connections,
            backoff=backoff,
            interceptor=interceptor,
            on_warning=on_warning,
        )
        headers = config.impersonation.headers if config.impersonation else ()
        super().__init__(config, transport, deadline=deadline, manager=manager, headers=headers)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    def within(self, deadline: float) -> "Client":
        """The same client and connections, with another deadline for each request."""
        return self._view(_deadline=deadline)

    def impersonating(self, who: Impersonation) -> "Client":
        """The same connections, acting as somebody else. What was discovered is shared."""
        return self._view(_headers=who.headers)

    def _view(self, **changed: object) -> "Client":
        view = copy.copy(self)
        vars(view).update(changed)
        return view

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        subject: str = "",
        idle: float | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The answer to a GET as it comes; `idle` is the longest silence."""
        request = self._request(
            "GET", path, subject=subject, query=query or {}, accept="*/*", idle=idle
        )
        return self._transport.stream(request)

    async def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Object:
        return decoded(await self.raw(method, path, body, query=query, content_type=content_type))

    async def raw(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        subject: str = "",
    ) -> bytes:
        """Any path of the server; errors call it `subject`. Only a GET is repeated."""
        return await self._exchange(
            method,
            path,
            body,
            subject=subject,
            query=query or {},
            content_type=content_type,
            may_repeat=method == "GET",
        )
