"""Simulated nodes are as many and as labelled as asked; the real one gets what it lacks."""

from typing import Any

import pytest

from quiver.devcluster.nodes import (
    GPU,
    SIMULATED_TAINT,
    add_simulated,
    devices_patch,
    dress,
    is_ready,
    ready_names,
    simulated_node,
)
from quiver.kube import Object
from support.scripted import ScriptedClient


def _node(name: str, *conditions: tuple[str, str]) -> Object:
    listed = [{"type": kind, "status": status} for kind, status in conditions]
    return {"metadata": {"name": name, "uid": name}, "status": {"conditions": listed}}


def test_a_simulated_node_is_one_that_kwok_takes_care_of() -> None:
    node = simulated_node(7, tainted=False)
    assert node["metadata"]["name"] == "simulated-0007"
    assert node["metadata"]["labels"]["type"] == "kwok"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "simulated-0007"
    assert node["status"]["allocatable"] == node["status"]["capacity"]


@pytest.mark.parametrize("tainted", [True, False])
def test_beside_a_real_node_simulated_ones_are_tainted(tainted: bool) -> None:
    taints = simulated_node(1, tainted=tainted)["spec"].get("taints", [])
    assert [taint["key"] for taint in taints] == ([SIMULATED_TAINT] if tainted else [])


def test_simulated_nodes_are_spread_over_three_zones() -> None:
    zones = [
        simulated_node(number, tainted=False)["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for number in range(1, 10)
    ]
    assert {zone: zones.count(zone) for zone in zones} == {"zone-1": 3, "zone-2": 3, "zone-3": 3}


@pytest.mark.parametrize(
    ("node", "ready"),
    [
        (_node("a", ("Ready", "True")), True),
        (_node("a", ("DiskPressure", "False"), ("Ready", "True")), True),
        (_node("a", ("Ready", "False")), False),
        (_node("a", ("Ready", "Unknown")), False),
        (_node("a", ("DiskPressure", "True")), False),
        (_node("a"), False),
        ({"metadata": {"name": "a"}}, False),
    ],
)
def test_a_node_is_ready_exactly_if_its_condition_says_so(node: Object, ready: bool) -> None:
    assert is_ready(node) is ready
    assert ready_names([node]) == ({"a"} if ready else set())


async def test_only_simulated_nodes_that_are_missing_are_added() -> None:
    client = ScriptedClient(Node=[_node("simulated-0002"), _node("dev")])
    await add_simulated(client.client, 3, tainted=True)
    names = [write.body["metadata"]["name"] for write in client.writes]
    assert names == ["simulated-0001", "simulated-0003"]


@pytest.mark.parametrize(
    ("labels", "gpus", "patches"),
    [
        ({}, 0, []),
        ({"a": "b"}, 0, [("", {"metadata": {"labels": {"a": "b"}}})]),
        ({}, 2, [("status", devices_patch(2))]),
        ({"a": "b"}, 2, [("", {"metadata": {"labels": {"a": "b"}}}), ("status", devices_patch(2))]),
    ],
)
async def test_a_node_is_given_its_labels_and_its_pretend_devices(
    labels: dict[str, str], gpus: int, patches: list[Any]
) -> None:
    client = ScriptedClient()
    await dress(client.client, "dev", labels=labels, gpus=gpus)
    assert [(write.subresource, write.body) for write in client.writes] == patches
    assert {write.name for write in client.writes} <= {"dev"}


def test_pretend_devices_are_both_there_and_free() -> None:
    assert devices_patch(2)["status"] == {"capacity": {GPU: "2"}, "allocatable": {GPU: "2"}}
