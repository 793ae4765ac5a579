"""Liveness checks that fail only when a restart would help.

A loop that stands still does not answer the probe at all, and needs no check. What a probe would
miss is a loop that crawls, and a worker that hangs although its reconcile was cancelled.
"""

import asyncio
from collections.abc import Callable

from quiver.engine.observe.checks import Check
from quiver.engine.queue import CallAt, Metrics, Timer

TICK = 5.0
LATE = 10.0
LATE_TICKS = 3


class LoopLag:
    """Measures how late the event loop is, with a timer every few seconds.

    One long pause is no failure: the process may have been stopped, or its node starved. Only
    several late ticks in a row are, each of which stands for a loop that stood still so long.
    """

    def __init__(self, *, now: Callable[[], float], call_at: CallAt) -> None:
        self.seconds = 0.0
        """How late the last tick was."""
        self._now = now
        self._call_at = call_at
        self._late_in_a_row = 0
        self._timer: Timer | None = None

    def start(self) -> None:
        self._set()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def check(self) -> str | None:
        if self._late_in_a_row < LATE_TICKS:
            return None
        return (
            f"the event loop was more than {LATE:g} s late {self._late_in_a_row} times in a row, "
            f"last by {self.seconds:.0f} s: something in the process blocks it"
        )

    def _set(self) -> None:
        self._due = self._now() + TICK
        self._timer = self._call_at(self._due, self._tick)

    def _tick(self) -> None:
        self.seconds = max(0.0, self._now() - self._due)
        self._late_in_a_row = self._late_in_a_row + 1 if self.seconds > LATE else 0
        self._set()


def loop_lag() -> LoopLag:
    """Of the running loop."""
    loop = asyncio.get_running_loop()
    return LoopLag(now=loop.time, call_at=loop.call_at)


def stuck_worker(ask: Callable[[], Metrics], *, timeout: float) -> Check:
    """Fails when a reconcile runs on long after its deadline, so that cancelling it did not help.

    `timeout` is the controller's own; it gets as much again, and a minute to clean up.
    """
    limit = 2 * timeout + 60

    def check() -> str | None:
        longest = ask().longest_running_processor_seconds
        if longest <= limit:
            return None
        return f"a reconcile has run for {longest:.0f} s, and was cancelled after {timeout:g} s"

    return check
