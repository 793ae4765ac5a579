"""Metrics as Prometheus' own parser reads them."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Histogram as TheirHistogram
from prometheus_client.parser import text_string_to_metric_families

from quiver.engine.attempt import TimedOut
from quiver.engine.observe.instruments import Histogram, Registry
from quiver.engine.observe.metrics import CacheSize, Metrics
from quiver.engine.observe.processstats import add_process_metrics
from quiver.engine.observe.queuemetrics import QUEUE_SECONDS
from quiver.engine.observe.reconcilemetrics import RECONCILE_SECONDS, Ending, ending_of
from quiver.engine.outcome import Outcome, Requeue, Terminal, Transient, Wait
from quiver.engine.queue import WorkQueue
from quiver.engine.recording.eventseries import EventCounts
from quiver.kube.errors import Unreachable
from quiver.kube.faults import CannedAnswer
from quiver.kube.interceptor import Send, chained
from quiver.kube.request import Answer, Request


class Scrape:
    """What a scrape of the text gives, by Prometheus' own parser."""

    def __init__(self, text: bytes) -> None:
        families = list(text_string_to_metric_families(text.decode()))
        self.types = {family.name: family.type for family in families}
        self._values = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def __call__(self, metric: str, /, **labels: str) -> float:
        return self._values[metric, frozenset(labels.items())]

    def bounds_of(self, name: str) -> list[str]:
        wanted = f"{name}_bucket"
        return [dict(labels)["le"] for found, labels in self._values if found == wanted]


def scrape(metrics: Metrics | Registry) -> Scrape:
    return Scrape(metrics.render())


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def results(found: Scrape, controller: str) -> dict[str, float]:
    name = "controller_runtime_reconcile_total"
    every = ("success", "requeue", "requeue_after", "error")
    return {result: found(name, controller=controller, result=result) for result in every}


def test_a_controller_is_shown_before_its_first_reconcile(metrics: Metrics) -> None:
    metrics.controller("site", workers=16)
    found = scrape(metrics)
    assert set(results(found, "site").values()) == {0}
    assert found("controller_runtime_max_concurrent_reconciles", controller="site") == 16
    assert found("controller_runtime_active_workers", controller="site") == 0


@pytest.mark.parametrize(
    ("ending", "result", "also"),
    [
        (Ending.SUCCESS, "success", ()),
        (Ending.REQUEUE_AFTER, "requeue_after", ()),
        (Ending.ERROR, "error", ("reconcile_errors",)),
        (Ending.TERMINAL, "error", ("reconcile_errors", "terminal_reconcile_errors")),
        (Ending.UNEXPECTED, "error", ("reconcile_errors", "reconcile_panics")),
        (Ending.TIMEOUT, "error", ("reconcile_errors", "reconcile_timeouts")),
    ],
)
def test_an_ending_counts_under_its_result_and_its_own_names(
    metrics: Metrics, ending: Ending, result: str, also: Sequence[str]
) -> None:
    site = metrics.controller("site", workers=1)
    site.started()
    site.ended(ending, 0.2)
    found = scrape(metrics)
    assert {name for name, count in results(found, "site").items() if count} == {result}
    extra = ("reconcile_errors", "terminal_reconcile_errors", "reconcile_panics")
    for name in (*extra, "reconcile_timeouts"):
        count = found(f"controller_runtime_{name}_total", controller="site")
        assert count == (name in also)


def test_a_reconcile_is_timed_and_its_worker_is_free_again(metrics: Metrics) -> None:
    site = metrics.controller("site", workers=2)
    site.started()
    site.started()
    assert scrape(metrics)("controller_runtime_active_workers", controller="site") == 2
    site.ended(Ending.SUCCESS, 0.2)
    site.abandoned()
    found = scrape(metrics)
    assert found("controller_runtime_active_workers", controller="site") == 0
    time = "controller_runtime_reconcile_time_seconds"
    assert found(f"{time}_count", controller="site") == 1
    assert found(f"{time}_bucket", controller="site", le="0.2") == 1
    assert found(f"{time}_bucket", controller="site", le="0.15") == 0


