"""Traces of reconciles and their requests, by OpenTelemetry, where it is installed and wanted.

    tracing = tracing_from(os.environ)
    interceptor = chained(metrics.requests(config.server), *tracing.interceptors)
    with tracing.reconcile(controller="site", key=key, reconcile_id=turn_id) as span:
        span.ended(Ending.SUCCESS)

It is on when OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) says where spans
go and `quiver-operator[otel]` is installed; how many are kept and all else is configured by
OpenTelemetry's own variables. Off, nothing of it is imported, and requests cost nothing.
"""

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol, Self

from quiver.engine.kinds import Key
from quiver.engine.observe.reconcilemetrics import Ending
from quiver.kube.interceptor import Interceptor

__all__ = ["NO_TRACING", "ReconcileSpan", "Tracing", "tracing_from"]

_WHERE = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_log = logging.getLogger(__name__)


class ReconcileSpan(Protocol):
    def ended(self, ending: Ending, /) -> None: ...


class Tracing(Protocol):
    @property
    def interceptors(self) -> tuple[Interceptor, ...]:
        """What to put under clients; nothing when tracing is off."""

    def reconcile(
        self, *, controller: str, key: Key, reconcile_id: str
    ) -> AbstractContextManager[ReconcileSpan]: ...

    async def close(self, *, within: float = 5.0) -> None:
        """Send what was not sent yet."""


class _NoSpan:
    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ended(self, _: Ending, /) -> None:
        pass


class _NoTracing:
    interceptors: tuple[Interceptor, ...] = ()

    def reconcile(self, *, controller: str, key: Key, reconcile_id: str) -> _NoSpan:  # noqa: ARG002
        return _NO_SPAN

    async def close(self, *, within: float = 5.0) -> None:
        pass


_NO_SPAN = _NoSpan()
NO_TRACING: Tracing = _NoTracing()


def tracing_from(environment: Mapping[str, str]) -> Tracing:
    """As OpenTelemetry's variables say; without them, off."""
    if not is_wanted(environment):
        return NO_TRACING
    try:
        from quiver.engine.observe.otel import exporting
    except ModuleNotFoundError as error:
        _log.warning(
            "there will be no traces, although %s is set: %s is missing; "
            "install quiver-operator[otel]",
            next(name for name in _WHERE if environment.get(name)),
            error.name,
        )
        return NO_TRACING
    return exporting()


def is_wanted(environment: Mapping[str, str]) -> bool:
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    return any(environment.get(name) for name in _WHERE)
