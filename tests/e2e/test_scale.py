"""Many nodes that only seem to be there, and many clusters on one etcd."""

import os
import re
from collections.abc import Iterator

import pytest
import yaml

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.home import Home
from quiver.devcluster.waiting import until
from quiver.kube import Client, KubeConfig, NotFound
from support.machine import quiver


@pytest.fixture
def name() -> Iterator[str]:
    name = f"scale-{os.getpid()}"
    yield name
    assert quiver("dev", "down", "--name", name).returncode == 0


async def test_fifty_simulated_nodes_are_ready_and_take_pods(name: str) -> None:
    up = quiver("dev", "up", "--control-plane-only", "--simulated-nodes", "50", "--name", name)
    assert up.returncode == 0, up.stderr
    nodes = quiver("dev", "kubectl", "--name", name, "get", "nodes", "--no-headers").stdout
    assert len(re.findall(r"^simulated-\d{4}\s+Ready\s", nodes, re.MULTILINE)) == 50

    cluster = DevCluster(Home(name))
    cluster.kubectl("create", "deployment", "many", "--image=anything", "--replicas=100")
    async with cluster.client() as client:

        async def missing() -> str | None:
            deployment = await client.get("apps/v1", "Deployment", "many", "default")
            ready = deployment["status"].get("readyReplicas", 0)
            return None if ready == 100 else f"{ready} of 100 pods are ready"

        await until(missing, within=60)


async def test_three_api_servers_do_not_see_each_others_objects(name: str) -> None:
    up = quiver("dev", "up", "--control-plane-only", "--api-servers", "3", "--name", name)
    assert up.returncode == 0, up.stderr
    kubeconfig = Home(name).kubeconfig
    contexts = [entry["name"] for entry in yaml.safe_load(kubeconfig.read_text())["contexts"]]
    assert contexts == [f"quiver-{name}-{number}" for number in (1, 2, 3)]

    for context in contexts:
        async with Client(KubeConfig.load(kubeconfig, context)) as client:
            await client.create(config_map(context))
    for context in contexts:
        async with Client(KubeConfig.load(kubeconfig, context)) as client:
            seen = await client.list("v1", "ConfigMap", "default")
            assert [entry["metadata"]["name"] for entry in seen] == [context]
            with pytest.raises(NotFound):
                await client.get("v1", "ConfigMap", "nobody-made-this", "default")


def config_map(name: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
    }
