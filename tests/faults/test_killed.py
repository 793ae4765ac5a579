"""The operator is killed without warning, again and again, while 200 sets converge."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.cache import Cache
from quiver.engine.compare import difference
from quiver.engine.crd import decode
from quiver.engine.kinds import DEPLOYMENT, INGRESS, SERVICE, kind_of
from quiver.engine.reflector import Source
from quiver.kube import Client, Object
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.desired import desired
from support.operating import API, KIND, children, eventually, is_observed, vecodex
from support.process import OperatorProcess

SETS = 200
KILLS = 20
CHILDREN = 7
OWNED = (DEPLOYMENT, SERVICE, INGRESS)


class Progress:
    """How many children there are, as a watch of the test's own tells."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._cache = Cache(client, namespaces=[namespace])
        self._informers = [self._cache.informer(Source(kind)) for kind in OWNED]
        self._changed = asyncio.Event()
        for informer in self._informers:
            informer.subscribe(self, lambda _: self._changed.set())

    async def run(self) -> None:
        await self._cache.run()

    def count(self) -> int:
        return sum(len(informer.store) for informer in self._informers)

    async def reached(self, count: int) -> None:
        async with asyncio.timeout(60):
            while self.count() < count:
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
def running() -> Iterator[list[OperatorProcess]]:
    started: list[OperatorProcess] = []
    yield started
    for process in started:
        process.kill()


async def test_killed_twenty_times_it_ends_in_the_same_state_and_then_rests(
    api_server: DevCluster,
    api_client: Client,
    namespace: str,
    tmp_path: Path,
    running: list[OperatorProcess],
) -> None:
    chance = random.Random(20)
    deaths = sorted(chance.sample(range(5, SETS * CHILDREN - 5), KILLS))
    for first in range(0, SETS, 20):
        names = [f"s{number:03}" for number in range(first, first + 20)]
        await asyncio.gather(*(api_client.create(vecodex(namespace, name)) for name in names))
    progress = Progress(api_client, namespace)
    watching = asyncio.create_task(progress.run())

    def start() -> OperatorProcess:
        running.append(OperatorProcess(api_server.kubeconfig, namespace, tmp_path))
        return running[-1]

    for count in deaths:
        process = start()
        await progress.reached(count)
        process.kill()
        running.remove(process)
    watching.cancel()

    process = start()
    await eventually(lambda: _all_observed(api_client, namespace), "all observed", within=120)
    assert process.stop() == 0
    running.remove(process)

    await _assert_all_as_desired(api_client, namespace)
    before = await _versions(api_client, namespace)
    process = start()
    await process.ready()

    async def looked_at_all() -> bool:
        done = await process.metric('controller_runtime_reconcile_total{controller="vecodex"')
        return bool(done >= SETS)

    await eventually(looked_at_all, "every set was looked at", within=60)
    assert await _versions(api_client, namespace) == before
    assert await process.metric('rest_client_requests_total{code="200",method="P') == 0


async def _all_observed(client: Client, namespace: str) -> bool:
    sets = await client.list(API, KIND, namespace)
    return len(sets) == SETS and all(map(is_observed, sets))


async def _assert_all_as_desired(client: Client, namespace: str) -> None:
    live = await children(client, namespace)
    sets = await client.list(API, KIND, namespace)
    wanted: dict[str, Object] = {}
    for obj in sets:
        for child in desired(decode(VecodexSet, msgspec.json.encode(obj))):
            wanted[f"{child['kind']}/{child['metadata']['name']}"] = child
    assert len(wanted) == SETS * CHILDREN
    assert live.keys() == wanted.keys()
    uids = {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in sets}
    for name, child in wanted.items():
        assert difference(child, live[name]) is None, name
        [owner] = live[name]["metadata"]["ownerReferences"]
        assert owner["uid"] == uids[owner["name"]]


async def _versions(client: Client, namespace: str) -> dict[str, str]:
    found = {}
    for kind in (*OWNED, kind_of(VecodexSet)):
        for obj in await client.list(kind.api_version, kind.name, namespace):
            metadata = obj["metadata"]
            found[f"{kind}/{metadata['name']}"] = metadata["resourceVersion"]
    return found
