"""The work queue between the watches and the workers.

Modelled on controller-runtime's priority queue and client-go's work queue. Everything happens on
one event loop: there are no locks, and between two awaits nothing else runs. A key waits in one
entry, and an entry only ever moves forward:

    DELAYED --due--> PARKED (its key is in work) --done--> READY --get--> TAKEN
            --due--------------------------------------->

An entry that is ready stands in two lines, that of its priority and that of all ages. Nothing is
ever searched for: an entry that moves on, is raised or brought forward leaves its old item behind,
which no longer counts, and is dropped when it is met at the head or by the next sweep. So each
operation costs O(log n), amortised, where n are delayed keys and distinct priorities.
"""

import asyncio
import enum
import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

FIRST_BACKOFF = 0.005
LONGEST_BACKOFF = 300.0
LATEST_TURN = 16
"""Of this many hand-outs in a row, at least one goes to the key that has waited longest."""

_SPREAD = 0.1
_FEW = 64
_DOUBLINGS_TO_LONGEST = math.ceil(math.log2(LONGEST_BACKOFF / FIRST_BACKOFF))

K = TypeVar("K", bound=Hashable)


class ShutDown(Exception):
    """The queue was shut down: no key will be handed out any more."""


class Timer(Protocol):
    """What `call_at` answers, as `asyncio.TimerHandle` does."""

    def cancel(self) -> None: ...


