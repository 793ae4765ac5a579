"""Types as manifests: plain JSON, without anything empty.

The API server drops what is empty; an object that had it would never be what was asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

Object = dict[str, Any]

# The values of these belong to people, and "" is one.
_LABELS = frozenset({"matchLabels"})


def plain(fields: msgspec.Struct) -> Object:
    """A Struct as JSON, without nulls, empty texts, lists and maps."""
    filled: Object = _filled(msgspec.to_builtins(fields))
    return filled


def plain_all(entries: Iterable[msgspec.Struct]) -> list[Object]:
    return [plain(entry) for entry in entries]


def free(value: Any) -> Any:
    """What people wrote freely. Empty maps stay: `emptyDir: {}` says something."""
    if isinstance(value, Mapping):
        kept = {key: free(entry) for key, entry in value.items()}
        return {key: entry for key, entry in kept.items() if entry is not None and entry != []}
    if isinstance(value, list):
        return [free(entry) for entry in value if entry is not None]
    return value


def given(**entries: Any) -> Object:
    """Those entries that say something; numbers and booleans always do."""
    return {key: entry for key, entry in entries.items() if not _is_empty(entry)}


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: entry if key in _LABELS else _filled(entry) for key, entry in value.items()}
        return {key: entry for key, entry in kept.items() if not _is_empty(entry)}
    if isinstance(value, list):
        return [_filled(entry) for entry in value]
    return value


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)
