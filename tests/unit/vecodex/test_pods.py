"""Why pods do not run."""

from typing import Any

import msgspec
import pytest

from quiver.vecodex.names import Role
from quiver.vecodex.pods import Pod, Trouble, trouble_of, troubles

Object = dict[str, Any]


def pod(name: str = "one-searcher-1", role: str = "searcher", **status: Any) -> Pod:
    raw = {
        "metadata": {"name": name, "labels": {"app": f"one-{role}", "pod-template-hash": "1"}},
        "spec": {"containers": []},
        "status": {"phase": "Pending"} | status,
    }
    return msgspec.json.decode(msgspec.json.encode(raw), type=Pod)


def waiting(reason: str, **more: Any) -> list[Object]:
    state = {"waiting": {"reason": reason, "message": "as it is"}}
    return [{"name": "searcher", "image": "app:x", "state": state} | more]


UNSCHEDULABLE = [
    {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
    }
]


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "ErrImagePull", "InvalidImageName"])
def test_an_image_that_cannot_be_had_is_named(reason: str) -> None:
    found = trouble_of(pod(containerStatuses=waiting(reason)))
    assert found is not None
    assert found.is_fatal
    assert f"cannot have its image app:x ({reason})" in found.message


def test_a_crash_is_told_with_its_exit_code() -> None:
    last = {"terminated": {"exitCode": 139, "reason": "Error"}}
    found = trouble_of(pod(containerStatuses=waiting("CrashLoopBackOff", lastState=last)))
    assert found == Trouble(
        "container searcher of pod one-searcher-1 starts and ends again (Error, exit code 139):"
        " see kubectl logs",
        True,
    )


def test_what_the_kubelet_says_is_passed_on() -> None:
    found = trouble_of(pod(initContainerStatuses=waiting("CreateContainerConfigError")))
    assert found is not None
    assert found.message.endswith("cannot start: CreateContainerConfigError: as it is")


def test_a_pod_without_a_node_may_still_find_one() -> None:
    found = trouble_of(pod(conditions=UNSCHEDULABLE))
    assert found == Trouble(
        "pod one-searcher-1 finds no node: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu",
        False,
    )


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"containerStatuses": waiting("ContainerCreating")},
        {"containerStatuses": [{"name": "searcher", "state": {"running": {"startedAt": "now"}}}]},
    ],
)
def test_a_pod_that_starts_or_runs_is_no_trouble(status: Object) -> None:
    assert trouble_of(pod(**status)) is None


def test_a_pod_that_is_being_deleted_is_no_trouble() -> None:
    raw: Object = {"metadata": {"name": "x", "deletionTimestamp": "2024-01-01T00:00:00Z"}}
    raw["status"] = {"containerStatuses": waiting("CrashLoopBackOff")}
    assert trouble_of(msgspec.convert(raw, Pod)) is None


def test_of_each_component_the_worst_is_told_and_others_pods_are_left_out() -> None:
    found = troubles(
        "one",
        [
            pod("a", conditions=UNSCHEDULABLE),
            pod("b", containerStatuses=waiting("ErrImagePull")),
            pod("c", "writer", conditions=UNSCHEDULABLE),
            pod("d", "else", containerStatuses=waiting("ErrImagePull")),
            pod("e", "coordinator"),
        ],
    )
    assert set(found) == {Role.SEARCHER, Role.WRITER}
    assert "pod b" in found[Role.SEARCHER].message
