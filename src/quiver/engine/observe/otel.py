"""Tracing by OpenTelemetry; imported only where it is installed and wanted.

A reconcile is a span, and its requests are its children. Other requests are not traced: each
watch and each renewal of a lease would be a trace of its own. Requests carry `traceparent`, so
that an API server that traces goes on with the same trace.

Spans have names, types and status codes, never the text of an error: it may quote a secret.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import msgspec
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_current_span

from quiver import __version__
from quiver.engine.kinds import Key
from quiver.engine.observe.reconcilemetrics import Ending
from quiver.kube.interceptor import Interceptor, Send
from quiver.kube.request import Answer, Request

_log = logging.getLogger(__name__)

_WENT_WELL = frozenset({Ending.SUCCESS, Ending.REQUEUE_AFTER})


class OpenTelemetry:
    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer: Tracer = provider.get_tracer("quiver", __version__)
        self.interceptors: tuple[Interceptor, ...] = (self._request,)

    @contextmanager
    def reconcile(
        self, *, controller: str, key: Key, reconcile_id: str
    ) -> Iterator["_ReconcileSpan"]:
        attributes = {
            "quiver.controller": controller,
            "k8s.namespace.name": key.namespace,
            "quiver.name": key.name,
            "quiver.reconcile_id": reconcile_id,
        }
        with self._span(f"reconcile {controller}", SpanKind.INTERNAL, attributes) as span:
            yield _ReconcileSpan(span)

    async def close(self, *, within: float = 5.0) -> None:
        """Send what was not sent yet. A collector that is away is not waited for any longer."""
        loop, closed = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # It took too long, and the loop has ended.
                loop.call_soon_threadsafe(closed.set)

        # The SDK heeds no deadline, and threads of a pool would hold up the end of the process.
        Thread(target=shut_down, name="end of tracing", daemon=True).start()
        try:
            async with asyncio.timeout(within):
                await closed.wait()
        except TimeoutError:
            _log.warning("some spans were not sent within %g s", within)

    async def _request(self, request: Request, send: Send) -> Answer:
        if not get_current_span().is_recording():
            return await send(request)
        attributes = {"http.request.method": request.method, "url.path": request.path}
        with self._span(_name(request), SpanKind.CLIENT, attributes) as span:
            answer = await send(_continued(request, span))
            span.set_attribute("http.response.status_code", answer.status)
            if answer.status >= 400:
                span.set_status(StatusCode.ERROR)
            return answer

    @contextmanager
    def _span(self, name: str, kind: SpanKind, attributes: dict[str, str]) -> Iterator[Span]:
        with self._tracer.start_as_current_span(
            name,
            kind=kind,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise


class _ReconcileSpan:
    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    def ended(self, ending: Ending, /) -> None:
        self._span.set_attribute("quiver.outcome", ending.value)
        if ending not in _WENT_WELL:
            self._span.set_status(StatusCode.ERROR)


def exporting() -> OpenTelemetry:
    """Sends spans in the background to where OpenTelemetry's variables say."""
    resource = Resource.create({"service.name": "quiver", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OpenTelemetry(provider)


def _name(request: Request) -> str:
    """`apply Deployment`: few different ones, hence without the object's name."""
    return " ".join(request.subject.split(" ", 2)[:2]) or request.method


def _continued(request: Request, span: Span) -> Request:
    context = span.get_span_context()
    parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return msgspec.structs.replace(request, headers=(*request.headers, ("traceparent", parent)))
