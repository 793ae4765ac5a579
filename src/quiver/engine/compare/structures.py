"""From the tables to what compares, built where it is first needed and then kept."""

import operator
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from quiver.engine.compare.containers import AtomicList, MapOf, Struct
from quiver.engine.compare.keyed import KeyedList, SetOf
from quiver.engine.compare.scalars import UNTOLD, Node, Scalar, SetByServer
from quiver.engine.compare.values import (
    is_zero_quantity,
    same_bytes,
    same_quantity,
    same_resource,
    same_time,
)

TABLES = Path(__file__).parent / "tables"
METADATA = "meta.k8s.io/v1#ObjectMeta"

Description = dict[str, Any]

_SAME = {
    "plain": operator.eq,
    "quantity": same_quantity,
    "resource": same_resource,
    "bytes": same_bytes,
    "time": same_time,
}


@cache
def structure_of(api_version: str, kind: str) -> Node:
    """How objects of that kind are compared; as a custom resource where no table has it."""
    if kind in _table(api_version):
        return struct_of(f"{api_version}#{kind}")
    return CustomResource(struct_of(METADATA))


class CustomResource:
    """A kind without a table: only its metadata is known."""

    def __init__(self, metadata: Node) -> None:
        self._known: Mapping[str, Node] = {"metadata": metadata, "status": SetByServer()}

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        for name, value in desired.items():
            found = self._known.get(name, UNTOLD).differs(value, live.get(name), whole)
            if found is not None:
                return f".{name}{found}"
        return None

    def is_absent(self, value: Any, /) -> bool:
        return value is None


class _Fields(dict[str, Node]):
    """A definition's fields, built as they are met.

    A definition may contain itself, and of the hundreds in a table an operator meets a few.
    """

    def __init__(self, descriptions: Mapping[str, Description]) -> None:
        super().__init__()
        self._descriptions = descriptions

    def __missing__(self, name: str) -> Node:
        description = self._descriptions.get(name)
        if description is None:
            return UNTOLD
        node = self[name] = _node(description)
        return node


@cache
def _table(api_version: str) -> dict[str, dict[str, Description]]:
    path = TABLES / f"{api_version.replace('/', '_')}.json"
    if not path.is_file():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Description]])


@cache
def _fields(label: str) -> _Fields:
    api_version, _, name = label.partition("#")
    return _Fields(_table(api_version)[name])


def _node(description: Description | None) -> Node:
    if description is None:
        return UNTOLD
    if "scalar" in description:
        return _scalar(**description)
    if "struct" in description:
        flags = {name: value for name, value in description.items() if name != "struct"}
        return struct_of(description["struct"], **flags)
    if "map" in description:
        return MapOf(_node(description["map"]), atomic="atomic" in description, typed=True)
    if "set" in description:
        return SetOf()
    element = _node(description["list"])
    if "keys" in description:
        return KeyedList(element, description["keys"], typed=True)
    return AtomicList(element, typed=True)


def struct_of(
    label: str, *, atomic: bool = False, value: bool = False, default: Any = None
) -> Struct:
    return Struct(_fields(label), atomic=atomic, by_value=value, default=default, typed=True)


def _scalar(scalar: str, *, zero: bool = False, default: Any = None) -> Node:
    if scalar == "server":
        return SetByServer()
    of_nothing = is_zero_quantity if scalar in ("quantity", "resource") else operator.not_
    return Scalar(_SAME[scalar], zero=of_nothing if zero else None, default=default)
