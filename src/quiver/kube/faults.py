"""Faults to inject under a client, for tests: `Client(config, interceptor=Faults(...))`.

    faults = Faults()
    faults.add(lose_answer, when=method("POST"))
    faults.add(answer(429, "TooManyRequests", retry_after=1), times=3)

Each fault is an interceptor of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import msgspec
from multidict import CIMultiDict, CIMultiDictProxy

from quiver.kube.interceptor import Interceptor, Send
from quiver.kube.request import Answer, Request


@dataclass
class _Rule:
    fault: Interceptor
    when: Callable[[Request], bool]
    times: int | None

    def applies_to(self, request: Request) -> bool:
        return self.times != 0 and self.when(request)

    def use_up(self) -> None:
        if self.times is not None:
            self.times -= 1


class Faults:
    """The first rule that applies decides; requests without one pass. All are kept in `seen`."""

    def __init__(self) -> None:
        self.seen: list[Request] = []
        self._rules: list[_Rule] = []

    def add(
        self,
        fault: Interceptor,
        *,
        when: Callable[[Request], bool] = lambda _: True,
        times: int | None = 1,
    ) -> None:
        """`times=None` never ends."""
        self._rules.append(_Rule(fault, when, times))

    async def __call__(self, request: Request, send: Send) -> Answer:
        self.seen.append(request)
        for rule in self._rules:
            if rule.applies_to(request):
                rule.use_up()
                return await rule.fault(request, send)
        return await send(request)


def method(name: str) -> Callable[[Request], bool]:
    return lambda request: request.method == name


def is_watch(request: Request) -> bool:
    return request.query.get("watch") == "true"


async def refuse(request: Request, send: Send) -> Answer:  # noqa: ARG001
    """The server is not there."""
    raise ConnectionRefusedError("injected: connection refused")


async def lose_answer(request: Request, send: Send) -> Answer:
    """The server acts, and nobody hears of it."""
    await (await send(request)).read()
    raise ConnectionResetError("injected: the answer was lost")


def slow(seconds: float) -> Interceptor:
    async def fault(request: Request, send: Send) -> Answer:
        await asyncio.sleep(seconds)
        return await send(request)

    return fault


def answer(
    status: int, reason: str, message: str = "injected", *, retry_after: int | None = None
) -> Interceptor:
    """The server answers this, and does nothing."""

    async def fault(request: Request, send: Send) -> Answer:  # noqa: ARG001
        return CannedAnswer(status, reason, message, retry_after)

    return fault


def cut_after(events: int) -> Interceptor:
    """A watch breaks off after so many events."""

    async def fault(request: Request, send: Send) -> Answer:
        return _CutAnswer(await send(request), events)

    return fault


class CannedAnswer:
    def __init__(self, status: int, reason: str, message: str, retry_after: int | None) -> None:
        self.status = status
        asked = {} if retry_after is None else {"Retry-After": str(retry_after)}
        self.headers = CIMultiDictProxy(CIMultiDict(asked))
        fields = {"kind": "Status", "code": status, "reason": reason, "message": message}
        self._body = msgspec.json.encode(fields)

    async def read(self) -> bytes:
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        pass


class _CutAnswer:
    def __init__(self, whole: Answer, events: int) -> None:
        self._whole = whole
        self._events = events
        self.status = whole.status
        self.headers = whole.headers

    async def read(self) -> bytes:
        return await self._whole.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        left = self._events
        async for chunk in self._whole.chunks():
            for line in chunk.splitlines(keepends=True):
                if left == 0:
                    raise ConnectionResetError("injected: the watch was cut")
                yield line
                left -= line.endswith(b"\n")
        if left == 0:
            raise ConnectionResetError("injected: the watch was cut")

    def close(self) -> None:
        self._whole.close()
