"""How a reconcile can end, and what follows from it.

A reconcile returns None when it is done, a `Requeue` or a `Wait` when it is not, and raises when
it failed. An error's type is its retry policy. Texts are shown to people in conditions and events:
say what is missing and what to do about it, and never quote a secret.
"""

import enum
from dataclasses import dataclass
from typing import ClassVar

from quiver.kube.errors import KubeError

SOONEST_REQUEUE = 0.1
WAIT_AT_MOST = 600.0


@dataclass(frozen=True, slots=True)
class Requeue:
    """Look again after so many seconds: nothing failed, and no watch would tell."""

    after: float
    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on when `on` changes: its watch brings the object back.

    The timer is only the safety net for a change that no watch reported, hence long.
    """

    on: str
    reason: str
    at_most: float = WAIT_AT_MOST


Outcome = Requeue | Wait | None


class Next(enum.Enum):
    """When the object is looked at again, unless it changes before."""

    ON_CHANGE = "on change"
    LATER = "later"
    BACKOFF = "backoff"


class ReconcileError(Exception):
    """A reconcile failed, and this is the sentence for people. Retried with backoff."""

    next: ClassVar[Next] = Next.BACKOFF
    is_told_at_once: ClassVar[bool] = True
    """Whether people should know after the first failure, or only when it does not pass."""


class Transient(ReconcileError):
    """Expected to pass by itself: retried with backoff."""

    is_told_at_once: ClassVar[bool] = False


class Terminal(ReconcileError):
    """Not retried until the object changes: trying the same again would fail the same way."""

    next: ClassVar[Next] = Next.ON_CHANGE


@dataclass(frozen=True, slots=True)
class Decision:
    """What the controller does with a key after a reconcile.

    ON_CHANGE and LATER forget the key's failures; BACKOFF counts one more.
    """

    next: Next
    failed: bool = False
    after: float = 0.0
    """In seconds; only for LATER."""
    message: str = ""
    """For people; empty when there is nothing to say."""
    is_told_at_once: bool = True


def next_attempt(ended: Outcome | Exception) -> Decision:
    """Decide when an object is looked at again, from what its reconcile returned or raised."""
    match ended:
        case None:
            return Decision(Next.ON_CHANGE)
        case Requeue():
            return _later(ended.after, ended.reason)
        case Wait():
            return _later(ended.at_most, f"Waiting for {ended.on}: {ended.reason}")
        case ExceptionGroup():
            return _all_of([next_attempt(error) for error in _members(ended)])
        case ReconcileError():
            return Decision(
                ended.next,
                failed=True,
                message=str(ended),
                is_told_at_once=ended.is_told_at_once,
            )
        case _:
            at_once = not isinstance(ended, KubeError)
            return Decision(
                Next.BACKOFF, failed=True, message=_sentence(ended), is_told_at_once=at_once
            )


def _later(after: float, message: str) -> Decision:
    # A phase computes `after` from a deadline; one that has just passed must not spin.
    return Decision(Next.LATER, after=max(SOONEST_REQUEUE, after), message=message)


def _members(group: ExceptionGroup) -> list[Exception]:
    members: list[Exception] = []
    for error in group.exceptions:
        members += _members(error) if isinstance(error, ExceptionGroup) else [error]
    return members


def _all_of(failures: list[Decision]) -> Decision:
    """Steps that ran side by side failed together: worth a retry if one of them is."""
    retried = any(failure.next is Next.BACKOFF for failure in failures)
    messages = dict.fromkeys(failure.message for failure in failures)
    return Decision(
        Next.BACKOFF if retried else Next.ON_CHANGE,
        failed=True,
        message="; ".join(messages),
        is_told_at_once=any(failure.is_told_at_once for failure in failures),
    )


def _sentence(error: Exception) -> str:
    if isinstance(error, KubeError):
        return str(error)
    # Only the type: the text of an error that nobody expected may quote what it choked on,
    # and that may be a secret.
    return f"Unexpected {type(error).__name__}: a bug in the operator, or a case it does not know"
