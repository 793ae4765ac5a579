"""The benchmark's own eyes: watches only, so that they do not count as calls."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from bench.benchmark import BenchError
from bench.engine.sets import NAMESPACE
from quiver.kube import Client


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    generation: int = 0


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    observed_generation: int = 0


class _Spec(msgspec.Struct, frozen=True, gc=False):
    replicas: int = 0


class Seen(msgspec.Struct, frozen=True, gc=False):
    """As much of an object as the benchmark looks at."""

    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_observed(self) -> bool:
        return self.metadata.generation > 0 and (
            self.status.observed_generation == self.metadata.generation
        )


class View:
    """The latest of each object of a kind, and when a condition on them came true."""

    def __init__(self) -> None:
        self.objects: dict[str, Seen] = {}
        self.observed: set[str] = set()
        self._changed = asyncio.Event()
        self._changed_at = 0.0

    def note(self, event_type: str, seen: Seen) -> None:
        name = seen.metadata.name
        self._changed_at = time.monotonic()
        self.observed.discard(name)
        if event_type == "DELETED":
            self.objects.pop(name, None)
        else:
            self.objects[name] = seen
            if seen.is_observed:
                self.observed.add(name)
        self._changed.set()

    async def until(self, holds: Callable[["View"], bool], *, within: float, what: str) -> float:
        """The moment of the change that made it true."""
        try:
            async with asyncio.timeout(within):
                while not holds(self):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise BenchError(f"after {within:.0f} s {what} had not happened") from error
        return self._changed_at


@asynccontextmanager
async def view_of(client: Client, api_version: str, kind: str) -> AsyncIterator[View]:
    view = View()

    async def look() -> None:
        decoder = msgspec.json.Decoder(Seen)
        async for event in client.watch_raw(
            api_version, kind, namespace=NAMESPACE, initial_events=True
        ):
            view.note(event.type, decoder.decode(event.object))

    async with asyncio.TaskGroup() as eyes:
        watch = eyes.create_task(look())
        yield view
        watch.cancel()
