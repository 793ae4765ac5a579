"""The operator as people run it: as a pod, from its image and its chart, with its own rights."""

from typing import Any

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.known_images import OPERATOR
from quiver.devcluster.waiting import until
from quiver.engine.kstatus import State, progress
from quiver.kube import Client, NotFound
from support.chart import render

NAMESPACE = "quiver-system"


async def install(cluster: DevCluster, values: dict[str, Any] | None = None) -> None:
    """As `helm install` would, and wait until it is ready."""
    await cluster.load_images([OPERATOR])
    async with cluster.client() as client:
        await _make_namespace(cluster, client)
        for obj in render(values, namespace=NAMESPACE, crds=True):
            await client.apply(obj, force=True, manager="helm", field_validation="Strict")
        await until(lambda: _not_ready(client), within=90)


async def _make_namespace(cluster: DevCluster, client: Client) -> None:
    try:
        await client.get("v1", "Namespace", NAMESPACE)
    except NotFound:
        await cluster.make_namespace(client, NAMESPACE)


async def _not_ready(client: Client) -> str | None:
    deployment = await client.get("apps/v1", "Deployment", "quiver", NAMESPACE)
    state, message = progress(deployment)
    return None if state is State.CURRENT else f"the operator is not ready: {message}"
