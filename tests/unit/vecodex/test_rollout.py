"""The orderly roll-out: one decision at a time, and whole ones with a simulated controller."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.vecodex.deployment import TEMPLATE
from quiver.vecodex.desired import desired_deployments
from quiver.vecodex.names import Role
from quiver.vecodex.pods import Trouble
from quiver.vecodex.rollout import Plan, failure, held_back, is_rolling, plan
from support.vecodex import a_set

Object = dict[str, Any]
Images = dict[Role, str]

COMPLETE = "NewReplicaSetAvailable"
LATE = "ProgressDeadlineExceeded"
REVISION = "deployment.kubernetes.io/revision"


def wanted(version: str = "1", **spec: Any) -> dict[Role, Object]:
    images = {role.value: {"image": f"app:{version}"} | spec.get(role.value, {}) for role in Role}
    return desired_deployments(a_set(**(spec | images)))


def live(
    deployment: Object,
    *,
    updated: int = 1,
    ready: int = 1,
    total: int = 1,
    reason: str = COMPLETE,
    revision: str = "2",
    observed: int = 3,
) -> Object:
    found = copy.deepcopy(deployment)
    found["metadata"] |= {"generation": 3}
    found["metadata"]["annotations"][REVISION] = revision
    status = "False" if reason == LATE else "True"
    found["status"] = {
        "observedGeneration": observed,
        "replicas": total,
        "updatedReplicas": updated,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "conditions": [{"type": "Progressing", "status": status, "reason": reason}],
    }
    return found


def all_live(version: str = "1") -> dict[Role, Object]:
    return {role: live(it) for role, it in wanted(version).items()}


def images_in(decided: Plan) -> Images:
    return {
        role: it["spec"]["template"]["spec"]["containers"][0]["image"]
        for role, it in zip(Role, decided.objects, strict=True)
    }


def rolling(deployment: Object, **numbers: Any) -> Object:
    """Replaced by half: an old pod is there beside a new one."""
    usual: Object = {"total": 2, "ready": 1, "reason": "ReplicaSetUpdated"}
    return live(deployment, **(usual | numbers))


def test_a_new_set_is_created_all_at_once() -> None:
    decided = plan(wanted(), {})
    assert list(decided.objects) == list(wanted().values())
    assert not decided.waiting
    assert not decided.halted


def test_what_was_deleted_comes_back_without_waiting() -> None:
    found = all_live()
    del found[Role.COORDINATOR]
    found[Role.SEARCHER] = rolling(wanted()[Role.SEARCHER])
    assert plan(wanted(), found).objects[2] == wanted()[Role.COORDINATOR]


def test_searchers_go_first_and_the_others_keep_their_template() -> None:
    decided = plan(wanted("2"), all_live("1"))
    assert images_in(decided) == {
        Role.SEARCHER: "app:2",
        Role.WRITER: "app:1",
        Role.COORDINATOR: "app:1",
    }
    assert decided.starting == (Role.SEARCHER,)
    waiting = "waiting for searcher: its change is about to begin"
    assert decided.waiting == {Role.WRITER: waiting, Role.COORDINATOR: waiting}


def test_the_next_one_waits_until_the_one_before_is_done() -> None:
    found = all_live("1")
    found[Role.SEARCHER] = rolling(
        wanted("2", searcher={"replicas": 3})[Role.SEARCHER], updated=1, total=4, ready=3
    )
    found[Role.SEARCHER]["spec"]["replicas"] = 3
    decided = plan(wanted("2"), found)
    assert decided.starting == ()
    assert decided.waiting[Role.COORDINATOR] == "waiting for searcher: 1 of 3 updated"


def test_writers_follow_searchers_and_coordinators_are_last() -> None:
    found = all_live("1") | {Role.SEARCHER: live(wanted("2")[Role.SEARCHER])}
    assert plan(wanted("2"), found).starting == (Role.WRITER,)
    found[Role.WRITER] = live(wanted("2")[Role.WRITER])
    assert plan(wanted("2"), found).starting == (Role.COORDINATOR,)


def test_an_applied_change_counts_as_rolling_before_anybody_saw_it() -> None:
    found = all_live("1") | {Role.SEARCHER: live(wanted("2")[Role.SEARCHER], observed=2)}
    decided = plan(wanted("2"), found)
    assert decided.starting == ()
    assert decided.waiting[Role.WRITER] == "waiting for searcher: its change is about to begin"


def test_scaling_everything_and_changing_it_right_after_still_goes_in_order() -> None:
    found = {role: live(it, observed=2) for role, it in wanted("1").items()}
    decided = plan(wanted("2"), found)
    assert decided.starting == ()
    assert set(decided.waiting) == set(Role)


def test_the_number_of_pods_follows_the_spec_while_the_template_waits() -> None:
    found = all_live("1") | {Role.SEARCHER: rolling(wanted("2")[Role.SEARCHER])}
    decided = plan(wanted("2", writer={"replicas": 5}), found)
    writer = decided.objects[1]
    assert writer["spec"]["replicas"] == 5
    assert writer["spec"]["template"] == wanted("1")[Role.WRITER]["spec"]["template"]


def test_a_held_deployment_keeps_the_digest_of_the_template_it_has() -> None:
    old, new = wanted("1")[Role.WRITER], wanted("2")[Role.WRITER]
    held = held_back(new, live(old))
    assert held["metadata"]["annotations"] == {TEMPLATE: old["metadata"]["annotations"][TEMPLATE]}
    found = live(old)
    del found["metadata"]["annotations"]
    found["spec"]["template"]["metadata"]["creationTimestamp"] = None
    held = held_back(new, found)
    assert "annotations" not in held["metadata"]
    assert held["spec"]["template"] == old["spec"]["template"]


def test_a_failing_component_halts_the_rollout_and_says_what_to_do() -> None:
    found = all_live("1") | {Role.SEARCHER: rolling(wanted("2")[Role.SEARCHER], reason=LATE)}
    decided = plan(wanted("2"), found)
    assert decided.halted == (
        "the roll-out of searcher failed: no progress within 600 s, 1 of 1 pods are ready. The"
        " other components stay as they are; correct spec.searcher, or put back what it was"
    )
    assert images_in(decided)[Role.COORDINATOR] == "app:1"


def test_pods_that_cannot_start_halt_the_rollout_before_its_deadline() -> None:
    found = all_live("1") | {Role.SEARCHER: rolling(wanted("2")[Role.SEARCHER])}
    trouble = Trouble("pod x cannot have its image", is_fatal=True)
    assert "pod x cannot" in plan(wanted("2"), found, troubles={Role.SEARCHER: trouble}).halted
    waits = Trouble("pod x finds no node", is_fatal=False)
    assert not plan(wanted("2"), found, troubles={Role.SEARCHER: waits}).halted


def test_a_revert_does_not_wait_for_what_it_reverts() -> None:
    found = all_live("1") | {Role.SEARCHER: rolling(wanted("2")[Role.SEARCHER], reason=LATE)}
    decided = plan(wanted("1"), found)
    assert decided.starting == (Role.SEARCHER,)
    assert not decided.halted
    assert set(images_in(decided).values()) == {"app:1"}


def test_a_coordinator_that_fails_can_be_reverted_though_searchers_change_too() -> None:
    found = all_live("2") | {Role.COORDINATOR: rolling(wanted("2")[Role.COORDINATOR], reason=LATE)}
    decided = plan(wanted("3"), found)
    assert decided.starting == (Role.COORDINATOR,)
    assert not decided.halted


def test_all_at_once_neither_waits_nor_halts() -> None:
    found = all_live("1") | {Role.SEARCHER: rolling(wanted("2")[Role.SEARCHER], reason=LATE)}
    decided = plan(wanted("2"), found, in_order=False)
    assert set(images_in(decided).values()) == {"app:2"}
    assert not decided.waiting
    assert not decided.halted


def test_a_deployment_of_the_original_operator_is_stamped_in_its_turn() -> None:
    found = all_live("1")
    for deployment in found.values():
        del deployment["metadata"]["annotations"][TEMPLATE]
    assert plan(wanted("1"), found).starting == (Role.SEARCHER,)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({}, False),
        ({"ready": 0, "reason": COMPLETE}, False),
        ({"observed": 2}, True),
        ({"total": 2, "reason": "ReplicaSetUpdated"}, True),
        ({"ready": 0, "reason": "ReplicaSetUpdated"}, True),
        ({"ready": 0, "reason": LATE}, True),
        ({"ready": 0, "reason": LATE, "revision": "1"}, False),
        ({"ready": 0, "reason": "ReplicaSetUpdated", "revision": "1"}, False),
        # Reverting to a known template leaves the old reason in place at first.
        ({"updated": 0, "total": 1, "reason": COMPLETE}, True),
        ({"ready": 0, "reason": "", "observed": 0, "revision": "1"}, False),
    ],
)
def test_rolling_means_that_old_pods_are_being_replaced(numbers: Any, expected: bool) -> None:
    assert is_rolling(live(wanted()[Role.SEARCHER], **numbers)) is expected


def test_a_deployment_without_pods_is_done() -> None:
    none = wanted(searcher={"replicas": 0})[Role.SEARCHER]
    none["spec"]["replicas"] = 0
    assert not is_rolling(live(none, updated=0, ready=0, total=0, reason="ReplicaSetUpdated"))


def test_pods_that_may_not_be_created_are_a_failure() -> None:
    deployment = live(wanted()[Role.WRITER], ready=0)
    deployment["status"]["conditions"].append(
        {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: q"}
    )
    assert failure(deployment) == "its pods cannot be created: exceeded quota: q"


class SimulatedDeployment:
    """What a Deployment and its controller do, one small step at a time."""

    def __init__(self, deployment: Object) -> None:
        self.spec: Object = deployment["spec"]
        self.annotations: dict[str, str] = dict(deployment["metadata"]["annotations"])
        self.generation, self.observed, self.revision = 1, 1, 1
        self.template: Object = self.spec["template"]
        self.old, self.new = 0, self.spec["replicas"]
        self.ready = self.new
        self.reason, self.patience = COMPLETE, 8

    @property
    def in_transit(self) -> bool:
        """Pods of two templates, or a template that was accepted and not yet acted on."""
        return self.old > 0 or self.spec["template"] != self.template

    @property
    def finished(self) -> bool:
        complete = self.ready == self.new == self.spec["replicas"]
        return not self.in_transit and complete and self.observed == self.generation

    def apply(self, deployment: Object) -> None:
        if deployment["spec"] != self.spec:
            self.spec = deployment["spec"]
            self.generation += 1
        self.annotations |= deployment["metadata"].get("annotations", {})

    def step(self) -> None:
        if self.observed < self.generation:
            self._observe()
        elif not self.finished:
            self._replace()
        if self.finished:
            self.reason = COMPLETE

    def _observe(self) -> None:
        self.observed = self.generation
        if self.spec["template"] == self.template:
            return
        self.template = self.spec["template"]
        self.revision += 1
        self.old, self.new, self.ready = self.old + self.ready, 0, 0
        self.reason, self.patience = "ReplicaSetUpdated", 8

    def _replace(self) -> None:
        replicas = self.spec["replicas"]
        self.patience -= 1
        if self.new > replicas:
            self.new -= 1
            self.ready = min(self.ready, self.new)
        elif self.ready < self.new and self._starts():
            self.ready += 1
        elif self.old and (self.ready or not replicas):
            self.old -= 1
        elif self.new < replicas and (self.new == self.ready):
            self.new += 1
        if self.patience < 0 and self.reason != COMPLETE and not self._starts():
            self.reason = LATE

    def _starts(self) -> bool:
        return "bad" not in self.template["spec"]["containers"][0]["image"]

    def manifest(self, name: str) -> Object:
        status = "False" if self.reason == LATE else "True"
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": name,
                "generation": self.generation,
                "annotations": self.annotations | {REVISION: str(self.revision)},
            },
            "spec": self.spec,
            "status": {
                "observedGeneration": self.observed,
                "replicas": self.old + self.new,
                "updatedReplicas": self.new,
                "readyReplicas": self.old + self.ready,
                "availableReplicas": self.old + self.ready,
                "conditions": [{"type": "Progressing", "status": status, "reason": self.reason}],
            },
        }


class Simulation:
    def __init__(self, first: dict[Role, Object]) -> None:
        self.deployments = {role: SimulatedDeployment(it) for role, it in first.items()}

    def reconcile(self, desired: dict[Role, Object]) -> Plan:
        found = {role: it.manifest(f"one-{role}") for role, it in self.deployments.items()}
        decided = plan(desired, found)
        for role, deployment in zip(Role, decided.objects, strict=True):
            self.deployments[role].apply(deployment)
        return decided

    def in_transit(self) -> list[Role]:
        return [role for role, it in self.deployments.items() if it.in_transit]

    def finished(self, desired: dict[Role, Object]) -> bool:
        return all(
            it.finished and it.spec == desired[role]["spec"]
            for role, it in self.deployments.items()
        )


VERSIONS = st.fixed_dictionaries(
    {role: st.sampled_from(["app:1", "app:2", "app:bad"]) for role in Role}
)
REPLICAS = st.fixed_dictionaries({role: st.integers(0, 3) for role in Role})
CHANGES = st.lists(st.tuples(VERSIONS, REPLICAS), max_size=4)
STEPS = st.lists(st.sampled_from([*Role, None]), max_size=25)


def desired_for(images: Images, replicas: dict[Role, int]) -> dict[Role, Object]:
    components: Object = {
        role.value: {"image": images[role], "replicas": replicas[role]} for role in Role
    }
    return desired_deployments(a_set(**components))


GOOD = desired_for(dict.fromkeys(Role, "app:3"), dict.fromkeys(Role, 2))


@settings(max_examples=60, deadline=None)
@given(CHANGES, st.data())
def test_a_rollout_moves_one_component_at_a_time_and_ends_in_what_is_wanted(
    changes: list[tuple[Images, dict[Role, int]]], data: st.DataObject
) -> None:
    simulation = Simulation(desired_for(dict.fromkeys(Role, "app:1"), dict.fromkeys(Role, 2)))
    for images, replicas in changes:
        desired = desired_for(images, replicas)
        for mover in data.draw(STEPS):
            if mover is None:
                simulation.reconcile(desired)
            else:
                simulation.deployments[mover].step()
            assert len(simulation.in_transit()) <= 1
    for _ in range(150):
        if simulation.finished(GOOD):
            break
        simulation.reconcile(GOOD)
        for deployment in simulation.deployments.values():
            deployment.step()
        assert len(simulation.in_transit()) <= 1
    assert simulation.finished(GOOD)
    assert not simulation.reconcile(GOOD).rolling


def test_a_bad_image_stops_before_the_coordinator_and_is_told() -> None:
    simulation = Simulation(desired_for(dict.fromkeys(Role, "app:1"), dict.fromkeys(Role, 2)))
    bad = desired_for(dict.fromkeys(Role, "app:bad"), dict.fromkeys(Role, 2))
    for _ in range(30):
        decided = simulation.reconcile(bad)
        for deployment in simulation.deployments.values():
            deployment.step()
    assert decided.halted.startswith("the roll-out of searcher failed")
    assert simulation.in_transit() == [Role.SEARCHER]
    assert images_in(decided)[Role.COORDINATOR] == "app:1"
