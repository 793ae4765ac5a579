"""The work queue on a clock of its own: against a naive model, then promise by promise."""

import asyncio
import heapq
import itertools
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from quiver.engine import queue as queue_module
from quiver.engine.queue import (
    FIRST_BACKOFF,
    LATEST_TURN,
    LONGEST_BACKOFF,
    ShutDown,
    Timer,
    WorkQueue,
    backoff,
)

T = TypeVar("T")


class _FakeTimer:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class _Clock:
    """Time passes only when a test says so; `early` is by how much timers fire too soon."""

    def __init__(self, *, early: float = 0.0) -> None:
        self.time = 1000.0
        self.early = early
        self._timers: list[tuple[float, int, _FakeTimer, Callable[[], None]]] = []
        self._ties = itertools.count()
        self.calls = 0

    def now(self) -> float:
        return self.time

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        self.calls += 1
        timer = _FakeTimer()
        heapq.heappush(self._timers, (when - self.early, next(self._ties), timer, callback))
        return timer

    def advance(self, seconds: float) -> None:
        end = self.time + seconds
        while self._timers and self._timers[0][0] <= end:
            when, _, timer, callback = heapq.heappop(self._timers)
            self.time = max(self.time, when)
            if not timer.cancelled:
                callback()
        self.time = end

    def timers_set(self) -> int:
        return sum(not timer.cancelled for _, _, timer, _ in self._timers)


def _queue(clock: _Clock, *, jitter: float = 0.0) -> WorkQueue[str]:
    return WorkQueue(now=clock.now, jitter=lambda: jitter, call_at=clock.call_at)


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def queue(clock: _Clock) -> WorkQueue[str]:
    return _queue(clock)


def _now(get: Coroutine[Any, Any, T]) -> T:
    """The answer of something that has to answer without waiting."""
    try:
        get.send(None)
    except StopIteration as answer:
        value: T = answer.value
        return value
    finally:
        get.close()
    raise AssertionError("it waits")


def _take(queue: WorkQueue[str]) -> str:
    return _now(queue.get())


def _take_all(queue: WorkQueue[str]) -> list[str]:
    return [_take(queue) for _ in range(sum(queue.metrics().depth.values()))]


async def _turn() -> None:
    """Let everything that can go on go on."""
    for _ in range(3):
        await asyncio.sleep(0)


# The model


@dataclass
class _Waiting:
    priority: int
    due: float
    scheduled: int
    joined: int | None = None
    """When it got in line; None while it is delayed or its key is in work."""
    joined_priority: int = 0


class _Model:
    """The queue's contract in lists and loops, at a cost of O(n) for everything."""

    def __init__(self) -> None:
        self.waiting: dict[str, _Waiting] = {}
        self.in_work: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self.passed_over = 0
        self._steps = itertools.count()

    def add(self, key: str, priority: int, due: float) -> None:
        waiting = self.waiting.setdefault(key, _Waiting(priority, due, next(self._steps)))
        if due < waiting.due:
            waiting.due, waiting.scheduled = due, next(self._steps)
        if priority > waiting.priority:
            waiting.priority, waiting.joined_priority = priority, next(self._steps)

    def line_up(self, now: float) -> None:
        for key, waiting in sorted(
            self.waiting.items(), key=lambda item: (item[1].due, item[1].scheduled)
        ):
            if waiting.joined is None and waiting.due <= now and key not in self.in_work:
                waiting.joined = waiting.joined_priority = next(self._steps)

    def ready(self) -> dict[str, _Waiting]:
        return {key: it for key, it in self.waiting.items() if it.joined is not None}

    def take(self) -> str:
        ready = self.ready()
        oldest = min(ready, key=lambda key: ready[key].joined or 0)
        urgent = min(ready, key=lambda key: (-ready[key].priority, ready[key].joined_priority))
        taken = oldest if self.passed_over == queue_module.LATEST_TURN - 1 else urgent
        self.passed_over = 0 if taken == oldest else self.passed_over + 1
        assert taken not in self.in_work
        self.in_work[taken] = self.waiting.pop(taken).priority
        return taken


