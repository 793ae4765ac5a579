"""Who may work: this process alone, the elected one of several, or each on its shards."""

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

from quiver.engine.kinds import Key
from quiver.engine.leading.duty import Callbacks
from quiver.engine.leading.election import Election
from quiver.engine.leading.shards import Shards


class Leadership(Protocol):
    @property
    def valid_until(self) -> float:
        """Until when writes may be under way, on the clock of `asyncio.timeout_at`."""

    def owns(self, key: Key) -> bool: ...

    def shard_of(self, key: Key) -> int: ...

    async def acquired(self) -> None:
        """Wait until this process may work."""

    async def lost(self) -> None:
        """Wait until it may no more."""

    async def release(self) -> None:
        """Let a successor take over at once. Nothing is in work any more."""

    def attend(self, callbacks: Callbacks) -> None:
        """Who has to be told when shards come and go; before `acquired`."""


class Alone:
    """No other process exists, or it would not matter."""

    valid_until = math.inf

    def owns(self, key: Key) -> bool:  # noqa: ARG002
        return True

    def shard_of(self, key: Key) -> int:  # noqa: ARG002
        return 0

    async def acquired(self) -> None:
        return

    async def lost(self) -> None:
        await asyncio.Event().wait()

    async def release(self) -> None:
        return

    def attend(self, callbacks: Callbacks) -> None:
        """There is one shard, and it stays."""


class Elected:
    """One of several candidates works, on everything."""

    def __init__(self, election: Election, on_change: Callable[[bool], None]) -> None:
        self._election = election
        self._on_change = on_change

    @property
    def valid_until(self) -> float:
        return self._election.valid_until

    def owns(self, key: Key) -> bool:  # noqa: ARG002
        return True

    def shard_of(self, key: Key) -> int:  # noqa: ARG002
        return 0

    async def acquired(self) -> None:
        await self._election.__aenter__()
        await self._election.acquired()
        self._on_change(True)

    async def lost(self) -> None:
        await self._election.lost()
        self._on_change(False)

    async def release(self) -> None:
        await self._election.release()
        self._on_change(False)

    def attend(self, callbacks: Callbacks) -> None:
        """There is one shard, and losing it ends the process."""


class Sharded:
    """All replicas work, each on the keys of its shards."""

    def __init__(self, make: Callable[[Callbacks], Shards]) -> None:
        self._make = make
        self._shards = make(Callbacks())
        self._running: asyncio.Task[None] | None = None

    @property
    def valid_until(self) -> float:
        return self._shards.valid_until

    def owns(self, key: Key) -> bool:
        return self._shards.owns(key)

    def shard_of(self, key: Key) -> int:
        return self._shards.shard_of(key)

    def attend(self, callbacks: Callbacks) -> None:
        self._shards = self._make(callbacks)

    async def acquired(self) -> None:
        """Shards come one by one; each key is worked on from when its own is here."""
        self._running = asyncio.create_task(self._shards.run(), name="shards")

    async def lost(self) -> None:
        assert self._running is not None
        await self._running

    async def release(self) -> None:
        await self._shards.release()
