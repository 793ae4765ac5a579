"""Counting requests to API servers."""

from collections.abc import Callable

from quiver.engine.observe.instruments import Counter, Histogram, Registry
from quiver.kube.interceptor import Send
from quiver.kube.request import Answer, Request

REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
NO_ANSWER = "<error>"
"""client-go's `code` for an attempt that nobody answered."""


class RequestFamilies:
    def __init__(self, registry: Registry) -> None:
        self.total = registry.counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            "code",
            "method",
            "host",
        )
        self.duration = registry.histogram(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            "verb",
            "host",
            bounds=REQUEST_SECONDS,
        )


class RequestMetrics:
    """An interceptor that counts every attempt of every request to one API server.

    A duration ends with the head of the answer, as client-go's does; a watch has none.
    """

    def __init__(self, families: RequestFamilies, host: str, now: Callable[[], float]) -> None:
        self._families = families
        self._host = host
        self._now = now
        self._counters: dict[tuple[str, int], Counter] = {}
        self._durations: dict[str, Histogram] = {}

    async def __call__(self, request: Request, send: Send) -> Answer:
        started = self._now()
        status = 0
        try:
            answer = await send(request)
            status = answer.status
        finally:
            self._count(request, status, self._now() - started)
        return answer

    def _count(self, request: Request, status: int, seconds: float) -> None:
        method = request.method
        counter = self._counters.get((method, status)) or self._counter(method, status)
        counter.value += 1
        if "watch" not in request.query:
            duration = self._durations.get(method) or self._duration(method)
            duration.observe(seconds)

    def _counter(self, method: str, status: int) -> Counter:
        code = str(status) if status else NO_ANSWER
        counter = self._families.total.of(code, method, self._host)
        return self._counters.setdefault((method, status), counter)

    def _duration(self, method: str) -> Histogram:
        duration = self._families.duration.of(method, self._host)
        return self._durations.setdefault(method, duration)
