"""Shards on a real API server: what replicas do, and what it costs."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.kinds import LEASE, Key
from quiver.engine.leading.duty import Callbacks
from quiver.engine.leading.leases import Timing
from quiver.engine.leading.roster import MAP
from quiver.engine.leading.shards import Shards
from quiver.kube import Client, KubeConfig, Object
from quiver.kube.faults import Faults, is_watch, refuse
from support.until import until

TIMING = Timing(duration=3.0, renew_deadline=2.0, retry=0.2)
KEYS = [Key("team", f"site-{number}") for number in range(1000)]


@dataclass
class Span:
    """From when to when one replica held a shard."""

    who: str
    began: float
    ended: float = float("inf")


@dataclass
class Trace:
    """Who held which shard when, as the engine of each replica was told."""

    spans: dict[int, list[Span]] = field(default_factory=dict)

    def callbacks(self, who: str) -> Callbacks:
        async def losing(shards: frozenset[int]) -> None:
            await asyncio.sleep(0.05)
            self.end(who, shards)

        return Callbacks(
            on_gained=lambda shards: self.begin(who, shards),
            on_losing=losing,
            on_lost=lambda shards: self.end(who, shards),
        )

    def begin(self, who: str, shards: frozenset[int]) -> None:
        for shard in shards:
            self.spans.setdefault(shard, []).append(Span(who, time.monotonic()))

    def end(self, who: str, shards: frozenset[int]) -> None:
        for shard in shards:
            self._open(who, shard).ended = time.monotonic()

    def overlaps(self) -> Iterator[tuple[int, Span, Span]]:
        for shard, spans in self.spans.items():
            for one, other in pairwise(sorted(spans, key=lambda span: span.began)):
                if one.ended > other.began:
                    yield shard, one, other

    def _open(self, who: str, shard: int) -> Span:
        return next(s for s in self.spans[shard] if s.who == who and s.ended == float("inf"))


class Running:
    """A replica and its task."""

    def __init__(self, client: Client, namespace: str, who: str, trace: Trace) -> None:
        self.shards = Shards(
            client,
            name="quiver",
            namespace=namespace,
            identity=who,
            callbacks=trace.callbacks(who),
            timing=TIMING,
        )
        self._task = asyncio.create_task(self.shards.run())

    @property
    def keys(self) -> set[Key]:
        return {key for key in KEYS if self.shards.owns(key)}

    async def crash(self) -> None:
        """It ends without a word to the server."""
        self._task.cancel()
        await asyncio.wait([self._task])


@pytest.fixture
def trace() -> Trace:
    return Trace()


@asynccontextmanager
async def replicas(
    client: Client, namespace: str, trace: Trace, *names: str
) -> AsyncIterator[list[Running]]:
    running = [Running(client, namespace, name, trace) for name in names]
    try:
        yield running
    finally:
        for replica in running:
            await replica.crash()


def share_all(*running: Running) -> bool:
    """Every key has exactly one owner, and the shards are balanced."""
    sizes = [len(replica.shards.owned) for replica in running]
    owners = Counter(key for replica in running for key in replica.keys)
    return max(sizes) - min(sizes) <= 1 and len(owners) == len(KEYS) == owners.total()


async def leases(client: Client, namespace: str) -> list[Object]:
    return await client.list(LEASE.api_version, LEASE.name, namespace)


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def faulty(api_server: DevCluster, faults: Faults) -> AsyncIterator[Client]:
    async with Client(KubeConfig.load(api_server.kubeconfig), interceptor=faults) as client:
        yield client


async def test_three_replicas_share_a_thousand_keys_and_two_take_over_from_a_crashed_one(
    api_client: Client, namespace: str, trace: Trace
) -> None:
    async with replicas(api_client, namespace, trace, "a", "b", "c") as running:
        await until(lambda: share_all(*running))
        crashed, *left = running
        await crashed.crash()
        await until(lambda: share_all(*left))
        assert not crashed.keys
        assert not list(trace.overlaps())


async def test_the_lease_of_a_crashed_replica_is_swept(
    api_client: Client, namespace: str, trace: Trace
) -> None:
    async with replicas(api_client, namespace, trace, "a", "b") as running:
        await until(lambda: share_all(*running))
        await running[0].crash()
        await until(lambda: share_all(running[1]))
        async with asyncio.timeout(10):
            while len(await leases(api_client, namespace)) > 2:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def test_a_replica_that_leaves_hands_over_at_once(
    api_client: Client, namespace: str, trace: Trace
) -> None:
    async with replicas(api_client, namespace, trace, "a", "b") as running:
        await until(lambda: share_all(*running))
        leaver, heir = running
        began = time.monotonic()
        await leaver.shards.release()
        await until(lambda: share_all(heir))
        assert time.monotonic() - began < TIMING.duration
        assert not leaver.keys
    assert not list(trace.overlaps())
    names = {lease["metadata"]["name"] for lease in await leases(api_client, namespace)}
    assert len(names) == 2, "the map and the heir's heartbeat"


async def test_a_replica_that_joins_gets_its_share_and_hardly_anything_else_moves(
    api_client: Client, namespace: str, trace: Trace
) -> None:
    async with replicas(api_client, namespace, trace, "a", "b") as running:
        await until(lambda: share_all(*running))
        before = [replica.shards.owned for replica in running]
        async with replicas(api_client, namespace, trace, "c") as joined:
            await until(lambda: share_all(*running, *joined))
            for replica, owned in zip(running, before, strict=True):
                # Two that give at the same time may each think that the odd shard is theirs.
                assert len(replica.shards.owned - owned) <= 1
    assert not list(trace.overlaps())


async def test_a_replica_that_is_cut_off_stops_before_others_take_its_shards(
    api_client: Client, namespace: str, trace: Trace, faulty: Client, faults: Faults
) -> None:
    is_cut = asyncio.Event()
    faults.add(refuse, when=lambda _: is_cut.is_set(), times=None)
    async with (
        replicas(faulty, namespace, trace, "cut off") as [cut],
        replicas(api_client, namespace, trace, "heir") as [heir],
    ):
        await until(lambda: share_all(cut, heir))
        is_cut.set()
        await until(lambda: not cut.keys)
        assert not share_all(heir), "its Lease is waited out"
        await until(lambda: share_all(heir))
        is_cut.clear()
        await until(lambda: share_all(cut, heir))
    assert not list(trace.overlaps())


async def test_at_rest_a_replica_only_renews_its_heartbeat(
    api_client: Client, namespace: str, trace: Trace, faulty: Client, faults: Faults
) -> None:
    async with (
        replicas(faulty, namespace, trace, "counted") as [counted],
        replicas(api_client, namespace, trace, "other") as [other],
    ):
        await until(lambda: share_all(counted, other))
        await asyncio.sleep(TIMING.duration)
        faults.seen.clear()
        began = time.monotonic()
        await until(lambda: len(faults.seen) >= 10)
        periods = (time.monotonic() - began) / TIMING.retry
    assert {request.method for request in faults.seen[:10]} == {"PUT"}
    assert len({request.path for request in faults.seen[:10]}) == 1
    assert len(faults.seen[:10]) <= periods + 1


async def test_replicas_get_over_a_deleted_map_without_two_at_one_key(
    api_client: Client, namespace: str, trace: Trace
) -> None:
    async with replicas(api_client, namespace, trace, "a", "b") as running:
        await until(lambda: share_all(*running))
        await api_client.delete(LEASE.api_version, LEASE.name, "quiver-shards", namespace)
        await until(lambda: not any(replica.keys for replica in running))
        await until(lambda: share_all(*running))
    assert not list(trace.overlaps())


async def test_a_broken_watch_is_mended(
    api_client: Client, namespace: str, trace: Trace, faulty: Client, faults: Faults
) -> None:
    faults.add(refuse, when=is_watch, times=3)
    async with (
        replicas(faulty, namespace, trace, "a") as [one],
        replicas(api_client, namespace, trace, "b") as [other],
    ):
        await until(lambda: share_all(one, other))


async def test_the_map_can_be_read_by_people(
    api_client: Client, namespace: str, trace: Trace
) -> None:
    async with replicas(api_client, namespace, trace, "a") as running:
        await until(lambda: share_all(*running))
        lease = await api_client.get(LEASE.api_version, LEASE.name, "quiver-shards", namespace)
    [replica] = [
        lease["metadata"]["name"]
        for lease in await leases(api_client, namespace)
        if "replica" in lease["metadata"]["name"]
    ]
    text = lease["metadata"]["annotations"][MAP]
    assert text == f'{{"version":1,"shards":256,"owners":{{"{replica}":"0-255"}}}}'
