"""The volume controller takes each step by itself, and may take it again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quiver.devcluster import agent, storage
from quiver.devcluster.agent import VolumeController
from quiver.devcluster.loopfs import LoopError, LoopFileSystems
from quiver.kube import ApiError, Conflict, NotFound, Object, Unreachable, WatchEvent
from support.scripted import ScriptedClient

GI = 1024**3
STANDARD: Object = {"metadata": {"name": "standard", "uid": "standard"}}


class _Disks(LoopFileSystems):
    """Remembers what was asked of it; `broken` names the volumes that fail."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.done: list[tuple[str, str, int]] = []
        self.broken: set[str] = set()

    async def make(self, name: str, size: int) -> None:
        self._do("make", name, size)

    async def grow(self, name: str, size: int) -> None:
        self._do("grow", name, size)

    async def remove(self, name: str) -> None:
        self._do("remove", name, 0)

    def _do(self, verb: str, name: str, size: int) -> None:
        if name in self.broken:
            raise LoopError(f"`mkfs.xfs {name}` failed: no space left on device")
        self.done.append((verb, name, size))


def _claim(uid: str, request: str = "1Gi", *, bound: bool = False) -> Object:
    return {
        "metadata": {
            "name": f"data-{uid}",
            "namespace": "team",
            "uid": uid,
            "annotations": {"volume.kubernetes.io/storage-provisioner": storage.PROVISIONER},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "standard",
            "resources": {"requests": {"storage": request}},
            **({"volumeName": f"pvc-{uid}"} if bound else {}),
        },
        "status": {"phase": "Bound" if bound else "Pending", "capacity": {"storage": "1Gi"}},
    }


def _volume(uid: str, capacity: str = "1Gi", *, phase: str = "Bound") -> Object:
    annotations = {"pv.kubernetes.io/provisioned-by": storage.PROVISIONER}
    return {
        "metadata": {"name": f"pvc-{uid}", "uid": f"volume-{uid}", "annotations": annotations},
        "spec": {"capacity": {"storage": capacity}, "persistentVolumeReclaimPolicy": "Delete"},
        "status": {"phase": phase},
    }


class _Node:
    def __init__(self, folder: Path) -> None:
        self.client = ScriptedClient(StorageClass=[STANDARD])
        self.disks = _Disks(folder)
        self.controller = VolumeController(self.client.client, self.disks, node="dev")

    def has(self, *, claims: list[Object], volumes: list[Object] | None = None) -> None:
        self.client.objects["PersistentVolumeClaim"] = claims
        self.client.objects["PersistentVolume"] = volumes or []

    async def settle(self) -> bool:
        """One look at all objects; whether every step succeeded."""
        mirror = self.controller.mirror
        mirroring = asyncio.create_task(mirror.run())
        async with asyncio.timeout(10):
            while not mirror.is_complete():
                await mirror.changed()
        mirroring.cancel()
        await asyncio.wait([mirroring])
        return await self.controller._settle()


@pytest.fixture
def node(tmp_path: Path) -> _Node:
    return _Node(tmp_path / "volumes")


async def test_a_claim_gets_a_file_system_and_then_a_volume_on_it(node: _Node) -> None:
    node.has(claims=[_claim("1")])
    assert await node.settle()
    assert node.disks.done == [("make", "pvc-1", GI)]
    [made] = node.client.written("create", "PersistentVolume")
    assert made.body["spec"]["local"]["path"] == str(node.disks.path("pvc-1"))
    assert made.body["spec"]["claimRef"]["uid"] == "1"


async def test_a_volume_that_was_made_before_is_fine(node: _Node) -> None:
    node.has(claims=[_claim("1")])
    exists = Conflict(409, "AlreadyExists", "pvc-1 already exists")
    node.client.refuse("create", "PersistentVolume", exists)
    assert await node.settle()
    assert node.client.writes == []


async def test_one_step_that_fails_does_not_stop_the_others(node: _Node) -> None:
    node.has(claims=[_claim("1"), _claim("2"), _claim("3")])
    node.disks.broken = {"pvc-2"}
    assert not await node.settle()
    made = [write.name for write in node.client.written("create", "PersistentVolume")]
    assert made == ["pvc-1", "pvc-3"]


