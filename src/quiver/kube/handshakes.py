"""Connections that are not abandoned half-made.

A task that is cancelled while asyncio shakes hands over TLS may leave the socket open for good
(the transport exists, but its protocol does not know of it yet). So each connection is made by a
task of its own: who waits for it may go, and what nobody waits for any more is closed once it is
there.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds for connections that are still being made when the client is closed."""


class Handshakes:
    def __init__(self) -> None:
        self._making: set[asyncio.Task[Any]] = set()

    async def made(self, making: Coroutine[Any, Any, T], drop: Callable[[T], object]) -> T:
        task = asyncio.create_task(making)
        self._making.add(task)
        task.add_done_callback(self._making.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(lambda done: _drop(done, drop))
            raise

    async def settled(self) -> None:
        """Wait a moment for what is being made, and cut off the rest."""
        making = list(self._making)
        if not making:
            return
        await asyncio.wait(making, timeout=PATIENCE)
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)


def _drop(done: "asyncio.Task[T]", drop: Callable[[T], object]) -> None:
    if not done.cancelled() and done.exception() is None:
        drop(done.result())
