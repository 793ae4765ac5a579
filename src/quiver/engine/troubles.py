"""What the API server's refusals mean for a reconcile, in words for the owner of the object."""

from quiver.engine.outcome import ReconcileError, Transient, Wait
from quiver.kube import (
    ApiError,
    ApplyConflict,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    ServerTimeout,
    Unreachable,
)

NAMESPACE_TERMINATING = "NamespaceTerminating"


class QuotaExceeded(ReconcileError):
    """Retried: quota may be raised or become free at any time, and no watch would tell."""


class NotOurs(ReconcileError):
    """An object of that name belongs to somebody else. Retried: he may take it away."""


class Refused(ReconcileError):
    """The server or one of its webhooks says no. Retried: its rules may change."""


def is_uncertain(error: KubeError) -> bool:
    """Whether the write may have happened although it failed."""
    if isinstance(error, ApiError):
        return isinstance(error, ServerTimeout) or error.status >= 500
    return isinstance(error, Unreachable)


def namespace_is_ending(error: KubeError) -> bool:
    return isinstance(error, Forbidden) and any(
        cause.reason == NAMESPACE_TERMINATING for cause in error.causes
    )


def waiting_for_namespace(namespace: str) -> Wait:
    return Wait(on=f"namespace {namespace}", reason="it is being deleted, nothing new can be made")


def explained(error: KubeError, what: str) -> ReconcileError:
    """The error as one that carries its retry policy. `what` names the object: `Service a/b`."""
    match error:
        case Forbidden() if "exceeded quota" in error.message:
            return QuotaExceeded(
                f"{what} does not fit into the namespace's quota: {error.message}. Raise the "
                "quota or ask for less; it is tried again by itself"
            )
        case Forbidden():
            return Refused(
                f"the operator may not write {what}: {error.message}. Give its service account "
                "this right (`quiver rbac` prints all that it needs)"
            )
        case Invalid():
            return Refused(f"the server refuses {what}: {error.message}")
        case ApplyConflict():
            owners = ", ".join(sorted(error.managers))
            fields = ", ".join(conflict.field for conflict in error.fields)
            return Refused(
                f"{what} is shared, and {fields} belongs to {owners}: remove it there, or here"
            )
        case Conflict():
            return Transient(f"{what} changed meanwhile: it is read again")
        case _:
            return Transient(f"{what} could not be written: {error}")
