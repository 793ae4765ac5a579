"""Events on objects, for people who ask `kubectl describe` what happened and why.

    async with Recorder(client, controller="quiver.dev/site", instance=pod_name) as events:
        events.record(regarding(site), "Normal", "RolledOut", "3 of 3 replicas run 1.2", "RollOut")

`record` never waits and never fails: what cannot be written is dropped and counted in `counts`.
What is written when is decided in `eventseries.py`; here one task writes it, one request at a time.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from quiver.engine.kinds import EVENT
from quiver.engine.recording.eventbody import (
    NOTE_LIMIT,
    REASON_LIMIT,
    EventType,
    Regarding,
    cut,
    micro_time,
    regarding,
)
from quiver.engine.recording.eventseries import EventCounts, Facts, Series, SeriesBook
from quiver.kube import AlreadyExists, Client, Forbidden, KubeError, NotFound, Object

__all__ = ["EventCounts", "EventType", "Recorder", "Regarding", "regarding"]

MOST_WAITING = 1000
TRIES = 12
FLUSH_WITHIN = 5.0
TICK = 60.0
_DEADLINE = 10.0
_LONGEST_PAUSE = 10.0

_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Recorder:
    """Writes the Events of one controller. To be used on one event loop.

    `controller` must be a qualified name, such as `quiver.dev/site`; `instance` is the pod.
    """

    def __init__(
        self,
        client: Client,
        *,
        controller: str,
        instance: str,
        now: Callable[[], datetime] = utc_now,
        tick: float = TICK,
    ) -> None:
        self.counts = EventCounts()
        self._client = client.within(_DEADLINE)
        self._controller = controller
        self._instance = cut(instance, REASON_LIMIT)
        self._now = now
        self._tick = tick
        self._book = SeriesBook(self.counts)
        self._swept = now()
        self._waiting: deque[Series] = deque()
        self._woken = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name=f"events of {self._controller}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def record(
        self, about: Regarding, type_: EventType, reason: str, message: str, action: str
    ) -> None:
        """Say what happened to an object. No secrets: everyone who may read Events reads this."""
        if self._stopping.is_set():
            self.counts.dropped["stopped"] += 1
            return
        at = self._now()
        facts = Facts(about, type_, _word(reason), cut(message, NOTE_LIMIT), _word(action))
        series = self._book.observe(facts, at)
        if series is None:
            return
        if series.refused:
            self.counts.drop(series, "refused")
        elif series.wants_write(at):
            self._enqueue(series)

    async def stop(self, *, within: float = FLUSH_WITHIN) -> None:
        """Write what is not written yet, once and for so many seconds at most."""
        self._stopping.set()
        for series in list(self._book):
            if series.unwritten and not series.queued:
                self._enqueue(series)
        self._woken.set()
        if self._task is not None:
            await self._ended(self._task, within)
        for series in self._waiting:
            self.counts.drop(series, "stopped")
        self._waiting.clear()

    async def _ended(self, task: asyncio.Task[None], within: float) -> None:
        try:
            async with asyncio.timeout(within):
                await task
        except TimeoutError:
            _log.debug("%d Events were not written before the end", len(self._waiting))

    def _enqueue(self, series: Series) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self._lose(series, "queue full")
            return
        series.queued = True
        self._waiting.append(series)
        self._woken.set()

    def _lose(self, series: Series, reason: str) -> None:
        self._book.forget(series)
        self.counts.drop(series, reason)

    async def _run(self) -> None:
        while True:
            while self._waiting:
                await self._write(self._waiting.popleft())
                self._sweep()
            if self._stopping.is_set():
                return
            # No await from here to the wait: what is recorded in between would lie there.
            self._woken.clear()
            await self._wait()
            self._sweep()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._tick if len(self._book) else None):
                await self._woken.wait()
        except TimeoutError:
            return

    def _sweep(self) -> None:
        at = self._now()
        if abs((at - self._swept).total_seconds()) < self._tick:
            return
        self._swept = at
        for series in self._book.due(at):
            self._enqueue(series)

    async def _write(self, series: Series) -> None:
        series.queued = False
        if not series.unwritten:
            return
        count = series.count
        try:
            await self._send(series)
        except asyncio.CancelledError:
            self.counts.drop(series, "stopped")
            raise
        except KubeError as error:
            await self._failed(series, error)
        except Exception:
            # Whatever it is, the next Event may be fine, and nobody else would restart this task.
            _log.exception("an Event on %s could not be written", series.facts.about.name)
            self._refuse(series)
        else:
            series.written, series.written_at, series.tries = count, self._now(), 0
            self._failures = 0
            self.counts.written += 1

    async def _send(self, series: Series) -> None:
        if series.written:
            try:
                await self._patch(series)
            except NotFound:
                # The server forgets Events after an hour.
                await self._client.create(self._event(series))
            return
        try:
            await self._client.create(self._event(series))
        except AlreadyExists:
            # An earlier try succeeded, and its answer was lost.
            if series.count > 1:
                await self._patch(series)

    async def _patch(self, series: Series) -> None:
        namespace = series.facts.about.events_namespace
        await self._client.patch(
            EVENT.api_version, EVENT.name, series.name, series.repetition(), namespace
        )

    def _event(self, series: Series) -> Object:
        facts = series.facts
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"name": series.name, "namespace": facts.about.events_namespace},
            "eventTime": micro_time(series.first),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "regarding": facts.about.reference(),
            "type": facts.type,
            "reason": facts.reason,
            "note": facts.note,
            "action": facts.action,
            **series.repetition(),
        }

    async def _failed(self, series: Series, error: KubeError) -> None:
        if not error.is_transient:
            # A namespace that ends or is gone, and rights that were not given, are no news here.
            expected = isinstance(error, Forbidden | NotFound)
            _log.log(logging.DEBUG if expected else logging.WARNING, "an Event: %s", error)
            self._refuse(series)
            return
        series.tries += 1
        if self._stopping.is_set() or series.tries >= TRIES:
            _log.debug("an Event is given up: %s", error)
            self._lose(series, "unreachable")
            return
        self._enqueue(series)
        await self._pause()

    def _refuse(self, series: Series) -> None:
        series.refused = True
        self.counts.drop(series, "refused")

    async def _pause(self) -> None:
        """Longer the longer nothing could be written; cut short by the end."""
        pause = min(2.0**self._failures, _LONGEST_PAUSE)
        self._failures += 1
        try:
            async with asyncio.timeout(pause):
                await self._stopping.wait()
        except TimeoutError:
            return


def _word(text: str) -> str:
    """A reason or an action; the server refuses empty ones."""
    return cut(text, REASON_LIMIT) or "Unknown"
