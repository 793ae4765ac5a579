"""Leader election on a real API server."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.kinds import LEASE
from quiver.engine.leading.election import Election
from quiver.kube import Client, Impersonation, KubeConfig, Object
from quiver.kube.faults import Faults, lose_answer, method, refuse
from support.until import until

DURATION, RENEW_DEADLINE, RETRY = 3.0, 2.0, 0.2


def candidate(client: Client, namespace: str, identity: str) -> Election:
    return Election(
        client,
        name="quiver",
        namespace=namespace,
        identity=identity,
        duration=DURATION,
        renew_deadline=RENEW_DEADLINE,
        retry=RETRY,
    )


async def lease(client: Client, namespace: str) -> Object:
    return await client.get(LEASE.api_version, LEASE.name, "quiver", namespace)


async def killed(task: asyncio.Task[None]) -> None:
    """It ends without a word to the server."""
    task.cancel()
    await asyncio.wait([task])


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def faulty(api_server: DevCluster, faults: Faults) -> AsyncIterator[Client]:
    async with Client(KubeConfig.load(api_server.kubeconfig), interceptor=faults) as client:
        yield client


async def test_of_two_candidates_one_leads_until_it_releases(
    api_client: Client, namespace: str
) -> None:
    async with candidate(api_client, namespace, "first") as first:
        await first.acquired()
        async with candidate(api_client, namespace, "second") as second:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(second.acquired(), 1.0)
            assert first.leads()
            assert not second.leads()
            before = time.monotonic()
            await first.release()
            assert not first.leads()
            await second.acquired()
            assert time.monotonic() - before < DURATION
            assert second.leads()
            spec = (await lease(api_client, namespace))["spec"]
    assert spec["holderIdentity"] == "second"
    assert spec["leaseTransitions"] == 1
    assert spec["leaseDurationSeconds"] == DURATION


async def test_a_released_lease_names_no_holder(api_client: Client, namespace: str) -> None:
    async with candidate(api_client, namespace, "first") as first:
        await first.acquired()
    spec = (await lease(api_client, namespace))["spec"]
    assert "holderIdentity" not in spec
    assert spec["leaseTransitions"] == 0


async def test_a_killed_leader_is_replaced_only_after_the_duration(
    api_client: Client, namespace: str
) -> None:
    first = candidate(api_client, namespace, "first")
    running = asyncio.create_task(first.run())
    await first.acquired()
    async with candidate(api_client, namespace, "second") as second:
        await asyncio.sleep(2 * RETRY)
        valid_until = first.valid_until
        await killed(running)
        await asyncio.wait_for(second.acquired(), 10 * DURATION)
        assert time.monotonic() > valid_until + DURATION - RENEW_DEADLINE
    assert not first.leads()


async def test_a_leader_that_is_cut_off_stops_before_another_leads(
    api_client: Client, namespace: str, faulty: Client, faults: Faults
) -> None:
    first = candidate(faulty, namespace, "first")
    running = asyncio.create_task(first.run())
    await first.acquired()
    async with candidate(api_client, namespace, "second") as second:
        faults.add(refuse, times=None)
        await first.lost()
        assert not first.leads()
        assert not second.leads()
        await running
        await asyncio.wait_for(second.acquired(), 10 * DURATION)


async def test_a_leader_whose_renewal_came_through_unheard_goes_on(
    namespace: str, faulty: Client, faults: Faults
) -> None:
    async with candidate(faulty, namespace, "first") as first:
        await first.acquired()
        promised = first.valid_until
        faults.add(lose_answer, when=method("PUT"), times=1)
        await until(lambda: first.valid_until > promised + RETRY)
        assert first.leads()


async def test_a_leader_whose_lease_is_deleted_steps_down(
    api_client: Client, namespace: str
) -> None:
    async with candidate(api_client, namespace, "first") as first:
        await first.acquired()
        await api_client.delete(LEASE.api_version, LEASE.name, "quiver", namespace)
        await asyncio.wait_for(first.lost(), DURATION)
        assert not first.leads()


async def test_a_candidate_without_a_namespace_says_so_and_leads_once_it_exists(
    api_server: DevCluster, api_client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    missing = f"{namespace}-missing"
    async with candidate(api_client, missing, "first") as first:
        await until(lambda: caplog.messages)
        assert f"(create namespace {missing}, or choose another one)" in caplog.messages[0]
        await api_server.make_namespace(api_client, missing)
        await first.acquired()


async def test_a_candidate_without_rights_says_which_ones_it_needs(
    api_client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = api_client.impersonating(Impersonation(user="nobody"))
    caplog.set_level(logging.WARNING)
    async with candidate(nobody, namespace, "first") as first:
        await until(lambda: caplog.messages)
        assert not first.leads()
    assert (
        f"(grant get, create and update on leases in namespace {namespace})" in (caplog.messages[0])
    )
