"""Keeping a Lease: one renewal in each retry period, until it is lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from quiver.engine.leading.complaints import Complaints
from quiver.engine.leading.leases import Hold, Lease, Leases, Timing, wall_clock
from quiver.kube import Conflict, KubeError, NotFound

log = logging.getLogger(__name__)


class Keeping:
    """One Lease that is ours. `hold` says until when we may rely on it."""

    def __init__(
        self,
        leases: Leases,
        lease: Lease,
        hold: Hold,
        *,
        timing: Timing,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        today: Callable[[], datetime] = wall_clock,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.hold = hold
        self.lease = lease
        self._holder = lease.holder
        self._leases = leases
        self._timing = timing
        self._now = now
        self._sleep = sleep
        self._today = today
        self._labels = labels or {}
        self._complaints = Complaints(log)

    async def until_lost(self) -> str:
        """Renew until that is impossible; the answer is the reason."""
        reason = ""
        while not reason:
            await self._sleep(max(0.0, min(self._timing.retry, self._left())))
            reason = await self._lost_at_renewal()
        self.hold.end()
        return reason

    async def _lost_at_renewal(self) -> str:
        if self._left() <= 0:
            return f"it could not be renewed for {self._timing.renew_deadline:g} s"
        try:
            await self._renew()
        except Conflict:
            return await self._lost_to_another()
        except NotFound:
            return "it was deleted"
        except KubeError as error:
            self._complaints.about(f"Cannot renew Lease {self.lease.name}, trying again: {error}")
        else:
            self._complaints.settled()
        return ""

    async def _renew(self) -> None:
        # Counted from before the request: nobody saw the renewal earlier than that.
        sent = self._now()
        renewed = self.lease.labelled(self._labels).held(
            self._holder, at=self._today(), duration=self._timing.duration
        )
        self.lease = await self._in_time().swap(renewed)
        self.hold.renewed(sent=sent, at=self._now())

    async def _lost_to_another(self) -> str:
        """Somebody touched the Lease, or our own renewal came through unheard: look, go on."""
        if self._left() <= 0:
            return ""
        try:
            found = await self._in_time().read(self.lease.name)
            if found is None:
                return "it was deleted"
            if found.holder != self._holder:
                return f"{found.holder or 'nobody'} holds it now"
            self.lease = found
            await self._renew()
        except KubeError as error:
            self._complaints.about(f"Cannot renew Lease {self.lease.name}, trying again: {error}")
        return ""

    def _in_time(self) -> Leases:
        return self._leases.within(min(self._timing.attempt, self._left()))

    def _left(self) -> float:
        return self.hold.valid_until - self._now()
