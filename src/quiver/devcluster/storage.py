"""Volumes that are real file systems and really grow: what to do next, decided from what is.

The API server, the volume binder and the kubelet treat these as they treat any cloud's volumes.
A claim is provisioned as a `local` PersistentVolume on a loop-mounted XFS image; a claim that
asks for more gets a larger file system under the running pod, then a larger volume, then the new
size in its own status. Nothing is remembered between two decisions.
"""

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from quiver.kube.client import Object
from quiver.kube.quantity import parse_quantity

PROVISIONER = "storage.quiver.dev/loop"
SMALLEST = 300 * 1024 * 1024  # XFS refuses to be smaller.

_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


class Provision(msgspec.Struct, frozen=True):
    claim: Object
    storage_class: Object
    size: int

    @property
    def volume(self) -> str:
        return f"pvc-{self.claim['metadata']['uid']}"


class Grow(msgspec.Struct, frozen=True):
    claim: Object
    volume: str
    size: int


class Confirm(msgspec.Struct, frozen=True):
    """The volume has grown; the claim's status does not say so yet."""

    claim: Object
    size: int


class Remove(msgspec.Struct, frozen=True):
    volume: str


Step = Provision | Grow | Confirm | Remove


def next_steps(
    claims: Iterable[Object], volumes: Iterable[Object], classes: Iterable[Object]
) -> list[Step]:
    ours = {volume["metadata"]["name"]: volume for volume in volumes if _is_ours(volume)}
    by_name = {entry["metadata"]["name"]: entry for entry in classes}
    steps: list[Step] = [Remove(name) for name, volume in ours.items() if _is_released(volume)]
    for claim in claims:
        steps += _for_claim(claim, ours, by_name)
    return steps


def _for_claim(
    claim: Object, volumes: dict[str, Object], classes: dict[str, Object]
) -> Iterable[Step]:
    name = claim["spec"].get("volumeName")
    if name is None:
        storage_class = classes.get(claim["spec"].get("storageClassName", ""))
        if storage_class and _wants_provisioning(claim, storage_class):
            yield Provision(claim, storage_class, max(requested(claim), SMALLEST))
    elif (volume := volumes.get(name)) and claim["status"].get("phase") == "Bound":
        has = _bytes(volume["spec"]["capacity"])
        if requested(claim) > has:
            yield Grow(claim, name, requested(claim))
        elif has != _bytes(claim["status"].get("capacity", {"storage": "0"})):
            yield Confirm(claim, has)


def persistent_volume(step: Provision, *, path: str, node: str) -> Object:
    claim = step.claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": step.volume, "annotations": {_PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": str(step.size)},
            "accessModes": step.claim["spec"]["accessModes"],
            "volumeMode": "Filesystem",
            "storageClassName": step.storage_class["metadata"]["name"],
            "persistentVolumeReclaimPolicy": step.storage_class.get("reclaimPolicy", "Delete"),
            "local": {"path": path},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [_on_node(node)]}},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": claim["namespace"],
                "name": claim["name"],
                "uid": claim["uid"],
            },
        },
    }


def requested(claim: Object) -> int:
    return _bytes(claim["spec"]["resources"]["requests"])


def _wants_provisioning(claim: Object, storage_class: Object) -> bool:
    metadata = claim["metadata"]
    annotations = metadata.get("annotations", {})
    waits_for_pod = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    return (
        annotations.get(_PROVISIONER) == PROVISIONER
        and "deletionTimestamp" not in metadata
        and (not waits_for_pod or _SELECTED_NODE in annotations)
    )


def _is_ours(volume: Object) -> bool:
    annotations = volume["metadata"].get("annotations", {})
    return bool(annotations.get(_PROVISIONED_BY) == PROVISIONER)


def _is_released(volume: Object) -> bool:
    policy, phase = volume["spec"]["persistentVolumeReclaimPolicy"], volume["status"].get("phase")
    return (policy, phase) == ("Delete", "Released")


def _bytes(resources: dict[str, Any]) -> int:
    # Never less than was asked for: a claim does not bind to a smaller volume.
    return math.ceil(parse_quantity(resources["storage"]))


def _on_node(node: str) -> Object:
    key = "kubernetes.io/hostname"
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [node]}]}
