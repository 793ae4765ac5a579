"""How structs, maps and lists are compared.

What is `typed` is first compared by `==`: that runs in C, and nearly everything that is desired is
live. But to Python 1 is True, so where a schema leaves a type open it would hide a difference.
"""

from collections.abc import Mapping
from typing import Any

from quiver.engine.compare.scalars import Node, step

Map = dict[str, Any]
Items = list[Any]


class Struct:
    """Named fields. Where the server's type is no pointer, one of nothing is as none."""

    __slots__ = ("_atomic", "_by_value", "_default", "_fields", "_typed")

    def __init__(
        self,
        fields: Mapping[str, Node],
        *,
        atomic: bool = False,
        by_value: bool = False,
        default: Any = None,
        typed: bool,
    ) -> None:
        self._fields = fields
        self._atomic = atomic
        self._by_value = by_value
        self._default = default
        self._typed = typed

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        whole = whole or self._atomic
        if not isinstance(desired, dict) or not isinstance(live, dict):
            return self._one_is_none(desired, live, whole)
        fields, typed = self._fields, self._typed
        for name, value in desired.items():
            other = live.get(name)
            if typed and value == other:
                continue
            found = fields[name].differs(value, other, whole)
            if found is not None:
                return f".{name}{found}"
        return self._more_in(live, desired) if whole else None

    def is_absent(self, value: Any, /) -> bool:
        if value is None or value == self._default:
            return True
        return self._by_value and isinstance(value, dict) and self._more_in(value, {}) is None

    def _one_is_none(self, desired: Any, live: Any, whole: bool) -> str | None:
        if self.is_absent(desired) and self.is_absent(live):
            return None
        # In a granular place, null is no wish to remove what others put there.
        return None if desired is None and live and not whole else ""

    def _more_in(self, live: Map, desired: Map) -> str | None:
        for name, value in live.items():
            if name not in desired and not self._fields[name].is_absent(value):
                return f".{name}"
        return None


class MapOf:
    """Free keys: a key with an empty value is something else than no key."""

    __slots__ = ("_atomic", "_element", "_typed")

    def __init__(self, element: Node, *, atomic: bool, typed: bool) -> None:
        self._element = element
        self._atomic = atomic
        self._typed = typed

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        whole = whole or self._atomic
        desired, live = desired or {}, live or {}
        if not isinstance(desired, dict) or not isinstance(live, dict):
            return ""
        for name, value in desired.items():
            found = self._entry_differs(name, value, live, whole)
            if found is not None:
                return step(name) + found
        if whole and len(live) != len(desired):
            return next(step(name) for name in live if name not in desired)
        return None

    def is_absent(self, value: Any, /) -> bool:
        return not value

    def _entry_differs(self, name: str, value: Any, live: Map, whole: bool) -> str | None:
        if name not in live:
            return ""
        other = live[name]
        if self._typed and value == other:
            return None
        return self._element.differs(value, other, whole)


class AtomicList:
    """Replaced whole, so every item counts and its place too."""

    __slots__ = ("_element", "_typed")

    def __init__(self, element: Node, *, typed: bool) -> None:
        self._element = element
        self._typed = typed

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:  # noqa: ARG002
        desired, live = desired or [], live or []
        if not isinstance(desired, list) or not isinstance(live, list):
            return ""
        return each_differs(self._element, desired, live, typed=self._typed)

    def is_absent(self, value: Any, /) -> bool:
        return not value


def each_differs(element: Node, desired: Items, live: Items, *, typed: bool) -> str | None:
    if len(desired) != len(live):
        return ""
    for index, (item, other) in enumerate(zip(desired, live, strict=True)):
        if typed and item == other:
            continue
        found = element.differs(item, other, True)
        if found is not None:
            return f"[{index}]{found}"
    return None
