"""The objects of one kind as compact bytes, with indexes.

Objects enter by two ways: the watch, in the server's order, and the answers to our own writes,
which may overtake it or come after it. `resourceVersion` decides: nothing older replaces anything
newer, and what the watch has already seen deleted does not come back.
"""

import sys
from collections.abc import Callable, Iterable

import msgspec

from quiver.engine.identity import Identity, compacted, exact, identity_of
from quiver.engine.kinds import Key, Kind

Indexer = Callable[[bytes], Iterable[str]]


class Entry(msgspec.Struct, gc=False):
    """One object. `settled` is the desired state that these bytes were found to contain."""

    raw: bytes
    version: int
    owner: str = ""
    settled: int = 0


class Store:
    """Small per object: beside its bytes and its name, an entry, a number and two places in dicts.

    Hence namespaces are dicts of their own, so that no key has to be kept, and an owner's children
    are a tuple: few have many.
    """

    def __init__(self, kind: Kind, *, only: type[msgspec.Struct] | None = None) -> None:
        """`only` names the fields to keep, as a Struct; the rest is dropped at the door."""
        self.kind = kind
        self.bytes = 0
        self._only = msgspec.json.Decoder(only) if only else None
        self._entries: dict[str, dict[str, Entry]] = {}
        self._owned: dict[str, tuple[Entry, ...]] = {}
        self._seen: dict[str, int] = {}
        self._indexers: dict[str, Indexer] = {}
        self._indexes: dict[str, dict[str, set[Key]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def __contains__(self, key: Key) -> bool:
        return self.entry(key) is not None

    def keys(self) -> list[Key]:
        return self.in_namespace("")

    def entry(self, key: Key) -> Entry | None:
        names = self._entries.get(key.namespace)
        return names.get(key.name) if names else None

    def get(self, key: Key) -> bytes | None:
        entry = self.entry(key)
        return entry.raw if entry else None

    def values(self) -> list[bytes]:
        return [entry.raw for names in self._entries.values() for entry in names.values()]

    def in_namespace(self, namespace: str) -> list[Key]:
        """All keys where no namespace is given."""
        chosen = [namespace] if namespace else list(self._entries)
        return [Key(it, name) for it in chosen for name in self._entries.get(it, ())]

    def owned_by(self, uid: str) -> list[Key]:
        return sorted(identity_of(entry.raw).key for entry in self._owned.get(uid, ()))

    def add_index(self, name: str, indexer: Indexer) -> None:
        if name in self._indexes:
            return
        self._indexers[name] = indexer
        self._indexes[name] = {}
        for key in self.keys():
            self._file(name, indexer(self._entries[key.namespace][key.name].raw), key)

    def indexed(self, name: str, value: str) -> list[Key]:
        return sorted(self._indexes[name].get(value, ()))

    def observed(self, raw: bytes | msgspec.Raw) -> tuple[Key, bytes | None, bytes] | None:
        """Take what the watch sent: key, before and after. None if it is no news."""
        identity = identity_of(raw)
        held = self.entry(identity.key)
        if held and identity.version <= held.version:
            return None
        return self._taken(identity, held, self._compacted(raw))

    def written(
        self, raw: bytes, identity: Identity | None = None
    ) -> tuple[Key, bytes | None, bytes] | None:
        """Take the answer to a write. None if the watch already knows as much or more."""
        identity = identity or identity_of(raw)
        held = self.entry(identity.key)
        known = held.version if held else self.seen(identity.namespace)
        if identity.version <= known:
            return None
        return self._taken(identity, held, self._compacted(raw))

    def removed(self, key: Key, version: int) -> bytes | None:
        """Drop what was deleted at this version: the bytes, or None if a newer one is here."""
        held = self.entry(key)
        if held is None or held.version > version:
            return None
        self._drop(key, held)
        return held.raw

    def seen(self, namespace: str) -> int:
        """Up to which version the watch over this namespace has told everything."""
        return max(self._seen.get("", 0), self._seen.get(namespace, 0))

    def progressed(self, scope: str, version: int) -> None:
        """`scope` is the namespace that a watch spans; empty for all."""
        self._seen[scope] = max(version, self._seen.get(scope, 0))

    def restarted(self, scope: str) -> None:
        """A new list begins: until it is complete nothing can be concluded from absence."""
        self._seen.pop(scope, None)

    def _taken(
        self, identity: Identity, held: Entry | None, after: bytes
    ) -> tuple[Key, bytes | None, bytes] | None:
        if self._only and held and held.raw == after:
            held.version = identity.version
            return None
        self._put(identity, after)
        return identity.key, held.raw if held else None, after

    def _compacted(self, raw: bytes | msgspec.Raw) -> bytes:
        if self._only:
            return exact(self._only.decode(raw))
        return compacted(raw, api_version=self.kind.api_version, kind=self.kind.name)

    def _put(self, identity: Identity, raw: bytes) -> None:
        key = identity.key
        held = self.entry(key)
        if held is not None:
            self._drop(key, held)
        entry = Entry(raw, identity.version, sys.intern(identity.owner_uid))
        self._entries.setdefault(key.namespace, {})[key.name] = entry
        self.bytes += len(raw)
        if entry.owner:
            self._owned[entry.owner] = (*self._owned.get(entry.owner, ()), entry)
        for name, indexer in self._indexers.items():
            self._file(name, indexer(raw), key)

    def _drop(self, key: Key, held: Entry) -> None:
        names = self._entries[key.namespace]
        del names[key.name]
        if not names:
            del self._entries[key.namespace]
        self.bytes -= len(held.raw)
        if held.owner:
            self._disown(held)
        for name, indexer in self._indexers.items():
            self._unfile(name, indexer(held.raw), key)

    def _disown(self, held: Entry) -> None:
        left = tuple(entry for entry in self._owned[held.owner] if entry is not held)
        if left:
            self._owned[held.owner] = left
        else:
            del self._owned[held.owner]

    def _file(self, name: str, values: Iterable[str], key: Key) -> None:
        index = self._indexes[name]
        for value in values:
            index.setdefault(value, set()).add(key)

    def _unfile(self, name: str, values: Iterable[str], key: Key) -> None:
        index = self._indexes[name]
        for value in values:
            bucket = index.get(value)
            if bucket is None:
                continue
            bucket.discard(key)
            if not bucket:
                del index[value]
