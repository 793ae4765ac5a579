"""Leader election: of several candidates one leads, and has stopped before the next one does.

    async with Election(client, name="quiver", namespace=ns, identity=own_identity()) as election:
        await election.acquired()
        ...work, each request with a deadline before `election.valid_until`...
        await election.lost()
    # Leaving the block hands the lease over: stop working before.

Compatible with client-go: the same Lease, so that the two can be candidates for one another. Who
loses the lease does not run again by itself: the process ends and starts anew, as the state
of a leader that was cut off is not worth saving. Deleting the Lease makes the leader step down.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from types import TracebackType
from typing import Self

from quiver.engine.leading.complaints import Complaints
from quiver.engine.leading.keeping import Keeping
from quiver.engine.leading.leases import (
    Hold,
    Lease,
    Leases,
    Sighting,
    Timing,
    new_lease,
    wall_clock,
)
from quiver.kube import Client, Conflict, Forbidden, KubeError, NotFound

log = logging.getLogger(__name__)

_SPREAD = 0.2
_RELEASE_ATTEMPTS = 3


class CandidacyEnded(Exception):
    """We were not elected, and are no candidate any more."""


class Election:
    def __init__(
        self,
        client: Client,
        *,
        name: str,
        namespace: str,
        identity: str,
        duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry: float = 2.0,
        # The clock of `loop.time`, which could only be asked for inside of a running loop.
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        today: Callable[[], datetime] = wall_clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self.identity = identity
        self._timing = Timing(duration=duration, renew_deadline=renew_deadline, retry=retry)
        self._leases = Leases(client, namespace)
        self._now, self._sleep, self._today, self._jitter = now, sleep, today, jitter
        self._sighting: Sighting | None = None
        self._keeping: Keeping | None = None
        self._decided = asyncio.Event()
        self._lost = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._complaints = Complaints(log)

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.run(), name=f"election {self}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.release()

    def __str__(self) -> str:
        return f"{self._leases.namespace}/{self.name}"

    @property
    def valid_until(self) -> float:
        """On the clock of `asyncio.timeout_at`: no request of a leader may last longer."""
        return self._keeping.hold.valid_until if self._keeping else float("-inf")

    def leads(self) -> bool:
        return self._now() < self.valid_until

    async def acquired(self) -> None:
        """Wait until we lead."""
        await self._decided.wait()
        if self._keeping is None:
            raise CandidacyEnded(f"The candidacy for Lease {self} ended before it was won")

    async def lost(self) -> None:
        """Wait until we lead no more, or never will."""
        await self._lost.wait()

    async def run(self) -> None:
        """Be a candidate, then the leader; return when that is over."""
        try:
            self._keeping = await self._campaign()
            log.info("Leading: %s holds Lease %s.", self.identity, self)
            self._decided.set()
            reason = await self._keeping.until_lost()
            log.error("Lost Lease %s: %s.", self, reason)
        finally:
            self._step_down()

    async def release(self) -> None:
        """End leadership, or candidacy, and let a successor take over at once.

        Stop working before: what still runs would run beside the successor's work.
        """
        self._step_down()
        await self._end_run()
        try:
            await self._give_up_lease()
        except KubeError as error:
            wait = self._timing.duration
            log.warning("Cannot release Lease %s, a successor waits %g s: %s", self, wait, error)

    def _step_down(self) -> None:
        if self._keeping:
            self._keeping.hold.end()
        self._decided.set()
        self._lost.set()

    async def _end_run(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
            await asyncio.wait([running])
            if not running.cancelled():
                running.result()

    async def _campaign(self) -> Keeping:
        while True:
            try:
                keeping = await self._try_to_acquire()
            except Conflict:
                log.debug("Another candidate was quicker to write Lease %s.", self)
            except KubeError as error:
                self._complaints.about(self._why_not(error))
            else:
                self._complaints.settled()
                if keeping:
                    return keeping
            await self._sleep(self._timing.retry * (1 + _SPREAD * self._jitter()))

    async def _try_to_acquire(self) -> Keeping | None:
        leases = self._leases.within(self._timing.attempt)
        found = await leases.read(self.name)
        if not self._may_take(found):
            return None
        sent = self._now()
        ours = (found or new_lease(self.name, self._leases.namespace)).held(
            self.identity, at=self._today(), duration=self._timing.duration
        )
        written = await (leases.swap(ours) if found else leases.create(ours))
        hold = Hold(sent=sent, renew_deadline=self._timing.renew_deadline)
        return self._keeper(written, hold) if hold.is_valid(self._now()) else None

    def _may_take(self, found: Lease | None) -> bool:
        """It is free, ours already (an answer was lost), or its holder had time to renew it.

        A Lease that vanished is waited out as well: its holder may not know yet.
        """
        at = self._now()
        if found is not None and found.holder in ("", self.identity):
            return True
        if found is None and self._sighting is None:
            return True
        version = found.version if found else ""
        duration = found.duration if found else None
        before = self._sighting or Sighting("", at, self._timing.duration)
        self._sighting = before.again(version, at=at, duration=duration)
        return at >= self._sighting.until

    def _keeper(self, lease: Lease, hold: Hold) -> Keeping:
        return Keeping(
            self._leases,
            lease,
            hold,
            timing=self._timing,
            now=self._now,
            sleep=self._sleep,
            today=self._today,
        )

    async def _give_up_lease(self) -> None:
        leases = self._leases.within(self._timing.attempt)
        for _ in range(_RELEASE_ATTEMPTS):
            found = await leases.read(self.name)
            if found is None or found.holder != self.identity:
                return
            try:
                await leases.swap(found.released(at=self._today()))
            except Conflict:
                continue
            log.info("Released Lease %s.", self)
            return

    def _why_not(self, error: KubeError) -> str:
        return f"Cannot become the leader, trying again: {error}{_remedy(error, self._leases)}"


def _remedy(error: KubeError, leases: Leases) -> str:
    where = f"namespace {leases.namespace}"
    match error:
        case Forbidden():
            return f" (grant get, create and update on leases in {where})"
        case NotFound():
            return f" (create {where}, or choose another one)"
        case _:
            return ""
