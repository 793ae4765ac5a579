"""Counting admission requests."""

from quiver.engine.observe.instruments import Registry

WEBHOOK_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class WebhookFamilies:
    def __init__(self, registry: Registry) -> None:
        prefix = "controller_runtime_webhook_"
        self.latency = registry.histogram(
            f"{prefix}latency_seconds", "Histogram of the latency of processing admission requests",
            "webhook", bounds=WEBHOOK_SECONDS,
        )  # fmt: skip
        self.requests = registry.counter(
            f"{prefix}requests_total", "Total number of admission requests by HTTP status code.",
            "webhook", "code",
        )  # fmt: skip
        self.in_flight = registry.gauge(
            f"{prefix}requests_in_flight", "Current number of admission requests being served.",
            "webhook",
        )  # fmt: skip


class WebhookMetrics:
    """The requests of one webhook, which is named by its path: `started`, then `ended`."""

    def __init__(self, families: WebhookFamilies, path: str) -> None:
        self._requests = families.requests
        self._path = path
        self._latency = families.latency.of(path)
        self._in_flight = families.in_flight.of(path)
        for code in (200, 500):
            self._requests.of(path, str(code))

    def started(self) -> None:
        self._in_flight.inc()

    def ended(self, code: int, seconds: float) -> None:
        self._in_flight.dec()
        self._latency.observe(seconds)
        self._requests.of(self._path, str(code)).inc()
