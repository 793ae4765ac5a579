"""Learning at once that one object was changed or deleted."""

import asyncio
import logging
from contextlib import aclosing

from quiver.engine.kinds import Kind
from quiver.kube import Client, KubeError
from quiver.kube.backoff import Backoff

log = logging.getLogger(__name__)


async def notice_changes(
    client: Client,
    kind: Kind,
    name: str,
    namespace: str | None,
    *,
    wake: asyncio.Event,
    backoff: Backoff,
) -> None:
    """Sets `wake` after each change, until cancelled.

    While the watch is broken, or not allowed, nobody is woken: have a timer beside it.
    """
    failures = 0
    while True:
        events = client.watch_raw(
            kind.api_version, kind.name, namespace=namespace,
            fields=f"metadata.name={name}", metadata_only=True,
        )  # fmt: skip
        try:
            async with aclosing(events):
                async for _ in events:
                    failures = 0
                    wake.set()
        except KubeError as error:
            failures += 1
            if failures == 1:
                log.info("changes of %s %s are noticed late: %s", kind, name, error)
        await backoff.sleep(backoff.pause(failures))
