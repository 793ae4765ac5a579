"""Tracing with the SDK's own exporter in memory, over real HTTP, and switched off."""

import asyncio
import sys
import threading

import pytest
from aiohttp import web
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from quiver.engine.kinds import Key
from quiver.engine.observe.health import serving
from quiver.engine.observe.otel import OpenTelemetry
from quiver.engine.observe.reconcilemetrics import Ending
from quiver.engine.observe.tracing import NO_TRACING, tracing_from
from quiver.kube.faults import CannedAnswer
from quiver.kube.request import Answer, Request

KEY = Key("team", "web")
REQUEST = Request(
    method="PATCH",
    path="/apis/apps/v1/namespaces/team/deployments/web",
    subject="apply Deployment team/web",
    deadline=1.0,
    body=b"hunter2",
)


class Traced:
    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._memory = InMemorySpanExporter()
        provider = provider or TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self.tracing = OpenTelemetry(provider)
        self.sent: list[Request] = []

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._memory.get_finished_spans()}

    async def request(self, status: int = 200) -> None:
        async def send(request: Request) -> Answer:
            self.sent.append(request)
            if status == 0:
                raise ConnectionResetError("hunter2")
            return CannedAnswer(status, "", "hunter2", None)

        [interceptor] = self.tracing.interceptors
        await interceptor(REQUEST, send)


@pytest.fixture
def traced() -> Traced:
    return Traced()


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_reconcile_is_a_span_that_says_how_it_ended(traced: Traced) -> None:
    with traced.tracing.reconcile(controller="site", key=KEY, reconcile_id="7") as span:
        span.ended(Ending.REQUEUE_AFTER)
    span_of = traced.spans["reconcile site"]
    assert attributes(span_of) == {
        "quiver.controller": "site",
        "k8s.namespace.name": "team",
        "quiver.name": "web",
        "quiver.reconcile_id": "7",
        "quiver.outcome": "requeue_after",
    }
    assert span_of.status.status_code is StatusCode.UNSET


def test_a_failed_reconcile_is_a_failed_span(traced: Traced) -> None:
    with traced.tracing.reconcile(controller="site", key=KEY, reconcile_id="7") as span:
        span.ended(Ending.TERMINAL)
    assert traced.spans["reconcile site"].status.status_code is StatusCode.ERROR


async def test_a_request_is_a_child_of_its_reconcile(traced: Traced) -> None:
    with traced.tracing.reconcile(controller="site", key=KEY, reconcile_id="7"):
        await traced.request()
    child, parent = traced.spans["apply Deployment"], traced.spans["reconcile site"]
    assert child.parent is not None
    assert parent.context is not None
    assert child.parent.span_id == parent.context.span_id
    assert attributes(child)["http.response.status_code"] == 200


async def test_the_server_is_told_of_the_trace(traced: Traced) -> None:
    with traced.tracing.reconcile(controller="site", key=KEY, reconcile_id="7"):
        await traced.request()
    context = traced.spans["apply Deployment"].context
    assert context is not None
    [(name, value)] = traced.sent[0].headers
    assert name == "traceparent"
    assert value == f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


async def test_a_request_outside_a_reconcile_is_not_traced(traced: Traced) -> None:
    await traced.request()
    assert not traced.spans
    assert traced.sent == [REQUEST]


async def test_a_trace_that_is_not_kept_changes_no_request() -> None:
    traced = Traced(TracerProvider(sampler=ALWAYS_OFF))
    with traced.tracing.reconcile(controller="site", key=KEY, reconcile_id="7"):
        await traced.request()
    assert traced.sent == [REQUEST]


@pytest.mark.parametrize("status", [0, 409])
async def test_a_request_that_failed_is_a_failed_span_without_its_words(
    traced: Traced, status: int
) -> None:
    with traced.tracing.reconcile(controller="site", key=KEY, reconcile_id="7"):
        if status:
            await traced.request(status)
        else:
            with pytest.raises(ConnectionResetError):
                await traced.request(status)
    span = traced.spans["apply Deployment"]
    assert span.status.status_code is StatusCode.ERROR
    assert "hunter2" not in span.to_json()


async def test_off_there_is_nothing_under_a_client() -> None:
    tracing = tracing_from({})
    assert tracing is NO_TRACING
    assert tracing.interceptors == ()
    with tracing.reconcile(controller="site", key=KEY, reconcile_id="7") as span:
        span.ended(Ending.SUCCESS)
    await tracing.close()


def test_opentelemetrys_own_switch_turns_it_off() -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}
    assert tracing_from(environment) is NO_TRACING


@pytest.fixture
def _without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    monkeypatch.delitem(sys.modules, "quiver.engine.observe.otel")


@pytest.mark.usefixtures("_without_the_extra")
def test_without_the_extra_it_is_off_and_says_what_to_install(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert tracing_from({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}) is NO_TRACING
    assert "install quiver-operator[otel]" in caplog.text


async def test_spans_reach_a_collector_when_tracing_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received: asyncio.Queue[bytes] = asyncio.Queue()

    async def collect(request: web.Request) -> web.Response:
        received.put_nowait(await request.read())
        return web.Response()

    async with serving("127.0.0.1:0", [web.post("/v1/traces", collect)]) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{address}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        tracing = tracing_from({"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}"})
        with tracing.reconcile(controller="site", key=KEY, reconcile_id="7"):
            pass
        await tracing.close()
    assert b"reconcile site" in received.get_nowait()


async def test_a_collector_that_hangs_does_not_hold_up_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked, let_go = threading.Event(), threading.Event()

    class Hanging(SpanProcessor):
        def shutdown(self) -> None:
            asked.set()
            let_go.wait(10)

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Hanging())
    await OpenTelemetry(provider).close(within=0.01)
    assert asked.wait(10)
    assert "some spans were not sent" in caplog.text
    let_go.set()
