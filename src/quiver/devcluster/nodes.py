"""Nodes as objects: labels and pretend devices of the real one, and simulated ones."""

from quiver.kube import Client, Object

SIMULATED_TAINT = "kwok.x-k8s.io/node"
GPU = "nvidia.com/gpu"


def simulated_node(number: int, *, tainted: bool) -> Object:
    name = f"simulated-{number:04}"
    resources = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"}
    taint = {"key": SIMULATED_TAINT, "value": "fake", "effect": "NoSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
            "labels": {
                "type": "kwok",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/role": "agent",
                "topology.kubernetes.io/zone": f"zone-{number % 3 + 1}",
            },
        },
        "spec": {"taints": [taint]} if tainted else {},
        "status": {"allocatable": resources, "capacity": resources},
    }


def labels_patch(labels: dict[str, str]) -> Object:
    return {"metadata": {"labels": labels}}


def devices_patch(gpus: int) -> Object:
    """The documented way to offer an extended resource: write it into the node's status."""
    return {"status": {"capacity": {GPU: str(gpus)}, "allocatable": {GPU: str(gpus)}}}


def ready_names(nodes: list[Object]) -> set[str]:
    return {node["metadata"]["name"] for node in nodes if is_ready(node)}


def is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


async def add_simulated(client: Client, count: int, *, tainted: bool) -> None:
    there = {node["metadata"]["name"] for node in await client.list("v1", "Node")}
    wanted = [simulated_node(number, tainted=tainted) for number in range(1, count + 1)]
    for node in wanted:
        if node["metadata"]["name"] not in there:
            await client.create(node)


async def dress(client: Client, name: str, *, labels: dict[str, str], gpus: int) -> None:
    if labels:
        await client.patch("v1", "Node", name, labels_patch(labels))
    if gpus:
        await client.patch("v1", "Node", name, devices_patch(gpus), subresource="status")
