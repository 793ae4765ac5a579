"""Volumes are real file systems, and grow under a running pod."""

import json
from collections.abc import Callable

import pytest

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.waiting import until
from quiver.kube import Client
from support.pods import busybox_pod

Kubectl = Callable[..., str]

MIB = 1024 * 1024


def claim(name: str, size: str, storage_class: str | None = None) -> dict[str, object]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    chosen = {"storageClassName": storage_class} if storage_class else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": spec | chosen,
    }


def pod_with(volume: str) -> dict[str, object]:
    return busybox_pod(
        "disk",
        "cp /etc/passwd /data/kept && sync && exec sleep 3600",
        container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": volume}}],
    )


def size_in_pod(kubectl: Kubectl) -> int:
    """The size that `df` shows inside the pod, in bytes."""
    line = kubectl("exec", "disk", "--", "df", "-k", "/data").splitlines()[-1]
    return int(line.split()[1]) * 1024


@pytest.mark.usefixtures("busybox_image")
async def test_a_volume_grown_from_1gi_to_2gi_is_seen_larger_in_the_pod_and_keeps_its_data(
    cluster: DevCluster, cluster_client: Client, cluster_namespace: str, kubectl: Kubectl
) -> None:
    objects = [claim("data", "1Gi", "fast-ssd"), pod_with("data")]
    for document in objects:
        kubectl("apply", "-f", "-", stdin=json.dumps(document))
    kubectl("wait", "pod/disk", "--for=condition=Ready", "--timeout=60s")
    before = size_in_pod(kubectl)
    started = kubectl("get", "pod", "disk", "-o", "jsonpath={.status.startTime}")
    assert 900 * MIB < before <= 1024 * MIB

    grown = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    kubectl("patch", "pvc", "data", "--type=merge", "-p", json.dumps(grown))

    async def missing() -> str | None:
        has = await cluster_client.get("v1", "PersistentVolumeClaim", "data", cluster_namespace)
        capacity = has["status"]["capacity"]["storage"]
        return None if capacity in ("2Gi", "2147483648") else f"the claim still has {capacity}"

    await until(missing, within=30)
    assert 1900 * MIB < size_in_pod(kubectl) <= 2048 * MIB
    assert "root:" in kubectl("exec", "disk", "--", "cat", "/data/kept")
    assert kubectl("get", "pod", "disk", "-o", "jsonpath={.status.startTime}") == started

    shrunk = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    with pytest.raises(DevClusterError, match="less than"):
        kubectl("patch", "pvc", "data", "--type=merge", "-p", json.dumps(shrunk))

    volume = kubectl("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}")
    image = cluster.home.volumes / f"{volume}.img"
    assert image.exists()
    kubectl("delete", "pod/disk", "pvc/data", "--wait=true")

    async def left() -> str | None:
        names = [
            entry["metadata"]["name"]
            for entry in await cluster_client.list("v1", "PersistentVolume")
        ]
        return f"volume {volume} is left" if volume in names or image.exists() else None

    await until(left, within=30)


@pytest.mark.usefixtures("busybox_image")
async def test_the_kubelet_reports_how_full_a_volume_is(
    cluster: DevCluster, cluster_client: Client, cluster_namespace: str, kubectl: Kubectl
) -> None:
    for document in (claim("data", "1Gi"), pod_with("data")):
        kubectl("apply", "-f", "-", stdin=json.dumps(document))
    kubectl("wait", "pod/disk", "--for=condition=Ready", "--timeout=60s")
    path = f"/api/v1/nodes/{cluster.name}/proxy/stats/summary"

    async def missing() -> str | None:
        summary = await cluster_client.json("GET", path)
        for pod in summary["pods"]:
            for volume in pod.get("volume", []):
                named = volume.get("pvcRef", {}) == {"name": "data", "namespace": cluster_namespace}
                if named and volume.get("capacityBytes", 0) > 900 * MIB:
                    return None
        return "no statistics of the volume"

    await until(missing, within=90, every=1)
