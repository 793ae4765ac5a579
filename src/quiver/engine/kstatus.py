"""How far an object of any kind is, by the conventions that kstatus wrote down.

(The rules are those of sigs.k8s.io/cli-utils, `pkg/kstatus`.) An object is `Current` when the
world is as its spec says, `InProgress` while controllers work on it, `Failed` when they gave up,
`Terminating` once it is being deleted.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

Object = dict[str, Any]


class State(StrEnum):
    CURRENT = "Current"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    TERMINATING = "Terminating"


class Progress(NamedTuple):
    state: State
    message: str


def progress(obj: Object) -> Progress:
    """Kinds without rules of their own are judged by their conditions, then taken as current."""
    if "deletionTimestamp" in obj["metadata"]:
        return Progress(State.TERMINATING, "it is being deleted")
    status = obj.get("status") or {}
    generation = obj["metadata"].get("generation")
    observed = status.get("observedGeneration")
    if observed is not None and generation is not None and observed < generation:
        return _in_progress(f"generation {generation} is not observed yet, only {observed}")
    rule = _RULES.get(_group_kind(obj))
    found = rule(obj.get("spec") or {}, status) if rule else None
    return found or _by_conditions(status) or Progress(State.CURRENT, "it is as it should be")


def _deployment(spec: Object, status: Object) -> Progress | None:
    if _condition(status, "Progressing").get("reason") == "ProgressDeadlineExceeded":
        return Progress(State.FAILED, "the roll-out passed its deadline")
    wanted = spec.get("replicas", 1)
    return (
        _fewer(status, "updatedReplicas", wanted, "updated")
        or _surplus(status, wanted)
        or _fewer(status, "availableReplicas", wanted, "available")
        or _fewer(status, "readyReplicas", wanted, "ready")
    )


def _stateful_set(spec: Object, status: Object) -> Progress | None:
    wanted = spec.get("replicas", 1)
    if spec.get("updateStrategy", {}).get("type") == "OnDelete":
        return _fewer(status, "readyReplicas", wanted, "ready")
    updated = wanted - _partition(spec)
    return (
        _fewer(status, "readyReplicas", wanted, "ready")
        or _fewer(status, "updatedReplicas", updated, "updated")
        or _other_revision(spec, status)
    )


def _other_revision(spec: Object, status: Object) -> Progress | None:
    done = status.get("currentRevision") == status.get("updateRevision")
    return None if done or _partition(spec) else _in_progress("the roll-out is not finished")


def _partition(spec: Object) -> int:
    rolling = spec.get("updateStrategy", {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def _daemon_set(_: Object, status: Object) -> Progress | None:
    if "desiredNumberScheduled" not in status:
        return _in_progress("no pod is scheduled yet")
    wanted = status["desiredNumberScheduled"]
    return (
        _fewer(status, "updatedNumberScheduled", wanted, "updated")
        or _fewer(status, "numberAvailable", wanted, "available")
        or _fewer(status, "numberReady", wanted, "ready")
    )


def _replica_set(spec: Object, status: Object) -> Progress | None:
    wanted = spec.get("replicas", 1)
    return _fewer(status, "readyReplicas", wanted, "ready") or _surplus(status, wanted)


def _pod(_: Object, status: Object) -> Progress | None:
    match status.get("phase"):
        case "Succeeded":
            return Progress(State.CURRENT, "the pod is done")
        case "Failed":
            return Progress(State.FAILED, status.get("message") or "the pod failed")
        case "Running" if _condition(status, "Ready").get("status") == "True":
            return Progress(State.CURRENT, "the pod is ready")
    return _in_progress(_condition(status, "PodScheduled").get("message") or "it is not ready")


def _job(_: Object, status: Object) -> Progress | None:
    if _condition(status, "Failed").get("status") == "True":
        return Progress(State.FAILED, _condition(status, "Failed").get("message", "the job failed"))
    if _condition(status, "Complete").get("status") == "True":
        return Progress(State.CURRENT, "the job is done")
    return _in_progress("the job runs")


def _claim(_: Object, status: Object) -> Progress | None:
    bound = status.get("phase") == "Bound"
    return None if bound else _in_progress("the claim is not bound")


def _service(spec: Object, status: Object) -> Progress | None:
    if spec.get("type") != "LoadBalancer":
        return None
    addresses = (status.get("loadBalancer") or {}).get("ingress")
    return None if addresses else _in_progress("the load balancer has no address yet")


def _definition(_: Object, status: Object) -> Progress | None:
    names = _condition(status, "NamesAccepted")
    if names.get("status") == "False":
        return Progress(State.FAILED, names.get("message", "its names are taken"))
    established = _condition(status, "Established").get("status") == "True"
    return None if established else _in_progress("the kind is not served yet")


def _by_conditions(status: Object) -> Progress | None:
    for kind, state in (("Reconciling", State.IN_PROGRESS), ("Stalled", State.FAILED)):
        found = _condition(status, kind)
        if found.get("status") == "True":
            return Progress(state, found.get("message") or found.get("reason", ""))
    ready = _condition(status, "Ready")
    if ready and ready.get("status") != "True":
        return _in_progress(ready.get("message") or "it is not ready")
    return None


def _fewer(status: Object, field: str, wanted: int, word: str) -> Progress | None:
    has = status.get(field, 0)
    return _in_progress(f"{has} of {wanted} are {word}") if has < wanted else None


def _surplus(status: Object, wanted: int) -> Progress | None:
    extra = status.get("replicas", 0) - wanted
    return _in_progress(f"{extra} old pods are still there") if extra > 0 else None


def _in_progress(message: str) -> Progress:
    return Progress(State.IN_PROGRESS, message)


def _condition(status: Object, kind: str) -> Object:
    conditions = status.get("conditions") or []
    return next((dict(entry) for entry in conditions if entry.get("type") == kind), {})


def _group_kind(obj: Object) -> tuple[str, str]:
    group, _, _ = obj["apiVersion"].rpartition("/")
    return group, obj["kind"]


_RULES: dict[tuple[str, str], Callable[[Object, Object], Progress | None]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("", "Pod"): _pod,
    ("batch", "Job"): _job,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}
