"""Every order of crashes, pauses, joins, departures and lost answers, on a simulated clock.

The replicas are the real `Tenure`s; the server, the network and the watches are simulated. A
replica for which no rule is run is paused. Requests are in flight until a rule lets them land, and
their answers until a rule delivers them: both may never happen, or long after the sender is dead.
"""

from dataclasses import dataclass, field
from itertools import combinations, count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from quiver.engine.leases import Hold
from quiver.engine.shardmap import ShardMap, new_map
from quiver.engine.tenure import Moves, Tenure

SHARDS = 5
DURATION, RENEW_DEADLINE, RETRY = 15.0, 10.0, 2.0

REPLICA = st.integers(0, 3)
FLIGHT = st.integers(0, 9)

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
    looking_since: float | None = None
    drains: list[frozenset[int]] = field(default_factory=list)
    writes: bool = False
    """One request at a time for the map, as the real one."""
    past: frozenset[str] = frozenset()


@dataclass
class Flight:
    """A request on its way; once it landed, its answer."""

    sender: Replica
    sent: float
    beat: int | None = None
    map: ShardMap | None = None
    landed: bool = False
    answer: int | ShardMap | None = None


class Cluster(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.server = Server()
        self.server.note()
        self.replicas: list[Replica] = []
        self.flights: list[Flight] = []
        self.names = count()

    # Time

    @rule(seconds=st.sampled_from([0.5, 1.0, RETRY, RETRY, 5.0, RENEW_DEADLINE - 0.5, DURATION]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def all_is_well_for_a_while(self) -> None:
        self._calm_round()

    # Coming and going

    @precondition(lambda self: len(self.replicas) < 4)
    @rule()
    def join(self) -> None:
        self._add(frozenset())

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def crash(self, replica: int) -> None:
        self.replicas.remove(self._the(replica))

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def come_back_if_the_hold_is_over(self, replica: int) -> None:
        old = self._the(replica)
        if not old.tenure.hold.is_valid(self.now):
            self._succeed(old)

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def leave(self, replica: int) -> None:
        self._the(replica).tenure.leaving = True

    @rule()
    def go_in_order(self) -> None:
        for replica in [replica for replica in self.replicas if replica.tenure.has_left]:
            self._go(replica)

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def somebody_deletes_a_heartbeat(self, replica: int) -> None:
        self.server.heartbeats.pop(self._the(replica).tenure.me, None)
        self.server.note()

    # Requests

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def renew(self, replica: int) -> None:
        self._renew(self._the(replica))

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def renew_unheard(self, replica: int) -> None:
        if flight := self._renew(self._the(replica)):
            self._land(flight)

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def begin_to_look(self, replica: int) -> None:
        self._the(replica).looking_since = self.now

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def move(self, replica: int) -> None:
        self._move(self._the(replica))

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def move_and_hear_of_it(self, replica: int) -> None:
        if flight := self._move(self._the(replica)):
            self._land(flight)
            self._deliver(flight)

    @precondition(lambda self: self.flights)
    @rule(flight=FLIGHT)
    def land(self, flight: int) -> None:
        self._land(self.flights[flight % len(self.flights)])

    @precondition(lambda self: self.flights)
    @rule(flight=FLIGHT)
    def land_and_deliver(self, flight: int) -> None:
        landed = self.flights[flight % len(self.flights)]
        self._land(landed)
        self._deliver(landed)

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def give_up_waiting_for_an_answer(self, replica: int) -> None:
        """The request stays in flight, and may land later."""
        self._the(replica).writes = False

    # What the others see

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA, events=st.integers(0, 30))
    def a_watch_tells(self, replica: int, events: int) -> None:
        watcher = self._the(replica)
        watcher.seen = min(watcher.seen + events, len(self.server.history) - 1)
        self._tell(watcher, *self.server.history[watcher.seen])

    @precondition(lambda self: self.replicas)
    @rule(replica=REPLICA)
    def what_is_given_away_has_ended(self, replica: int) -> None:
        giver = self._the(replica)
        if giver.drains:
            giver.tenure.has_drained(giver.drains.pop(0))

    # What must hold

    @invariant()
    def no_shard_has_two_workers(self) -> None:
        for one, other in combinations(self._working(), 2):
            assert not one & other

    def teardown(self) -> None:
        """Once things calm down, every shard is worked on, and the shares are fair."""
        if not self.replicas:
            return
        for _ in range(2 * int(DURATION / RETRY) + 8):
            self._calm_round()
            self.no_shard_has_two_workers()
        working = self._working()
        assert not working or sum(map(len, working)) == SHARDS
        assert not working or max(map(len, working)) - min(map(len, working)) <= 1

    def _calm_round(self) -> None:
        self.now += RETRY
        self.flights = [flight for flight in self.flights if not flight.landed]
        for flight in [*self.flights]:
            self._land(flight)
            self._deliver(flight)
        for replica in [*self.replicas]:
            self._calm_turn(replica)

    def _calm_turn(self, replica: Replica) -> None:
        if not replica.tenure.hold.is_valid(self.now):
            self._succeed(replica)
            return
        replica.writes = False
        replica.looking_since = self.now
        self._look(replica)
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

    # How it is done

    def _the(self, number: int) -> Replica:
        return self.replicas[number % len(self.replicas)]

    def _working(self) -> list[frozenset[int]]:
        return [
            replica.tenure.in_work if replica.tenure.hold.is_valid(self.now) else frozenset()
            for replica in self.replicas
        ]

    def _add(self, past: frozenset[str]) -> None:
        name = f"replica-{next(self.names)}"
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

    def _look(self, replica: Replica) -> None:
        replica.seen = len(self.server.history) - 1
        self._tell(replica, self.server.facts(), self.server.map)

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
        looked_at, replica.looking_since = replica.looking_since, None
        if replica.writes or not replica.tenure.hold.is_valid(self.now):
            return None
        moves = replica.tenure.moves(self.now)
        if moves.bereaved:
            if looked_at is None:
                return None
            self._look(replica)
            moves = replica.tenure.moves(looked_at)
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


Cluster.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestNoShardHasTwoWorkersInAnyOrderOfEvents = Cluster.TestCase
