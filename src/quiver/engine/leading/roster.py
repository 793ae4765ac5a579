"""The Leases behind the shards: one heartbeat for each replica, and one that carries the map.

The map is an annotation of a Lease, not a ConfigMap, so that one watch tells of both, in the order
in which they changed, and one right (on leases, in one namespace) is enough.
"""

from collections.abc import AsyncGenerator
from typing import NamedTuple

from quiver.engine.leading.leases import Lease, Leases, new_lease
from quiver.engine.leading.shardmap import UNKNOWN, ShardMap, decode_map, encode_map, new_map
from quiver.kube import AlreadyExists

LABEL = "quiver.dev/shards"
MAP = "quiver.dev/shard-map"


class MapVanished(Exception):
    """The map was deleted, perhaps made anew: what we hold, nobody knows of."""


class Snapshot(NamedTuple):
    """All Leases at one moment; a watch goes on from `version`."""

    map_lease: Lease | None
    replicas: list[Lease]
    version: str

    def others(self, me: str) -> list[tuple[str, str, float | None]]:
        """Name, version and duration of each heartbeat but our own."""
        found = (lease for lease in self.replicas if lease.name != me)
        return [(lease.name, lease.version, lease.duration) for lease in found]


class Roster:
    def __init__(self, leases: Leases, name: str, shards: int) -> None:
        self.leases = leases
        self.map_name = f"{name}-shards"
        self.labels = {LABEL: name}
        self._name = name
        self._shards = shards

    def __str__(self) -> str:
        return f"{self.leases.namespace}/{self.map_name}"

    def within(self, deadline: float) -> "Roster":
        return Roster(self.leases.within(deadline), self._name, self._shards)

    def heartbeat(self, token: str) -> Lease:
        """A new Lease; its name is that of the tenure."""
        name = f"{self._name}-replica-{token}"
        return new_lease(name, self.leases.namespace).labelled(self.labels)

    async def look(self) -> Snapshot:
        found, version = await self.leases.list(self._selector)
        maps = [lease for lease in found if lease.name == self.map_name]
        replicas = [lease for lease in found if lease.name != self.map_name]
        return Snapshot(maps[0] if maps else None, replicas, version)

    def watch(self, since: str, *, idle: float) -> AsyncGenerator[tuple[str, Lease], None]:
        return self.leases.watch(self._selector, since, idle=idle)

    async def read_map(self) -> Lease:
        found = await self.leases.read(self.map_name)
        if found is None:
            raise MapVanished(f"the shard map {self} was deleted")
        return found

    async def write_map(self, before: Lease, shard_map: ShardMap) -> Lease:
        """A compare-and-swap: a `Conflict` if it is not as it was `before`."""
        return await self.leases.swap(
            before.labelled(self.labels).annotated({MAP: encode_map(shard_map)})
        )

    async def ensure_map(self, seen: Snapshot) -> None:
        """Make the map where there is none.

        If replicas are there all the same, it was deleted under them, and who works on what is not
        known: then nobody owns anything before all had the time to notice.
        """
        if seen.map_lease is not None:
            return
        fresh = new_map(self._shards, UNKNOWN) if seen.replicas else new_map(self._shards)
        lease = new_lease(self.map_name, self.leases.namespace).labelled(self.labels)
        try:
            await self.leases.create(lease.annotated({MAP: encode_map(fresh)}))
        except AlreadyExists:
            return

    def decoded(self, map_lease: Lease) -> ShardMap:
        return decode_map(map_lease.annotations.get(MAP, ""), self._shards)

    @property
    def _selector(self) -> str:
        return ",".join(f"{key}={value}" for key, value in self.labels.items())
