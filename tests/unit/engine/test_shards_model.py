"""Every order of crashes, pauses, joins, departures and lost answers, on a simulated clock.

The replicas are the real `Tenure`s; the server, the network and the watches are simulated. A
replica to which nothing happens is paused. A request is in flight until it lands, and its answer
until it arrives: both may never happen, or long after the sender is dead.
"""

import random
from dataclasses import dataclass, field
from itertools import combinations, count
from typing import NamedTuple

import pytest

from quiver.engine.leading.leases import Hold
from quiver.engine.leading.shardmap import ShardMap, new_map
from quiver.engine.leading.tenure import Moves, Tenure

SHARDS = 5
WALKS, EVENTS = 400, 250
DURATION, RENEW_DEADLINE, RETRY = 15.0, 10.0, 2.0

Facts = tuple[tuple[str, str, float | None], ...]


@dataclass
class Server:
    """Heartbeats by name, one map, and every state there was, for watches to lag behind."""

    heartbeats: dict[str, int] = field(default_factory=dict)
    map: ShardMap = field(default_factory=lambda: new_map(SHARDS))
    history: list[tuple[Facts, ShardMap]] = field(default_factory=list)
    versions: "count[int]" = field(default_factory=lambda: count(1))

    def note(self) -> None:
        self.history.append((self.facts(), self.map))

    def facts(self) -> Facts:
        return tuple((name, str(version), DURATION) for name, version in self.heartbeats.items())

    def beat(self, name: str, based_on: int) -> int | None:
        if self.heartbeats.get(name) != based_on:
            return None
        self.heartbeats[name] = next(self.versions)
        self.note()
        return self.heartbeats[name]

    def swap(self, new: ShardMap) -> ShardMap | None:
        if new.version != self.map.version + 1:
            return None
        self.map = new
        self.note()
        return new


@dataclass(eq=False)
class Replica:
    tenure: Tenure
    version: int
    seen: int
    """How far its watch got in the server's history."""
    look: "Look | None" = None
    drains: list[frozenset[int]] = field(default_factory=list)
    writes: bool = False
    """One request at a time for the map, as the real one."""
    past: frozenset[str] = frozenset()


class Look(NamedTuple):
    """A list that the server answered when it was asked, and whose answer is on its way."""

    began: float
    facts: Facts
    map: ShardMap


@dataclass
class Flight:
    """A request on its way; once it landed, its answer."""

    sender: Replica
    sent: float
    beat: int | None = None
    map: ShardMap | None = None
    landed: bool = False
    answer: int | ShardMap | None = None


