"""What the operator counts, under controller-runtime's names, so that its dashboards work here.

    metrics = Metrics()
    site = metrics.controller("site", workers=16)
    durations = metrics.queue_durations("site")
    queue = WorkQueue(now=loop.time, queue_duration=durations.queue, work_duration=durations.work)
    metrics.add_queue("site", queue.metrics)
    client = Client(config, interceptor=metrics.requests(config.server))

Labels name controllers, kinds and hosts, never objects: the number of series does not grow with
the number of objects. There is no global registry: each `Metrics` has its own.
"""

import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from quiver import __version__
from quiver.engine.observe.instruments import Gauge, Registry
from quiver.engine.observe.processstats import add_process_metrics
from quiver.engine.observe.queuemetrics import QueueDurations, QueueFamilies
from quiver.engine.observe.reconcilemetrics import ControllerMetrics, ReconcileFamilies
from quiver.engine.observe.requestmetrics import RequestFamilies, RequestMetrics
from quiver.engine.observe.webhookmetrics import WebhookFamilies, WebhookMetrics
from quiver.engine.queue import Metrics as QueueMetrics
from quiver.engine.recording.eventseries import EventCounts


class CacheSize(NamedTuple):
    objects: int
    bytes: int


class Metrics:
    """All metrics of a process; `render` is what Prometheus reads."""

    def __init__(self) -> None:
        registry = self.registry = Registry()
        self._reconciles = ReconcileFamilies(registry)
        self._queues = QueueFamilies(registry)
        self._requests = RequestFamilies(registry)
        self._webhooks = WebhookFamilies(registry)
        self._leader = registry.gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, "
            "0 indicates backup, 1 indicates master.",
            "name",
        )
        self._cache_objects = registry.gauge(
            "quiver_cache_objects", "Number of objects in the cache.", "kind"
        )
        self._cache_bytes = registry.gauge(
            "quiver_cache_bytes", "Bytes of the objects in the cache.", "kind"
        )
        self._events_written = registry.counter(
            "quiver_events_written_total", "Writes of Events, first and repeated.", "controller"
        )
        self._events_dropped = registry.counter(
            "quiver_events_dropped_total",
            "Events that were not written, by why.",
            "controller",
            "reason",
        )
        self._loop_lag = registry.gauge(
            "quiver_event_loop_lag_seconds", "How late the event loop was at its last tick."
        )
        registry.gauge("quiver_build_info", "Always 1.", "version").of(__version__).set(1)
        add_process_metrics(registry)

    def render(self) -> bytes:
        return self.registry.render()

    def controller(self, name: str, *, workers: int) -> ControllerMetrics:
        return ControllerMetrics(self._reconciles, name, workers)

    def queue_durations(self, name: str) -> QueueDurations:
        return self._queues.durations(name)

    def add_queue(self, name: str, ask: Callable[[], QueueMetrics]) -> None:
        self.registry.before_render(lambda: self._queues.show(name, ask()))

    def requests(
        self, server: str, *, now: Callable[[], float] = time.perf_counter
    ) -> RequestMetrics:
        """An interceptor for the clients of one server, given its URL or a name.

        Clients of many clusters should share a name: each has series of its own.
        """
        return RequestMetrics(self._requests, urlsplit(server).netloc or server, now)

    def webhook(self, path: str) -> WebhookMetrics:
        return WebhookMetrics(self._webhooks, path)

    def leader(self, name: str) -> Gauge:
        """1 while this process holds the lease, else 0."""
        return self._leader.of(name)

    def add_cache(self, kind: str, ask: Callable[[], CacheSize]) -> None:
        objects, size = self._cache_objects.of(kind), self._cache_bytes.of(kind)

        def refresh() -> None:
            objects.value, size.value = ask()

        self.registry.before_render(refresh)

    def add_events(self, controller: str, counts: EventCounts) -> None:
        written = self._events_written.of(controller)

        def refresh() -> None:
            written.value = counts.written
            for reason, dropped in counts.dropped.items():
                self._events_dropped.of(controller, reason).value = dropped

        self.registry.before_render(refresh)

    def add_loop_lag(self, ask: Callable[[], float]) -> None:
        lag = self._loop_lag.of()
        self.registry.before_render(lambda: lag.set(ask()))