@pytest.mark.parametrize(
    ("ended", "ending"),
    [
        (None, Ending.SUCCESS),
        (Requeue(5, "soon"), Ending.REQUEUE_AFTER),
        (Wait("pods", "starting"), Ending.REQUEUE_AFTER),
        (Transient("busy"), Ending.ERROR),
        (Unreachable("away"), Ending.ERROR),
        (Terminal("wrong"), Ending.TERMINAL),
        (TimeoutError(), Ending.TIMEOUT),
        (TimedOut("late"), Ending.TIMEOUT),
        (KeyError("x"), Ending.UNEXPECTED),
        (ExceptionGroup("", [Terminal("a"), Terminal("b")]), Ending.TERMINAL),
        (ExceptionGroup("", [Terminal("a"), Transient("b")]), Ending.ERROR),
        (ExceptionGroup("", [Transient("a"), KeyError("b")]), Ending.UNEXPECTED),
    ],
)
def test_what_a_reconcile_returns_or_raises_decides_its_ending(
    ended: Outcome | Exception, ending: Ending
) -> None:
    assert ending_of(ended) is ending


async def test_a_queue_is_shown_as_it_is_at_the_scrape(metrics: Metrics) -> None:
    durations = metrics.queue_durations("site")
    queue: WorkQueue[str] = WorkQueue(
        now=asyncio.get_running_loop().time,
        queue_duration=durations.queue,
        work_duration=durations.work,
    )
    metrics.add_queue("site", queue.metrics)
    labels = {"name": "site", "controller": "site"}
    queue.add("a")
    queue.add("b", priority=-100)
    found = scrape(metrics)
    assert found("workqueue_depth", **labels, priority="0") == 1
    assert found("workqueue_depth", **labels, priority="-100") == 1
    assert found("workqueue_adds_total", **labels) == 2
    for _ in range(2):
        queue.done(await queue.get())
    found = scrape(metrics)
    assert found("workqueue_depth", **labels, priority="-100") == 0
    assert found("workqueue_queue_duration_seconds_count", **labels) == 2
    assert found("workqueue_work_duration_seconds_count", **labels) == 2
    for gauge in ("unfinished_work", "longest_running_processor", "oldest_waiting"):
        assert found(f"workqueue_{gauge}_seconds", **labels) == 0
    assert found("workqueue_retries_total", **labels) == 0


