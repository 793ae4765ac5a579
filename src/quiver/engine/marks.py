"""The mark on a child: what was desired when it was written, and whether it was ever applied.

A child that is missing is created by POST, which costs the API server a quarter less than an apply
that creates (measured: 1.9 against 2.6 ms for a Deployment). Its fields then belong to `Update`,
and an apply could never drop one of them. That matters only when a field is dropped. So a created
child carries, beside the digest of what was desired, one of its outline: which fields there are,
whatever their values. While the outline stays the same, an apply is safe as it is; before the first
one with another outline, the fields are moved to `Apply` (see `ownership.py`).
"""

import hashlib
from typing import Any, NamedTuple

import msgspec

from quiver.engine.compare import APPLIED, digest
from quiver.kube import Object

# The values of these tell items of a list apart: another value is another item.
_IDENTIFYING = frozenset(
    {
        "containerPort", "devicePath", "ip", "key", "mountPath", "name", "namespace", "port",
        "protocol", "topologyKey", "type", "uid", "whenUnsatisfiable",
    }
)  # fmt: skip
_encode = msgspec.json.Encoder(order="deterministic").encode


class Mark(NamedTuple):
    digest: str
    outline: str = ""
    """Of what was created; empty once the fields are applied ones."""

    def __str__(self) -> str:
        return f"{self.digest}.{self.outline}" if self.outline else self.digest

    @property
    def number(self) -> int:
        """For the cache, which remembers what it found settled."""
        return int(self.digest, 16)


def mark_of(desired: Object) -> Mark:
    return Mark(digest(desired))


def with_outline(mark: Mark, desired: Object) -> Mark:
    return Mark(mark.digest, outline_digest(desired))


def found_on(annotations: dict[str, str]) -> Mark | None:
    """The mark that an object carries; None if it was never written by us."""
    text = annotations.get(APPLIED)
    if not text:
        return None
    known, _, outline = text.partition(".")
    return Mark(known, outline)


def marked(desired: Object, mark: Mark) -> Object:
    metadata = dict(desired["metadata"])
    metadata["annotations"] = metadata.get("annotations", {}) | {APPLIED: str(mark)}
    return desired | {"metadata": metadata}


def outline_digest(desired: Object) -> str:
    return hashlib.blake2b(_encode(_outline(desired)), digest_size=4).hexdigest()


def _outline(value: Any) -> Any:
    if type(value) is dict:
        return {key: _outline(it) if type(it) in _NESTED else 0 for key, it in value.items()}
    return [_item(it) if type(it) is dict else it for it in value]


def _item(value: Object) -> Object:
    return {
        key: _outline(it) if type(it) in _NESTED else (it if key in _IDENTIFYING else 0)
        for key, it in value.items()
    }


_NESTED = (dict, list)
