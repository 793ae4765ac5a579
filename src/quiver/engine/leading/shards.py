"""Several replicas at work side by side, each on the keys of its own shards.

    shards = Shards(client, name="quiver", namespace=ns, identity=own_identity(),
                    callbacks=Callbacks(on_gained=..., on_losing=..., on_lost=...))
    running = asyncio.create_task(shards.run())
    ...reconcile a key only while `shards.owns(key)`...
    await shards.release()

Each replica keeps one heartbeat Lease, and all share one map, which they change by
compare-and-swap. There is no leader: every replica computes the same fair share (`shardmap.py`),
takes what is its own, and gives what is not. Why no key has two workers: `tenure.py`.

A replica that cannot renew its heartbeat in time loses all shards at once, and joins again under
a new name when it can.
"""

import asyncio
import logging
import math
import random
import time
import uuid
from collections.abc import Callable
from datetime import datetime

from quiver.engine.kinds import Key
from quiver.engine.leading.complaints import Complaints
from quiver.engine.leading.duty import Callbacks
from quiver.engine.leading.keeping import Keeping
from quiver.engine.leading.leases import Hold, Lease, Leases, Timing, wall_clock
from quiver.engine.leading.replica import Replica
from quiver.engine.leading.roster import MapVanished, Roster
from quiver.engine.leading.shardmap import SHARDS, UnreadableMap, shard_of
from quiver.engine.leading.tenure import Tenure
from quiver.kube import Client, Forbidden, KubeError

log = logging.getLogger(__name__)

_SPREAD = 0.2


def _token() -> str:
    return uuid.uuid4().hex[:10]


class Shards:
    def __init__(
        self,
        client: Client,
        *,
        name: str,
        namespace: str,
        identity: str,
        callbacks: Callbacks | None = None,
        timing: Timing | None = None,
        shards: int = SHARDS,
        now: Callable[[], float] = time.monotonic,
        today: Callable[[], datetime] = wall_clock,
        jitter: Callable[[], float] = random.random,
        token: Callable[[], str] = _token,
    ) -> None:
        self.identity = identity
        self._callbacks = callbacks or Callbacks()
        self._timing = timing or Timing()
        self._roster = Roster(Leases(client, namespace), name, shards)
        self._shards = shards
        self._now, self._today, self._jitter, self._token = now, today, jitter, token
        self._replica: Replica | None = None
        self._former: set[str] = set()
        self._leaving = asyncio.Event()
        self._ended = asyncio.Event()
        self._complaints = Complaints(log)
        self._is_running = False

    @property
    def valid_until(self) -> float:
        """On the clock of `asyncio.timeout_at`: no write may last longer."""
        return self._replica.tenure.hold.valid_until if self._replica else -math.inf

    @property
    def owned(self) -> frozenset[int]:
        """The shards that are ours now."""
        is_valid = self._now() < self.valid_until
        return self._replica.tenure.held if self._replica and is_valid else frozenset()

    def owns(self, key: Key) -> bool:
        replica = self._replica
        return replica is not None and replica.tenure.owns(self.shard_of(key), self._now())

    def shard_of(self, key: Key) -> int:
        return shard_of(key, self._shards)

    async def run(self) -> None:
        """Be one of the replicas, until `release`."""
        self._is_running = True
        try:
            while not self._leaving.is_set():
                await self._serve()
        finally:
            self._ended.set()

    async def release(self) -> None:
        """Drain and give away all shards, so that others take them at once, and end `run`."""
        self._leaving.set()
        if self._replica:
            self._replica.leave()
        if self._is_running:
            await self._ended.wait()

    async def _serve(self) -> None:
        try:
            self._replica, since = await self._join()
        except (KubeError, UnreadableMap, MapVanished) as error:
            self._complaints.about(self._why_not(error))
            await self._pause_unless_leaving()
            return
        self._complaints.settled()
        if self._leaving.is_set():
            self._replica.leave()
        await self._run_tenure(self._replica, since)

    async def _run_tenure(self, replica: Replica, since: str) -> None:
        name = replica.tenure.me
        log.info("Replica %s works as %s.", self.identity, name)
        await replica.run(since)
        self._former.add(name)
        if replica.has_left:
            await self._remove(name)

    async def _join(self) -> tuple[Replica, str]:
        """Take up a new tenure; the answer's second is the version to watch from."""
        roster = self._roster.within(self._timing.attempt)
        await roster.ensure_map(await roster.look())
        lease, hold = await self._first_beat(roster)
        seen = await roster.look()
        if seen.map_lease is None:
            raise MapVanished(f"the shard map {roster} was deleted")
        tenure = Tenure(
            lease.name,
            hold,
            roster.decoded(seen.map_lease),
            at=self._now(),
            duration=self._timing.duration,
            predecessors=frozenset(self._former),
        )
        tenure.saw_all(seen.others(lease.name), at=self._now())
        return self._replica_of(tenure, lease, seen.map_lease), seen.version

    async def _first_beat(self, roster: Roster) -> tuple[Lease, Hold]:
        beat = roster.heartbeat(self._token()).held(
            self.identity, at=self._today(), duration=self._timing.duration
        )
        sent = self._now()
        lease = await roster.leases.create(beat)
        return lease, Hold(sent=sent, renew_deadline=self._timing.renew_deadline)

    def _replica_of(self, tenure: Tenure, lease: Lease, map_lease: Lease) -> Replica:
        keeping = Keeping(
            self._roster.leases,
            lease,
            tenure.hold,
            timing=self._timing,
            now=self._now,
            today=self._today,
            labels=self._roster.labels,
        )
        return Replica(
            self._roster,
            tenure,
            keeping,
            map_lease,
            callbacks=self._callbacks,
            timing=self._timing,
            now=self._now,
            pause=self._pause,
        )

    async def _remove(self, name: str) -> None:
        try:
            await self._roster.within(self._timing.attempt).leases.delete(name)
        except KubeError as error:
            log.warning("Cannot delete Lease %s, the other replicas wait for it: %s", name, error)

    def _pause(self) -> float:
        return self._timing.retry * (1 + _SPREAD * self._jitter())

    async def _pause_unless_leaving(self) -> None:
        try:
            async with asyncio.timeout(self._pause()):
                await self._leaving.wait()
        except TimeoutError:
            return

    def _why_not(self, error: Exception) -> str:
        where = f"namespace {self._roster.leases.namespace}"
        rights = "get, list, watch, create, update and delete"
        hint = f" (grant {rights} on leases in {where})" if isinstance(error, Forbidden) else ""
        return f"Cannot join the replicas of {self._roster}, trying again: {error}{hint}"
