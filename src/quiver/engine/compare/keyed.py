"""How lists are compared whose items have an identity: keyed lists, and sets.

Others may add items to them, anywhere. Apply puts the desired items in the desired order, and
where one of them is live twice, only one is left.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quiver.engine.compare.containers import Items, each_differs
from quiver.engine.compare.scalars import UNTOLD, Node


class KeyedList:
    __slots__ = ("_element", "_keys", "_only_key", "_typed")

    def __init__(self, element: Node, keys: Mapping[str, Any], *, typed: bool) -> None:
        self._element = element
        self._typed = typed
        # What the server takes where a key is not given belongs to the key.
        self._keys = tuple(keys.items())
        self._only_key = next(iter(keys)) if len(keys) == 1 else None

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        desired, live = desired or [], live or []
        if not _are_maps(desired) or not _are_maps(live):
            return ""
        if whole:
            return each_differs(self._element, desired, live, typed=self._typed)
        partners = live if self._is_paired(desired, live) else self._partners(desired, live)
        for item, other in zip(desired, partners, strict=True):
            if self._typed and item == other:
                continue
            found = "" if other is None else self._element.differs(item, other, False)
            if found is not None:
                return self._shown(item) + found
        return None

    def is_absent(self, value: Any, /) -> bool:
        return not value

    def _is_paired(self, desired: Items, live: Items) -> bool:
        """Nearly always so: nobody added, removed or moved an item."""
        if len(desired) != len(live):
            return False
        for item, other in zip(desired, live, strict=True):
            if item != other and self._identity(item) != self._identity(other):
                return False
        return True

    def _partners(self, desired: Items, live: Items) -> Items:
        wanted = [self._identity(item) for item in desired]
        found = places(wanted, [self._identity(item) for item in live])
        return [None if place is None else live[place] for place in found]

    def _identity(self, item: dict[str, Any]) -> Any:
        if self._only_key is not None:
            return item.get(self._only_key)
        return tuple(item.get(name, default) for name, default in self._keys)

    def _shown(self, item: dict[str, Any]) -> str:
        named = (f"{name}={item[name]}" for name, _ in self._keys if name in item)
        return f"[{','.join(named)}]"


class SetOf:
    __slots__ = ()

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        desired, live = desired or [], live or []
        if not isinstance(desired, list) or not isinstance(live, list):
            return ""
        if whole:
            return each_differs(UNTOLD, desired, live, typed=False)
        for item, place in zip(desired, places(desired, live), strict=True):
            if place is None:
                return f"[{item}]"
        return None

    def is_absent(self, value: Any, /) -> bool:
        return not value


def places(desired: Sequence[Any], live: Sequence[Any]) -> list[int | None]:
    """Where each desired item is live: None if nowhere, twice, or not after the one before it."""
    try:
        return _places(desired, live)
    except TypeError:
        # A map where a name should be; the server says it better.
        return [None] * len(desired)


def _places(desired: Sequence[Any], live: Sequence[Any]) -> list[int | None]:
    place_of: dict[Any, int | None] = {}
    for index, item in enumerate(live):
        place_of[item] = None if item in place_of else index
    found: list[int | None] = []
    last = -1
    for item in desired:
        place = place_of.get(item)
        found.append(None if place is None or place <= last else place)
        last = last if place is None else max(last, place)
    return found


def _are_maps(items: Any) -> bool:
    return isinstance(items, list) and set(map(type, items)) <= {dict}
