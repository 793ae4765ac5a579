"""What the status says."""

import copy
from typing import Any

from hypothesis import given, settings

from quiver.engine.conditions import Condition
from quiver.engine.kstatus import State, progress
from quiver.vecodex.api import Status, VecodexSet
from quiver.vecodex.desired import desired_deployments
from quiver.vecodex.gpu import Devices
from quiver.vecodex.names import Role
from quiver.vecodex.pods import Trouble
from quiver.vecodex.rollout import plan
from quiver.vecodex.status import status_of
from support.vecodex import a_set, sets

Object = dict[str, Any]

NO_GPU = Devices(False, "no node offers nvidia.com/gpu")


def running(vecodex: VecodexSet, **lacking: int) -> dict[Role, Object]:
    """The Deployments as their controller leaves them; `lacking` are pods that are not ready."""
    found = {}
    for role, deployment in desired_deployments(vecodex).items():
        live = copy.deepcopy(deployment)
        wanted = live["spec"]["replicas"]
        ready = wanted - lacking.get(role.value, 0)
        live["metadata"]["generation"] = 1
        live["status"] = {
            "observedGeneration": 1,
            "replicas": wanted,
            "updatedReplicas": wanted,
            "readyReplicas": ready,
            "availableReplicas": ready,
        }
        found[role] = live
    return found


def late(live: Object, revision: str) -> None:
    live["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = revision
    condition = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    live["status"]["conditions"] = [condition]


def told(vecodex: VecodexSet, live: dict[Role, Object], **more: Any) -> Status:
    decided = plan(desired_deployments(vecodex), live, troubles=more.get("troubles", {}))
    return status_of(vecodex, decided, live, **more)


def condition(status: Status, kind: str) -> Condition:
    return next(it for it in status.conditions if it.type == kind)


def summary(status: Status) -> dict[str, str]:
    return {it.type: it.status for it in status.conditions}


def test_a_set_is_ready_when_every_pod_is() -> None:
    vecodex = a_set(searcher={"replicas": 3})
    status = told(vecodex, running(vecodex))
    assert status.phase == "Ready"
    assert summary(status) == {"Ready": "True", "Progressing": "False", "Degraded": "False"}
    assert condition(status, "Ready").message == (
        "all pods are ready: 1 coordinator, 1 writer, 3 searcher"
    )


def test_no_replicas_are_ready_too() -> None:
    none: Object = {role.value: {"replicas": 0} for role in Role}
    vecodex = a_set(**none)
    assert told(vecodex, running(vecodex)).phase == "Ready"


def test_the_counts_of_a_component_are_told() -> None:
    vecodex = a_set(searcher={"replicas": 3})
    searcher = told(vecodex, running(vecodex, searcher=1)).searcher
    assert searcher is not None
    assert (searcher.desired, searcher.replicas, searcher.ready, searcher.updated) == (3, 3, 2, 3)
    assert searcher.summary == "2/3"
    assert searcher.image == "searcher:1"


def test_a_set_that_was_just_created_is_on_its_way() -> None:
    vecodex = a_set()
    status = told(vecodex, {})
    assert status.phase == "Progressing"
    assert condition(status, "Ready").status == "False"
    assert "writer: it is about to be created" in condition(status, "Progressing").message


def test_pods_that_are_not_ready_are_told_with_their_trouble() -> None:
    vecodex = a_set()
    trouble = Trouble("pod x finds no node", is_fatal=False)
    status = told(vecodex, running(vecodex, writer=1), troubles={Role.WRITER: trouble})
    assert status.phase == "Progressing"
    assert condition(status, "Ready").message == (
        "writer: 0 of 1 are available, pod x finds no node"
    )


def test_a_held_component_tells_what_it_waits_for() -> None:
    live = running(a_set())
    vecodex = a_set(searcher={"image": "app:2"}, coordinator={"image": "app:2"})
    status = told(vecodex, live)
    assert condition(status, "Progressing").reason == "RollingOut"
    assert "coordinator: waiting for searcher" in condition(status, "Progressing").message


def test_a_halted_rollout_is_degraded_and_not_progressing() -> None:
    vecodex = a_set(searcher={"image": "app:2"}, coordinator={"image": "app:2"})
    live = running(vecodex, searcher=1)
    late(live[Role.SEARCHER], "2")
    live[Role.COORDINATOR]["metadata"]["annotations"]["quiver.dev/template"] = "old"
    status = told(vecodex, live)
    assert status.phase == "Halted"
    assert summary(status) == {"Ready": "False", "Progressing": "False", "Degraded": "True"}
    assert condition(status, "Degraded").reason == "RolloutHalted"
    assert "correct spec.searcher" in condition(status, "Degraded").message


def test_first_pods_that_fail_are_a_failure_of_their_component() -> None:
    vecodex = a_set()
    live = running(vecodex, writer=1)
    late(live[Role.WRITER], "1")
    status = told(vecodex, live)
    assert status.phase == "Degraded"
    assert condition(status, "Degraded").reason == "ComponentFailed"
    assert condition(status, "Progressing").status == "False"


def test_a_crash_is_told_before_any_deadline() -> None:
    vecodex = a_set()
    trouble = Trouble("container writer starts and ends again", is_fatal=True)
    status = told(vecodex, running(vecodex, writer=1), troubles={Role.WRITER: trouble})
    assert condition(status, "Degraded").message == "writer: container writer starts and ends again"


def test_a_missing_gpu_is_a_condition_of_its_own() -> None:
    vecodex = a_set(writer={"resources": {"limits": {"nvidia.com/gpu": 1}}})
    status = told(vecodex, running(vecodex, writer=1), devices=NO_GPU)
    assert status.phase == "Degraded"
    assert condition(status, "GPUAvailable").status == "False"
    assert condition(status, "Ready").message.endswith("; no node offers nvidia.com/gpu")
    offered = told(vecodex, running(vecodex), devices=Devices(True, "there are"))
    assert offered.phase == "Ready"
    assert condition(offered, "GPUAvailable").status == "True"


def test_a_paused_set_says_so() -> None:
    vecodex = a_set(paused=True)
    status = told(vecodex, running(vecodex))
    assert status.phase == "Paused"
    assert condition(status, "Progressing").reason == "Paused"
    assert condition(status, "Ready").status == "True"


def test_a_paused_set_is_not_ready_while_a_change_waits() -> None:
    live = running(a_set())
    ready = condition(told(a_set(paused=True, searcher={"image": "app:2"}), live), "Ready")
    assert ready.message == "searcher: its change waits until spec.paused is false"


def test_the_endpoint_is_where_people_reach_the_set() -> None:
    def endpoint(**spec: Any) -> str:
        return told(a_set(**spec), {}).endpoint

    assert endpoint() == "one-coordinator.default.svc:80"
    assert endpoint(ingress={"host": "a.b"}) == "http://a.b"
    assert endpoint(ingress={"host": "a.b", "tls": {}}) == "https://a.b"


@settings(max_examples=30, deadline=None)
@given(sets())
def test_ready_means_ready_for_tools_that_read_kstatus_too(vecodex: VecodexSet) -> None:
    status = told(vecodex, running(vecodex))
    conditions = [{"type": it.type, "status": it.status} for it in status.conditions]
    found = progress(
        {
            "apiVersion": "apps.vecodex.link/v1alpha1",
            "kind": "VecodexSet",
            "metadata": {},
            "status": {"conditions": conditions},
        }
    )
    assert found.state is State.CURRENT
    assert status.selector == f"app={vecodex.metadata.name}-searcher"
