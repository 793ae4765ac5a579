"""Whether a node offers what a set asks for."""

from typing import Any

import msgspec
import pytest

from quiver.vecodex.gpu import Devices, Node, asks_for_devices, devices, devices_of
from support.vecodex import SAMPLE, a_set, manifest_from, vecodex_from

GPU = "nvidia.com/gpu"


def node(name: str = "n", labels: dict[str, str] | None = None, **gpus: str) -> Node:
    allocatable = {"cpu": "4", "memory": "8Gi"} | ({GPU: gpus["gpus"]} if gpus else {})
    raw = {
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels or {}, "uid": "u"},
        "status": {"allocatable": allocatable, "nodeInfo": {}},
    }
    return msgspec.json.decode(msgspec.json.encode(raw), type=Node)


def writer(gpus: int | str = 1, **more: Any) -> dict[str, Any]:
    return {"resources": {"limits": {GPU: gpus}}} | more


def verdict(component: dict[str, Any], *nodes: Node) -> Devices:
    found = devices(a_set(writer=component), nodes)
    assert found is not None
    return found


def test_cpu_and_memory_are_no_devices() -> None:
    vecodex = a_set()
    assert not asks_for_devices(vecodex)
    assert devices(vecodex, []) is None
    assert devices_of(vecodex.spec.writer) == {}


def test_the_set_of_the_documents_asks_for_a_gpu() -> None:
    vecodex = vecodex_from(manifest_from(SAMPLE))
    assert asks_for_devices(vecodex)
    assert devices_of(vecodex.spec.writer) == {GPU: 1}


@pytest.mark.parametrize("component", [writer(0), writer(replicas=0)])
def test_what_asks_for_none_or_runs_nowhere_needs_none(component: dict[str, Any]) -> None:
    assert devices(a_set(writer=component), []) is None


def test_a_node_with_enough_is_enough() -> None:
    found = verdict(writer(2), node(), node(gpus="2"))
    assert found == (True, "there are nodes that offer nvidia.com/gpu")


def test_where_no_node_offers_it_the_sentence_says_what_to_do() -> None:
    found = verdict(writer(), node(), node("m", gpus="0"))
    assert not found.offered
    assert found.message == (
        "no node offers nvidia.com/gpu, which writer asks for: add a node with it and install its"
        " device plugin, or remove nvidia.com/gpu from spec.writer.resources.limits"
    )


def test_two_small_nodes_are_no_large_one() -> None:
    found = verdict(writer(2), node("a", gpus="1"), node("b", gpus="1"))
    assert not found.offered
    assert "writer asks for 2 nvidia.com/gpu in each pod, but no node has more than 1" in found[1]


def test_a_node_that_the_pods_may_not_use_does_not_count() -> None:
    component = writer(nodeSelector={"zone": "a"})
    assert "spec.writer.nodeSelector" in verdict(component, node(gpus="1")).message
    assert verdict(component, node(labels={"zone": "a"}, gpus="1")).offered


def test_each_component_that_lacks_something_is_told() -> None:
    found = devices(a_set(writer=writer(), searcher=writer()), [])
    assert found is not None
    assert "spec.writer" in found.message
    assert "spec.searcher" in found.message
