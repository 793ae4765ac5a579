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


def chained(*interceptors: Interceptor) -> Interceptor:
    """Several as one; the first sees a request first and its answer last."""
    if len(interceptors) == 1:
        return interceptors[0]
    first, *others = interceptors
    rest = chained(*others)

    async def both(request: Request, send: Send) -> Answer:
        return await first(request, lambda passed: rest(passed, send))

    return both
