"""How far objects are, kind by kind."""

from typing import Any

import pytest

from quiver.engine.kstatus import State, progress


def obj(kind: str, api: str, spec: Any = None, status: Any = None, **metadata: Any) -> Any:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "x", **metadata},
        "spec": spec or {},
        "status": status or {},
    }


def condition(kind: str, status: str, **more: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, **more}]}


DONE = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "readyReplicas": 3}
ROLLED = {"readyReplicas": 3, "updatedReplicas": 3, "currentRevision": "a", "updateRevision": "a"}
OFFERED = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
THREE = {"replicas": 3}
ON_DELETE = {"replicas": 3, "updateStrategy": {"type": "OnDelete"}}
HELD = {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}}

CASES: list[tuple[str, Any, State, str]] = [
    ("no status yet", obj("Deployment", "apps/v1", THREE), State.IN_PROGRESS, "0 of 3 are updated"),
    ("all there", obj("Deployment", "apps/v1", THREE, DONE), State.CURRENT, ""),
    ("old pods", obj("Deployment", "apps/v1", THREE, DONE | {"replicas": 4}), State.IN_PROGRESS, "1 old pods"),
    ("too few ready", obj("Deployment", "apps/v1", THREE, DONE | {"readyReplicas": 2}), State.IN_PROGRESS, "2 of 3 are ready"),
    ("deadline", obj("Deployment", "apps/v1", THREE, DONE | condition("Progressing", "False", reason="ProgressDeadlineExceeded")), State.FAILED, "deadline"),
    ("scaled to zero", obj("Deployment", "apps/v1", {"replicas": 0}), State.CURRENT, ""),
    ("rolled", obj("StatefulSet", "apps/v1", THREE, ROLLED), State.CURRENT, ""),
    ("rolling", obj("StatefulSet", "apps/v1", THREE, ROLLED | {"updateRevision": "b"}), State.IN_PROGRESS, "roll-out"),
    ("held by a partition", obj("StatefulSet", "apps/v1", HELD, ROLLED | {"updatedReplicas": 1, "updateRevision": "b"}), State.CURRENT, ""),
    ("on delete", obj("StatefulSet", "apps/v1", ON_DELETE, {"readyReplicas": 3}), State.CURRENT, ""),
    ("unscheduled", obj("DaemonSet", "apps/v1"), State.IN_PROGRESS, "scheduled"),
    ("no node wants it", obj("DaemonSet", "apps/v1", {}, {"desiredNumberScheduled": 0}), State.CURRENT, ""),
    ("set of two", obj("ReplicaSet", "apps/v1", {"replicas": 2}, {"readyReplicas": 1}), State.IN_PROGRESS, "1 of 2"),
    ("pending", obj("Pod", "v1", {}, {"phase": "Pending", **condition("PodScheduled", "False", message="no node")}), State.IN_PROGRESS, "no node"),
    ("ready", obj("Pod", "v1", {}, {"phase": "Running", **condition("Ready", "True")}), State.CURRENT, ""),
    ("not ready", obj("Pod", "v1", {}, {"phase": "Running", **condition("Ready", "False")}), State.IN_PROGRESS, "not ready"),
    ("failed pod", obj("Pod", "v1", {}, {"phase": "Failed", "message": "Evicted"}), State.FAILED, "Evicted"),
    ("done pod", obj("Pod", "v1", {}, {"phase": "Succeeded"}), State.CURRENT, ""),
    ("running job", obj("Job", "batch/v1"), State.IN_PROGRESS, "runs"),
    ("done job", obj("Job", "batch/v1", {}, condition("Complete", "True")), State.CURRENT, ""),
    ("failed job", obj("Job", "batch/v1", {}, condition("Failed", "True", message="3 tries")), State.FAILED, "3 tries"),
    ("unbound", obj("PersistentVolumeClaim", "v1", {}, {"phase": "Pending"}), State.IN_PROGRESS, "bound"),
    ("bound", obj("PersistentVolumeClaim", "v1", {}, {"phase": "Bound"}), State.CURRENT, ""),
    ("plain service", obj("Service", "v1"), State.CURRENT, ""),
    ("waiting balancer", obj("Service", "v1", {"type": "LoadBalancer"}), State.IN_PROGRESS, "address"),
    ("balancer", obj("Service", "v1", {"type": "LoadBalancer"}, OFFERED), State.CURRENT, ""),
    ("served kind", obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", {}, condition("Established", "True")), State.CURRENT, ""),
    ("new kind", obj("CustomResourceDefinition", "apiextensions.k8s.io/v1"), State.IN_PROGRESS, "served"),
    ("taken names", obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", {}, condition("NamesAccepted", "False", message="taken")), State.FAILED, "taken"),
    ("any kind", obj("ConfigMap", "v1"), State.CURRENT, ""),
    ("own kind, not ready", obj("Cluster", "x.io/v1", {}, condition("Ready", "False", message="node 2 of 3")), State.IN_PROGRESS, "node 2 of 3"),
    ("own kind, stalled", obj("Cluster", "x.io/v1", {}, condition("Stalled", "True", message="bad version")), State.FAILED, "bad version"),
    ("own kind, working", obj("Cluster", "x.io/v1", {}, condition("Reconciling", "True", message="step 1")), State.IN_PROGRESS, "step 1"),
    ("old generation", obj("Cluster", "x.io/v1", {}, {"observedGeneration": 1}, generation=2), State.IN_PROGRESS, "generation 2"),
    ("being deleted", obj("Pod", "v1", deletionTimestamp="2026-11-16T08:00:00Z"), State.TERMINATING, "deleted"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "state", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_state_and_its_words(document: Any, state: State, words: str) -> None:
    found = progress(document)
    assert found.state == state
    assert words in found.message
