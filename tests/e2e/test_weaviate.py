"""Three real Weaviate nodes on the real node: cluster, vectors, and the loss of each pod."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.known_images import weaviate_image
from quiver.devcluster.waiting import until
from support.web import http

MANIFEST = Path(__file__).parent / "weaviate.yaml"
VERSION = "1.36.12"
ANIMALS = {"cat": [0.9, 0.1, 0.0], "dog": [0.8, 0.3, 0.1], "whale": [0.0, 0.2, 0.9]}

Kubectl = Callable[..., str]


class Weaviate:
    """The REST API of the cluster under test, through its Service."""

    def __init__(self, address: str) -> None:
        self._url = f"http://{address}/v1"

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = await http(method, f"{self._url}{path}", json=body)
        assert status == 200, answer
        return answer

    async def store(self) -> None:
        collection = {"class": "Animal", "vectorizer": "none", "replicationConfig": {"factor": 3}}
        await self.call("POST", "/schema", collection)
        for name, vector in ANIMALS.items():
            animal = {"class": "Animal", "properties": {"name": name}, "vector": vector}
            await self.call("POST", "/objects?consistency_level=ALL", animal)

    async def nearest(self, vector: list[float]) -> list[str]:
        wanted = f"{{Get{{Animal(nearVector:{{vector:{json.dumps(vector)}}}){{name}}}}}}"
        answer = await self.call("POST", "/graphql", {"query": wanted})
        return [animal["name"] for animal in answer["data"]["Get"]["Animal"]]

    async def missing_nodes(self) -> str | None:
        nodes = (await self.call("GET", "/nodes"))["nodes"]
        healthy = sorted(node["name"] for node in nodes if node["status"] == "HEALTHY")
        wanted = ["weaviate-0", "weaviate-1", "weaviate-2"]
        return None if healthy == wanted else f"only {healthy} are healthy"


@pytest.fixture
async def weaviate(cluster: DevCluster, kubectl: Kubectl) -> Weaviate:
    await cluster.load_images([weaviate_image(VERSION)])
    kubectl("apply", "--server-side", "-f", str(MANIFEST))
    kubectl("rollout", "status", "statefulset/weaviate", "--timeout=180s")
    # The host has a route to Services, so a ClusterIP is an address like any other.
    address = kubectl("get", "service", "weaviate", "-o", "jsonpath={.spec.clusterIP}")
    weaviate = Weaviate(address)
    await until(weaviate.missing_nodes, within=60)
    return weaviate


async def test_three_nodes_form_a_cluster_and_keep_vectors_through_the_loss_of_each_pod(
    weaviate: Weaviate, kubectl: Kubectl
) -> None:
    await weaviate.store()
    assert await weaviate.nearest([1.0, 0.0, 0.0]) == ["cat", "dog", "whale"]

    for ordinal in range(3):
        before = kubectl("get", "pod", f"weaviate-{ordinal}", "-o", "jsonpath={.metadata.uid}")
        kubectl("delete", "pod", f"weaviate-{ordinal}", "--wait=true")
        kubectl("rollout", "status", "statefulset/weaviate", "--timeout=120s")
        await until(weaviate.missing_nodes, within=60)
        after = kubectl("get", "pod", f"weaviate-{ordinal}", "-o", "jsonpath={.metadata.uid}")
        assert after != before
        assert await weaviate.nearest([0.0, 0.0, 1.0]) == ["whale", "dog", "cat"]

    statistics = await weaviate.call("GET", "/cluster/statistics")
    assert statistics["synchronized"] is True
    assert len(statistics["statistics"]) == 3
