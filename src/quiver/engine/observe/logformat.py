"""How a record looks: one line of JSON for machines, one readable line for people."""

import json
import logging
import time
from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from quiver.engine.observe.redaction import HIDDEN, is_secret_name, redact

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "bound"}
_COLOURS = {"debug": "\x1b[2m", "warning": "\x1b[33m", "error": "\x1b[31m", "critical": "\x1b[31m"}
_PLAIN = "\x1b[0m"
_SEQUENCES = (list, tuple, set, frozenset)


class JsonFormatter(logging.Formatter):
    """One object per line; a traceback is the field `stacktrace`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": redact(record.getMessage()),
        }
        for name, value in fields_of(record).items():
            line.setdefault(name, value)
        if trace := traceback_of(self, record):
            line.setdefault("stacktrace", trace)
        return _encoded(line)


class HumanFormatter(logging.Formatter):
    """`03:04:05.678 INFO  rolled out  controller=site name=web`; a traceback follows as it is."""

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        fields = "".join(f" {name}={_shown(value)}" for name, value in fields_of(record).items())
        clock = timestamp(record.created)[11:23]
        text = redact(record.getMessage())
        line = f"{clock} {level.upper():<7} {record.name}: {text}{' ' if fields else ''}{fields}"
        if trace := traceback_of(self, record):
            line = f"{line}\n{trace}"
        colour = _COLOURS.get(level) if self._colours else None
        return f"{colour}{line}{_PLAIN}" if colour else line


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC, with milliseconds."""
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{milliseconds:03d}Z"


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What was bound where it was logged, then what was given as `extra`."""
    bound: Mapping[str, Any] = getattr(record, "bound", {})
    extra = {name: value for name, value in vars(record).items() if name not in _OWN}
    return {name: _safe(name, value) for name, value in {**bound, **extra}.items()}


def traceback_of(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    parts = []
    if record.exc_info and record.exc_info[0]:
        parts.append(formatter.formatException(record.exc_info))
    if record.stack_info:
        parts.append(formatter.formatStack(record.stack_info))
    return redact("\n".join(parts))


def _safe(name: str, value: Any) -> Any:
    if is_secret_name(name):
        return HIDDEN
    return _plain(value)


def _plain(value: Any) -> Any:
    """Only what JSON has is taken apart: of anything else a field might be a secret."""
    if isinstance(value, str):
        return redact(value)
    if value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
        return value
    if type(value) is dict:
        return {str(key): _safe(str(key), item) for key, item in value.items()}
    if type(value) in _SEQUENCES:
        return [_plain(item) for item in value]
    return redact(str(value))


def _encoded(line: dict[str, Any]) -> str:
    try:
        return msgspec.json.encode(line).decode()
    except (TypeError, UnicodeEncodeError, OverflowError):
        # Half of a surrogate pair, a number beyond 64 bits, a subclass of a plain type.
        return json.dumps(line, default=str)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else _encoded({"": value})[4:-1]
    return text if text and not any(c in text for c in ' "=\n') else json.dumps(text)
