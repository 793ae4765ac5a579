"""What to do next about volumes, decided from the objects alone."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.devcluster.storage import (
    PROVISIONER,
    SMALLEST,
    Confirm,
    Grow,
    Provision,
    Remove,
    Step,
    next_steps,
    persistent_volume,
    requested,
)
from quiver.kube import Object

GI = 1024**3

STANDARD: Object = {
    "metadata": {"name": "standard"},
    "provisioner": PROVISIONER,
    "volumeBindingMode": "WaitForFirstConsumer",
}
IMMEDIATE: Object = {
    "metadata": {"name": "immediate"},
    "provisioner": PROVISIONER,
    "volumeBindingMode": "Immediate",
    "reclaimPolicy": "Retain",
}
CLASSES = [STANDARD, IMMEDIATE]


def claim(
    request: str = "1Gi",
    *,
    uid: str = "1",
    storage_class: str = "standard",
    provisioner: str | None = PROVISIONER,
    node: str | None = "dev",
    volume: str | None = None,
    phase: str = "Pending",
    capacity: str | None = None,
    deleted: bool = False,
) -> Object:
    annotations = {
        "volume.kubernetes.io/storage-provisioner": provisioner,
        "volume.kubernetes.io/selected-node": node,
    }
    metadata: Object = {
        "name": f"claim-{uid}",
        "namespace": "team",
        "uid": uid,
        "annotations": {key: value for key, value in annotations.items() if value},
    }
    if deleted:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": request}},
    }
    status: Object = {"phase": phase}
    if volume:
        spec["volumeName"] = volume
    if capacity:
        status["capacity"] = {"storage": capacity}
    return {"metadata": metadata, "spec": spec, "status": status}


def bound(request: str, *, capacity: str) -> Object:
    return claim(request, volume="pvc-1", phase="Bound", capacity=capacity)


def volume(
    capacity: str = "1Gi",
    *,
    name: str = "pvc-1",
    provisioner: str = PROVISIONER,
    policy: str = "Delete",
    phase: str = "Bound",
) -> Object:
    return {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": provisioner}},
        "spec": {"capacity": {"storage": capacity}, "persistentVolumeReclaimPolicy": policy},
        "status": {"phase": phase},
    }


OTHERS = "csi.example.com"


@pytest.mark.parametrize(
    "waiting",
    [
        pytest.param(claim(node=None), id="no pod uses it yet"),
        pytest.param(claim(provisioner=None), id="nobody is asked to provision it yet"),
        pytest.param(claim(provisioner=OTHERS), id="another provisioner is asked"),
        pytest.param(claim(storage_class="missing"), id="its class does not exist"),
        pytest.param(claim(storage_class=""), id="it wants no class"),
        pytest.param(claim(deleted=True), id="it is being deleted"),
        pytest.param(claim(volume="pvc-1"), id="it is being bound"),
        pytest.param(claim(volume="pvc-1", phase="Lost"), id="its volume was lost"),
        pytest.param(claim(volume="by-hand", phase="Bound"), id="its volume is not ours"),
        pytest.param(bound("1Gi", capacity="1Gi"), id="it has what it wants"),
        pytest.param(bound("1Mi", capacity="1Gi"), id="it has more than it wants"),
        pytest.param(bound("1024Mi", capacity="1073741824"), id="it says so in other words"),
    ],
)
def test_there_is_nothing_to_do_for_a_claim_when(waiting: Object) -> None:
    volumes = [volume(), volume(name="by-hand", provisioner=OTHERS)]
    assert next_steps([waiting], volumes, CLASSES) == []


@pytest.mark.parametrize(
    "wanting",
    [
        claim(),
        claim(storage_class="immediate"),
        claim(storage_class="immediate", node=None),
    ],
)
def test_a_claim_without_a_volume_gets_one_of_its_class(wanting: Object) -> None:
    chosen = STANDARD if wanting["spec"]["storageClassName"] == "standard" else IMMEDIATE
    [step] = next_steps([wanting], [], CLASSES)
    assert step == Provision(wanting, chosen, GI)
    assert step.volume == "pvc-1"


def test_a_claim_smaller_than_a_file_system_gets_the_smallest_one() -> None:
    [step] = next_steps([claim("1Mi")], [], CLASSES)
    assert isinstance(step, Provision)
    assert step.size == SMALLEST


def test_a_bound_claim_that_asks_for_more_grows_its_volume() -> None:
    grown = bound("2Gi", capacity="1Gi")
    assert next_steps([grown], [volume("1Gi")], CLASSES) == [Grow(grown, "pvc-1", 2 * GI)]


@pytest.mark.parametrize("said", ["1Gi", None])
def test_a_claim_learns_that_its_volume_has_grown(said: str | None) -> None:
    grown = claim("2Gi", volume="pvc-1", phase="Bound", capacity=said)
    assert next_steps([grown], [volume("2Gi")], CLASSES) == [Confirm(grown, 2 * GI)]


@pytest.mark.parametrize(
    ("policy", "phase", "provisioner", "removed"),
    [
        ("Delete", "Released", PROVISIONER, True),
        ("Delete", "Bound", PROVISIONER, False),
        ("Delete", "Available", PROVISIONER, False),
        ("Delete", "Pending", PROVISIONER, False),
        ("Retain", "Released", PROVISIONER, False),
        ("Delete", "Released", OTHERS, False),
    ],
)
def test_a_volume_is_removed_exactly_if_it_is_ours_released_and_not_to_be_retained(
    policy: str, phase: str, provisioner: str, removed: bool
) -> None:
    one = volume(policy=policy, phase=phase, provisioner=provisioner)
    assert next_steps([], [one], CLASSES) == ([Remove("pvc-1")] if removed else [])


def test_objects_without_annotations_are_nobody_s_business_here() -> None:
    plain_claim, plain_volume = claim(), volume(phase="Released")
    del plain_claim["metadata"]["annotations"], plain_volume["metadata"]["annotations"]
    assert next_steps([plain_claim], [plain_volume], CLASSES) == []


def test_a_volume_belongs_to_its_claim_and_its_node() -> None:
    step = Provision(claim("2Gi", uid="7"), IMMEDIATE, 2 * GI)
    made = persistent_volume(step, path="/volumes/pvc-7", node="dev")
    assert made["metadata"]["name"] == "pvc-7"
    assert made["spec"]["capacity"] == {"storage": str(2 * GI)}
    assert made["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert made["spec"]["storageClassName"] == "immediate"
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert made["spec"]["local"] == {"path": "/volumes/pvc-7"}
    assert made["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "team",
        "name": "claim-7",
        "uid": "7",
    }
    [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    [expression] = term["matchExpressions"]
    assert (expression["key"], expression["values"]) == ("kubernetes.io/hostname", ["dev"])


def test_a_class_that_says_nothing_of_reclaiming_deletes() -> None:
    made = persistent_volume(Provision(claim(), STANDARD, GI), path="/x", node="dev")
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Delete"


class World:
    """The claims and volumes, and what the controller and the volume binder do to them."""

    def __init__(self, claims: list[Object], volumes: list[Object]) -> None:
        self.claims = {it["metadata"]["name"]: it for it in claims}
        self.volumes = {it["metadata"]["name"]: it for it in volumes}

    def steps(self) -> list[Step]:
        return next_steps(self.claims.values(), self.volumes.values(), CLASSES)

    def state(self) -> Any:
        return copy.deepcopy((self.claims, self.volumes))

    def take(self, step: Step) -> None:
        match step:
            case Provision():
                made = persistent_volume(step, path="/x", node="dev") | {"status": {}}
                self.volumes.setdefault(step.volume, made)
            case Grow(claim, name, size):
                self.volumes[name]["spec"]["capacity"] = {"storage": str(size)}
                self._confirm(claim, size)
            case Confirm(claim, size):
                self._confirm(claim, size)
            case Remove(name):
                self.volumes.pop(name, None)

    def _confirm(self, claim: Object, size: int) -> None:
        self.claims[claim["metadata"]["name"]]["status"]["capacity"] = {"storage": str(size)}

    def bind(self) -> None:
        for one in self.claims.values():
            made = self.volumes.get(f"pvc-{one['metadata']['uid']}")
            if made and "volumeName" not in one["spec"]:
                one["spec"]["volumeName"] = made["metadata"]["name"]
                one["status"] = {"phase": "Bound", "capacity": dict(made["spec"]["capacity"])}
                made["status"] = {"phase": "Bound"}

    def settle(self) -> None:
        for _ in range(3):
            for step in self.steps():
                self.take(step)
            self.bind()


sizes = st.sampled_from(["1Mi", "300Mi", "1Gi", "1.5Gi", "2Gi", "3e9", "5G"])
uids = st.sampled_from("1234")
claims = uids.flatmap(
    lambda uid: st.builds(
        claim,
        sizes,
        uid=st.just(uid),
        storage_class=st.sampled_from(["standard", "immediate", "missing"]),
        provisioner=st.sampled_from([PROVISIONER, OTHERS, None]),
        node=st.sampled_from(["dev", None]),
        volume=st.sampled_from([None, f"pvc-{uid}"]),
        phase=st.sampled_from(["Pending", "Bound", "Lost"]),
        capacity=st.none() | sizes,
        deleted=st.booleans(),
    )
)
volumes = st.builds(
    volume,
    sizes,
    name=uids.map(lambda uid: f"pvc-{uid}"),
    provisioner=st.sampled_from([PROVISIONER, OTHERS]),
    policy=st.sampled_from(["Delete", "Retain"]),
    phase=st.sampled_from(["Pending", "Available", "Bound", "Released", "Failed"]),
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any claims and volumes, but a volume is released only once its claim is gone."""
    some = draw(st.lists(claims, max_size=4, unique_by=lambda it: it["metadata"]["uid"]))
    owned = {f"pvc-{it['metadata']['uid']}" for it in some}
    others = draw(st.lists(volumes, max_size=4, unique_by=lambda it: it["metadata"]["name"]))
    for one in others:
        if one["metadata"]["name"] in owned and one["status"]["phase"] == "Released":
            one["status"]["phase"] = "Bound"
    return World(some, others)


