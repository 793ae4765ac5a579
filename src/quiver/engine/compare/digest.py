"""What was last applied, remembered on the object itself."""

import hashlib

import msgspec

from quiver.kube import Object

APPLIED = "quiver.dev/applied"

# The server's own, or conditions of a single request: none of it is desired.
_NOT_DESIRED = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
_encode = msgspec.json.Encoder(order="deterministic").encode


def digest(desired: Object) -> str:
    """The same for the same desire, in whatever order it was written down."""
    kept = {name: value for name, value in desired.items() if name != "status"}
    kept["metadata"] = _desired_metadata(desired.get("metadata") or {})
    return hashlib.blake2b(_encode(kept), digest_size=8).hexdigest()


def stamped(desired: Object) -> Object:
    """A copy that carries its own digest; nested values are shared."""
    metadata = dict(desired.get("metadata") or {})
    metadata["annotations"] = (metadata.get("annotations") or {}) | {APPLIED: digest(desired)}
    return desired | {"metadata": metadata}


def _desired_metadata(metadata: Object) -> Object:
    kept = {name: value for name, value in metadata.items() if name not in _NOT_DESIRED}
    annotations = dict(kept.pop("annotations", None) or {})
    annotations.pop(APPLIED, None)
    return kept | {"annotations": annotations}
