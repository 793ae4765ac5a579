"""One replica's time with its heartbeat Lease: what it saw of the others, and what it may work on.

No I/O and no clock, so that a model can try every order of crashes, pauses and lost answers. Why
no shard ever has two workers:

- A tenure's name is used once. When its hold is over, it is over for ever: whoever was cut off
  comes back under another name, so an entry of the dead in the map never comes alive again.
- Only two may change who owns a shard: its owner, after nothing of it is in work, and a taker, for
  itself, when the shard is free or its owner's Lease has not changed for its whole duration. The
  map is changed by compare-and-swap. So a live owner's shards stay its own, however old its view.
- A shard that is being given away is never worked on again before the map said that it is not ours:
  the write that frees it may be on its way, even if nobody heard of it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from quiver.engine.leading.leases import Hold, Sighting
from quiver.engine.leading.shardmap import FREE, ShardMap, fair_owners

NOTHING: frozenset[int] = frozenset()


class Moves(NamedTuple):
    """What one replica should do next."""

    take: frozenset[int]
    give: frozenset[int]
    bereaved: frozenset[int]
    """Those to take whose owner seems dead: look at the server before, a watch may be behind."""


class News(NamedTuple):
    """What a new map means to us."""

    gained: frozenset[int]
    robbed: frozenset[int]
    """What was taken from us while we worked on it: somebody wrote the map by hand."""


class Tenure:
    def __init__(
        self,
        me: str,
        hold: Hold,
        shard_map: ShardMap,
        *,
        at: float,
        duration: float,
        predecessors: frozenset[str] = frozenset(),
    ) -> None:
        self.me = me
        self.hold = hold
        self.map = shard_map
        self._predecessors = predecessors
        """Earlier tenures of this very process, which knows that they are over."""
        self.leaving = False
        self.held = NOTHING
        """What we work on."""
        self.giving = NOTHING
        """What we give away: nothing new is begun, what runs is ended."""
        self.drained = NOTHING
        """Of these, what is not in work any more."""
        self._duration = duration
        self._sightings: dict[str, Sighting] = {}
        self._miss_owners(at)

    def owns(self, shard: int, at: float) -> bool:
        return shard in self.held and self.hold.is_valid(at)

    @property
    def in_work(self) -> frozenset[int]:
        return self.held | (self.giving - self.drained)

    @property
    def has_left(self) -> bool:
        return self.leaving and not self.held and not self.giving

    def saw(self, name: str, version: str, *, duration: float | None, at: float) -> bool:
        """Another's Lease as it is now; tells whether the set of members changed."""
        before = self._sightings.get(name)
        seconds = self._duration if duration is None else duration
        if before is None:
            self._sightings[name] = Sighting(version, at, seconds)
        else:
            self._sightings[name] = before.again(version, at=at, duration=seconds)
        return before is None or not before.version

    def saw_gone(self, name: str, *, at: float) -> None:
        """Its owner may not know yet, so that what it owns is waited for all the same."""
        before = self._sightings.get(name)
        if before is not None:
            self._sightings[name] = before.again("", at=at)
            self._forget_the_gone()

    def saw_all(self, leases: Iterable[tuple[str, str, float | None]], *, at: float) -> None:
        """The Leases of all others as name, version and duration: those not among them are gone."""
        present = set()
        for name, version, duration in leases:
            present.add(name)
            self.saw(name, version, duration=duration, at=at)
        for name in [name for name in self._sightings if name not in present]:
            self.saw_gone(name, at=at)

    def saw_map(self, shard_map: ShardMap, *, at: float) -> News:
        """The map as it is now, unless it is older than the one we know."""
        if shard_map.version <= self.map.version:
            return News(NOTHING, NOTHING)
        self.map = shard_map
        ours = shard_map.of(self.me)
        # Not those that we give away: the write that frees them may still be on its way.
        gained = ours - self.held - self.giving
        robbed = self.in_work - ours
        self.held = (self.held | gained) & ours
        self.giving &= ours
        self.drained &= ours
        self._miss_owners(at)
        self._forget_the_gone()
        return News(gained, robbed)

    def end(self) -> frozenset[int]:
        """The hold is over: nothing is ours any more; returns what was still in work."""
        ended = self.in_work
        self.hold.end()
        self.held = self.giving = self.drained = NOTHING
        return ended

    def begin_giving(self, shards: frozenset[int]) -> None:
        self.held -= shards
        self.giving |= shards

    def has_drained(self, shards: frozenset[int]) -> None:
        self.drained |= shards & self.giving

    def moves(self, at: float) -> Moves:
        """What to take and give, if all that was seen was still so at `at`."""
        if self.leaving:
            return Moves(NOTHING, self.held, NOTHING)
        dead = self._dead(at)
        settled = [
            FREE if shard in self.giving else its for shard, its in enumerate(self.map.owners)
        ]
        fair = fair_owners(settled, self.members(at))
        ours = {shard for shard, its in enumerate(fair) if its == self.me}
        owner = self.map.owners
        bereaved = frozenset(shard for shard in ours if owner[shard] in dead)
        free = frozenset(shard for shard in ours if owner[shard] == FREE)
        return Moves(free | bereaved, self.held - ours, bereaved)

    def after(self, moves: Moves) -> ShardMap:
        """The map to write: with what we take, and without what we have drained."""
        return self.map.changed(freed=self.drained, taken=moves.take, by=self.me)

    def members(self, at: float) -> frozenset[str]:
        others = (name for name, seen in self._sightings.items() if seen.version)
        return frozenset({self.me, *others}) - self._dead(at)

    def next_death(self, at: float) -> float | None:
        """When one of the others would be dead, if it did not change until then."""
        deadlines = [seen.until for seen in self._sightings.values() if seen.until > at]
        return min(deadlines, default=None)

    def litter(self, at: float) -> dict[str, str]:
        """Leases of the dead that own nothing any more, by version; one of the living sweeps."""
        if min(self.members(at)) != self.me:
            return {}
        owners = set(self.map.owners)
        ended = self._dead(at) - owners
        return {name: self._sightings[name].version for name in ended}

    def _dead(self, at: float) -> frozenset[str]:
        expired = (name for name, seen in self._sightings.items() if at >= seen.until)
        return self._predecessors & self._sightings.keys() | frozenset(expired)

    def _miss_owners(self, at: float) -> None:
        """Owners of whom no Lease was seen: from now on they have their time to show one."""
        for name in set(self.map.owners) - {FREE, self.me}:
            self._sightings.setdefault(name, Sighting("", at, self._duration))

    def _forget_the_gone(self) -> None:
        owners = set(self.map.owners)
        for name, seen in [*self._sightings.items()]:
            if not seen.version and name not in owners:
                del self._sightings[name]
