"""The whole operator, with exactly the rights that the chart grants to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import yaml

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.waiting import until
from quiver.engine.operate import Options, operate
from quiver.kube import Client, Impersonation, KubeConfig, Object
from quiver.kube.interceptor import Send
from quiver.kube.request import Answer, Request
from quiver.operators import controllers
from support.chart import render
from support.rights import took_effect

SAMPLE = Path(__file__).parents[2] / "config" / "samples" / "apps_v1alpha1_vecodexset.yaml"
VECODEX = ("apps.vecodex.link/v1alpha1", "VecodexSet")


class Refusals:
    """Sits under the operator's clients and keeps what the server did not let them do."""

    def __init__(self) -> None:
        self.met: list[str] = []

    async def __call__(self, request: Request, send: Send) -> Answer:
        answer = await send(request)
        if answer.status == 403:
            self.met.append(f"{request.method} {request.path} {dict(request.query)}")
        return answer


@asynccontextmanager
async def _running(config: KubeConfig, options: Options, refusals: Refusals) -> AsyncIterator[None]:
    stop = asyncio.Event()
    enabled = [controller() for controller in controllers().values()]
    running = asyncio.create_task(
        operate(config, enabled, options, stop=stop, interceptor=refusals)
    )
    try:
        yield
    finally:
        stop.set()
        assert await running == 0


async def _granted(client: Client, namespace: str, watched: str) -> tuple[list[Object], str]:
    """The chart's account and roles for an operator of one namespace; who it is to the server."""
    objects = render({"watchNamespaces": [watched]}, name=namespace, namespace=namespace)
    needed = [it for it in objects if "Role" in it["kind"] or it["kind"] == "ServiceAccount"]
    for obj in needed:
        await client.apply(obj)
    account = next(it["metadata"]["name"] for it in needed if it["kind"] == "ServiceAccount")
    user = f"system:serviceaccount:{namespace}:{account}"
    await took_effect(client, user, namespace)
    return needed, user


async def test_the_operator_meets_no_refusal_in_its_work(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    watched = f"{namespace}-sets"
    await api_server.make_namespace(api_client, watched)
    objects, user = await _granted(api_client, namespace, watched)
    groups = ("system:serviceaccounts", "system:authenticated")
    config = msgspec.structs.replace(
        api_client.config, impersonation=Impersonation(user=user, groups=groups)
    )
    refusals = Refusals()
    options = Options(namespaces=(watched,), leader_elect=True, own_namespace=namespace)
    async with _running(config, options, refusals):
        await _tells_of_its_work(api_client, watched)
    assert refusals.met == []
    for obj in objects:
        if obj["kind"].startswith("ClusterRole"):
            await api_client.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])


async def _tells_of_its_work(client: Client, namespace: str) -> None:
    """Made, changed, and with one child less: each time the children follow."""
    sample = yaml.safe_load(SAMPLE.read_text())
    sample["metadata"] = {"name": "search", "namespace": namespace}
    created: list[Object] = []

    async def not_made() -> str | None:
        created[:] = created or [await client.create(sample)]
        made = await client.list("networking.k8s.io/v1", "Ingress", namespace)
        return None if made else "the operator has made no Ingress"

    await until(not_made, within=60)
    no_ingress = {"spec": {"ingress": None, "coordinator": {"replicas": 2}}}
    await client.patch(*VECODEX, "search", no_ingress, namespace)

    async def not_followed() -> str | None:
        if await client.list("networking.k8s.io/v1", "Ingress", namespace):
            return "the Ingress is still there"
        deployments = await client.list("apps/v1", "Deployment", namespace)
        replicas = {it["metadata"]["name"]: it["spec"]["replicas"] for it in deployments}
        if replicas.get("search-coordinator") != 2:
            return f"the Deployments have {replicas} replicas"
        events = await client.list("events.k8s.io/v1", "Event", namespace)
        return None if events else "the operator has told of nothing"

    await until(not_followed, within=60)
