"""The JSON patch (RFC 6902) that turns one document into another. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

Operation = dict[str, Any]

_canonical = msgspec.json.Encoder(order="sorted")


def patch_between(before: Any, after: Any) -> list[Operation]:
    """Few operations: what both have in common is not mentioned, whoever put it there."""
    return list(_changes(before, after, ""))


def _changes(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if _same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items(before, after, path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _members(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Operation]:
    for name in before:
        if name not in after:
            yield {"op": "remove", "path": _under(path, name)}
    for name, value in after.items():
        if name in before:
            yield from _changes(before[name], value, _under(path, name))
        else:
            yield {"op": "add", "path": _under(path, name), "value": value}


def _items(before: list[Any], after: list[Any], path: str) -> Iterator[Operation]:
    """Between the common beginning and end, items are changed in pairs, then removed or added."""
    start, end = _common_ends(before, after)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    paired = min(len(old), len(new))
    for index in range(paired):
        yield from _changes(old[index], new[index], f"{path}/{start + index}")
    # From the back: each removal moves what stands behind it.
    for index in reversed(range(paired, len(old))):
        yield {"op": "remove", "path": f"{path}/{start + index}"}
    for index in range(paired, len(new)):
        yield {"op": "add", "path": f"{path}/{start + index}", "value": new[index]}


def _common_ends(before: list[Any], after: list[Any]) -> tuple[int, int]:
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and _same(before[start], after[start]):
        start += 1
    end = 0
    while end < shorter - start and _same(before[-1 - end], after[-1 - end]):
        end += 1
    return start, end


def _same(before: Any, after: Any) -> bool:
    # For Python, True == 1 == 1.0, at any depth; in JSON those are three different things.
    return before == after and _canonical.encode(before) == _canonical.encode(after)


def _under(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
