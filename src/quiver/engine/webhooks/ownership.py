"""How the Secret and the configurations are known as our own, which have no owner above them."""

from quiver.kube import Object

LABELS = {"app.kubernetes.io/managed-by": "quiver"}


def is_ours(obj: Object) -> bool:
    return LABELS.items() <= (obj["metadata"].get("labels") or {}).items()
