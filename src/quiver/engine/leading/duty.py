"""Which keys this process works on: all, or those of its shards."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from quiver.engine.kinds import Key


class Ownership(Protocol):
    @property
    def valid_until(self) -> float:
        """On the clock of `asyncio.timeout_at`: no write may last longer."""

    def owns(self, key: Key) -> bool:
        """Whether the key may be worked on now. Ask before each reconcile."""

    def shard_of(self, key: Key) -> int: ...

    async def run(self) -> None:
        """Be a replica, until `release`."""

    async def release(self) -> None:
        """Give everything away, after it was drained, and end `run`."""


def _ignore(_: frozenset[int]) -> None:
    pass


async def _nothing_to_drain(_: frozenset[int]) -> None:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Callbacks:
    """What the engine does when shards come and go."""

    on_gained: Callable[[frozenset[int]], None] = _ignore
    """They are ours: look at all their keys."""
    on_losing: Callable[[frozenset[int]], Awaitable[None]] = _nothing_to_drain
    """Another should have them. `owns` says no already; return when no key of theirs is in work."""
    on_lost: Callable[[frozenset[int]], None] = _ignore
    """They may soon be another's, nobody asked us: cancel what works on their keys."""


class Everything:
    """One process works on every key: there is a single shard, and it stays."""

    valid_until = math.inf

    def __init__(self, callbacks: Callbacks | None = None) -> None:
        self._callbacks = callbacks or Callbacks()
        self._released = asyncio.Event()

    def owns(self, key: Key) -> bool:  # noqa: ARG002
        return not self._released.is_set()

    def shard_of(self, key: Key) -> int:  # noqa: ARG002
        return 0

    async def run(self) -> None:
        self._callbacks.on_gained(frozenset({0}))
        await self._released.wait()

    async def release(self) -> None:
        self._released.set()
        await self._callbacks.on_losing(frozenset({0}))