async def test_a_step_that_fails_writes_one_event_at_its_claim(node: _Node) -> None:
    node.has(claims=[_claim("1"), _claim("2")])
    node.disks.broken = {"pvc-2"}
    await node.settle()
    [event] = [write.body for write in node.client.written("create", "Event")]
    assert (event["type"], event["reason"]) == ("Warning", "ProvisionFailed")
    assert event["message"] == "`mkfs.xfs pvc-2` failed: no space left on device"
    assert event["metadata"]["namespace"] == "team"
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": "data-2",
        "namespace": "team",
        "uid": "2",
    }


async def test_a_message_is_never_longer_than_an_event_may_be(node: _Node) -> None:
    node.has(claims=[_claim("1")])
    node.client.refuse("create", "PersistentVolume", Unreachable("x" * 5000))
    await node.settle()
    [event] = node.client.written("create", "Event")
    assert len(event.body["message"]) == 1000


async def test_an_event_that_cannot_be_written_stops_nothing(node: _Node) -> None:
    node.has(claims=[_claim("1"), _claim("2")])
    node.disks.broken = {"pvc-1"}
    node.client.refuse("create", "Event", ApiError(403, "Forbidden", "no"))
    assert not await node.settle()
    assert [write.name for write in node.client.writes] == ["pvc-2"]


async def test_a_volume_grows_below_then_in_the_api_then_in_its_claim(node: _Node) -> None:
    node.has(claims=[_claim("1", "2Gi", bound=True)], volumes=[_volume("1")])
    assert await node.settle()
    assert node.disks.done == [("grow", "pvc-1", 2 * GI)]
    volume, claim = node.client.writes
    assert (volume.kind, volume.name) == ("PersistentVolume", "pvc-1")
    assert volume.body == {"spec": {"capacity": {"storage": str(2 * GI)}}}
    assert (claim.kind, claim.name, claim.subresource) == (
        "PersistentVolumeClaim",
        "data-1",
        "status",
    )
    assert claim.body["status"]["capacity"] == {"storage": str(2 * GI)}


async def test_a_volume_that_could_not_grow_is_not_said_to_have_grown(node: _Node) -> None:
    node.has(claims=[_claim("1", "2Gi", bound=True)], volumes=[_volume("1")])
    node.disks.broken = {"pvc-1"}
    assert not await node.settle()
    assert [write.kind for write in node.client.writes] == ["Event"]


async def test_a_claim_that_did_not_hear_of_its_growth_is_told_without_growing_again(
    node: _Node,
) -> None:
    node.has(claims=[_claim("1", "2Gi", bound=True)], volumes=[_volume("1", "2Gi")])
    assert await node.settle()
    assert node.disks.done == []
    assert [write.kind for write in node.client.writes] == ["PersistentVolumeClaim"]


async def test_a_released_volume_is_removed_below_before_it_is_in_the_api(node: _Node) -> None:
    node.has(claims=[], volumes=[_volume("1", phase="Released"), _volume("2", phase="Released")])
    node.disks.broken = {"pvc-1"}
    assert not await node.settle()
    assert node.disks.done == [("remove", "pvc-2", 0)]
    assert [(write.verb, write.name) for write in node.client.writes] == [("delete", "pvc-2")]


async def test_what_went_away_in_between_is_no_failure(node: _Node) -> None:
    node.has(claims=[_claim("1", "2Gi", bound=True)], volumes=[_volume("1", "2Gi")])
    gone = NotFound(404, "NotFound", "data-1 not found")
    node.client.refuse("patch", "PersistentVolumeClaim", gone)
    assert await node.settle()
    assert node.client.writes == []


@pytest.fixture
async def running(node: _Node, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[_Node]:
    monkeypatch.setattr(agent, "RETRY_AFTER", 0.01)
    parts = (node.controller.mirror.run(), node.controller.run())
    tasks = [asyncio.create_task(part) for part in parts]
    yield node
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_a_step_that_failed_is_tried_again_without_any_change(running: _Node) -> None:
    running.disks.broken = {"pvc-1"}
    running.client.tell("PersistentVolumeClaim", WatchEvent("ADDED", _claim("1")))
    await running.client.until_written(lambda: len(running.client.written("create", "Event")) >= 3)
    running.disks.broken = set()
    await running.client.until_written(lambda: running.client.written("create", "PersistentVolume"))


async def test_a_claim_that_comes_later_is_seen(running: _Node) -> None:
    running.client.tell("PersistentVolumeClaim", WatchEvent("ADDED", _claim("1")))
    await running.client.until_written(lambda: running.client.written("create", "PersistentVolume"))
    assert running.disks.done == [("make", "pvc-1", GI)]
