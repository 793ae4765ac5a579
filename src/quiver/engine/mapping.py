"""From a changed object to the keys it matters to."""

from collections.abc import Callable, Iterable

import msgspec

from quiver.engine.controller import Change, Mapping
from quiver.engine.identity import OWNER_KEY, identity_of
from quiver.engine.kinds import Key, Kind


def to_owner(kind: Kind) -> Mapping:
    """The controlling owner, if it is of this kind; else the one that the inventory names."""

    def maps(change: Change) -> Iterable[Key]:
        identity = identity_of(change.newest)
        owner = identity.controller
        if owner is not None:
            if owner.kind == kind.name and owner.api_version.rpartition("/")[0] == kind.group:
                yield Key(identity.namespace, owner.name)
            return
        named, _, path = identity.annotations.get(OWNER_KEY, "").partition(" ")
        if named == str(kind):
            namespace, _, name = path.rpartition("/")
            yield Key(namespace, name)

    return maps


def to_all(change: Change) -> None:
    """A change that may matter to every object of the kind."""


def by_label(label: str) -> Mapping:
    """The object in the same namespace that a label names."""

    def maps(change: Change) -> Iterable[Key]:
        identity = identity_of(change.newest)
        if name := identity.labels.get(label):
            yield Key(identity.namespace, name)

    return maps


class _Essence(msgspec.Struct, gc=False, rename="camel"):
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str = ""
    uid: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Essence


_object = msgspec.json.Decoder(_Object)


def is_more_than_status(change: Change) -> bool:
    """Whether more changed than the status, which the controller writes itself."""
    if change.before is None or change.after is None:
        return True
    return _object.decode(change.before) != _object.decode(change.after)


def any_of(*predicates: Callable[[Change], bool]) -> Callable[[Change], bool]:
    return lambda change: any(predicate(change) for predicate in predicates)
