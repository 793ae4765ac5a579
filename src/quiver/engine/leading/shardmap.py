"""Which shard a key is in, who owns a shard, and who should. Pure: no I/O, no clock."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from quiver.engine.kinds import Key

SHARDS = 256
"""Enough for dozens of replicas to be balanced within some percent; the map stays under 4 KB."""
FREE = ""
UNKNOWN = "?"
"""The owner in a map that had to be made anew while replicas were at work: it never answers."""


class UnreadableMap(Exception):
    """The shard map cannot be used; the message says why and what to do."""


class _Written(msgspec.Struct, frozen=True):
    version: int
    shards: int
    owners: dict[str, str]


@dataclass(frozen=True, slots=True)
class ShardMap:
    """One owner, or nobody, for each shard; `version` counts the changes."""

    owners: tuple[str, ...]
    version: int = 0

    def of(self, owner: str) -> frozenset[int]:
        return frozenset(shard for shard, its in enumerate(self.owners) if its == owner)

    def changed(self, *, freed: Collection[int], taken: Collection[int], by: str) -> "ShardMap":
        def owner(shard: int, before: str) -> str:
            return by if shard in taken else FREE if shard in freed else before

        owners = tuple(owner(shard, before) for shard, before in enumerate(self.owners))
        return ShardMap(owners, self.version + 1)


def new_map(shards: int, owner: str = FREE) -> ShardMap:
    return ShardMap((owner,) * shards)


def shard_of(key: Key, shards: int = SHARDS) -> int:
    """The same in every process and version, unlike `hash`: replicas have to agree on it."""
    digest = blake2b(f"{key.namespace}/{key.name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def fair_shares(held: Mapping[str, int], members: Iterable[str], shards: int) -> dict[str, int]:
    """How many each should own: equal within one, the odd ones for who has most already."""
    ordered = sorted(members, key=lambda member: (-held.get(member, 0), member))
    each, odd = divmod(shards, len(ordered))
    return {member: each + (place < odd) for place, member in enumerate(ordered)}


def fair_owners(owners: Sequence[str], members: Collection[str]) -> tuple[str, ...]:
    """Who should own each shard, with as few as possible moved."""
    held = Counter(owner for owner in owners if owner in members)
    room = fair_shares(held, members, len(owners))
    fair = [FREE] * len(owners)
    for shard, owner in enumerate(owners):
        if room.get(owner, 0):
            fair[shard] = owner
            room[owner] -= 1
    newcomers = (member for member in sorted(room) for _ in range(room[member]))
    return tuple(owner or next(newcomers) for owner in fair)


def encode_map(shard_map: ShardMap) -> str:
    """As people can read it: `{"version":3,"shards":256,"owners":{"quiver-1f":"0-99,107"}}`."""
    owners = sorted(set(shard_map.owners) - {FREE})
    ranges = {owner: _ranges(sorted(shard_map.of(owner))) for owner in owners}
    return msgspec.json.encode(_Written(shard_map.version, len(shard_map.owners), ranges)).decode()


def decode_map(text: str, shards: int) -> ShardMap:
    try:
        written = msgspec.json.decode(text, type=_Written)
        owners = _owners(written)
    except (ValueError, IndexError) as error:
        raise UnreadableMap(
            f"The shard map cannot be read ({error}): stop all replicas and delete its Lease"
        ) from error
    if written.shards != shards:
        raise UnreadableMap(
            f"The shard map has {written.shards} shards and this replica works with {shards}: "
            "stop all replicas and delete its Lease before the number is changed"
        )
    return ShardMap(owners, written.version)


def _owners(written: _Written) -> tuple[str, ...]:
    owners = [FREE] * written.shards
    for owner, ranges in written.owners.items():
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            for shard in range(int(first), int(last or first) + 1):
                if owners[shard] != FREE:
                    raise ValueError(f"shard {shard} has two owners")
                owners[shard] = owner
    return tuple(owners)


def _ranges(shards: Sequence[int]) -> str:
    """`0-2,5` for 0, 1, 2 and 5."""
    parts: list[list[int]] = []
    for shard in shards:
        if parts and parts[-1][-1] == shard - 1:
            parts[-1][1:] = [shard]
        else:
            parts.append([shard])
    return ",".join("-".join(map(str, part)) for part in parts)