new_claims = st.lists(
    st.builds(claim, sizes, uid=uids, storage_class=st.sampled_from(["standard", "immediate"])),
    min_size=1,
    max_size=4,
    unique_by=lambda it: it["metadata"]["uid"],
)


@settings(deadline=None)
@given(worlds())
def test_deciding_changes_nothing_and_is_always_the_same(world: World) -> None:
    before = world.state()
    assert world.steps() == world.steps()
    assert world.state() == before


@settings(deadline=None)
@given(worlds())
def test_taking_steps_twice_is_taking_them_once(world: World) -> None:
    steps = copy.deepcopy(world.steps())
    for step in steps:
        world.take(step)
    once, next_once = world.state(), copy.deepcopy(world.steps())
    for step in steps:
        world.take(step)
    assert world.state() == once
    assert world.steps() == next_once


@settings(deadline=None)
@given(worlds())
def test_only_what_is_ours_and_released_and_to_be_deleted_is_removed(world: World) -> None:
    for step in world.steps():
        if isinstance(step, Remove):
            removed = world.volumes[step.volume]
            assert removed["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
            assert removed["status"]["phase"] == "Released"
            assert PROVISIONER in removed["metadata"]["annotations"].values()


@settings(deadline=None)
@given(worlds())
def test_a_volume_only_ever_grows(world: World) -> None:
    for step in world.steps():
        if isinstance(step, Grow):
            assert step.size > _capacity(world.volumes[step.volume])


@settings(deadline=None)
@given(worlds())
def test_another_provisioner_s_claims_and_volumes_are_left_alone(world: World) -> None:
    ours = {name for name, it in world.volumes.items() if OTHERS not in str(it["metadata"])}
    for step in world.steps():
        match step:
            case Provision(claim):
                assert OTHERS not in claim["metadata"]["annotations"].values()
            case Grow(_, name, _) | Remove(name):
                assert name in ours
            case Confirm(claim, _):
                assert claim["spec"]["volumeName"] in ours


@settings(deadline=None)
@given(worlds())
def test_where_the_first_pod_is_waited_for_a_node_was_selected_before(world: World) -> None:
    for step in world.steps():
        if isinstance(step, Provision) and step.storage_class is STANDARD:
            assert "volume.kubernetes.io/selected-node" in step.claim["metadata"]["annotations"]


@settings(deadline=None)
@given(new_claims, sizes)
def test_claims_get_what_they_ask_for_also_when_they_ask_for_more(
    wanted: list[Object], more: str
) -> None:
    world = World(wanted, [])
    world.settle()
    for one in world.claims.values():
        one["spec"]["resources"]["requests"]["storage"] = more
    world.settle()
    assert world.steps() == []
    for one in world.claims.values():
        has = _capacity(world.volumes[one["spec"]["volumeName"]])
        assert has >= max(requested(one), SMALLEST)
        assert has == int(one["status"]["capacity"]["storage"])


def _capacity(one: Object) -> int:
    return requested({"spec": {"resources": {"requests": one["spec"]["capacity"]}}})
