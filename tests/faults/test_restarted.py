"""The API server itself goes away and comes back, under an operator that runs on."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.installing.definitions import settle
from quiver.engine.operate import Options, operate
from quiver.kube import Client, KubeConfig
from quiver.kube.faults import Faults, refuse
from quiver.vecodex.controller import VecodexController
from support.operating import (
    children,
    converged,
    eventually,
    is_write_of,
    operating,
    vecodex,
)
from support.process import OperatorProcess, processes_of


@pytest.fixture
async def own_client(own_api_server: DevCluster) -> AsyncIterator[Client]:
    async with own_api_server.client() as client:
        await settle(client, [VecodexController], install=True)
        yield client


def api_server_process(server: DevCluster) -> int:
    [pid] = processes_of(server.home.path, "kube-apiserver")
    return pid


async def answers(client: Client) -> bool:
    try:
        await client.within(2).raw("GET", "/readyz")
    except Exception:  # Whatever it is, it is no answer.
        return False
    return True


async def test_what_happened_while_the_server_was_down_is_caught_up_with(
    own_api_server: DevCluster, own_client: Client
) -> None:
    await own_api_server.make_namespace(own_client, "down")
    async with operating(own_api_server.kubeconfig, "down", leader_elect=True):
        await own_client.create(vecodex("down"))
        await converged(own_client, "down")
        os.kill(api_server_process(own_api_server), signal.SIGKILL)
        await eventually(lambda: answers(own_client), "the server is back", within=60)
        await own_client.delete("apps/v1", "Deployment", "search-writer", "down")
        changed = vecodex("down", searcher={"image": "example.com/searcher:2"})
        await own_client.apply(changed, force=True)

        async def is_caught_up() -> bool:
            found = await children(own_client, "down")
            searcher = found["Deployment/search-searcher"]["spec"]["template"]["spec"]
            is_new = searcher["containers"][0]["image"] == "example.com/searcher:2"
            return is_new and "Deployment/search-writer" in found

        await eventually(is_caught_up, "the change and the deletion are dealt with", within=60)


async def test_a_leader_that_cannot_renew_its_lease_ends_and_a_successor_takes_over(
    own_api_server: DevCluster, own_client: Client, tmp_path: Path
) -> None:
    await own_api_server.make_namespace(own_client, "lease")
    first = OperatorProcess(own_api_server.kubeconfig, "lease", tmp_path, "--leader-elect")
    second = OperatorProcess(own_api_server.kubeconfig, "lease", tmp_path, "--leader-elect")
    try:
        await first.ready()
        await second.ready()
        await own_client.create(vecodex("lease"))
        await converged(own_client, "lease")
        leader, other = (first, second) if await leads(first) else (second, first)
        assert not await leads(other)
        leader.kill()
        await own_client.delete("apps/v1", "Deployment", "search-writer", "lease")

        async def is_healed() -> bool:
            return "Deployment/search-writer" in await children(own_client, "lease")

        await eventually(is_healed, "the successor works", within=60)
        assert await leads(other)
    finally:
        await asyncio.to_thread(first.kill)
        await asyncio.to_thread(second.kill)


async def test_an_operator_that_loses_its_lease_ends(
    own_api_server: DevCluster, own_client: Client
) -> None:
    """It writes nothing more, and the kubelet starts it anew."""
    await own_api_server.make_namespace(own_client, "lost")
    faults = Faults()
    config = KubeConfig.load(own_api_server.kubeconfig)
    options = Options(namespaces=("lost",), own_namespace="lost", leader_elect=True)
    running = asyncio.create_task(
        operate(config, [VecodexController()], options, stop=asyncio.Event(), interceptor=faults)
    )
    await own_client.create(vecodex("lost"))
    await converged(own_client, "lost")
    faults.add(refuse, when=is_write_of("leases"), times=None)
    async with asyncio.timeout(20):
        assert await running == 1


async def leads(process: OperatorProcess) -> bool:
    return await process.metric("leader_election_master_status") == 1
