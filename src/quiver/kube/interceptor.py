"""The seam under all requests, where tests put faults and others count calls.

An interceptor sees every attempt of every request, also those of discovery and of watches. It may
answer by itself, raise as a broken connection would (OSError), or pass the request on.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from quiver.kube.request import Answer, Request

Send: TypeAlias = Callable[[Request], Awaitable[Answer]]


class Interceptor(Protocol):
    async def __call__(self, request: Request, send: Send, /) -> Answer: ...
