"""What the operator does when the API server fails it, in each way that it can."""

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.kube import Client
from quiver.kube.faults import Faults, answer, cut_after, lose_answer, refuse, slow
from quiver.kube.interceptor import Interceptor
from quiver.kube.request import Request
from support.operating import (
    children,
    condition,
    converged,
    eventually,
    is_write_of,
    operating,
    read,
    vecodex,
    writes,
)

CHILDREN = {
    "Deployment/search-coordinator",
    "Deployment/search-searcher",
    "Deployment/search-writer",
    "Service/search-coordinator",
    "Service/search-searcher",
    "Service/search-writer",
    "Ingress/search-ingress",
}

is_child_write = is_write_of("deployments", "services", "ingresses")
is_status_write = is_write_of("vecodexsets")


def is_watch(request: Request) -> bool:
    return "watch" in request.query


async def test_a_new_set_costs_its_children_and_one_status(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    seen = Faults()
    async with operating(api_server.kubeconfig, namespace, seen):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
        assert set(await children(api_client, namespace)) == CHILDREN
    made = [it for it in writes(seen.seen) if "/customresourcedefinitions" not in it.path]
    assert sorted(it.method for it in made) == ["POST"] * 7 + ["PUT"]


async def test_a_restart_writes_nothing(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    async with operating(api_server.kubeconfig, namespace):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
    seen = Faults()
    async with operating(api_server.kubeconfig, namespace, seen):
        # A second set shows when the first has been looked at: it comes after it in the queue.
        await api_client.create(vecodex(namespace, "second"))
        await eventually(
            lambda: _has(api_client, namespace, "Ingress/second-ingress"), "the second set"
        )
    assert [it for it in writes(seen.seen) if "search" in it.path] == []


async def _has(client: Client, namespace: str, name: str) -> bool:
    return name in await children(client, namespace)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answer(500, "InternalError", "etcd is away"), id="500"),
        pytest.param(answer(503, "ServiceUnavailable"), id="503"),
        pytest.param(answer(429, "TooManyRequests", retry_after=0), id="429"),
        pytest.param(answer(409, "Conflict", "somebody was faster"), id="409"),
        pytest.param(refuse, id="refused"),
        pytest.param(lose_answer, id="answer lost"),
        pytest.param(slow(0.2), id="slow"),
    ],
)
async def test_writes_that_fail_a_few_times_end_in_the_same_state(
    api_server: DevCluster, api_client: Client, namespace: str, fault: Interceptor
) -> None:
    faults = Faults()
    faults.add(fault, when=is_child_write, times=12)
    faults.add(fault, when=is_status_write, times=2)
    async with operating(api_server.kubeconfig, namespace, faults):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
        made = await children(api_client, namespace)
    assert set(made) == CHILDREN


async def test_failures_that_last_are_told_and_the_words_go_when_they_end(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    faults = Faults()
    away = True
    faults.add(
        answer(500, "InternalError", "etcd is away"),
        when=lambda it: away and is_write_of("services")(it),
        times=None,
    )
    async with operating(api_server.kubeconfig, namespace, faults):
        await api_client.create(vecodex(namespace))

        async def is_told() -> bool:
            degraded = condition(await read(api_client, namespace), "Degraded")
            return degraded["reason"] == "Retrying" and "etcd is away" in degraded["message"]

        await eventually(is_told, "a condition that says what fails")
        away = False
        await converged(api_client, namespace, within=60)
        assert set(await children(api_client, namespace)) == CHILDREN


async def test_a_lost_answer_is_read_back_before_the_next_decision(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    faults = Faults()
    faults.add(lose_answer, when=is_write_of("ingresses"), times=1)
    async with operating(api_server.kubeconfig, namespace, faults):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
    paths = [(it.method, it.path) for it in faults.seen if "/ingresses" in it.path]
    created = [it for it in paths if it[0] == "POST"]
    assert len(created) == 1
    assert any(it[0] == "GET" and it[1].endswith("/search-ingress") for it in paths)


async def test_watches_that_break_off_and_versions_that_are_forgotten_lose_nothing(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    faults = Faults()
    faults.add(cut_after(2), when=is_watch, times=12)
    faults.add(answer(410, "Expired", "too old"), when=is_watch, times=6)
    faults.add(refuse, when=is_watch, times=6)
    async with operating(api_server.kubeconfig, namespace, faults):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
        for name in ("search-searcher", "search-writer"):
            await api_client.delete("apps/v1", "Deployment", name, namespace)
        await eventually(lambda: _is_complete(api_client, namespace), "healed", within=60)


async def _is_complete(client: Client, namespace: str) -> bool:
    return set(await children(client, namespace)) == CHILDREN


async def test_an_api_server_that_is_away_at_the_start_is_waited_for(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    faults = Faults()
    faults.add(refuse, times=12)
    await api_client.create(vecodex(namespace))
    async with operating(api_server.kubeconfig, namespace, faults):
        await converged(api_client, namespace, within=60)