CallAt = Callable[[float, Callable[[], None]], Timer]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The queue at one moment, in client-go's names, each to be exported with `workqueue_` before.

    Two differ: `retries_total` counts what failed and was retried, not every delayed add, and
    `oldest_waiting_seconds` is ours: since when the key that is next by age has been due.
    """

    depth: dict[int, int]
    """How many keys are due, by priority; a rerun of a key in work is one of them."""
    adds_total: int
    retries_total: int
    oldest_waiting_seconds: float
    unfinished_work_seconds: float
    longest_running_processor_seconds: float


class _State(enum.Enum):
    DELAYED = enum.auto()
    PARKED = enum.auto()
    READY = enum.auto()
    TAKEN = enum.auto()


# As globals: `_State.READY` costs Python 3.11 more than a heap operation.
_DELAYED, _PARKED, _READY, _TAKEN = _State


class _Entry(Generic[K]):
    __slots__ = ("due", "key", "priority", "state")

    def __init__(self, key: K, priority: int, due: float) -> None:
        self.key = key
        self.priority = priority
        self.due = due
        self.state = _DELAYED


class _Run(NamedTuple):
    started: float
    priority: int


class _Line(Generic[K]):
    """The entries that are ready, in the order in which they came."""

    __slots__ = ("_entries", "_sweep_at")

    def __init__(self) -> None:
        self._entries: deque[_Entry[K]] = deque()
        self._sweep_at = _FEW

    def append(self, entry: _Entry[K]) -> None:
        if len(self._entries) >= self._sweep_at:
            self._entries = deque(entry for entry in self._entries if entry.state is _READY)
            self._sweep_at = 2 * len(self._entries) + _FEW
        self._entries.append(entry)

    def first(self) -> _Entry[K] | None:
        entries = self._entries
        while entries:
            if entries[0].state is _READY:
                return entries[0]
            entries.popleft()
        return None


class _Lines(Generic[K]):
    """One line for each priority; those that nobody stands in go when they are met.

    A raised entry stands in its old line too. That is harmless: a line is looked at only when all
    higher ones are empty, and by then the entry is taken.
    """

    __slots__ = ("_lines", "_priorities")

    def __init__(self) -> None:
        self._lines: dict[int, _Line[K]] = {}
        self._priorities: list[int] = []

    def append(self, entry: _Entry[K]) -> None:
        line = self._lines.get(entry.priority)
        if line is None:
            line = self._lines[entry.priority] = _Line()
            heapq.heappush(self._priorities, -entry.priority)
        line.append(entry)

    def first(self) -> _Entry[K] | None:
        while self._priorities:
            highest = -self._priorities[0]
            entry = self._lines[highest].first()
            if entry is not None:
                return entry
            heapq.heappop(self._priorities)
            del self._lines[highest]
        return None


class _Delayed(Generic[K]):
    """The entries that are not yet due, by when they will be."""

    __slots__ = ("_items", "_sweep_at", "_ties")

    def __init__(self) -> None:
        self._items: list[tuple[float, int, _Entry[K]]] = []
        self._ties = itertools.count()
        self._sweep_at = _FEW

    def push(self, entry: _Entry[K]) -> None:
        if len(self._items) >= self._sweep_at:
            self._items = [item for item in self._items if self._counts(item)]
            heapq.heapify(self._items)
            self._sweep_at = 2 * len(self._items) + _FEW
        heapq.heappush(self._items, (entry.due, next(self._ties), entry))

    def first(self) -> _Entry[K] | None:
        while self._items:
            if self._counts(self._items[0]):
                return self._items[0][2]
            heapq.heappop(self._items)
        return None

    @staticmethod
    def _counts(item: tuple[float, int, _Entry[K]]) -> bool:
        due, _, entry = item
        return entry.state is _DELAYED and entry.due == due


def _call_at_running_loop(when: float, callback: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_at(when, callback)


def _unobserved(_seconds: float) -> None:
    """Nobody asked for this duration."""


def backoff(failures: int, jitter: float) -> float:
    """Seconds to wait after so many failures before this one: between half of 5 ms·2ⁿ and all."""
    # Bounded before the power: a key that has failed two thousand times would overflow a float.
    doublings = min(failures, _DOUBLINGS_TO_LONGEST)
    return min(FIRST_BACKOFF * 2.0**doublings, LONGEST_BACKOFF) * (1 + jitter) / 2


class WorkQueue(Generic[K]):
    """Hands keys to workers: each key once, the most urgent first, none to two workers at a time.

    - A key waits once, however often it is added. Of several adds the highest priority and the
      earliest due time count; a later add never lowers the one or postpones the other.
    - Of the keys that can be handed out, the highest priority goes first; within one priority,
      the one that came first. A raised key joins the end of its new priority, and keeps its age.
    - No key starves: the key that has stood in line longest is passed over at most 15 times,
      then it is its turn whatever its priority (`LATEST_TURN`). So low priorities get at least a
      sixteenth of the hand-outs, and a key with n others before it waits for at most 16·(n+1)
      of them. Counting turns, not seconds, keeps the order of urgent keys out of the hands of
      a long backlog: behind 50,000 old low keys, a new urgent one still waits for one low key
      at most.
    - A key that was handed out is in work until `done`, and is not handed out again before. Adds
      meanwhile queue exactly one rerun, which joins the line at `done`. A reconcile may
      therefore read the world at any point of its run: what changes later runs it again.
    - `retry` delays a key by its own exponential backoff, until `forget`. An `add` is not held
      back by it: the object may have changed.
    - After `shutdown` nothing is handed out or accepted, and `get` raises `ShutDown`; keys that
      wait are dropped, since whoever takes over lists everything. Keys in work go on to their
      `done`; `drained` waits for them.

    All of it must be called on one event loop. `call_at` must go by the clock of `now`; it
    defaults to that of the running loop, which goes with `now=loop.time`. `queue_duration` and
    `work_duration` are told client-go's `queue_duration_seconds` (from due to handed out) and
    `work_duration_seconds`, as a histogram's `observe` takes them.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        jitter: Callable[[], float] = random.random,
        call_at: CallAt = _call_at_running_loop,
        queue_duration: Callable[[float], object] = _unobserved,
        work_duration: Callable[[float], object] = _unobserved,
    ) -> None:
        self._now = now
        self._jitter = jitter
        self._call_at = call_at
        self._queue_duration = queue_duration
        self._work_duration = work_duration

        self._waiting: dict[K, _Entry[K]] = {}
        self._delayed: _Delayed[K] = _Delayed()
        self._by_priority: _Lines[K] = _Lines()
        self._by_age: _Line[K] = _Line()
        self._passed_over = 0

        self._in_work: dict[K, _Run] = {}
        self._failures: dict[K, int] = {}
        self._depth: dict[int, int] = {}
        self._adds = 0
        self._retries = 0

        self._timer: Timer | None = None
        self._timer_due = math.inf
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._drained = asyncio.Event()

    def add(self, key: K, *, priority: int = 0, after: float = 0.0) -> None:
        """Ask for a run of this key, at once or after some seconds."""
        if self._closed:
            return
        now = self._now()
        due = now + max(0.0, after)
        entry = self._waiting.get(key)
        if entry is None:
            entry = _Entry(key, priority, due)
            self._waiting[key] = entry
            self._schedule(entry, now)
            return
        if priority > entry.priority:
            self._raise(entry, priority)
        if due < entry.due:
            entry.due = due
            self._schedule(entry, now)

    def requeue(self, key: K, *, after: float) -> None:
        """Run a key in work again after some seconds, in the priority that it was handed out with.

        Up to a tenth is added to the delay, so that objects that started together do not come
        back together.
        """
        self.add(key, priority=self._priority_in_work(key), after=after * self._spread())

    def retry(self, key: K) -> None:
        """Run a key in work again because it failed: as `requeue`, after its backoff."""
        if self._closed:
            return
        failures = self.failures(key)
        self._failures[key] = failures + 1
        self._retries += 1
        delay = backoff(failures, self._jitter())
        self.add(key, priority=self._priority_in_work(key), after=delay)

    def forget(self, key: K) -> None:
        """Let the next failure of this key start from the shortest backoff.

        To be called whenever a run did not fail, and for keys whose object is gone: what is not
        forgotten is remembered for the life of the process.
        """
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often the key was retried since it was last forgotten."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Wait for the next key and take it into work, until `done`."""
        while not self._closed:
            # No await from here to the return: a key chosen but not yet taken could be chosen
            # twice, or raised, or dropped by a shutdown.
            entry = self._choose()
            if entry is not None:
                return self._take(entry)
            # Nor between finding nothing and standing in line: an add in between would find
            # nobody to wake.
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await self._woken(waiter)
        raise ShutDown

    def done(self, key: K) -> None:
        """Give back a key that `get` handed out, whatever came of it; `KeyError` for any other."""
        run = self._in_work.pop(key)
        self._work_duration(self._now() - run.started)
        rerun = self._waiting.get(key)
        if rerun is not None and rerun.state is _PARKED:
            self._line_up(rerun)
        if self._closed and not self._in_work:
            self._drained.set()

    def shutdown(self) -> None:
        """Hand out no more keys, drop those that wait, and wake everyone who waits for one."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()
        self._depth.clear()
        self._delayed, self._by_priority, self._by_age = _Delayed(), _Lines(), _Line()
        while self._waiters:
            self._wake_one()
        if not self._in_work:
            self._drained.set()

    async def drained(self) -> None:
        """Wait until the queue was shut down and the last key in work is done."""
        await self._drained.wait()

    def metrics(self) -> Metrics:
        """What there is to know about the queue now, at a cost of O(keys in work)."""
        now = self._now()
        oldest = self._by_age.first()
        running = [now - run.started for run in self._in_work.values()]
        return Metrics(
            depth=dict(self._depth),
            adds_total=self._adds,
            retries_total=self._retries,
            oldest_waiting_seconds=now - oldest.due if oldest else 0.0,
            unfinished_work_seconds=math.fsum(running),
            longest_running_processor_seconds=max(running, default=0.0),
        )

    def _schedule(self, entry: _Entry[K], now: float) -> None:
        if entry.state is not _DELAYED:
            # A timer that fired early made it due before its time.
            return
        if entry.due <= now:
            self._admit(entry)
            return
        self._delayed.push(entry)
        self._set_timer()

    def _raise(self, entry: _Entry[K], priority: int) -> None:
        if entry.state is not _DELAYED:
            self._count(entry.priority, -1)
            self._count(priority, +1)
        entry.priority = priority
        if entry.state is _READY:
            self._by_priority.append(entry)

    def _admit(self, entry: _Entry[K]) -> None:
        self._adds += 1
        self._count(entry.priority, +1)
        if entry.key in self._in_work:
            entry.state = _PARKED
        else:
            self._line_up(entry)

    def _line_up(self, entry: _Entry[K]) -> None:
        entry.state = _READY
        self._by_priority.append(entry)
        self._by_age.append(entry)
        self._wake_one()

    def _choose(self) -> _Entry[K] | None:
        oldest = self._by_age.first()
        if oldest is None or self._passed_over >= LATEST_TURN - 1:
            self._passed_over = 0
            return oldest
        urgent = self._by_priority.first()
        self._passed_over = 0 if urgent is oldest else self._passed_over + 1
        return urgent

    def _take(self, entry: _Entry[K]) -> K:
        now = self._now()
        entry.state = _TAKEN
        del self._waiting[entry.key]
        self._count(entry.priority, -1)
        self._in_work[entry.key] = _Run(now, entry.priority)
        self._queue_duration(now - entry.due)
        return entry.key

    def _count(self, priority: int, change: int) -> None:
        depth = self._depth.get(priority, 0) + change
        if depth:
            self._depth[priority] = depth
        else:
            del self._depth[priority]

    def _set_timer(self) -> None:
        """One timer for all: set for the key that is due first."""
        first = self._delayed.first()
        if first is None or first.due >= self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = first.due
        self._timer = self._call_at(first.due, self._admit_due)

    def _admit_due(self) -> None:
        # Timers fire early, asyncio's by its clock's resolution and uvloop's by half a
        # millisecond: what this one was set for is due, whatever the clock says.
        now = max(self._now(), self._timer_due)
        self._timer_due = math.inf
        while (entry := self._delayed.first()) is not None and entry.due <= now:
            self._admit(entry)
        self._set_timer()

    def _wake_one(self) -> None:
        # Being woken promises nothing: another get() may be faster, and the woken one waits again.
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _woken(self, waiter: asyncio.Future[None]) -> None:
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                # Woken and cancelled in the same turn of the loop: the key that this wake-up
                # announced would lie there until the next add.
                self._wake_one()
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
            raise

    def _priority_in_work(self, key: K) -> int:
        run = self._in_work.get(key)
        return run.priority if run else 0

    def _spread(self) -> float:
        return 1 + _SPREAD * self._jitter()
