"""One reconcile's hands: what it may read and write.

Reads come from the cache, writes go through it. A turn lives for one reconcile.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from quiver.engine.cache import Informer, Who
from quiver.engine.children import Children, Parent
from quiver.engine.controller import Controller, R
from quiver.engine.kinds import Key, Kind
from quiver.engine.outcome import Outcome
from quiver.engine.recording.events import EventType
from quiver.kube import Client

Object = dict[str, Any]
V = TypeVar("V")


class Turn(Generic[R]):
    def __init__(
        self,
        controller: Controller[R],
        client: Client,
        informers: Mapping[Kind, Informer],
        parent: Parent,
        *,
        by: Who,
        event: Callable[[EventType, str, str], None],
    ) -> None:
        self.client = client
        """For what the cache cannot do. Writes past `ensure` are the caller's to make safe."""
        self.parent = parent
        self.reported: Any = None
        self._controller = controller
        self._informers = informers
        self._event = event
        self._children = Children(
            client, informers, parent, by=by, former_managers=controller.succeeds
        )

    async def ensure(self, objects: Iterable[Object], *, complete: bool = True) -> Outcome:
        """Make the children as desired, and delete the owned ones that are not among them.

        What is not `complete` deletes nothing. Returns a `Wait` where something has to
        end first.
        """
        wanted = list(objects)
        outcome = await self._children.ensure(wanted)
        if complete and outcome is None:
            kinds = (*self._controller.owns, *self._controller.owned_formerly)
            await self._children.prune(wanted, kinds)
        return outcome

    @property
    def has_written(self) -> bool:
        """Whether a child was made or changed in this turn: what was read before is old then."""
        return self._children.has_written

    def cached(self, kind: Kind, name: str, *, namespace: str | None = None) -> Object | None:
        """One object of a kind that the controller owns or watches."""
        raw = self.raw(kind, name, namespace=namespace)
        return None if raw is None else dict(msgspec.json.decode(raw))

    def view(
        self, kind: Kind, name: str, as_: type[V], *, namespace: str | None = None
    ) -> V | None:
        """The same, decoded into just the fields that a Struct names."""
        raw = self.raw(kind, name, namespace=namespace)
        return None if raw is None else msgspec.json.decode(raw, type=as_)

    def raw(self, kind: Kind, name: str, *, namespace: str | None = None) -> bytes | None:
        if not kind.namespaced:
            namespace = ""
        elif namespace is None:
            namespace = self.parent.key.namespace
        return self._informers[kind].store.get(Key(namespace, name))

    def owned(self, kind: Kind) -> list[Object]:
        """The children of one kind, by name."""
        store = self._informers[kind].store
        found = (store.get(key) for key in store.owned_by(self.parent.uid))
        return [msgspec.json.decode(raw) for raw in found if raw is not None]

    def children(self) -> list[Object]:
        """All of them, of the kinds that the controller owns."""
        return [child for kind in self._controller.owns for child in self.owned(kind)]

    def every(self, kind: Kind, as_: type[V]) -> list[V]:
        """All cached objects of a watched kind, decoded into the fields that a Struct names."""
        decoder = msgspec.json.Decoder(as_)
        return [decoder.decode(raw) for raw in self._informers[kind].store.values()]

    def report(self, status: Any) -> None:
        """The status as it is now; the engine writes it once, at the end, if it changed."""
        self.reported = status

    def event(self, reason: str, message: str, *, warning: bool = False) -> None:
        """An Event on the object. Transitions of conditions make theirs by themselves."""
        self._event("Warning" if warning else "Normal", reason, message)
