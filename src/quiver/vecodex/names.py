"""Names and labels of a set's children: those of the original operator.

Deployments cannot change their selectors, so these labels are what lets an existing set be taken
over in place. Labels of our own go on the objects only, never on the pods: a new label in a
template would restart every pod of a set that is taken over.
"""

from enum import StrEnum

APP = "app"
LABEL_LENGTH = 63


class Role(StrEnum):
    """In the order of a roll-out: who is asked moves before who asks."""

    SEARCHER = "searcher"
    WRITER = "writer"
    COORDINATOR = "coordinator"


# The longest child is `<name>-coordinator`, which is a Service's name and a label's value.
LONGEST_NAME = LABEL_LENGTH - max(len(f"-{role}") for role in Role)


def child_name(name: str, role: Role) -> str:
    """Of the Deployment, Service, HorizontalPodAutoscaler and PodDisruptionBudget of a role."""
    return f"{name}-{role}"


def ingress_name(name: str) -> str:
    return f"{name}-ingress"


def selector_of(name: str, role: Role) -> dict[str, str]:
    """What the pods of a role are found by; it never changes."""
    return {APP: child_name(name, role)}


def selector_text(name: str, role: Role) -> str:
    """The same, as `kubectl -l` and autoscalers read it."""
    return f"{APP}={child_name(name, role)}"


def role_of_pod(name: str, labels: dict[str, str]) -> Role | None:
    """Which of a set's roles a pod with these labels has."""
    app = labels.get(APP)
    return next((role for role in Role if app == child_name(name, role)), None)


def labels_of(name: str, component: str) -> dict[str, str]:
    """For the children themselves, so that people and tools find them."""
    return {
        "app.kubernetes.io/name": "vecodex",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": "quiver",
    }
