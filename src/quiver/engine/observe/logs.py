"""Structured logs on the standard library's logging.

    logs.setup(format="json", level="info")
    with logs.bound(controller="site", kind="Site", key=key, reconcile_id=turn_id):
        log.info("rolled out", extra={"replicas": 3})

    {"ts":"2026-01-02T03:04:05.678Z","level":"info","logger":"quiver.site","msg":"rolled out",
     "controller":"site","kind":"Site","namespace":"team","name":"web","reconcileID":"…","replicas":3}

What is bound is seen by everything that the block awaits and by tasks that it starts, also when a
third party's library logs. A level that is off costs one dictionary lookup.
"""

import logging
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Literal, TextIO

from quiver.engine.kinds import Key
from quiver.engine.observe.logformat import HumanFormatter, JsonFormatter

Format = Literal["json", "human"]
Level = Literal["debug", "info", "warning", "error"]

_bound: ContextVar[Mapping[str, Any]] = ContextVar("bound", default={})  # noqa: B039


class bound:  # noqa: N801
    """A context that adds fields to what is logged inside, on top of what is bound already."""

    # A class, not a generator: this is entered for every reconcile, and costs a third.
    __slots__ = ("_fields", "_token")

    def __init__(
        self,
        *,
        controller: str = "",
        kind: str = "",
        key: Key | None = None,
        reconcile_id: str = "",
        **fields: Any,
    ) -> None:
        if controller:
            fields["controller"] = controller
        if kind:
            fields["kind"] = kind
        if key:
            fields["name"] = key.name
            if key.namespace:
                fields["namespace"] = key.namespace
        if reconcile_id:
            fields["reconcileID"] = reconcile_id
        self._fields = fields

    def __enter__(self) -> None:
        outer = _bound.get()
        self._token = _bound.set({**outer, **self._fields} if outer else self._fields)

    def __exit__(self, *_: object) -> None:
        _bound.reset(self._token)


def setup(
    *,
    format: Format = "json",  # noqa: A002
    level: Level = "info",
    stream: TextIO | None = None,
) -> None:
    """Send all logs of the process there. To be called once, before anything is logged."""
    stream = stream or sys.stderr
    handler = _Handler(stream)
    handler.setFormatter(
        JsonFormatter() if format == "json" else HumanFormatter(colours=_wants_colours(stream))
    )
    root = logging.getLogger()
    for former in [handler for handler in root.handlers if isinstance(handler, _Handler)]:
        root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    _quieten()


class _Handler(logging.StreamHandler[TextIO]):
    """Notes what is bound, and never prints a record that it could not format.

    The standard library prints such a record's arguments to stderr, and they may be secret.
    """

    def handle(self, record: logging.LogRecord) -> bool:
        record.bound = _bound.get()
        return bool(super().handle(record))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        kind = sys.exc_info()[0]
        where = f"{record.pathname}:{record.lineno}"
        name = kind.__name__ if kind else "error"
        sys.stderr.write(f"a log call failed with {name} at {where}: {record.levelname}\n")


def _wants_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _quieten() -> None:
    """What third parties say at their info level is news only to who debugs them."""
    for chatty in ("aiohttp.access", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # Nothing shows them, and each costs a system call or a lookup per record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
