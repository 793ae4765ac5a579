"""Markers (PEP 508): the condition under which a package needs another."""

import os
import platform
import re
import sys
from collections.abc import Callable, Mapping

from quiver.images.errors import CannotCollect

_TOKEN = re.compile(
    r"\s*(\(|\)|(?:and|or|in|not\s+in)\b|===|[<>=!~]=|[<>]|'[^']*'|\"[^\"]*\"|[A-Za-z_.]+)"
)
_VERSION = re.compile(r"\d+(?:\.\d+)*")


def marker_environment() -> dict[str, str]:
    """The running interpreter, in the words of markers."""
    version = platform.python_version()
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": version,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": version,
        "python_version": ".".join(version.split(".")[:2]),
        "sys_platform": sys.platform,
    }


def holds(marker: str, environment: Mapping[str, str]) -> bool:
    reader = _Reader(marker, environment)
    result = reader.any_of()
    reader.end()
    return result


class _Reader:
    """Evaluates while it reads: `or` binds weaker than `and`, and both sides are always read."""

    def __init__(self, marker: str, environment: Mapping[str, str]) -> None:
        self._marker = marker
        self._environment = environment
        self._tokens = _tokens(marker)

    def any_of(self) -> bool:
        result = self._all_of()
        while self._accept("or"):
            result = self._all_of() or result
        return result

    def end(self) -> None:
        if self._tokens:
            raise self._unreadable()

    def _all_of(self) -> bool:
        result = self._one()
        while self._accept("and"):
            result = self._one() and result
        return result

    def _one(self) -> bool:
        if not self._accept("("):
            return self._comparison()
        result = self.any_of()
        if not self._accept(")"):
            raise self._unreadable()
        return result

    def _comparison(self) -> bool:
        left, operator, right = self._value(), self._next(), self._value()
        if operator not in _COMPARISONS:
            raise self._unreadable()
        return _COMPARISONS[operator](left, right)

    def _value(self) -> str:
        token = self._next()
        if token[0] in "'\"":
            return token[1:-1]
        if token not in self._environment:
            raise self._unreadable()
        return self._environment[token]

    def _accept(self, token: str) -> bool:
        if self._tokens[:1] != [token]:
            return False
        self._tokens.pop(0)
        return True

    def _next(self) -> str:
        if not self._tokens:
            raise self._unreadable()
        return self._tokens.pop(0)

    def _unreadable(self) -> CannotCollect:
        return CannotCollect(f"the marker {self._marker!r} of a package cannot be read.")


def _tokens(marker: str) -> list[str]:
    found, at = [], 0
    while marker[at:].strip():
        match = _TOKEN.match(marker, at)
        if match is None:
            raise CannotCollect(f"the marker {marker!r} of a package cannot be read.")
        found.append(" ".join(match[1].split()) if match[1].startswith("not") else match[1])
        at = match.end()
    return found


def _ordered(left: str, right: str) -> tuple[list[int], list[int]] | tuple[str, str]:
    """Both as versions where both are, padded to one length, otherwise both as text."""
    if not (_VERSION.fullmatch(left) and _VERSION.fullmatch(right)):
        return left, right
    one, other = ([int(part) for part in text.split(".")] for text in (left, right))
    length = max(len(one), len(other))
    return one + [0] * (length - len(one)), other + [0] * (length - len(other))


def _equal(left: str, right: str) -> bool:
    if right.endswith(".*"):
        return f"{left}.".startswith(right[:-1])
    one, other = _ordered(left, right)
    return one == other


def _less(left: str, right: str) -> bool:
    one, other = _ordered(left, right)
    return one < other  # type: ignore[operator]


def _compatible(left: str, right: str) -> bool:
    series = right.rpartition(".")[0]
    return not _less(left, right) and f"{left}.".startswith(f"{series}.")


_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "==": _equal,
    "===": str.__eq__,
    "!=": lambda left, right: not _equal(left, right),
    "<": _less,
    ">": lambda left, right: _less(right, left),
    "<=": lambda left, right: not _less(right, left),
    ">=": lambda left, right: not _less(left, right),
    "~=": _compatible,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}
