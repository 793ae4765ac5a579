"""Counters, gauges and histograms, and their text as Prometheus reads it.

Own code rather than prometheus-client, as measured side by side: importing that takes 2.7 MB, an
observation in a histogram with 40 buckets 1 to 2 µs against 0.2 µs here, and the text of 100 such
histograms twenty times as long, during which the event loop stands still. It pays for threads and
many processes. Here everything happens on one event loop, without locks: what is counted from
another thread may be lost.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counter:
    """Only ever grows; `value` is set by whoever copies a total that is counted elsewhere."""

    __slots__ = ("value",)
    kind = "counter"

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, by: float = 1.0) -> None:
        self.value += by

    def lines(self, name: str, labels: str) -> list[str]:
        return [f"{name}{_braced(labels)} {_number(self.value)}"]


class Gauge(Counter):
    """Goes up and down."""

    __slots__ = ()
    kind = "gauge"

    def dec(self, by: float = 1.0) -> None:
        self.value -= by

    def set(self, value: float) -> None:
        self.value = value


class Histogram:
    """How often a value was at most each of the bounds, and the sum of all."""

    __slots__ = ("bounds", "counts", "sum")
    kind = "histogram"

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, labels: str) -> list[str]:
        start = f"{name}_bucket{{{labels},le=" if labels else f"{name}_bucket{{le="
        bounds = [*map(_number, self.bounds), "+Inf"]
        totals = list(accumulate(self.counts))
        buckets = [
            f'{start}"{bound}"}} {total}' for bound, total in zip(bounds, totals, strict=True)
        ]
        return [
            *buckets,
            f"{name}_sum{_braced(labels)} {_number(self.sum)}",
            f"{name}_count{_braced(labels)} {totals[-1]}",
        ]


class Instrument(Protocol):
    kind: str

    def lines(self, name: str, labels: str) -> list[str]: ...


I = TypeVar("I", bound=Instrument)  # noqa: E741


class Family(Generic[I]):
    """The instruments of one name, one for each combination of label values."""

    def __init__(self, name: str, text: str, labels: Sequence[str], make: Callable[[], I]) -> None:
        self.name = name
        self._text = text
        self._labels = labels
        self._make = make
        self._children: dict[tuple[str, ...], I] = {}

    def of(self, *values: str) -> I:
        """The instrument with these label values, in the order of the declaration."""
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self._labels):
                raise ValueError(f"{self.name} has the labels {self._labels}, not {values}")
            child = self._children[values] = self._make()
        return child

    def items(self) -> list[tuple[tuple[str, ...], I]]:
        return list(self._children.items())

    def lines(self) -> list[str]:
        if not self._children:
            return []
        kind = next(iter(self._children.values())).kind
        lines = [f"# HELP {self.name} {_help(self._text)}", f"# TYPE {self.name} {kind}"]
        for values, child in self._children.items():
            lines += child.lines(self.name, _labels(self._labels, values))
        return lines


class Registry:
    """All families of a process, and what has to be asked before they are shown."""

    def __init__(self) -> None:
        self._families: dict[str, Family[Counter] | Family[Gauge] | Family[Histogram]] = {}
        self._refreshes: list[Callable[[], None]] = []

    def counter(self, name: str, text: str, *labels: str) -> Family[Counter]:
        return self._add(Family(name, text, labels, Counter))

    def gauge(self, name: str, text: str, *labels: str) -> Family[Gauge]:
        return self._add(Family(name, text, labels, Gauge))

    def histogram(
        self, name: str, text: str, *labels: str, bounds: Sequence[float]
    ) -> Family[Histogram]:
        return self._add(Family(name, text, labels, lambda: Histogram(bounds)))

    def before_render(self, refresh: Callable[[], None]) -> None:
        """For values that are cheaper to ask for at a scrape than to keep."""
        self._refreshes.append(refresh)

    def render(self) -> bytes:
        for refresh in self._refreshes:
            refresh()
        lines = [line for family in self._families.values() for line in family.lines()]
        return "".join(f"{line}\n" for line in lines).encode()

    def _add(self, family: "F") -> "F":
        if family.name in self._families:
            raise ValueError(f"there is a metric {family.name} already")
        self._families[family.name] = family
        return family


F = TypeVar("F", Family[Counter], Family[Gauge], Family[Histogram])


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = zip(names, values, strict=True)
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _number(value: float) -> str:
    """As Go prints it, so that `le` is the same string as in other operators."""
    if value == float("inf"):
        return "+Inf"
    return repr(float(value)).removesuffix(".0")
