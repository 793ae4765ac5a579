"""VecodexSets on a real node, kept by the operator in its pod."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.standins import ROLES, VECODEX_APP, VERSIONS, vecodex_image
from quiver.devcluster.waiting import until
from quiver.kube import Client, Invalid, NotFound
from support.vecodex_original import original_deployment
from support.web import http

Kubectl = Callable[..., str]
Object = dict[str, Any]

SAMPLE = Path(__file__).parents[2] / "config/samples/apps_v1alpha1_vecodexset.yaml"
API, KIND = "apps.vecodex.link/v1alpha1", "VecodexSet"

pytestmark = [pytest.mark.usefixtures("operator", "vecodex_images")]


@pytest.fixture(scope="session")
def vecodex_images(cluster: DevCluster) -> None:
    names = [vecodex_image(role) for role in ROLES]
    names += [f"{VECODEX_APP}:{version}" for version in VERSIONS]
    asyncio.run(cluster.load_images(names))


def small_set(namespace: str, *, tag: str = "latest", **searcher: Any) -> Object:
    def component(role: str) -> Object:
        return {
            "image": f"{VECODEX_APP}:{tag}",
            "command": ["/app/cmake/build/vecodex-app", role],
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        }

    spec = {role: component(role) for role in ROLES}
    spec["searcher"] |= searcher
    metadata = {"name": "search", "namespace": namespace}
    return {"apiVersion": API, "kind": KIND, "metadata": metadata, "spec": spec}


@pytest.fixture
def status(cluster_client: Client, cluster_namespace: str) -> Callable[[str], Awaitable[Object]]:
    async def read(name: str) -> Object:
        found = await cluster_client.get(API, KIND, name, cluster_namespace)
        generation = found["metadata"]["generation"]
        known: Object = found.get("status", {})
        return known if known.get("observedGeneration") == generation else {}

    return read


Status = Callable[[str], Awaitable[Object]]


def condition(status: Object, kind: str) -> Object:
    found = [it for it in status.get("conditions", []) if it["type"] == kind]
    return found[0] if found else {"status": "", "reason": "", "message": ""}


async def phase(status: Status, name: str, wanted: str, *, within: float = 90) -> Object:
    async def missing() -> str | None:
        found = await status(name)
        told = condition(found, "Ready")["message"]
        return None if found.get("phase") == wanted else f"{found.get('phase')}: {told}"

    await until(missing, within=within)
    return await status(name)


async def answers(url: str, text: str, **options: Any) -> None:
    """Wait until the proxy knows the new pods, and no old one answers any more."""

    async def missing() -> str | None:
        try:
            answer = await http("GET", url, **options)
        except OSError as error:
            return str(error)
        return None if answer == (200, text) else str(answer)

    await until(missing, within=30)


async def test_the_sample_runs_and_is_reached_by_service_and_by_host(
    cluster: DevCluster, kubectl: Kubectl, status: Status, cluster_namespace: str
) -> None:
    manifest = yaml.safe_load(SAMPLE.read_text())
    manifest["metadata"]["namespace"] = cluster_namespace
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump(manifest))
    found = await phase(status, "search-cluster", "Ready")
    assert {role: found[role]["ready"] for role in ROLES} == {
        "coordinator": 1, "writer": 1, "searcher": 3
    }  # fmt: skip
    assert found["searcher"]["image"] == "vecodex-searcher-image:latest"
    assert found["endpoint"] == "http://search.vecodex.link"
    assert condition(found, "GPUAvailable")["status"] == "True"

    url, host = f"http://{cluster.network.node_ip}/", {"Host": "search.vecodex.link"}

    await answers(url, "vecodex coordinator latest\n", headers=host)
    for role in ROLES:
        ip = kubectl("get", f"service/search-cluster-{role}", "-o", "jsonpath={.spec.clusterIP}")
        await answers(f"http://{ip}/", f"vecodex {role} latest\n")

    shown = kubectl("get", "quiver")
    assert "search-cluster" in shown
    assert "3/3" in shown
    assert "AllReady" in kubectl("describe", "vdx", "search-cluster")
    kubectl("delete", "vdx", "search-cluster")

    async def left() -> str | None:
        kinds = "deployments,services,ingresses,pods"
        return kubectl("get", kinds, "-o", "name").strip() or None

    await until(left, within=60)


async def test_a_change_reaches_searchers_first_and_a_bad_one_halts_until_it_is_reverted(
    cluster_client: Client, kubectl: Kubectl, status: Status, cluster_namespace: str
) -> None:
    await cluster_client.create(small_set(cluster_namespace, replicas=2))
    await phase(status, "search", "Ready")

    broken = small_set(cluster_namespace, tag="no-such-tag", replicas=2)
    await cluster_client.apply(broken, force=True)
    halted = await phase(status, "search", "Halted")
    assert condition(halted, "Degraded")["reason"] == "RolloutHalted"
    assert "searcher" in condition(halted, "Degraded")["message"]
    assert halted["coordinator"]["image"] == f"{VECODEX_APP}:latest"
    assert halted["searcher"]["image"] == f"{VECODEX_APP}:no-such-tag"

    await cluster_client.apply(small_set(cluster_namespace, tag="v2", replicas=2), force=True)
    done = await phase(status, "search", "Ready")
    assert {done[role]["image"] for role in ROLES} == {f"{VECODEX_APP}:v2"}
    ip = kubectl("get", "service/search-coordinator", "-o", "jsonpath={.spec.clusterIP}")
    await answers(f"http://{ip}/", "vecodex coordinator v2\n")
    events = kubectl("get", "events", "-o", "jsonpath={.items[*].reason}")
    assert "RolloutHalted" in events


async def test_kubectl_scale_drives_the_searchers(
    cluster_client: Client, kubectl: Kubectl, status: Status, cluster_namespace: str
) -> None:
    await cluster_client.create(small_set(cluster_namespace, replicas=1))
    await phase(status, "search", "Ready")
    kubectl("scale", "vdx/search", "--replicas=3")
    found = await phase(status, "search", "Ready")
    assert found["searcher"]["ready"] == 3
    kubectl("scale", "vdx/search", "--replicas=0")
    found = await phase(status, "search", "Ready")
    assert found["searcher"]["replicas"] == 0


async def test_an_autoscaler_drives_the_searchers_through_the_set(
    cluster_client: Client, status: Status, cluster_namespace: str
) -> None:
    wanted = small_set(
        cluster_namespace, replicas=1, autoscaling={"minReplicas": 2, "maxReplicas": 3}
    )
    await cluster_client.create(wanted)

    async def unscaled() -> str | None:
        found = await cluster_client.get(API, KIND, "search", cluster_namespace)
        replicas = found["spec"]["searcher"]["replicas"]
        return None if replicas == 2 else f"spec.searcher.replicas is {replicas}"

    await until(unscaled, within=60)
    found = await phase(status, "search", "Ready")
    assert found["searcher"]["ready"] == 2
    autoscaler = await cluster_client.get(
        "autoscaling/v2", "HorizontalPodAutoscaler", "search-searcher", cluster_namespace
    )
    assert autoscaler["spec"]["scaleTargetRef"]["kind"] == KIND


async def test_the_pods_of_the_original_operator_run_on_when_their_set_is_taken_over(
    cluster_client: Client, kubectl: Kubectl, status: Status, cluster_namespace: str
) -> None:
    """While the set is paused, the test makes the Deployments as the original would."""
    paused = small_set(cluster_namespace, replicas=1)
    paused["spec"]["paused"] = True
    for role in ROLES:
        # The original ignored the command.
        del paused["spec"][role]["command"]
        paused["spec"][role]["image"] = vecodex_image(role)
    owner = await cluster_client.create(paused)
    async with Client(cluster_client.config, manager="manager") as original:
        for role in ROLES:
            await original.create(original_deployment(owner, role))
    kubectl("wait", "--for=condition=Available", "deployment", "--all", "--timeout=60s")
    before = kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.uid}")

    kubectl("patch", "vdx/search", "--type=merge", "-p", '{"spec":{"paused":false}}')
    await phase(status, "search", "Ready")
    services = kubectl("get", "services", "-o", "name").split()
    assert services == [f"service/search-{role}" for role in sorted(ROLES)]
    assert kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.uid}") == before


async def test_children_heal_field_by_field(
    cluster_client: Client, kubectl: Kubectl, status: Status, cluster_namespace: str
) -> None:
    await cluster_client.create(small_set(cluster_namespace, replicas=1))
    await phase(status, "search", "Ready")
    kubectl("delete", "deployment/search-writer", "--wait=false")
    kubectl("delete", "service/search-searcher")
    kubectl("set", "image", "deployment/search-searcher", "searcher=busybox:1.36")
    kubectl("scale", "deployment/search-coordinator", "--replicas=4")

    async def unhealed() -> str | None:
        try:
            await cluster_client.get("v1", "Service", "search-searcher", cluster_namespace)
        except NotFound as error:
            return str(error)
        wanted = {"searcher": 1, "writer": 1, "coordinator": 1}
        for role, replicas in wanted.items():
            try:
                found = await cluster_client.get(
                    "apps/v1", "Deployment", f"search-{role}", cluster_namespace
                )
            except NotFound as error:
                return str(error)
            image = found["spec"]["template"]["spec"]["containers"][0]["image"]
            if (image, found["spec"]["replicas"]) != (f"{VECODEX_APP}:latest", replicas):
                return f"{role}: {image} x {found['spec']['replicas']}"
        return None

    await until(unhealed, within=30)
    await phase(status, "search", "Ready")


async def test_a_gpu_that_no_node_offers_is_told_and_one_that_comes_is_noticed(
    cluster_client: Client, status: Status, cluster_namespace: str
) -> None:
    wanted = small_set(cluster_namespace, replicas=1)
    wanted["spec"]["writer"]["resources"] = {"limits": {"nvidia.com/gpu": "64"}}
    await cluster_client.create(wanted)
    found = await phase(status, "search", "Degraded")
    assert condition(found, "GPUAvailable")["status"] == "False"
    assert "64" in condition(found, "GPUAvailable")["message"]
    wanted["spec"]["writer"]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    await cluster_client.apply(wanted, force=True)
    found = await phase(status, "search", "Ready")
    assert condition(found, "GPUAvailable")["status"] == "True"


async def test_the_webhook_in_the_pod_refuses_what_the_schema_cannot(
    cluster_client: Client, cluster_namespace: str
) -> None:
    wanted = small_set(cluster_namespace)
    wanted["spec"]["writer"]["readinessProbe"] = {"httpGet": {"port": "nowhere"}}
    with pytest.raises(Invalid) as refused:
        await cluster_client.create(wanted, dry_run=True)
    assert "spec.writer.readinessProbe.httpGet.port" in str(refused.value)
    assert "there is no port 'nowhere'" in str(refused.value)
