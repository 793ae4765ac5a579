"""Connections whose maker does not wait for them any more."""

import asyncio

import pytest

from quiver.kube.handshakes import Handshakes


async def test_who_waits_gets_what_was_made() -> None:
    async def make() -> str:
        return "connection"

    assert await Handshakes().made(make(), lambda _: None) == "connection"


async def test_an_error_while_making_is_told() -> None:
    async def fail() -> str:
        raise ConnectionRefusedError("nobody there")

    with pytest.raises(ConnectionRefusedError, match="nobody there"):
        await Handshakes().made(fail(), lambda _: None)


async def test_what_is_made_too_late_is_dropped() -> None:
    handshakes, may_end, dropped = Handshakes(), asyncio.Event(), list[str]()

    async def make() -> str:
        await may_end.wait()
        return "connection"

    waiting = asyncio.create_task(handshakes.made(make(), dropped.append))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert dropped == []
    may_end.set()
    await handshakes.settled()
    assert dropped == ["connection"]
