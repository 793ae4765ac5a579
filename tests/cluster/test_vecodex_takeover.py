"""A set that the original operator made is taken over in place."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from quiver.devcluster.handle import DevCluster
from quiver.engine.installing.definitions import settle
from quiver.kube import Client, Object
from quiver.vecodex.controller import VecodexController
from support.operating import children, eventually, operating
from support.vecodex_original import original_deployment

SAMPLE = Path(__file__).parents[2] / "config/samples/apps_v1alpha1_vecodexset.yaml"
ORIGINAL = "manager"


@pytest.fixture
async def original(api_server: DevCluster, api_client: Client, namespace: str) -> dict[str, Any]:
    """The sample, and the Deployments that the original operator made for it."""
    await settle(api_client, [VecodexController], install=True)
    manifest = yaml.safe_load(SAMPLE.read_text())
    manifest["metadata"] |= {"namespace": namespace, "name": "search"}
    vecodex = await api_client.create(manifest)
    async with Client(api_client.config, manager=ORIGINAL) as manager:
        return {
            role: await manager.create(original_deployment(vecodex, role))
            for role in ("coordinator", "writer", "searcher")
        }


async def test_no_pod_template_changes_and_the_fields_become_ours(
    api_server: DevCluster, api_client: Client, namespace: str, original: dict[str, Object]
) -> None:
    async with operating(api_server.kubeconfig, namespace):

        async def is_ours() -> bool:
            found = await children(api_client, namespace)
            deployments = [found[f"Deployment/search-{role}"] for role in original]
            return all("quiver.dev/applied" in _annotations(it) for it in deployments)

        await eventually(is_ours, "all Deployments carry our digest")
    for role, before in original.items():
        after = (await children(api_client, namespace))[f"Deployment/search-{role}"]
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["spec"]["template"] == before["spec"]["template"]
        assert after["spec"]["selector"] == before["spec"]["selector"]
        managers = {entry["manager"] for entry in after["metadata"]["managedFields"]}
        assert managers == {"quiver"}


async def test_what_the_spec_drops_later_goes_although_the_original_had_set_it(
    api_server: DevCluster, api_client: Client, namespace: str, original: dict[str, Object]
) -> None:
    extra = {"spec": {"template": {"metadata": {"annotations": {"set-by": "the original"}}}}}
    async with Client(api_client.config, manager=ORIGINAL) as manager:
        await manager.patch("apps/v1", "Deployment", "search-writer", extra, namespace)
    async with operating(api_server.kubeconfig, namespace):

        async def is_gone() -> bool:
            found = await children(api_client, namespace)
            template = found["Deployment/search-writer"]["spec"]["template"]
            return "annotations" not in template["metadata"]

        await eventually(is_gone, "the former operator's field is gone")


def _annotations(obj: Object) -> Object:
    return dict(obj["metadata"].get("annotations", {}))
