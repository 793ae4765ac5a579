"""Ready, as the children tell; and how children begin."""

from typing import Any

from quiver.engine.building import child
from quiver.engine.crd import Fields, ObjectMeta, Resource, resource
from quiver.engine.kinds import DEPLOYMENT, NAMESPACE, SERVICE
from quiver.engine.readiness import not_ready, ready

Object = dict[str, Any]


class _Spec(Fields):
    size: int = 1


@resource(group="readiness.quiver.dev", version="v1")
class _Thing(Resource):
    spec: _Spec = _Spec()


OWNER = _Thing(metadata=ObjectMeta(name="web", namespace="team"))
SERVED = child(OWNER, SERVICE, spec={})


def _deployment(*, available: int, progressing: str = "NewReplicaSetAvailable") -> Object:
    counted = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    status: Object = dict.fromkeys(counted, available)
    status["conditions"] = [{"type": "Progressing", "status": "True", "reason": progressing}]
    return child(OWNER, DEPLOYMENT, spec={"replicas": 2}) | {"status": status}


def test_it_is_ready_when_every_child_is() -> None:
    told = ready([_deployment(available=2), SERVED])
    assert (told.type, told.status, told.reason) == ("Ready", "True", "AllReady")


def test_it_says_which_child_lacks_what() -> None:
    told = ready([_deployment(available=1), SERVED])
    assert told == not_ready("NotReady", "Deployment web: 1 of 2 are updated")


def test_a_child_that_failed_is_told_as_such() -> None:
    told = ready([_deployment(available=1, progressing="ProgressDeadlineExceeded")])
    assert (told.status, told.reason) == ("False", "ChildFailed")


def test_without_children_nothing_is_missing() -> None:
    assert ready([]).status == "True"


def test_a_child_is_beside_its_owner_and_named_as_it_unless_told_otherwise() -> None:
    assert SERVED["metadata"] == {"name": "web", "namespace": "team"}
    named = child(OWNER, DEPLOYMENT, name="other", labels={"a": "b"}, spec={"replicas": 1})
    assert named == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "other", "namespace": "team", "labels": {"a": "b"}},
        "spec": {"replicas": 1},
    }


def test_a_child_that_belongs_to_no_namespace_has_none() -> None:
    assert child(OWNER, NAMESPACE)["metadata"] == {"name": "web"}
