"""What every Kubernetes object has, decoded from its bytes without the rest.

The Structs hold strings and leaves only, so none can be part of a reference cycle: the garbage
collector need not walk them (`gc=False`).
"""

from datetime import datetime

import msgspec


class OwnerReference(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True
):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True
):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: datetime | None = None
    creation_timestamp: datetime | None = None

    @property
    def is_terminating(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references if owner.controller), None)


class Condition(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: datetime | None = None

    @property
    def is_true(self) -> bool:
        return self.status == "True"


class _Named(msgspec.Struct, gc=False):
    metadata: ObjectMeta


_named = msgspec.json.Decoder(_Named)


def metadata_of(raw: bytes | msgspec.Raw) -> ObjectMeta:
    """The metadata of one object in JSON; everything else is skipped, not built."""
    return _named.decode(raw).metadata
