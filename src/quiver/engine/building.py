"""How the objects begin that a resource owns."""

from collections.abc import Mapping
from typing import Any

from quiver.engine.crd import Resource
from quiver.engine.kinds import Kind

Object = dict[str, Any]


def child(
    owner: Resource,
    kind: Kind,
    *,
    name: str = "",
    labels: Mapping[str, str] | None = None,
    **body: Any,
) -> Object:
    """An object of this kind beside its owner and, unless told otherwise, of the same name.

    `body` is the rest of the manifest: `spec=…`, `data=…`. The engine adds the owner reference.
    """
    metadata: Object = {"name": name or owner.metadata.name}
    if kind.namespaced:
        metadata["namespace"] = owner.metadata.namespace
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata} | body
