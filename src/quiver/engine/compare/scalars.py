"""How single values are compared, and values of which no table tells anything."""

from collections.abc import Callable
from typing import Any, Protocol

Same = Callable[[Any, Any], bool]


class Node(Protocol):
    """One type of the server. `whole` is set inside what is replaced whole."""

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        """The path from here to the first difference, or None. Absent is None."""

    def is_absent(self, value: Any, /) -> bool:
        """Does the server make the same of this value as of none?"""


class Untold:
    """Maps granular, lists atomic, everything stored as it is: as apply does without markers."""

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        if isinstance(desired, dict) and isinstance(live, dict):
            return self._map_differs(desired, live, whole)
        if isinstance(desired, list) and isinstance(live, list):
            return self._list_differs(desired, live)
        # To Python, 1 is True.
        same = desired == live and isinstance(desired, bool) is isinstance(live, bool)
        return None if same else ""

    def is_absent(self, value: Any, /) -> bool:
        return value is None

    def _map_differs(
        self, desired: dict[str, Any], live: dict[str, Any], whole: bool
    ) -> str | None:
        for name, value in desired.items():
            found = self.differs(value, live.get(name), whole)
            if found is not None:
                return step(name) + found
        if whole:
            return next((step(name) for name in live if name not in desired), None)
        return None

    def _list_differs(self, desired: list[Any], live: list[Any]) -> str | None:
        if len(desired) != len(live):
            return ""
        for index, pair in enumerate(zip(desired, live, strict=True)):
            found = self.differs(*pair, True)
            if found is not None:
                return f"[{index}]{found}"
        return None


UNTOLD = Untold()


class SetByServer:
    """Whatever somebody applies here, the server has its own."""

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:  # noqa: ARG002
        return None

    def is_absent(self, value: Any, /) -> bool:  # noqa: ARG002
        return True


class Scalar:
    __slots__ = ("_default", "_same", "_zero")

    def __init__(self, same: Same, *, zero: Callable[[Any], bool] | None, default: Any) -> None:
        self._same = same
        self._zero = zero
        self._default = default

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:  # noqa: ARG002
        if self._same(desired, live) or (self.is_absent(desired) and self.is_absent(live)):
            return None
        return ""

    def is_absent(self, value: Any, /) -> bool:
        if value is None or (self._zero is not None and self._zero(value)):
            return True
        return self._default is not None and bool(value == self._default)


def step(name: str) -> str:
    return f".{name}" if name.isidentifier() else f"[{name}]"
