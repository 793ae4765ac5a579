"""Showing work queues: durations as they are told, the rest asked for at each scrape."""

from collections.abc import Callable
from itertools import accumulate, repeat
from operator import mul
from typing import NamedTuple

from quiver.engine.observe.instruments import Registry
from quiver.engine.queue import Metrics as QueueMetrics

# Multiplied one by one, as Go does: the rounding is part of the label.
QUEUE_SECONDS = tuple(accumulate(repeat(10.0, 11), mul, initial=10e-9))


class QueueDurations(NamedTuple):
    """What a `WorkQueue` is given, to tell how long its keys wait and are worked on."""

    queue: Callable[[float], None]
    work: Callable[[float], None]


class QueueFamilies:
    def __init__(self, registry: Registry) -> None:
        labels = ("name", "controller")
        self._depth = registry.gauge(
            "workqueue_depth", "Current depth of workqueue by workqueue and priority",
            *labels, "priority",
        )  # fmt: skip
        self._adds = registry.counter(
            "workqueue_adds_total", "Total number of adds handled by workqueue", *labels
        )
        self._retries = registry.counter(
            "workqueue_retries_total", "Total number of retries handled by workqueue", *labels
        )
        self._unfinished = registry.gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work is in progress and has not been observed by work_duration.",
            *labels,
        )
        self._longest = registry.gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            *labels,
        )
        self._oldest = registry.gauge(
            "workqueue_oldest_waiting_seconds",
            "How many seconds the key that is next by age has been due.",
            *labels,
        )
        self._queued = registry.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            *labels,
            bounds=QUEUE_SECONDS,
        )
        self._worked = registry.histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            *labels,
            bounds=QUEUE_SECONDS,
        )

    def durations(self, name: str) -> QueueDurations:
        return QueueDurations(
            self._queued.of(name, name).observe, self._worked.of(name, name).observe
        )

    def show(self, name: str, queue: QueueMetrics) -> None:
        self._show_depth(name, queue.depth)
        self._adds.of(name, name).value = queue.adds_total
        self._retries.of(name, name).value = queue.retries_total
        self._unfinished.of(name, name).set(queue.unfinished_work_seconds)
        self._longest.of(name, name).set(queue.longest_running_processor_seconds)
        self._oldest.of(name, name).set(queue.oldest_waiting_seconds)

    def _show_depth(self, name: str, depth: dict[int, int]) -> None:
        self._depth.of(name, name, "0")
        # A priority in which nobody waits any more is zero, not what it was at the last scrape.
        for labels, gauge in self._depth.items():
            if labels[0] == name:
                gauge.set(0)
        for priority, keys in depth.items():
            self._depth.of(name, name, str(priority)).set(keys)
