"""How every child begins. Owner references are the engine's to add."""

from quiver.engine.kinds import Kind
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.names import Role, child_name, ingress_name, labels_of
from quiver.vecodex.plain import Object


def child(vecodex: VecodexSet, kind: Kind, role: Role | None) -> Object:
    """Of the child of a role, or of the ingress."""
    name = vecodex.metadata.name
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {
            "name": child_name(name, role) if role else ingress_name(name),
            "namespace": vecodex.metadata.namespace,
            "labels": labels_of(name, role or "ingress"),
        },
    }
