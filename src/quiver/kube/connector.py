"""Connections that are not abandoned half-made.

A task that is cancelled while asyncio shakes hands over TLS may leave the socket open for good
(the transport exists, but its protocol does not know of it yet). So a connection is made by a task
of its own: who waits for it may go, and what nobody waits for any more is closed when it is there.
"""

import asyncio
from typing import Any

import aiohttp

PATIENCE = 1.0
"""Seconds for connections that are still being made when the client is closed."""


class Connector(aiohttp.TCPConnector):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._making: set[asyncio.Task[Any]] = set()

    async def _create_connection(self, *arguments: Any) -> Any:
        making = asyncio.create_task(super()._create_connection(*arguments))
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(_close)
            raise

    async def settled(self) -> None:
        """Wait for what is being made; each is then closed or in the pool."""
        if self._making:
            making = list(self._making)
            await asyncio.wait(making, timeout=PATIENCE)
            for task in making:
                task.cancel()
            await asyncio.gather(*making, return_exceptions=True)


def _close(making: "asyncio.Task[Any]") -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().close()


