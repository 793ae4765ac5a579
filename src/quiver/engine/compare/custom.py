"""How custom resources are compared whose schema is known.

Without a schema their maps count as granular and their lists as atomic, as in `Untold`: wrong
where the schema says otherwise, and needless where it has defaults inside lists.
"""

from typing import Any

from quiver.engine.compare.containers import AtomicList, MapOf, Struct
from quiver.engine.compare.keyed import KeyedList, SetOf
from quiver.engine.compare.scalars import UNTOLD, Node, SetByServer
from quiver.engine.compare.structures import METADATA, struct_of
from quiver.kube import Object


def custom_structure(schema: Object) -> Node:
    """From a version's `openAPIV3Schema`, as its CustomResourceDefinition has it."""
    properties = schema.get("properties", {})
    fields: dict[str, Node] = {name: Stored(inner) for name, inner in properties.items()}
    fields |= {"metadata": struct_of(METADATA), "status": SetByServer()}
    return Struct(_Properties(fields), typed=False)


class Stored:
    """A field of a custom resource: the server keeps what is empty as it is."""

    __slots__ = ("_default", "_node")

    def __init__(self, schema: Object) -> None:
        self._node = _node(schema)
        self._default = schema.get("default")

    def differs(self, desired: Any, live: Any, whole: bool, /) -> str | None:
        if desired is None or live is None:
            return None if self.is_absent(desired) and self.is_absent(live) else ""
        return self._node.differs(desired, live, whole)

    def is_absent(self, value: Any, /) -> bool:
        if value is None:
            return True
        # The server fills in the defaults below a default, too.
        return self._default is not None and self._node.differs(self._default, value, True) is None


class _Properties(dict[str, Node]):
    def __missing__(self, name: str) -> Node:
        return UNTOLD


def _node(schema: Object) -> Node:
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    if properties := schema.get("properties"):
        fields = _Properties({name: Stored(inner) for name, inner in properties.items()})
        return Struct(fields, atomic=is_atomic, typed=False)
    if isinstance(element := schema.get("additionalProperties"), dict):
        return MapOf(_node(element), atomic=is_atomic, typed=False)
    return _list(schema) if schema.get("type") == "array" else UNTOLD


def _list(schema: Object) -> Node:
    items = schema.get("items") or {}
    match schema.get("x-kubernetes-list-type"):
        case "map":
            known = items.get("properties", {})
            keys = schema["x-kubernetes-list-map-keys"]
            defaults = {key: known[key].get("default") for key in keys}
            return KeyedList(_node(items), defaults, typed=False)
        case "set":
            return SetOf()
    return AtomicList(_node(items), typed=False)
