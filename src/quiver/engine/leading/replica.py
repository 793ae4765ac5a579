"""One tenure at work: it beats, follows what the others do, and moves shards.

At rest it costs one write in each retry period: the map and the heartbeats of the others come by
a single watch. Our own heartbeat comes back by it too, so that silence means a dead connection.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import NoReturn

from quiver.engine.leading.complaints import Complaints
from quiver.engine.leading.duty import Callbacks
from quiver.engine.leading.keeping import Keeping
from quiver.engine.leading.leases import Lease, Timing
from quiver.engine.leading.roster import MapVanished, Roster, Snapshot
from quiver.engine.leading.shardmap import ShardMap, UnreadableMap
from quiver.engine.leading.tenure import Tenure
from quiver.kube import Conflict, KubeError

log = logging.getLogger(__name__)


class _Ended(Exception):
    """The tenure is over."""


class Replica:
    def __init__(
        self,
        roster: Roster,
        tenure: Tenure,
        keeping: Keeping,
        map_lease: Lease,
        *,
        callbacks: Callbacks,
        timing: Timing,
        now: Callable[[], float],
        pause: Callable[[], float],
    ) -> None:
        self.tenure = tenure
        self.has_left = False
        """Whether it ended in order, with everything given away."""
        self._roster = roster
        self._keeping = keeping
        self._map_lease = map_lease
        self._callbacks = callbacks
        self._timing = timing
        self._now = now
        self._pause = pause
        self._looked_at = now()
        self._news = asyncio.Event()
        self._news.set()
        self._drains = asyncio.TaskGroup()
        self._complaints = Complaints(log)

    async def run(self, since: str) -> None:
        """Work until the tenure is lost, or `leave` has given everything away."""
        try:
            async with self._drains as group:
                group.create_task(self._beat())
                group.create_task(self._follow(since))
                group.create_task(self._balance())
        except* _Ended:
            pass
        except* MapVanished as vanished:
            log.warning("Tenure %s ends: %s.", self.tenure.me, vanished.exceptions[0])
        finally:
            self._end()

    def leave(self) -> None:
        self.tenure.leaving = True
        self._news.set()

    async def _beat(self) -> NoReturn:
        reason = await self._keeping.until_lost()
        # Before anything is awaited: what is in work has little time to end.
        self._end()
        log.error("Lost Lease %s and all shards: %s.", self.tenure.me, reason)
        raise _Ended

    def _end(self) -> None:
        if lost := self.tenure.end():
            self._callbacks.on_lost(lost)

    async def _follow(self, since: str) -> NoReturn:
        while True:
            try:
                await self._follow_once(since)
            except KubeError as error:
                self._complaints.about(f"Lost sight of the other replicas, looking again: {error}")
                await asyncio.sleep(self._pause())
            since = await self._look_until_seen()

    async def _follow_once(self, since: str) -> None:
        events = self._roster.watch(since, idle=self._timing.renew_deadline)
        async with aclosing(events):
            async for event, lease in events:
                self._learn(lease, is_gone=event == "DELETED")

    async def _look_until_seen(self) -> str:
        while True:
            try:
                return (await self._look()).version
            except (KubeError, UnreadableMap) as error:
                self._complaints.about(f"Cannot look at the shards of {self._roster}: {error}")
                await asyncio.sleep(self._pause())

    def _learn(self, lease: Lease, *, is_gone: bool) -> None:
        name, at = lease.name, self._now()
        if name == self._roster.map_name:
            self._learn_map(lease, is_gone=is_gone)
        elif name == self.tenure.me:
            return
        elif is_gone:
            self.tenure.saw_gone(name, at=at)
            self._news.set()
        elif self.tenure.saw(name, lease.version, duration=lease.duration, at=at):
            self._news.set()

    def _learn_map(self, lease: Lease, *, is_gone: bool) -> None:
        if is_gone or lease.uid != self._map_lease.uid:
            raise MapVanished(f"the shard map {self._roster} was deleted")
        try:
            self._accept(lease)
        except UnreadableMap as error:
            self._complaints.about(str(error))

    def _accept(self, lease: Lease) -> None:
        """Take note of the map, unless a newer one is known."""
        shard_map = self._roster.decoded(lease)
        if shard_map.version < self.tenure.map.version:
            return
        self._map_lease = lease
        if shard_map.version > self.tenure.map.version:
            gained, robbed = self.tenure.saw_map(shard_map, at=self._now())
            self._news.set()
            if robbed:
                self._callbacks.on_lost(robbed)
            if gained:
                self._callbacks.on_gained(gained)

    async def _look(self) -> Snapshot:
        """See all Leases as they are, which a watch only tells with some delay."""
        seen = await self._in_time().look()
        self.tenure.saw_all(seen.others(self.tenure.me), at=self._now())
        if seen.map_lease is None or seen.map_lease.uid != self._map_lease.uid:
            raise MapVanished(f"the shard map {self._roster} was deleted")
        self._accept(seen.map_lease)
        self._news.set()
        return seen

    async def _balance(self) -> NoReturn:
        while not self.tenure.has_left:
            await self._until_news()
            try:
                await self._move()
            except (KubeError, UnreadableMap) as error:
                # The write may have happened: only the server knows what the map is now.
                self._complaints.about(f"Cannot move shards of {self._roster}: {error}")
                await asyncio.sleep(self._pause())
                await self._look_until_seen()
            else:
                self._complaints.settled()
        self.has_left = True
        raise _Ended

    async def _until_news(self) -> None:
        """Wait for a change, or until one of the others would be dead."""
        # Not after now: who died since we looked would never be noticed.
        deadline = self.tenure.next_death(self._looked_at)
        wait = None if deadline is None else max(0.0, deadline - self._now())
        try:
            async with asyncio.timeout(wait):
                await self._news.wait()
        except TimeoutError:
            return
        self._news.clear()

    async def _move(self) -> None:
        at = self._looked_at = self._now()
        moves = self.tenure.moves(at)
        if moves.bereaved:
            # `at` is before the look: who is dead at `at` had its whole time, and did not use it.
            await self._look()
            moves = self.tenure.moves(at)
        self._give(moves.give)
        if moves.take or self.tenure.drained:
            await self._write(self.tenure.after(moves))
        await self._sweep(at)

    def _give(self, shards: frozenset[int]) -> None:
        if shards:
            self.tenure.begin_giving(shards)
            self._drains.create_task(self._drain(shards))

    async def _drain(self, shards: frozenset[int]) -> None:
        await self._callbacks.on_losing(shards)
        self.tenure.has_drained(shards)
        self._news.set()

    async def _write(self, shard_map: ShardMap) -> None:
        roster = self._in_time()
        try:
            written = await roster.write_map(self._map_lease, shard_map)
        except Conflict:
            written = await roster.read_map()
            self._news.set()
        if written.uid != self._map_lease.uid:
            raise MapVanished(f"the shard map {self._roster} was deleted")
        self._accept(written)

    async def _sweep(self, at: float) -> None:
        for name, version in self.tenure.litter(at).items():
            try:
                await self._in_time().leases.delete(name, version=version)
            except Conflict:
                log.info("Lease %s changed while it was swept: it stays.", name)

    def _in_time(self) -> Roster:
        """No request of ours outlives our Lease."""
        left = self.tenure.hold.valid_until - self._now()
        if left <= 0:
            raise _Ended
        return self._roster.within(min(self._timing.attempt, left))
