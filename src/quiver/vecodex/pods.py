"""The pods of a component, and why they do not run.

A Deployment only says that it makes no progress, and that after minutes. Its pods know at once.
"""

from collections.abc import Iterable
from typing import NamedTuple

from quiver.engine.crd import Fields
from quiver.vecodex.names import Role, role_of_pod

# The kubelet tries again after each of them, but without a change the same happens.
_FATAL = frozenset(
    (
        "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "ErrImagePull",
        "ErrImageNeverPull", "ImageInspectError", "ImagePullBackOff", "InvalidImageName",
        "RunContainerError",
    )
)  # fmt: skip


class Waiting(Fields):
    reason: str = ""
    message: str = ""


class Terminated(Fields):
    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(Fields):
    waiting: Waiting | None = None
    terminated: Terminated | None = None


class Container(Fields):
    name: str = ""
    image: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Fields):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class PodMeta(Fields):
    name: str
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class PodStatus(Fields):
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[Container, ...] = ()
    init_container_statuses: tuple[Container, ...] = ()


class Pod(Fields):
    """What matters of a pod; decodes from its JSON."""

    metadata: PodMeta
    status: PodStatus = PodStatus()


class Trouble(NamedTuple):
    """What keeps a component's pods from running."""

    message: str
    is_fatal: bool
    """Whether it stays until somebody changes something; else waiting may help."""


def troubles(name: str, pods: Iterable[Pod]) -> dict[Role, Trouble]:
    """The worst of each component of the set of this name; none for those that run."""
    found: dict[Role, Trouble] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        role = role_of_pod(name, pod.metadata.labels)
        trouble = trouble_of(pod)
        if role and trouble and (role not in found or trouble.is_fatal > found[role].is_fatal):
            found[role] = trouble
    return found


def trouble_of(pod: Pod) -> Trouble | None:
    if pod.metadata.deletion_timestamp:
        return None
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for container in containers:
        waiting = container.state.waiting
        if waiting and waiting.reason in _FATAL:
            return Trouble(_stuck(pod, container, waiting), is_fatal=True)
    return _unscheduled(pod)


def _stuck(pod: Pod, container: Container, waiting: Waiting) -> str:
    where = f"container {container.name} of pod {pod.metadata.name}"
    if "Image" in waiting.reason:
        return (
            f"{where} cannot have its image {container.image} ({waiting.reason}): check that it"
            " exists, and imagePullSecrets if its registry asks who you are"
        )
    if waiting.reason == "CrashLoopBackOff":
        return f"{where} starts and ends again{_last_words(container)}: see kubectl logs"
    return f"{where} cannot start: {waiting.reason}: {waiting.message}"


def _last_words(container: Container) -> str:
    ended = container.last_state.terminated
    return f" ({ended.reason or 'Error'}, exit code {ended.exit_code})" if ended else ""


def _unscheduled(pod: Pod) -> Trouble | None:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.reason == "Unschedulable":
            told = condition.message.removesuffix(".")
            return Trouble(f"pod {pod.metadata.name} finds no node: {told}", is_fatal=False)
    return None
