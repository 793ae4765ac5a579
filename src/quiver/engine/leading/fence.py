"""No write outlives the lease: Leases fence nothing by themselves.

A write that is still on its way when the lease ends could land after the successor's. So a writer
without a valid lease does not begin, and one whose lease ends meanwhile is cut off.
"""

import asyncio
from collections.abc import Callable

from quiver.kube.interceptor import Send
from quiver.kube.request import Answer, Request


class LeaseEnded(ConnectionError):
    """An error as of a broken connection: whether the write happened is not known."""


class Fence:
    """An interceptor. Each write asks for `valid_until`, on the clock of `asyncio.timeout_at`."""

    def __init__(self, valid_until: Callable[[], float]) -> None:
        self._valid_until = valid_until

    async def __call__(self, request: Request, send: Send) -> Answer:
        if request.method == "GET":
            return await send(request)
        until = self._valid_until()
        if until <= asyncio.get_running_loop().time():
            raise LeaseEnded("this process does not hold the lease that it writes under")
        try:
            async with asyncio.timeout_at(until):
                return await send(request)
        except TimeoutError as error:
            raise LeaseEnded("the lease ended before the answer came") from error
