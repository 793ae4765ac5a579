"""Replicas in virtual time: what the engine is told, and what it costs."""

import asyncio
from itertools import count

import pytest

from quiver.engine.kinds import Key
from quiver.engine.leading.duty import Callbacks, Everything, Ownership
from quiver.engine.leading.leases import Hold
from quiver.engine.leading.shardmap import ShardMap, new_map
from quiver.engine.leading.shards import Shards
from quiver.engine.leading.tenure import Tenure
from quiver.kube import Forbidden, Unreachable
from support.lease_server import LeaseClient, LeaseServer
from support.until import until
from support.virtual_time import in_virtual_time, now

SHARDS = 8
ALL = frozenset(range(SHARDS))
TOKENS = count()


class Replica:
    """A replica and what its engine was told; a drain ends when `may_drain` is set."""

    def __init__(self, server: LeaseServer, *, shards: int = SHARDS) -> None:
        self.client = LeaseClient(server)
        self.told: list[tuple[str, frozenset[int]]] = []
        self.may_drain = asyncio.Event()
        self.may_drain.set()
        self.shards = Shards(
            self.client.client,
            name="quiver",
            namespace="ns",
            identity="somebody",
            callbacks=Callbacks(
                on_gained=lambda shards: self.told.append(("gained", shards)),
                on_losing=self._drain,
                on_lost=lambda shards: self.told.append(("lost", shards)),
            ),
            shards=shards,
            now=now,
            jitter=lambda: 0.5,
            token=lambda: str(next(TOKENS)),
        )
        self.task = asyncio.create_task(self.shards.run())

    @property
    def owned(self) -> frozenset[int]:
        return self.shards.owned

    async def crash(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])

    async def _drain(self, shards: frozenset[int]) -> None:
        self.told.append(("losing", shards))
        await self.may_drain.wait()


def share_all(*replicas: Replica) -> bool:
    owned = [replica.owned for replica in replicas]
    sizes = [len(shards) for shards in owned]
    return (
        sum(sizes) == SHARDS
        and frozenset[int]().union(*owned) == ALL
        and (max(sizes) - min(sizes) <= 1)
    )


async def settled(*replicas: Replica, within: float = 40) -> float:
    """Wait until the replicas share all shards; the answer is how long that took."""
    began = now()
    await until(lambda: share_all(*replicas), within=within)
    return now() - began


@in_virtual_time
async def test_a_single_replica_owns_everything_at_once() -> None:
    replica = Replica(LeaseServer())
    assert await settled(replica) < 1
    assert replica.told == [("gained", ALL)]
    assert replica.shards.owns(Key("team", "site"))
    assert now() < replica.shards.valid_until <= now() + 10


@in_virtual_time
async def test_a_shard_is_worked_on_by_nobody_until_its_owner_has_drained_it() -> None:
    server = LeaseServer()
    old = Replica(server)
    await settled(old)
    old.may_drain.clear()
    new = Replica(server)
    await asyncio.sleep(60)
    assert len(old.owned) == SHARDS / 2
    assert not new.owned
    old.may_drain.set()
    assert await settled(old, new) < 1
    assert [word for word, _ in old.told] == ["gained", "losing"]


@in_virtual_time
async def test_the_shards_of_a_crashed_replica_are_taken_after_its_lease_is_waited_out() -> None:
    server = LeaseServer()
    replicas = [Replica(server) for _ in range(3)]
    await settled(*replicas)
    await asyncio.sleep(20)
    crashed, *left = replicas
    await crashed.crash()
    assert not crashed.owned
    assert 13 < await settled(*left) < 16
    await asyncio.sleep(1)
    assert len(server.leases) == 3, "the map and two heartbeats: that of the dead was swept"


@in_virtual_time
async def test_a_replica_that_was_cut_off_is_told_in_time_and_joins_again() -> None:
    server = LeaseServer()
    cut, other = Replica(server), Replica(server)
    await settled(cut, other)
    await asyncio.sleep(20)
    before = cut.owned
    cut.client.is_cut = True
    began = now()
    await until(lambda: not cut.owned)
    assert now() - began <= 10
    assert cut.told[-1] == ("lost", before)
    assert not share_all(other)
    await settled(other)
    assert now() - began > 13
    cut.client.is_cut = False
    await settled(cut, other)


@in_virtual_time
async def test_a_lonely_replica_that_was_cut_off_need_not_wait_for_itself() -> None:
    replica = Replica(LeaseServer())
    await settled(replica)
    replica.client.is_cut = True
    await until(lambda: not replica.owned)
    replica.client.is_cut = False
    assert await settled(replica) < 8


@in_virtual_time
async def test_a_replica_that_leaves_drains_first_and_hands_over_at_once() -> None:
    server = LeaseServer()
    leaver, heir = Replica(server), Replica(server)
    await settled(leaver, heir)
    leaver.may_drain.clear()
    releasing = asyncio.create_task(leaver.shards.release())
    await asyncio.sleep(60)
    assert not share_all(heir)
    leaver.may_drain.set()
    await releasing
    assert await settled(heir) < 1
    assert leaver.task.done()
    assert [word for word, _ in leaver.told].count("lost") == 0


@in_virtual_time
async def test_a_replica_that_loses_its_lease_while_draining_is_told() -> None:
    server = LeaseServer()
    old = Replica(server)
    await settled(old)
    old.may_drain.clear()
    new = Replica(server)
    await until(lambda: old.told[-1][0] == "losing")
    old.client.is_cut = True
    assert await settled(new) < 16
    assert ("lost", ALL) in old.told


