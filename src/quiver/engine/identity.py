"""What the cache reads of an object's bytes, and what it leaves out of them."""

import sys
from typing import Any

import msgspec

from quiver.engine.kinds import Key

OWNER = "quiver.dev/owner"
"""Label: the uid of the object that a child belongs to which no owner reference can express."""
OWNER_KEY = "quiver.dev/owner-key"
"""Annotation beside it: `Kind.group namespace/name` of that object."""


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    uid: str
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool = False


class Identity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Enough of the metadata to file an object."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: tuple[Owner, ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str = ""

    @property
    def key(self) -> Key:
        # Thousands of keys share few namespaces.
        return Key(sys.intern(self.namespace), self.name)

    @property
    def version(self) -> int:
        return version_number(self.resource_version)

    @property
    def controller(self) -> Owner | None:
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def owner_uid(self) -> str:
        """Of the controlling owner or, where there can be none, of the inventory label."""
        owner = self.controller
        return owner.uid if owner else self.labels.get(OWNER, "")


class _Identified(msgspec.Struct, gc=False):
    metadata: Identity


_identified = msgspec.json.Decoder(_Identified)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encoder = msgspec.json.Encoder()
_buffer = bytearray(64 * 1024)


def identity_of(raw: bytes | msgspec.Raw) -> Identity:
    return _identified.decode(raw).metadata


def version_number(resource_version: str) -> int:
    """Versions of one kind are numbers that grow (since Kubernetes 1.35 by promise)."""
    return int(resource_version) if resource_version.isdecimal() else 0


def compacted(raw: bytes | msgspec.Raw, *, api_version: str = "", kind: str = "") -> bytes:
    """The object without `managedFields`; with its kind, which lists leave out of their items."""
    fields = _fields.decode(raw)
    metadata = _fields.decode(fields["metadata"])
    managed = metadata.pop("managedFields", None)
    if managed is None and "kind" in fields:
        return bytes(raw)
    if "kind" not in fields:
        named = {"kind": encoded(kind), "apiVersion": encoded(api_version)}
        fields = {key: msgspec.Raw(value) for key, value in named.items()} | fields
    fields["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return exact(fields)


def exact(value: object) -> bytes:
    """The JSON in just as many bytes as it has.

    `encode` gives back a buffer that was cut to size, and the allocator cannot use what was cut
    off: kept for long, 1.2 KB take 2.2 (measured with 50,000 objects).
    """
    _encoder.encode_into(value, _buffer)
    return bytes(_buffer)


def replaced(raw: bytes, field: str, value: Any) -> dict[str, Any]:
    """The object with one field of its own set anew, and the rest left as bytes."""
    fields: dict[str, Any] = dict(_fields.decode(raw))
    # The client addresses by these.
    fields["apiVersion"] = msgspec.json.decode(fields["apiVersion"])
    fields["kind"] = msgspec.json.decode(fields["kind"])
    fields["metadata"] = msgspec.json.decode(fields["metadata"])
    return fields | {field: value}


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value)
