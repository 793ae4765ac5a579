"""Events without a server: what is written when, and that nothing is lost uncounted."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.engine.recording import events as events_module
from quiver.engine.recording.eventbody import NOTE_LIMIT, Regarding, cut, event_name, micro_time
from quiver.engine.recording.events import Recorder
from quiver.engine.recording.eventseries import (
    BURST,
    FINISH,
    MOST_SERIES,
    REFRESH,
    EventCounts,
    Facts,
    SeriesBook,
)
from quiver.engine.recording.tokenbuckets import TokenBuckets
from quiver.kube import AlreadyExists, Client, Forbidden, Invalid, KubeError, NotFound, Object
from quiver.kube.errors import Unreachable

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
WEB = Regarding("apps.example.com/v1", "Site", "team", "web", "uid-1", "7")
OTHER = WEB._replace(name="other", uid="uid-2")
FORBIDDEN = Forbidden(403, "Forbidden", "no")
INVALID = Invalid(422, "Invalid", "wrong")
MISSING = NotFound(404, "NotFound", "no such namespace")


class Clock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


class Server:
    """Holds Events; `errors` are what the next requests meet, `open` lets requests through."""

    def __init__(self) -> None:
        self.events: dict[str, Object] = {}
        self.errors: list[Exception | None] = []
        self.requests = 0
        self.open = asyncio.Event()
        self.open.set()
        self._asked = asyncio.Event()

    @property
    def client(self) -> Client:
        return cast(Client, self)

    def within(self, _: float) -> "Server":
        return self

    async def create(self, event: Object) -> Object:
        await self._meet()
        name = event["metadata"]["name"]
        if name in self.events:
            raise AlreadyExists(409, "AlreadyExists", name)
        self.events[name] = event
        return event

    async def patch(self, _: str, __: str, name: str, patch: Object, ___: str) -> Object:
        await self._meet()
        if name not in self.events:
            raise NotFound(404, "NotFound", name)
        self.events[name] = self.events[name] | patch
        return self.events[name]

    def occurrences(self) -> int:
        return sum(event.get("series", {}).get("count", 1) for event in self.events.values())

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(10):
            while not holds():
                self._asked.clear()
                await self._asked.wait()

    async def _meet(self) -> None:
        self.requests += 1
        self._asked.set()
        await self.open.wait()
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error


def recorder(server: Server, clock: Clock, *, tick: float = 60.0) -> Recorder:
    return Recorder(
        server.client, controller="quiver.dev/site", instance="pod-0", now=clock.now, tick=tick
    )


def say(events: Recorder, note: str = "It is there", about: Regarding = WEB) -> None:
    events.record(about, "Normal", "Seen", note, "Look")


def facts(note: str, about: Regarding = WEB) -> Facts:
    return Facts(about, "Normal", "Seen", note, "Look")


async def test_occurrences_before_the_first_write_are_written_with_it() -> None:
    server = Server()
    events = recorder(server, Clock())
    for _ in range(4):
        say(events)
    async with events:
        pass
    assert server.requests == 1
    assert server.occurrences() == 4


async def test_the_version_of_the_object_does_not_split_a_series() -> None:
    server = Server()
    async with recorder(server, Clock()) as events:
        say(events)
        say(events, about=WEB._replace(resource_version="8"))
    assert len(server.events) == 1


async def test_another_message_is_another_event() -> None:
    server = Server()
    async with recorder(server, Clock()) as events:
        say(events, "one")
        say(events, "two")
    assert len(server.events) == 2


async def test_an_object_that_comes_too_often_is_cut_off_and_others_are_not() -> None:
    server = Server()
    async with recorder(server, Clock()) as events:
        for number in range(BURST + 10):
            say(events, f"number {number}")
        say(events, about=OTHER)
    assert len(server.events) == BURST + 1
    assert events.counts.dropped == {"rate": 10}


async def test_recording_does_not_wait_for_a_server_that_hangs() -> None:
    server = Server()
    server.open.clear()
    events = await recorder(server, Clock()).__aenter__()
    say(events)
    await server.until(lambda: server.requests)
    say(events, "meanwhile")
    await events.stop(within=0)
    assert events.counts.dropped == {"stopped": 2}


async def test_what_is_recorded_after_the_stop_is_counted_as_dropped() -> None:
    server = Server()
    async with recorder(server, Clock()) as events:
        pass
    say(events)
    assert events.counts.dropped == {"stopped": 1}
    assert server.requests == 0


async def test_more_than_can_wait_is_dropped_and_may_be_tried_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events_module, "MOST_WAITING", 2)
    server = Server()
    events = recorder(server, Clock())
    for number in range(3):
        say(events, f"number {number}")
    assert events.counts.dropped == {"queue full": 1}
    async with events:
        await server.until(lambda: len(server.events) == 2)
        say(events, "number 2")
    assert len(server.events) == 3


async def test_an_event_is_written_when_the_server_is_back() -> None:
    server = Server()
    server.errors = [Unreachable("refused")]
    async with recorder(server, Clock()) as events:
        say(events)
        await server.until(lambda: server.events)
    assert events.counts.written == 1
    assert not events.counts.dropped


async def test_at_the_end_a_server_that_is_away_is_tried_once() -> None:
    server = Server()
    server.errors = [Unreachable("refused")] * 9
    events = recorder(server, Clock())
    say(events)
    say(events, "two")
    async with events:
        await events.stop()
    assert server.requests == 2
    assert events.counts.dropped == {"unreachable": 2}


@pytest.mark.parametrize("error", [FORBIDDEN, MISSING])
async def test_refusals_that_are_no_news_are_silent_and_not_repeated(
    error: KubeError, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server()
    server.errors = [error]
    async with recorder(server, Clock()) as events:
        say(events)
        await server.until(lambda: events.counts.dropped or server.requests > 1)
        say(events)
    assert server.requests == 1
    assert events.counts.dropped["refused"] == 2
    assert not caplog.records


@pytest.mark.parametrize("error", [INVALID, RuntimeError("a bug")])
async def test_an_event_that_is_wrong_is_told_and_does_not_end_the_writing(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server()
    server.errors = [error]
    async with recorder(server, Clock()) as events:
        say(events, "wrong")
        say(events, "right")
    assert [event["note"] for event in server.events.values()] == ["right"]
    assert len(caplog.records) == 1


async def test_the_last_count_is_written_when_a_series_has_ended() -> None:
    server, clock = Server(), Clock()
    async with recorder(server, clock, tick=0.001) as events:
        for _ in range(2):
            say(events)
        await server.until(lambda: server.occurrences() == 2)
        say(events)
        clock.time += FINISH
        await server.until(lambda: server.occurrences() == 3)
        say(events)
        await server.until(lambda: len(server.events) == 2)


RECORD, PASS, FAIL = "record", "pass", "fail"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just(RECORD), st.integers(0, 30)),
        st.tuples(st.just(PASS), st.integers(0, 400)),
        st.tuples(st.just(FAIL), st.sampled_from([FORBIDDEN, INVALID, MISSING])),
    ),
    max_size=80,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_every_occurrence_is_on_the_server_or_counted_as_dropped(
    steps: list[tuple[str, object]],
) -> None:
    asyncio.run(_every_occurrence_is_accounted_for(steps))


async def _every_occurrence_is_accounted_for(steps: list[tuple[str, object]]) -> None:
    server, clock, recorded = Server(), Clock(), 0
    events = recorder(server, clock, tick=0.0001)
    async with events:
        for step, argument in steps:
            if step == RECORD:
                say(events, f"number {argument}")
                recorded += 1
            elif step == PASS:
                assert isinstance(argument, int)
                clock.time += timedelta(seconds=argument)
                await asyncio.sleep(0)
            else:
                assert isinstance(argument, KubeError)
                server.errors.append(argument)
    assert server.occurrences() + events.counts.dropped.total() == recorded


def test_a_series_is_written_at_once_twice_and_then_in_intervals() -> None:
    book = SeriesBook(EventCounts())
    series = book.observe(facts("a"), START)
    assert series is not None
    assert series.wants_write(START)
    series.written, series.written_at = 1, START
    book.observe(facts("a"), START)
    assert series.wants_write(START)
    series.written = 2
    book.observe(facts("a"), START)
    assert not series.wants_write(START)
    assert series.wants_write(START + REFRESH)


def test_a_clock_that_steps_back_ends_no_series() -> None:
    book = SeriesBook(EventCounts())
    book.observe(facts("a"), START)
    again = book.observe(facts("a"), START - timedelta(days=1))
    assert again is not None
    assert again.count == 2
    assert again.last == START


def test_the_book_has_a_last_page() -> None:
    counts = EventCounts()
    book = SeriesBook(counts)
    for number in range(MOST_SERIES + 5):
        book.observe(facts("a", WEB._replace(name=f"web-{number}")), START)
    assert len(book) == MOST_SERIES
    assert counts.dropped == {"forgotten": 5}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 100)), max_size=200))
def test_no_key_gets_more_than_the_burst_and_the_refill(takes: list[tuple[str, float]]) -> None:
    buckets: TokenBuckets[str] = TokenBuckets(burst=5, seconds_per_token=50, most=9)
    granted = {"a": 0, "b": 0}
    at = 0.0
    for key, seconds in takes:
        at += seconds
        granted[key] += buckets.take(key, at)
        assert granted[key] <= 5 + at / 50 + 1e-6


def test_only_so_many_buckets_are_kept() -> None:
    buckets: TokenBuckets[int] = TokenBuckets(burst=1, seconds_per_token=1e9, most=2)
    assert [buckets.take(key, 0) for key in (1, 2, 3, 3, 1)] == [True, True, True, False, True]
    assert len(buckets) == 2


@given(st.text(st.characters()), st.integers(4, 2 * NOTE_LIMIT))
def test_a_cut_text_fits_and_is_the_start_of_the_whole(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert len(short.encode()) <= limit
    assert text.encode(errors="replace").decode().startswith(short.removesuffix("…"))


def test_events_of_one_instant_have_different_names() -> None:
    assert event_name(WEB, START, 1) != event_name(WEB, START, 2)


@given(st.text("abz09.-", min_size=1, max_size=300))
def test_the_name_of_an_event_is_never_too_long(name: str) -> None:
    assert len(event_name(WEB._replace(name=name), START, 1)) <= 253


def test_times_are_as_the_server_writes_them() -> None:
    assert micro_time(START) == "2026-01-02T03:04:05.678901Z"