@in_virtual_time
async def test_at_rest_only_heartbeats_are_written() -> None:
    server = LeaseServer()
    replicas = [Replica(server) for _ in range(3)]
    await settled(*replicas)
    await asyncio.sleep(30)
    for replica in replicas:
        replica.client.calls.clear()
    await asyncio.sleep(600)
    for replica in replicas:
        assert {verb for verb, _ in replica.client.calls} == {"replace"}
        assert 295 <= len(replica.client.calls) <= 301


@pytest.mark.parametrize("lost", [1, 2, 3])
@in_virtual_time
async def test_replicas_agree_although_answers_are_lost(lost: int) -> None:
    server = LeaseServer()
    one, other = Replica(server), Replica(server)
    one.client.loses_answers = lost
    await settled(one, other, within=90)


@pytest.mark.parametrize("delay", [0.0, 4.0])
@in_virtual_time
async def test_a_watch_that_tells_nothing_does_not_make_the_living_dead(delay: float) -> None:
    server = LeaseServer()
    old = Replica(server)
    await settled(old)
    old.may_drain.clear()
    new = Replica(server)
    new.client.is_deaf = True
    await asyncio.sleep(5)
    new.client.delay = delay
    await asyncio.sleep(120)
    assert ("list", "") in new.client.calls[10:]
    assert not new.owned


def test_who_renewed_while_the_list_was_on_its_way_is_not_dead() -> None:
    tenure = a_tenure("bbbb")
    tenure.saw("b", "1", duration=15, at=0)
    tenure.saw_all([("b", "1", 15)], at=16)
    assert not tenure.moves(14.9).take
    assert tenure.moves(15).bereaved == ALL - {4, 5, 6, 7}


@in_virtual_time
async def test_a_map_that_was_deleted_stops_everybody_until_all_had_time_to_notice() -> None:
    server = LeaseServer()
    replicas = [Replica(server) for _ in range(2)]
    await settled(*replicas)
    server.put("DELETED", server.leases["quiver-shards"])
    await until(lambda: not any(replica.owned for replica in replicas))
    assert await settled(*replicas) > 13


@in_virtual_time
async def test_a_replica_with_another_number_of_shards_says_so_and_owns_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = LeaseServer()
    right = Replica(server)
    await settled(right)
    wrong = Replica(server, shards=4)
    await asyncio.sleep(30)
    assert not wrong.owned
    assert "has 8 shards and this replica works with 4" in caplog.text


@pytest.mark.parametrize(
    "failure",
    [Unreachable("no route"), Forbidden(403, "Forbidden", "no")],
    ids=lambda failure: type(failure).__name__,
)
@in_virtual_time
async def test_a_replica_that_cannot_join_says_why_and_joins_later(
    failure: Unreachable, caplog: pytest.LogCaptureFixture
) -> None:
    replica = Replica(LeaseServer())
    replica.client.failing += [failure, failure]
    await settled(replica)
    assert caplog.text.count("Cannot join the replicas of ns/quiver-shards") == 1


@in_virtual_time
async def test_a_replica_that_never_joined_can_be_released() -> None:
    replica = Replica(LeaseServer())
    replica.client.is_cut = True
    await asyncio.sleep(1)
    await replica.shards.release()
    assert replica.task.done()


def a_tenure(owners: str, *, me: str = "a") -> Tenure:
    hold = Hold(sent=0, renew_deadline=10)
    tenure = Tenure(me, hold, new_map(len(owners)), at=0, duration=15)
    tenure.saw_map(ShardMap(tuple(owners), 1), at=0)
    return tenure


def test_what_is_in_work_is_never_freed() -> None:
    tenure = a_tenure("aaaa")
    tenure.begin_giving(frozenset({2, 3}))
    tenure.has_drained(frozenset({3}))
    assert tenure.after(tenure.moves(0)).owners == ("a", "a", "a", "")


def test_what_is_given_away_is_not_worked_on_again_before_it_was_free() -> None:
    tenure = a_tenure("aaaa")
    tenure.begin_giving(frozenset({3}))
    tenure.has_drained(frozenset({3}))
    gained, _ = tenure.saw_map(ShardMap(("a",) * 4, 2), at=0)
    assert not gained
    assert not tenure.owns(3, 0)
    tenure.saw_map(ShardMap(("a", "a", "a", ""), 3), at=0)
    gained, _ = tenure.saw_map(ShardMap(("a",) * 4, 4), at=0)
    assert gained == {3}


def test_what_was_taken_from_us_by_hand_is_not_ours() -> None:
    tenure = a_tenure("aaaa")
    gained, robbed = tenure.saw_map(ShardMap(("a", "a", "b", "b"), 2), at=0)
    assert not gained
    assert robbed == {2, 3}
    assert not tenure.owns(2, 0)


@in_virtual_time
async def test_a_process_without_shards_owns_everything_until_it_is_released() -> None:
    told: list[frozenset[int]] = []
    everything: Ownership = Everything(Callbacks(on_gained=told.append))
    running = asyncio.create_task(everything.run())
    await asyncio.sleep(1)
    key = Key("team", "site")
    assert told == [{everything.shard_of(key)}]
    assert everything.owns(key)
    await everything.release()
    await running
    assert not everything.owns(key)


def test_shards_are_an_ownership() -> None:
    shards: Ownership = Shards(
        LeaseClient(LeaseServer()).client, name="quiver", namespace="ns", identity="a"
    )
    assert not shards.owns(Key("team", "site"))