def test_buckets_have_the_names_that_go_gives_them(metrics: Metrics) -> None:
    metrics.queue_durations("site")
    metrics.controller("site", workers=1)
    text = metrics.render().decode()
    # As printed by `prometheus.ExponentialBuckets(10e-9, 10, 12)` in Go.
    for bound in ("1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "0.001", "1000"):
        found = [line for line in text.splitlines() if f'le="{bound}"' in line]
        assert any("workqueue" in line for line in found), bound
    assert len(QUEUE_SECONDS) == 12
    assert len(RECONCILE_SECONDS) == 40


def request(method: str = "GET", *, watch: bool = False) -> Request:
    query = {"watch": "true"} if watch else {}
    return Request(method=method, path="/api", deadline=1.0, query=query)


async def answers(_: Request) -> Answer:
    return CannedAnswer(200, "", "", None)


async def breaks(_: Request) -> Answer:
    raise ConnectionResetError


async def test_requests_are_counted_by_code_method_and_host(metrics: Metrics) -> None:
    count = metrics.requests("https://10.0.0.1:6443", now=iter([0, 0.2, 1, 1.2]).__next__)
    await count(request(), answers)
    with pytest.raises(ConnectionResetError):
        await count(request("PATCH"), breaks)
    found = scrape(metrics)
    total = "rest_client_requests_total"
    assert found(total, code="200", method="GET", host="10.0.0.1:6443") == 1
    assert found(total, code="<error>", method="PATCH", host="10.0.0.1:6443") == 1
    duration = "rest_client_request_duration_seconds"
    assert found(f"{duration}_sum", verb="GET", host="10.0.0.1:6443") == pytest.approx(0.2)


async def test_a_watch_is_counted_and_has_no_duration(metrics: Metrics) -> None:
    await metrics.requests("fleet")(request(watch=True), answers)
    assert scrape(metrics)("rest_client_requests_total", code="200", method="GET", host="fleet")
    assert b"rest_client_request_duration_seconds" not in metrics.render()


async def test_of_chained_interceptors_the_first_is_nearest_to_the_caller() -> None:
    order: list[str] = []

    class Noting:
        def __init__(self, name: str) -> None:
            self._name = name

        async def __call__(self, passed: Request, send: Send) -> Answer:
            order.append(self._name)
            return await send(passed)

    await chained(Noting("a"), Noting("b"), Noting("c"))(request(), answers)
    assert order == ["a", "b", "c"]


def test_a_webhook_is_counted_by_code(metrics: Metrics) -> None:
    webhook = metrics.webhook("/validate")
    webhook.started()
    name = "controller_runtime_webhook_requests"
    assert scrape(metrics)(f"{name}_in_flight", webhook="/validate") == 1
    webhook.ended(200, 0.01)
    found = scrape(metrics)
    assert found(f"{name}_in_flight", webhook="/validate") == 0
    assert found(f"{name}_total", webhook="/validate", code="200") == 1
    assert found(f"{name}_total", webhook="/validate", code="500") == 0
    assert found("controller_runtime_webhook_latency_seconds_count", webhook="/validate") == 1


def test_leadership_caches_events_and_lag_are_shown(metrics: Metrics) -> None:
    metrics.leader("quiver").set(1)
    metrics.add_cache("Pod", lambda: CacheSize(3, 4096))
    metrics.add_loop_lag(lambda: 0.25)
    counts = EventCounts(written=2)
    counts.dropped["rate"] = 7
    metrics.add_events("site", counts)
    found = scrape(metrics)
    assert found("leader_election_master_status", name="quiver") == 1
    assert found("quiver_cache_objects", kind="Pod") == 3
    assert found("quiver_cache_bytes", kind="Pod") == 4096
    assert found("quiver_event_loop_lag_seconds") == 0.25
    assert found("quiver_events_written_total", controller="site") == 2
    assert found("quiver_events_dropped_total", controller="site", reason="rate") == 7


def test_the_process_is_shown(metrics: Metrics) -> None:
    found = scrape(metrics)
    assert found("process_resident_memory_bytes") > 1e6
    assert found("process_virtual_memory_bytes") > 1e6
    assert found("process_open_fds") >= 3
    assert found("process_max_fds") >= found("process_open_fds")
    assert found("process_start_time_seconds") > 1.6e9
    assert found("process_cpu_seconds_total") > 0


def test_where_there_is_no_proc_there_are_no_process_metrics(tmp_path: Path) -> None:
    registry = Registry()
    add_process_metrics(registry, tmp_path)
    assert registry.render() == b""


def test_a_name_is_given_once(metrics: Metrics) -> None:
    with pytest.raises(ValueError, match="there is a metric"):
        metrics.registry.gauge("workqueue_depth", "Twice.")


def test_labels_must_be_complete() -> None:
    with pytest.raises(ValueError, match="has the labels"):
        Registry().counter("x_total", "X.", "a", "b").of("only one")


# The parser in Python ends a line at \r, that of Prometheus does not.
@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30))
def test_any_label_value_comes_back_as_it_was(value: str) -> None:
    registry = Registry()
    registry.counter("x_total", "Back\\slash.\nTwo lines.", "label").of(value).inc(2)
    assert scrape(registry)("x_total", label=value) == 2


@given(st.floats(allow_nan=False))
def test_any_value_comes_back_as_it_was(value: float) -> None:
    registry = Registry()
    registry.gauge("x", "X.").of().set(value)
    assert scrape(registry)("x") == value


@given(st.lists(st.floats(0, 100)))
def test_a_histogram_counts_as_that_of_prometheus_does(values: list[float]) -> None:
    registry, theirs = Registry(), CollectorRegistry()
    ours = registry.histogram("x", "X.", bounds=RECONCILE_SECONDS).of()
    their_histogram = TheirHistogram("x", "X.", buckets=RECONCILE_SECONDS, registry=theirs)
    for value in values:
        ours.observe(value)
        their_histogram.observe(value)
    mine, reference = scrape(registry), Scrape(generate_latest(theirs))
    assert mine("x_count") == reference("x_count")
    assert mine("x_sum") == pytest.approx(reference("x_sum"))
    for ours_le, theirs_le in zip(mine.bounds_of("x"), reference.bounds_of("x"), strict=True):
        assert float(ours_le) == float(theirs_le)
        assert mine("x_bucket", le=ours_le) == reference("x_bucket", le=theirs_le)


def test_a_value_on_a_bound_is_below_it() -> None:
    histogram = Histogram((1.0, 2.0))
    histogram.observe(1.0)
    histogram.observe(math.inf)
    assert histogram.counts == [1, 0, 1]
