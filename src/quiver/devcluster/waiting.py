"""Waiting for a condition, and saying what is still missing."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from quiver.devcluster.errors import DevClusterError
from quiver.kube.errors import KubeError


async def until(
    missing: Callable[[], Awaitable[str | None]],
    *,
    within: float,
    note: Callable[[str], None] = lambda _: None,
    every: float = 0.25,
) -> None:
    """Ask until nothing is missing; what was missing last goes into the error.

    An API server that does not answer, or says no, counts as something missing.
    """
    deadline = time.monotonic() + within
    while True:
        try:
            lack = await missing()
        except KubeError as error:
            lack = str(error)
        if lack is None:
            return
        if time.monotonic() > deadline:
            raise DevClusterError(f"after {within:.0f} s {lack}")
        note(lack)
        await asyncio.sleep(every)
