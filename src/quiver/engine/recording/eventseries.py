"""Which Events there are, how often each happened, and when that is worth a write.

The model is client-go's events broadcaster. The first occurrence creates an Event, the second
makes it a series, and from then on its count is written every `REFRESH` seconds as long as it
grows. A series that nothing was added to for `FINISH` seconds has ended: its last count is written
and it is forgotten, and the next occurrence is an Event of its own. Unlike client-go, two Events
with different messages are never one, and the version of the object makes no difference.

Only new Events take a token (25 at once per object, then one in five minutes). So an object costs
at most 25 Events and as many series at once, whatever its controller says about it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from quiver.engine.recording.eventbody import EventType, Regarding, event_name, micro_time
from quiver.engine.recording.tokenbuckets import TokenBuckets
from quiver.kube import Object

FINISH = timedelta(minutes=6)
REFRESH = timedelta(minutes=5)
BURST = 25
SECONDS_PER_TOKEN = 300.0
MOST_SERIES = 4096
MOST_OBJECTS = 4096


@dataclass(slots=True)
class EventCounts:
    """What became of Events: requests that succeeded, and occurrences that were lost, by why."""

    written: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def drop(self, series: "Series", reason: str) -> None:
        """Give up what is not written of a series; counted once, whoever gives it up again."""
        self.dropped[reason] += series.unwritten
        series.written = series.count


class Facts(NamedTuple):
    """What an Event says, except when and how often."""

    about: Regarding
    type: EventType
    reason: str
    note: str
    action: str

    @property
    def identity(self) -> tuple[object, ...]:
        return (*self.object, self.type, self.reason, self.note)

    @property
    def object(self) -> tuple[str, ...]:
        return self.about[:5]


@dataclass(slots=True, eq=False)
class Series:
    """One Event and its repetitions; `written` is the count that the server has."""

    facts: Facts
    name: str
    first: datetime
    last: datetime
    count: int = 1
    written: int = 0
    written_at: datetime | None = None
    queued: bool = False
    refused: bool = False
    tries: int = 0

    @property
    def unwritten(self) -> int:
        return self.count - self.written

    def add(self, at: datetime) -> None:
        self.count += 1
        self.last = max(self.last, at)

    def has_ended(self, at: datetime) -> bool:
        return at - self.last >= FINISH

    def wants_write(self, at: datetime) -> bool:
        if self.queued or self.refused or not self.unwritten:
            return False
        if self.written_at is None or self.written < 2:
            return True
        return self.has_ended(at) or at - self.written_at >= REFRESH

    def repetition(self) -> Object:
        """The field `series`; the server wants none below two."""
        if self.count < 2:
            return {}
        return {"series": {"count": self.count, "lastObservedTime": micro_time(self.last)}}


class SeriesBook:
    """The series that have not ended. The clock may step back: then a series lasts longer."""

    def __init__(self, counts: EventCounts) -> None:
        self._counts = counts
        self._series: dict[tuple[object, ...], Series] = {}
        self._numbers = 0
        self._tokens: TokenBuckets[tuple[str, ...]] = TokenBuckets(
            burst=BURST, seconds_per_token=SECONDS_PER_TOKEN, most=MOST_OBJECTS
        )

    def __len__(self) -> int:
        return len(self._series)

    def __iter__(self) -> Iterator[Series]:
        return iter(self._series.values())

    def observe(self, facts: Facts, at: datetime) -> Series | None:
        """The series that this is part of; None for one too many."""
        series = self._series.get(facts.identity)
        if series is not None:
            series.add(at)
            return series
        if not self._tokens.take(facts.object, at.timestamp()):
            self._counts.dropped["rate"] += 1
            return None
        return self._begin(facts, at)

    def forget(self, series: Series) -> None:
        if self._series.get(series.facts.identity) is series:
            del self._series[series.facts.identity]

    def due(self, at: datetime) -> list[Series]:
        """What is to be written because time has passed; forgets what has ended."""
        wanted = [series for series in self if series.wants_write(at)]
        for series in [series for series in self if series.has_ended(at)]:
            self.forget(series)
        return wanted

    def _begin(self, facts: Facts, at: datetime) -> Series:
        self._numbers += 1
        series = Series(facts, event_name(facts.about, at, self._numbers), at, at)
        self._series[facts.identity] = series
        if len(self._series) > MOST_SERIES:
            self._forget_oldest()
        return series

    def _forget_oldest(self) -> None:
        oldest = next(iter(self))
        self.forget(oldest)
        if not oldest.queued:
            self._counts.drop(oldest, "forgotten")