KEYS = st.sampled_from("abcdefgh")
PRIORITIES = st.sampled_from([-100, 0, 0, 7])
DELAYS = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, 60.0, -1.0])


class _QueueBesideModel(RuleBasedStateMachine):
    """Does the same to both; whenever the queue hands out a key, it must be the model's."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = _Clock()
        self.queue = _queue(self.clock, jitter=0.5)
        self.model = _Model()
        self.workers: list[asyncio.Task[str]] = []
        self.unserved: set[str] = set()
        self.closed = False

    def _add(self, key: str, priority: int, after: float) -> None:
        if not self.closed:
            self.model.add(key, priority, self.clock.time + max(after, 0))
            self.unserved.add(key)

    def _took(self, key: str) -> None:
        assert key not in self.model.in_work, "worked on twice at once"
        assert key == self.model.take()
        self.unserved.discard(key)

    def _settle(self) -> None:
        """Let the loop run; each waiting worker gets the key that the model gives it."""
        self.loop.run_until_complete(_turn())
        self.model.line_up(self.clock.time)
        while self.workers and (self.model.ready() or self.closed):
            worker = self.workers.pop(0)
            assert worker.done(), "a key or a shutdown woke nobody"
            if self.closed:
                assert isinstance(worker.exception(), ShutDown)
            else:
                self._took(worker.result())
        assert not any(worker.done() for worker in self.workers)

    @rule(key=KEYS, priority=PRIORITIES, after=DELAYS)
    def add(self, key: str, priority: int, after: float) -> None:
        self.queue.add(key, priority=priority, after=after)
        self._add(key, priority, after)
        self._settle()

    @rule(keys=st.lists(KEYS, min_size=2, max_size=20), priority=PRIORITIES)
    def add_many_before_anyone_can_run(self, keys: list[str], priority: int) -> None:
        for key in keys:
            self.queue.add(key, priority=priority)
            self._add(key, priority, 0)
            self.model.line_up(self.clock.time)
        self._settle()

    @rule(workers=st.integers(1, 4))
    def get(self, workers: int) -> None:
        self.workers += [self.loop.create_task(self.queue.get()) for _ in range(workers)]
        self._settle()

    @precondition(lambda self: self.model.in_work)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.in_work)))
        self.queue.done(key)
        del self.model.in_work[key]
        self._settle()

    @precondition(lambda self: self.model.in_work)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.in_work)))
        self.queue.retry(key)
        if not self.closed:
            failures = self.model.failures.get(key, 0)
            self.model.failures[key] = failures + 1
            self._add(key, self.model.in_work[key], min(0.005 * 2**failures, 300) * 0.75)
        self._settle()

    @precondition(lambda self: self.model.in_work)
    @rule(data=st.data(), after=st.sampled_from([0.0, 1.0, 60.0]))
    def requeue(self, data: st.DataObject, after: float) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.in_work)))
        self.queue.requeue(key, after=after)
        self._add(key, self.model.in_work[key], after * 1.05)
        self._settle()

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.model.failures.pop(key, None)

    @rule(seconds=st.sampled_from([0.001, 0.005, 1.0, 30.0, 2000.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self._settle()

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def a_waiting_worker_is_cancelled(self, data: st.DataObject) -> None:
        worker = self.workers.pop(data.draw(st.integers(0, len(self.workers) - 1)))
        worker.cancel()
        self._settle()
        assert worker.cancelled()

    @precondition(lambda self: self.workers)
    @rule(key=KEYS)
    def a_worker_is_cancelled_just_before_an_add(self, key: str) -> None:
        worker = self.workers.pop(0)
        worker.cancel()
        self.add(key, priority=0, after=0)
        assert worker.cancelled()

    @precondition(lambda self: self.workers)
    @rule(key=KEYS)
    def a_worker_is_cancelled_just_after_the_add_that_woke_it(self, key: str) -> None:
        worker = self.workers.pop(0)
        self.queue.add(key)
        self._add(key, 0, 0)
        worker.cancel()
        self._settle()
        assert worker.cancelled()

    @precondition(lambda self: len(self.model.waiting) + len(self.model.in_work) > 5)
    @rule()
    def shutdown(self) -> None:
        self.queue.shutdown()
        self.closed = True
        self.model.waiting.clear()
        self._settle()

    @invariant()
    def the_metrics_are_those_of_the_model(self) -> None:
        depth: dict[int, int] = {}
        for waiting in self.model.waiting.values():
            if waiting.due <= self.clock.time:
                depth[waiting.priority] = depth.get(waiting.priority, 0) + 1
        assert self.queue.metrics().depth == depth
        for key in "abcdefgh":
            assert self.queue.failures(key) == self.model.failures.get(key, 0)

    @invariant()
    def one_timer_is_enough(self) -> None:
        assert self.clock.timers_set() <= 1

    def teardown(self) -> None:
        try:
            self._finish()
        finally:
            for worker in self.workers:
                worker.cancel()
            self.loop.run_until_complete(_turn())
            self.loop.close()

    def _finish(self) -> None:
        """All work gets done in the end: no add was lost, and a shutdown drains."""
        while self.model.in_work:
            assert not self.queue._drained.is_set()
            self.done_first()
        if self.closed:
            self.loop.run_until_complete(self.queue.drained())
            return
        self.clock.advance(5000)
        self._settle()
        while self.model.in_work or self.model.ready():
            if not self.model.in_work:
                self.get(workers=1)
            self.done_first()
        assert not self.unserved

    def done_first(self) -> None:
        key = next(iter(self.model.in_work))
        self.queue.done(key)
        del self.model.in_work[key]
        self._settle()


def test_the_queue_does_what_its_model_does(monkeypatch: pytest.MonkeyPatch) -> None:
    # Eight keys seldom pass one over fifteen times.
    monkeypatch.setattr(queue_module, "LATEST_TURN", 3)
    run_state_machine_as_test(
        _QueueBesideModel,
        settings=settings(max_examples=150, stateful_step_count=50, deadline=None),
    )


# Keys in work


def test_a_key_added_many_times_is_handed_out_once(queue: WorkQueue[str]) -> None:
    for _ in range(5):
        queue.add("a")
    assert _take_all(queue) == ["a"]
    assert queue.metrics().adds_total == 1


def test_adds_of_a_key_in_work_cause_one_rerun_and_only_after_it_is_done(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    _take(queue)
    for _ in range(3):
        queue.add("a")
    queue.add("b")
    assert _take(queue) == "b"
    queue.done("a")
    assert _take(queue) == "a"
    queue.done("a")
    assert queue.metrics().depth == {}


def test_a_key_that_is_not_in_work_cannot_be_done(queue: WorkQueue[str]) -> None:
    queue.add("a")
    with pytest.raises(KeyError):
        queue.done("a")


# Order


def test_higher_priorities_go_first_and_equals_in_the_order_of_their_adds(
    queue: WorkQueue[str],
) -> None:
    for key, priority in [("a", 0), ("b", -100), ("c", 5), ("d", 0), ("e", 5)]:
        queue.add(key, priority=priority)
    assert _take_all(queue) == ["c", "e", "a", "d", "b"]


def test_a_second_add_raises_a_priority_and_never_lowers_it(queue: WorkQueue[str]) -> None:
    queue.add("a", priority=0)
    queue.add("b", priority=-100)
    queue.add("b", priority=5)
    queue.add("b", priority=-100)
    assert queue.metrics().depth == {0: 1, 5: 1}
    assert _take_all(queue) == ["b", "a"]


def test_a_key_raised_before_it_is_due_gains_no_place_in_line(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    queue.add("delayed", after=1)
    queue.add("delayed", priority=5, after=1)
    queue.add("ready", priority=5)
    clock.advance(1)
    assert _take_all(queue) == ["ready", "delayed"]


def test_a_retry_keeps_the_priority_of_the_run_that_failed(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    queue.add("a", priority=-100)
    _take(queue)
    queue.retry("a")
    queue.done("a")
    clock.advance(1)
    assert queue.metrics().depth == {-100: 1}


# Fairness


def test_a_low_priority_gets_its_turn_under_a_constant_stream_of_high_ones(
    queue: WorkQueue[str],
) -> None:
    queue.add("low", priority=-100)
    taken = []
    for n in range(LATEST_TURN):
        queue.add(f"high-{n}", priority=10)
        taken.append(_take(queue))
    assert taken[-1] == "low"


def test_an_urgent_key_waits_for_one_low_key_at_most_behind_an_old_backlog(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    for n in range(1000):
        queue.add(f"low-{n}", priority=-100)
    clock.advance(3600)
    for n in range(100):
        queue.add(f"urgent-{n}")
        assert f"urgent-{n}" in (_take(queue), _take(queue))


@given(
    st.lists(st.integers(-5, 5), max_size=5),
    st.lists(st.integers(0, 9), min_size=100, max_size=120),
)
def test_a_key_with_n_before_it_is_taken_within_the_promised_number_of_turns(
    before: list[int], stream: list[int]
) -> None:
    queue = _queue(_Clock())
    for n, priority in enumerate(before):
        queue.add(f"before-{n}", priority=priority)
    queue.add("last", priority=-100)
    taken = []
    for n, priority in enumerate(stream):
        queue.add(f"stream-{n}", priority=priority)
        taken.append(_take(queue))
    assert taken.index("last") < LATEST_TURN * (len(before) + 1)


# Time


def test_a_delayed_key_is_handed_out_when_it_is_due_and_not_before(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    queue.add("a", after=10)
    clock.advance(9.999)
    assert queue.metrics().depth == {}
    clock.advance(0.001)
    assert _take(queue) == "a"


@pytest.mark.parametrize("delays", [(5, 60), (60, 5), (60, 5, 30)])
def test_the_earliest_due_time_wins(
    queue: WorkQueue[str], clock: _Clock, delays: tuple[float, ...]
) -> None:
    for after in delays:
        queue.add("a", after=after)
    clock.advance(5)
    assert _take(queue) == "a"
    queue.done("a")
    clock.advance(1000)
    assert queue.metrics().depth == {}


def test_a_delay_of_a_key_in_work_counts_from_its_add_not_from_its_done(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    queue.add("a")
    _take(queue)
    queue.requeue("a", after=10)
    clock.advance(60)
    assert queue.metrics().depth == {0: 1}
    queue.done("a")
    assert _take(queue) == "a"


@pytest.mark.parametrize("after", [-5.0, float("nan")])
def test_a_delay_that_makes_no_sense_is_none(queue: WorkQueue[str], after: float) -> None:
    queue.add("a", after=after)
    assert _take(queue) == "a"


def test_a_key_that_is_never_due_waits_for_the_next_add(queue: WorkQueue[str]) -> None:
    queue.add("a", after=float("inf"))
    queue.add("a")
    assert _take(queue) == "a"


def test_a_timer_that_fires_early_is_not_set_again_for_the_same_key() -> None:
    clock = _Clock(early=0.0005)
    queue = _queue(clock)
    queue.add("a", after=1)
    clock.advance(0.9995)
    assert _take(queue) == "a"
    assert clock.timers_set() == 0


def test_a_key_whose_timer_fired_early_is_still_due_only_once() -> None:
    clock = _Clock(early=0.0005)
    queue = _queue(clock)
    queue.add("a", after=1)
    clock.advance(0.9995)
    queue.add("a")
    assert queue.metrics().depth == {0: 1}
    assert _take_all(queue) == ["a"]


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_timers_of_a_real_loop_wake_a_worker(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def work() -> str:
        queue: WorkQueue[str] = WorkQueue(now=asyncio.get_running_loop().time)
        queue.add("late", after=60)
        queue.add("soon", after=0.002)
        return await asyncio.wait_for(queue.get(), timeout=30)

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(work()) == "soon"


# Retries


@given(st.integers(0, 100_000), st.floats(0, 1))
def test_a_backoff_is_between_half_and_all_of_its_power_of_two(
    failures: int, jitter: float
) -> None:
    whole = min(FIRST_BACKOFF * 2 ** min(failures, 50), LONGEST_BACKOFF)
    assert whole / 2 <= backoff(failures, jitter) <= whole


def test_the_backoff_doubles_from_5_ms_to_5_minutes() -> None:
    delays = [backoff(n, 1.0) for n in range(20)]
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[15:] == [163.84, 300, 300, 300, 300]


def test_each_key_backs_off_by_itself_until_it_is_forgotten(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    for _ in range(10):
        queue.retry("a")
    queue.retry("b")
    assert (queue.failures("a"), queue.failures("b")) == (10, 1)
    clock.advance(0.0025)
    assert sorted(_take_all(queue)) == ["a", "b"]
    queue.done("a")
    queue.retry("a")
    clock.advance(2.5)
    assert _take_all(queue) == []
    clock.advance(0.1)
    assert _take_all(queue) == ["a"]
    queue.forget("a")
    assert queue.failures("a") == 0


def test_objects_that_started_together_come_back_one_by_one(clock: _Clock) -> None:
    chances = iter([0.0, 0.5, 1.0])
    queue: WorkQueue[str] = WorkQueue(
        now=clock.now, jitter=lambda: next(chances), call_at=clock.call_at
    )
    for key in "abc":
        queue.requeue(key, after=100)
    came_back = []
    for _ in range(3):
        came_back.append(len(_take_all(queue)))
        clock.advance(102)
    assert came_back == [0, 1, 2]


# Waiting and shutdown


async def test_each_add_wakes_one_of_the_waiting_workers(queue: WorkQueue[str]) -> None:
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await _turn()
    queue.add("a")
    queue.add("b")
    await _turn()
    assert [worker.done() for worker in workers] == [True, True, False]
    assert [worker.result() for worker in workers[:2]] == ["a", "b"]
    queue.shutdown()
    with pytest.raises(ShutDown):
        await workers[2]


async def test_a_wake_up_of_a_cancelled_worker_goes_to_the_next(queue: WorkQueue[str]) -> None:
    cancelled, other = (asyncio.create_task(queue.get()) for _ in range(2))
    await _turn()
    queue.add("a")
    cancelled.cancel()
    assert await other == "a"
    assert cancelled.cancelled()


async def test_an_add_passes_over_a_worker_that_is_being_cancelled(
    queue: WorkQueue[str],
) -> None:
    cancelled, other = (asyncio.create_task(queue.get()) for _ in range(2))
    await _turn()
    cancelled.cancel()
    queue.add("a")
    assert await other == "a"
    assert cancelled.cancelled()


async def test_a_cancelled_worker_wakes_nobody_for_nothing(queue: WorkQueue[str]) -> None:
    cancelled, second, third = (asyncio.create_task(queue.get()) for _ in range(3))
    fourth = asyncio.create_task(queue.get())
    await _turn()
    cancelled.cancel()
    queue.add("a")
    await _turn()
    queue.add("b")
    await _turn()
    fourth.cancel()
    assert [second.done(), third.done()] == [True, True]
    assert [second.result(), third.result()] == ["a", "b"]


async def test_workers_that_gave_up_waiting_leave_nothing_behind(queue: WorkQueue[str]) -> None:
    for _ in range(10):
        worker = asyncio.create_task(queue.get())
        await _turn()
        worker.cancel()
        await _turn()
    assert not queue._waiters


async def test_a_shutdown_drops_what_waits_and_lets_what_is_in_work_finish(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    queue.add("in work")
    _take(queue)
    queue.add("in work")
    queue.add("ready")
    queue.add("delayed", after=5)
    drained = asyncio.create_task(queue.drained())
    queue.shutdown()
    queue.add("too late")
    queue.retry("in work")
    clock.advance(60)
    with pytest.raises(ShutDown):
        await queue.get()
    assert not drained.done()
    queue.done("in work")
    await drained
    assert queue.metrics().depth == {}
    assert clock.timers_set() == 0


async def test_an_idle_queue_is_drained_at_once_by_its_shutdown(queue: WorkQueue[str]) -> None:
    queue.shutdown()
    queue.shutdown()
    await queue.drained()


# Metrics


def test_the_metrics_tell_age_and_work_in_seconds(queue: WorkQueue[str], clock: _Clock) -> None:
    for key in "abc":
        queue.add(key, after=1)
        clock.advance(10)
    _take(queue)
    clock.advance(2)
    _take(queue)
    queue.retry("b")
    clock.advance(3)
    metrics = queue.metrics()
    assert metrics.oldest_waiting_seconds == 14
    assert metrics.longest_running_processor_seconds == 5
    assert metrics.unfinished_work_seconds == 8
    assert metrics.depth == {0: 2}
    assert (metrics.adds_total, metrics.retries_total) == (4, 1)


def test_an_empty_queue_has_no_age(queue: WorkQueue[str]) -> None:
    metrics = queue.metrics()
    assert metrics.oldest_waiting_seconds == 0
    assert metrics.longest_running_processor_seconds == 0


def test_the_durations_of_waiting_and_of_work_are_observed_once_for_each_run(
    clock: _Clock,
) -> None:
    waited: list[float] = []
    worked: list[float] = []
    queue: WorkQueue[str] = WorkQueue(
        now=clock.now,
        call_at=clock.call_at,
        queue_duration=waited.append,
        work_duration=worked.append,
    )
    queue.add("a", after=1)
    clock.advance(4)
    _take(queue)
    clock.advance(5)
    queue.done("a")
    assert (waited, worked) == ([3], [5])


# Costs


def _calls(action: Callable[[], None]) -> int:
    """How many functions are called, in Python or in C: a cost that no busy machine changes."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls


def _add_and_work_off(keys: int, *, priorities: int, after: float = 0.0) -> None:
    clock = _Clock()
    queue = _queue(clock)
    for n in range(keys):
        queue.add(str(n), priority=n % priorities, after=after * (n * 7919 % keys))
    clock.advance(after * keys)
    for _ in range(keys):
        queue.done(_take(queue))


@pytest.mark.parametrize("priorities", [1, 3, 1_000_000])
@pytest.mark.parametrize("after", [0.0, 0.01])
def test_the_cost_of_a_key_does_not_grow_with_the_queue(priorities: int, after: float) -> None:
    few, many = (
        _calls(lambda n=n: _add_and_work_off(n, priorities=priorities, after=after)) / n  # type: ignore[misc]
        for n in (500, 8000)
    )
    assert many < 1.3 * few < 130


def test_a_timer_is_set_anew_only_for_a_key_that_is_due_earlier(
    queue: WorkQueue[str], clock: _Clock
) -> None:
    for after in [10, 20, 30, 10, 5]:
        queue.add(f"after {after}", after=after)
    assert clock.calls == 2


def test_timers_overtaken_by_events_do_not_pile_up(queue: WorkQueue[str]) -> None:
    queue.add("due before all of them", after=1)
    for _ in range(1000):
        queue.add("a")
        _take(queue)
        queue.requeue("a", after=600)
        queue.done("a")
    assert len(queue._delayed._items) < 200


def test_timers_brought_forward_do_not_pile_up(queue: WorkQueue[str]) -> None:
    queue.add("due before all of them", after=1)
    for n in range(1000):
        queue.add("a", after=5000 - n)
    assert len(queue._delayed._items) < 200


def test_keys_that_were_taken_or_raised_do_not_pile_up_behind_old_ones(
    queue: WorkQueue[str],
) -> None:
    for n in range(5000):
        queue.add("a", priority=-1)
        queue.add("a", priority=1)
        queue.add(f"low-{n % 50}", priority=-1)
        queue.done(_take(queue))
    assert len(queue._by_age._entries) < 400
    assert sum(len(line._entries) for line in queue._by_priority._lines.values()) < 400