class World:
    """Each public method is one thing that may happen; `chance` decides to whom."""

    def __init__(self, chance: random.Random) -> None:
        self.now = 0.0
        self.server = Server()
        self.server.note()
        self.replicas: list[Replica] = []
        self.flights: list[Flight] = []
        self._chance = chance
        self._names = count()

    def time_passes(self) -> None:
        self.now += self._chance.choice([0.5, 0.5, 1.0, 1.0, RETRY, RETRY, 5.0, 9.0])

    def join(self) -> None:
        if len(self.replicas) < 3:
            self._add(frozenset())

    def crash(self) -> None:
        for replica in self._somebody():
            self.replicas.remove(replica)

    def come_back_if_the_hold_is_over(self) -> None:
        for replica in self._somebody():
            if not replica.tenure.hold.is_valid(self.now):
                self._succeed(replica)

    def leave(self) -> None:
        for replica in self._somebody():
            replica.tenure.leaving = True

    def go_in_order(self) -> None:
        for replica in self._somebody():
            if replica.tenure.has_left:
                self._go(replica)

    def a_heartbeat_is_deleted_by_hand(self) -> None:
        for replica in self._somebody():
            self.server.heartbeats.pop(replica.tenure.me, None)
            self.server.note()

    def renew(self) -> None:
        for replica in self._somebody():
            self._renew(replica)

    def renew_and_hear_of_it(self) -> None:
        for replica in self._somebody():
            if flight := self._renew(replica):
                self._land(flight)
                self._deliver(flight)

    def all_renew_but_one(self) -> None:
        """The one is paused or cut off, if this happens again and again."""
        for replica in self.replicas[1:] or self.replicas:
            if flight := self._renew(replica):
                self._land(flight)
                self._deliver(flight)

    def begin_to_look(self) -> None:
        for replica in self._somebody():
            self._begin_to_look(replica)

    def move(self) -> None:
        for replica in self._somebody():
            self._move(replica)

    def move_and_hear_of_it(self) -> None:
        for replica in self._somebody():
            self._begin_to_look(replica)
            if flight := self._move(replica):
                self._land(flight)
                self._deliver(flight)

    def give_up_waiting_for_an_answer(self) -> None:
        """The request stays in flight, and may land later."""
        for replica in self._somebody():
            replica.writes = False

    def a_request_lands(self) -> None:
        for flight in self._some_flight():
            self._land(flight)

    def an_answer_arrives(self) -> None:
        for flight in self._some_flight():
            if flight.landed:
                self._deliver(flight)

    def a_watch_tells(self) -> None:
        for replica in self._somebody():
            newest = len(self.server.history) - 1
            replica.seen = self._chance.choice([newest, min(newest, replica.seen + 1)])
            self._tell(replica, *self.server.history[replica.seen])

    def what_is_given_away_has_ended(self) -> None:
        for replica in self._somebody():
            if replica.drains:
                replica.tenure.has_drained(replica.drains.pop(0))

    def all_is_well_for_a_while(self) -> None:
        self.now += RETRY
        for flight in [*self.flights]:
            self._land(flight)
            self._deliver(flight)
        for replica in [*self.replicas]:
            self._calm_turn(replica)

    def in_work(self) -> list[frozenset[int]]:
        """What each replica works on now, or is still ending."""
        return [
            replica.tenure.in_work if replica.tenure.hold.is_valid(self.now) else frozenset()
            for replica in self.replicas
        ]

    def _calm_turn(self, replica: Replica) -> None:
        if not replica.tenure.hold.is_valid(self.now):
            self._succeed(replica)
            return
        replica.writes = False
        self._tell(replica, self.server.facts(), self.server.map)
        self._begin_to_look(replica)
        self._renew(replica)
        self._move(replica)
        for drain in replica.drains:
            replica.tenure.has_drained(drain)
        replica.drains.clear()
        for flight in [flight for flight in self.flights if flight.sender is replica]:
            self._land(flight)
            self._deliver(flight)
        if replica.tenure.has_left:
            self._go(replica)

    def _somebody(self) -> list[Replica]:
        return [self._chance.choice(self.replicas)] if self.replicas else []

    def _some_flight(self) -> list[Flight]:
        return [self._chance.choice(self.flights)] if self.flights else []

    def _add(self, past: frozenset[str]) -> None:
        name = f"replica-{next(self._names)}"
        version = self.server.heartbeats[name] = next(self.server.versions)
        self.server.note()
        hold = Hold(sent=self.now, renew_deadline=RENEW_DEADLINE)
        tenure = Tenure(
            name, hold, self.server.map, at=self.now, duration=DURATION, predecessors=past
        )
        replica = Replica(tenure, version, len(self.server.history) - 1, past=past | {name})
        self.replicas.append(replica)
        self._tell(replica, self.server.facts(), self.server.map)

    def _succeed(self, old: Replica) -> None:
        self.replicas.remove(old)
        if not old.tenure.leaving:
            self._add(old.past)

    def _go(self, replica: Replica) -> None:
        self.replicas.remove(replica)
        self.server.heartbeats.pop(replica.tenure.me, None)
        self.server.note()

    def _begin_to_look(self, replica: Replica) -> None:
        replica.look = Look(self.now, self.server.facts(), self.server.map)

    def _tell(self, replica: Replica, facts: Facts, shard_map: ShardMap) -> None:
        others = [fact for fact in facts if fact[0] != replica.tenure.me]
        replica.tenure.saw_all(others, at=self.now)
        replica.tenure.saw_map(shard_map, at=self.now)

    def _renew(self, replica: Replica) -> Flight | None:
        if not replica.tenure.hold.is_valid(self.now):
            return None
        self.flights.append(Flight(replica, self.now, beat=replica.version))
        return self.flights[-1]

    def _move(self, replica: Replica) -> Flight | None:
        """As `replica.Replica` does: with a look at the server before it takes from the dead."""
        look, replica.look = replica.look, None
        if replica.writes or not replica.tenure.hold.is_valid(self.now):
            return None
        moves = replica.tenure.moves(self.now)
        if moves.bereaved:
            if look is None:
                return None
            self._tell(replica, look.facts, look.map)
            moves = replica.tenure.moves(look.began)
        return self._act(replica, moves)

    def _act(self, replica: Replica, moves: Moves) -> Flight | None:
        tenure = replica.tenure
        if moves.give:
            tenure.begin_giving(moves.give)
            replica.drains.append(moves.give)
        if not moves.take and not tenure.drained:
            return None
        replica.writes = True
        self.flights.append(Flight(replica, self.now, map=tenure.after(moves)))
        return self.flights[-1]

    def _land(self, flight: Flight) -> None:
        if flight.landed:
            return
        flight.landed = True
        if flight.map is not None:
            flight.answer = self.server.swap(flight.map)
        elif flight.beat is not None:
            flight.answer = self.server.beat(flight.sender.tenure.me, flight.beat)

    def _look_after_a_conflict(self, sender: Replica) -> None:
        """An earlier renewal came through unheard, or the Lease is gone, and all with it."""
        sender.version = self.server.heartbeats.get(sender.tenure.me, 0)
        if not sender.version:
            sender.tenure.hold.end()

    def _deliver(self, flight: Flight) -> None:
        self.flights.remove(flight)
        sender = flight.sender
        if flight.beat is not None:
            if isinstance(flight.answer, int):
                sender.version = flight.answer
                sender.tenure.hold.renewed(sent=flight.sent, at=self.now)
            else:
                self._look_after_a_conflict(sender)
            return
        sender.writes = False
        if isinstance(flight.answer, ShardMap):
            sender.tenure.saw_map(flight.answer, at=self.now)


