"""An operator beside the program that started it: for tests."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from quiver.engine.controller import Controller
from quiver.engine.operate import Options, operate
from quiver.kube import KubeConfig
from quiver.kube.interceptor import Interceptor


@asynccontextmanager
async def running(
    config: KubeConfig,
    controllers: Sequence[Controller[Any]],
    options: Options | None = None,
    *,
    interceptor: Interceptor | None = None,
) -> AsyncIterator[None]:
    """The whole operator, from when it is at work until the block ends.

    Limit it to the namespaces of its test. What ended it early is raised at the end of the block.
    """
    stop, started = asyncio.Event(), asyncio.Event()
    operating = asyncio.create_task(
        operate(
            config,
            controllers,
            options or Options(),
            stop=stop,
            started=started,
            interceptor=interceptor,
        )
    )
    try:
        await _first_of(operating, started)
        yield
    finally:
        stop.set()
        await operating


async def _first_of(operating: asyncio.Task[int], started: asyncio.Event) -> None:
    waiting = asyncio.create_task(started.wait())
    await asyncio.wait([operating, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
