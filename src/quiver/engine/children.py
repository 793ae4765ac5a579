"""The objects that a resource owns: made, kept as desired, and taken away when not wanted.

A missing child is created by POST. One that contains what is desired is not written. One that does
not is applied by force: it is ours, and drift heals. `marks.py` tells what is remembered on it and
why. Objects of somebody else are never touched.
"""

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from quiver.engine.cache import Informer, Who
from quiver.engine.compare import difference
from quiver.engine.identity import OWNER, OWNER_KEY, identity_of
from quiver.engine.kinds import Key, Kind
from quiver.engine.marks import (
    Mark,
    found_on,
    mark_of,
    marked,
    outline_digest,
    with_outline,
)
from quiver.engine.outcome import Outcome, Transient, Wait
from quiver.engine.ownership import as_applied, moved
from quiver.engine.store import Entry
from quiver.engine.troubles import (
    NotOurs,
    explained,
    is_uncertain,
    namespace_is_ending,
    waiting_for_namespace,
)
from quiver.kube import AlreadyExists, Client, Conflict, KubeError, NotFound

Object = dict[str, Any]

MANAGER = "quiver"
# What they hold cannot be made anew.
_NEVER_PRUNED = frozenset({"PersistentVolumeClaim", "Secret"})


@dataclass(frozen=True, slots=True)
class Parent:
    kind: Kind
    key: Key
    uid: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.key}"


