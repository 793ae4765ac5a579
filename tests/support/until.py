"""Waiting, on the event loop, for what has no event of its own."""

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], object], *, within: float = 30.0) -> None:
    """A failure if it does not hold in time."""
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