HOW_OFTEN = {
    World.time_passes: 1.0,
    World.renew: 0.5,
    World.renew_and_hear_of_it: 1.0,
    World.all_renew_but_one: 2.0,
    World.begin_to_look: 1.0,
    World.move: 2.0,
    World.move_and_hear_of_it: 1.0,
    World.give_up_waiting_for_an_answer: 0.5,
    World.a_request_lands: 2.0,
    World.an_answer_arrives: 1.5,
    World.a_watch_tells: 3.0,
    World.what_is_given_away_has_ended: 1.5,
    World.come_back_if_the_hold_is_over: 1.0,
    World.go_in_order: 0.5,
    World.join: 0.3,
    World.crash: 0.1,
    World.leave: 0.1,
    World.a_heartbeat_is_deleted_by_hand: 0.05,
    World.all_is_well_for_a_while: 0.3,
}


def walk(seed: int) -> tuple[World, list[str]]:
    """A world after many things happened in it; each walk has its own mix of them."""
    chance = random.Random(seed)
    world = World(chance)
    weights = [often * chance.random() for often in HOW_OFTEN.values()]
    happened = ["join"] * 2
    world.join()
    world.join()
    for event in chance.choices([*HOW_OFTEN], weights, k=EVENTS):
        event(world)
        happened.append(event.__name__)
        assert_no_shard_has_two_workers(world, seed, happened)
    return world, happened


def assert_no_shard_has_two_workers(world: World, seed: int, happened: list[str]) -> None:
    for one, other in combinations(world.in_work(), 2):
        assert not one & other, f"walk {seed}: {one & other} after {' '.join(happened[-40:])}"


@pytest.mark.parametrize("first", range(0, WALKS, 100))
def test_no_shard_has_two_workers_and_all_are_worked_on_once_things_calm_down(first: int) -> None:
    for seed in range(first, first + 100):
        world, happened = walk(seed)
        for _ in range(2 * int(DURATION / RETRY) + 8):
            world.all_is_well_for_a_while()
            assert_no_shard_has_two_workers(world, seed, [*happened, "calm"])
        shares = [len(shards) for shards in world.in_work()]
        assert not shares or sum(shares) == SHARDS, f"walk {seed}"
        assert not shares or max(shares) - min(shares) <= 1, f"walk {seed}"