class Children:
    def __init__(
        self,
        client: Client,
        informers: Mapping[Kind, Informer],
        parent: Parent,
        *,
        by: Who,
        former_managers: Collection[str] = (),
    ) -> None:
        self._client = client
        self._informers = {(kind.api_version, kind.name): it for kind, it in informers.items()}
        self._parent = parent
        self._by = by
        self.has_written = False
        self._former_managers = former_managers

    async def ensure(self, objects: Sequence[Object]) -> Outcome:
        """Make all of them as desired, side by side; what fails does not keep the others back."""
        done = await asyncio.gather(*map(self._ensure, objects), return_exceptions=True)
        _raise_all(done)
        return next((outcome for outcome in done if isinstance(outcome, Wait)), None)

    async def prune(self, objects: Sequence[Object], kinds: Sequence[Kind]) -> None:
        """Delete owned objects of these kinds that are not among the desired."""
        wanted = {(it["apiVersion"], it["kind"], _key(it)) for it in objects}
        unwanted = [
            (informer, key)
            for kind in kinds
            if kind.name not in _NEVER_PRUNED
            for informer in [self._informers[kind.api_version, kind.name]]
            for key in informer.store.owned_by(self._parent.uid)
            if (kind.api_version, kind.name, key) not in wanted
        ]
        pairs = [self._delete(informer, key) for informer, key in unwanted]
        _raise_all(await asyncio.gather(*pairs, return_exceptions=True))

    async def _ensure(self, desired: Object) -> Wait | None:
        informer = self._informers[desired["apiVersion"], desired["kind"]]
        key = _key(desired)
        what = f"{desired['kind']} {key}"
        try:
            await informer.settle_doubt(key)
            return await self._write(informer, key, self._owned(desired), what)
        except KubeError as error:
            if namespace_is_ending(error):
                return waiting_for_namespace(key.namespace)
            if is_uncertain(error) or isinstance(error, Conflict | NotFound):
                informer.doubt(key)
            raise explained(error, what) from error

    async def _write(self, informer: Informer, key: Key, desired: Object, what: str) -> Wait | None:
        mark = mark_of(desired)
        entry = informer.store.entry(key)
        if entry is not None:
            return await self._change(informer, key, entry, desired, mark, what)
        try:
            body = marked(desired, with_outline(mark, desired))
            await self._send(informer, key, self._client.create_raw(body), mark)
        except AlreadyExists:
            # The cache has not heard of it yet.
            raw = await informer.read(key)
            if raw is None:
                raise
            found = Entry(raw, identity_of(raw).version)
            return await self._change(informer, key, found, desired, mark, what)
        return None

    async def _change(
        self, informer: Informer, key: Key, entry: Entry, desired: Object, mark: Mark, what: str
    ) -> Wait | None:
        if entry.settled == mark.number:
            return None
        live = msgspec.json.decode(entry.raw)
        identity = identity_of(entry.raw)
        if identity.owner_uid != self._parent.uid:
            raise NotOurs(_whose(what, identity.controller, self._parent))
        if identity.deletion_timestamp:
            return Wait(on=what, reason="it is being deleted, and is made anew when it is gone")
        before = found_on(identity.annotations)
        if before and before.digest == mark.digest and difference(desired, live) is None:
            entry.settled = mark.number
            return None
        if before and before.outline and before.outline == outline_digest(desired):
            mark = Mark(mark.digest, before.outline)
        elif before is None or before.outline:
            await self._move_fields(informer, key)
        body = marked(desired, mark)
        body["metadata"]["uid"] = identity.uid
        await self._send(informer, key, self._client.apply_raw(body, force=True), mark)
        return None

    async def _move_fields(self, informer: Informer, key: Key) -> None:
        """To the manager that applies: what only `Update` owned could never be dropped again."""
        kind = informer.kind
        live = await self._client.get(kind.api_version, kind.name, key.name, key.namespace or None)
        metadata = live["metadata"]
        entries = metadata.get("managedFields", [])
        created = as_applied(entries, MANAGER)
        fields = moved(created or entries, self._former_managers, MANAGER) or created
        if fields is None:
            return
        version = metadata["resourceVersion"]
        answer = await self._client.json_patch(
            kind.api_version, kind.name, key.name,
            [
                {"op": "test", "path": "/metadata/resourceVersion", "value": version},
                {"op": "replace", "path": "/metadata/managedFields", "value": fields},
            ],
            key.namespace or None,
        )  # fmt: skip
        informer.written(msgspec.json.encode(answer), by=self._by)

    async def _send(
        self, informer: Informer, key: Key, request: Awaitable[bytes], mark: Mark
    ) -> None:
        """Read your writes; and do not repeat an apply, even if the server dropped part of it."""
        self.has_written = True
        written = await informer.write(key, request, by=self._by)
        entry = informer.store.entry(key)
        if entry is not None and entry.version == written.version:
            entry.settled = mark.number

    async def _delete(self, informer: Informer, key: Key) -> None:
        raw = informer.store.get(key)
        identity = identity_of(raw) if raw else None
        if identity is None or identity.deletion_timestamp:
            return
        kind = informer.kind
        try:
            await self._client.delete(
                kind.api_version, kind.name, key.name, key.namespace or None, missing_ok=True,
                uid=identity.uid, version=identity.resource_version, propagation="Background",
            )  # fmt: skip
        except KubeError as error:
            informer.doubt(key)
            await informer.settle_doubt(key)
            raise Transient(f"{kind.name} {key} could not be deleted: {error}") from error
        informer.gone(key, by=self._by)

    def _owned(self, desired: Object) -> Object:
        parent = self._parent
        metadata = dict(desired["metadata"])
        if metadata.get("namespace", "") == parent.key.namespace or not parent.key.namespace:
            metadata["ownerReferences"] = [_reference(parent)]
        else:
            metadata["labels"] = metadata.get("labels", {}) | {OWNER: parent.uid}
            named = {OWNER_KEY: f"{parent.kind} {parent.key}"}
            metadata["annotations"] = metadata.get("annotations", {}) | named
        return desired | {"metadata": metadata}


def _reference(parent: Parent) -> Object:
    return {
        "apiVersion": parent.kind.api_version,
        "kind": parent.kind.name,
        "name": parent.key.name,
        "uid": parent.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _whose(what: str, controller: Any, parent: Parent) -> str:
    owner = f"belongs to {controller.kind} {controller.name}" if controller else "has no owner"
    return f"{what} exists and {owner}: delete or rename it, or choose another name than {parent}"


def _key(obj: Object) -> Key:
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def _raise_all(done: Sequence[object]) -> None:
    errors = [it for it in done if isinstance(it, Exception)]
    for it in done:
        if isinstance(it, BaseException) and not isinstance(it, Exception):
            raise it
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("several children could not be written", errors)
