"""Several replicas at work at once, each on its shards, and one of them dies."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.kube import Client
from support.operating import API, KIND, children, eventually, is_observed, vecodex
from support.process import OperatorProcess

SETS = 30
CHILDREN = 7


@pytest.fixture
def replicas(
    api_server: DevCluster, namespace: str, tmp_path: Path
) -> Iterator[list[OperatorProcess]]:
    made = [
        OperatorProcess(api_server.kubeconfig, namespace, tmp_path, "--shards") for _ in range(2)
    ]
    yield made
    for replica in made:
        replica.kill()


async def test_replicas_share_the_work_and_the_survivor_takes_all_of_it(
    api_client: Client, namespace: str, replicas: list[OperatorProcess]
) -> None:
    for replica in replicas:
        await replica.ready()
    await eventually(lambda: _both_work(api_client, namespace), "both are replicas")

    await _create(api_client, namespace, "a")
    await eventually(lambda: _observed(api_client, namespace, SETS), "all are made", within=60)
    worked = [await _reconciles(replica) for replica in replicas]
    assert all(worked), worked
    assert len(await children(api_client, namespace)) == SETS * CHILDREN

    replicas[0].kill()
    await _create(api_client, namespace, "b")
    await eventually(lambda: _observed(api_client, namespace, 2 * SETS), "taken over", within=90)
    assert len(await children(api_client, namespace)) == 2 * SETS * CHILDREN


async def _create(client: Client, namespace: str, prefix: str) -> None:
    names = [f"{prefix}{number}" for number in range(SETS)]
    await asyncio.gather(*(client.create(vecodex(namespace, name)) for name in names))


async def _observed(client: Client, namespace: str, count: int) -> bool:
    sets = await client.list(API, KIND, namespace)
    return len(sets) == count and all(map(is_observed, sets))


async def _both_work(client: Client, namespace: str) -> bool:
    """Each has a heartbeat of its own, and a share in the map."""
    leases = await client.list("coordination.k8s.io/v1", "Lease", namespace)
    maps = [str(it["metadata"].get("annotations", "")) for it in leases]
    holders = [it["metadata"]["name"] for it in leases if it["spec"].get("holderIdentity")]
    shared = [text for text in maps if sum(name in text for name in holders) >= 2]
    return len(holders) >= 2 and bool(shared)


async def _reconciles(replica: OperatorProcess) -> float:
    return await replica.metric('controller_runtime_reconcile_total{controller="vecodex"')
