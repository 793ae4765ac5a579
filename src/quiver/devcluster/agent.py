"""What the node does beside the kubelet: volumes and NetworkPolicies.

    python -m quiver.devcluster.agent HOME

It runs inside the cluster's mount and network namespaces, under the supervisor.
"""

import asyncio
import logging
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

from quiver.devcluster import netpol, storage
from quiver.devcluster.home import Home
from quiver.devcluster.loopfs import LoopError, LoopFileSystems
from quiver.devcluster.mirror import Mirror
from quiver.kube import Client, Conflict, KubeConfig, NotFound, Object
from quiver.kube.errors import KubeError

log = logging.getLogger("quiver.devcluster.agent")

RETRY_AFTER = 3.0


class VolumeController:
    """Takes the steps that `storage.next_steps` names. Every step may be taken twice."""

    def __init__(self, client: Client, disks: LoopFileSystems, node: str) -> None:
        self._client = client
        self._disks = disks
        self._node = node
        self.mirror = Mirror(
            client,
            [
                ("v1", "PersistentVolumeClaim"),
                ("v1", "PersistentVolume"),
                ("storage.k8s.io/v1", "StorageClass"),
            ],
        )

    async def run(self) -> None:
        failed = False
        while True:
            await self.mirror.changed(timeout=RETRY_AFTER if failed else None)
            if self.mirror.is_complete():
                failed = not await self._settle()

    async def _settle(self) -> bool:
        kinds = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
        steps = storage.next_steps(*(self.mirror.objects(kind) for kind in kinds))
        outcomes = [await self._try(step) for step in steps]
        return all(outcomes)

    async def _try(self, step: storage.Step) -> bool:
        try:
            await self._take(step)
        except NotFound as error:
            log.info("%s is gone: %s", type(step).__name__, error)
        except (KubeError, LoopError, OSError) as error:
            log.warning("%s failed: %s", type(step).__name__, error)
            if not isinstance(step, storage.Remove):
                await self._complain(step.claim, f"{type(step).__name__}Failed", str(error))
            return False
        return True

    async def _take(self, step: storage.Step) -> None:
        match step:
            case storage.Provision():
                await self._provision(step)
            case storage.Grow(claim, volume, size):
                await self._disks.grow(volume, size)
                await self._resize_volume(volume, size)
                await self._confirm(claim, size)
            case storage.Confirm(claim, size):
                await self._confirm(claim, size)
            case storage.Remove(volume):
                await self._disks.remove(volume)
                await self._client.delete("v1", "PersistentVolume", volume, missing_ok=True)

    async def _provision(self, step: storage.Provision) -> None:
        await self._disks.make(step.volume, step.size)
        path = str(self._disks.path(step.volume))
        try:
            await self._client.create(storage.persistent_volume(step, path=path, node=self._node))
        except Conflict:
            log.info("volume %s was made before", step.volume)

    async def _resize_volume(self, volume: str, size: int) -> None:
        patch: Object = {"spec": {"capacity": {"storage": str(size)}}}
        await self._client.patch("v1", "PersistentVolume", volume, patch)

    async def _confirm(self, claim: Object, size: int) -> None:
        metadata = claim["metadata"]
        patch: Object = {
            "status": {
                "capacity": {"storage": str(size)},
                "conditions": None,
                "allocatedResourceStatuses": None,
            }
        }
        await self._client.patch(
            "v1", "PersistentVolumeClaim", metadata["name"], patch, metadata["namespace"],
            subresource="status",
        )  # fmt: skip

    async def _complain(self, claim: Object, reason: str, message: str) -> None:
        try:
            await self._client.create(_warning(claim, reason, message))
        except KubeError as error:
            log.warning("the event %s could not be written: %s", reason, error)


class PolicyEnforcer:
    """Loads the rules that `netpol.ruleset` writes, whenever they differ from the last ones."""

    def __init__(self, client: Client) -> None:
        self._loaded = ""
        self.mirror = Mirror(
            client,
            [("networking.k8s.io/v1", "NetworkPolicy"), ("v1", "Pod"), ("v1", "Namespace")],
        )

    async def run(self) -> None:
        while True:
            await self.mirror.changed(timeout=None if self._loaded else RETRY_AFTER)
            if self.mirror.is_complete():
                await self._enforce()

    async def _enforce(self) -> None:
        kinds = ("NetworkPolicy", "Pod", "Namespace")
        try:
            rules = netpol.ruleset(*(self.mirror.objects(kind) for kind in kinds))
        except ValueError as error:
            log.error("a policy cannot be read, so the rules stay as they are: %s", error)  # noqa: TRY400
            return
        if rules == self._loaded:
            return
        nft = await asyncio.create_subprocess_exec(
            "nft", "-f", "-", stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        _, complaint = await nft.communicate(rules.encode())
        self._loaded = rules if nft.returncode == 0 else ""
        if complaint:
            log.error("nft refused the rules: %s", complaint.decode(errors="replace"))


def _warning(claim: Object, reason: str, message: str) -> Object:
    metadata, now = claim["metadata"], datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name']}.{uuid.uuid4().hex[:16]}",
            "namespace": metadata["namespace"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message[:1000],
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "source": {"component": storage.PROVISIONER},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
    }


async def serve(home: Home) -> None:
    async with Client(KubeConfig.load(home.kubeconfig), manager="quiver-dev") as client:
        volumes = VolumeController(client, LoopFileSystems(home.volumes), node=home.name)
        policies = PolicyEnforcer(client)
        async with asyncio.TaskGroup() as tasks:
            for part in (volumes.mirror, volumes, policies.mirror, policies):
                tasks.create_task(part.run())


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    path = Path(sys.argv[1])
    asyncio.run(serve(Home(path.name, path.parent.parent)))


if __name__ == "__main__":
    main()
