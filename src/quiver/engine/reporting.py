"""From what a reconcile found to the status that is written, if it changed."""

from datetime import datetime
from typing import Any, Protocol, TypeVar

import msgspec

from quiver.engine.conditions import DEGRADED, PROGRESSING, Condition, merged
from quiver.engine.outcome import Decision, Next, Wait

RETRYING = "Retrying"
FAILED = "Failed"
WAITING = "Waiting"
STALLED = "Stalled"


class Reported(Protocol):
    """A status with what every kind's status has."""

    @property
    def conditions(self) -> list[Condition]: ...

    @property
    def observed_generation(self) -> int: ...


S = TypeVar("S")


def stamped(before: Any, reported: S, *, generation: int, at: datetime) -> S:
    """The status to write: conditions with their times, and the generation it speaks of."""
    status: Any = reported
    conditions = merged(before.conditions, status.conditions, generation=generation, at=at)
    changed: S = msgspec.structs.replace(
        status, conditions=conditions, observed_generation=generation
    )
    return changed


def with_failure(before: S, decision: Decision, *, generation: int, at: datetime) -> S:
    """The last status, with the failure told.

    While it is retried, `observedGeneration` stays: what was not carried out was not observed, and
    tools that wait go on waiting. What is given up is observed, and stalled, as kstatus reads it.
    """
    is_retried = decision.next is Next.BACKOFF
    reason = RETRYING if is_retried else FAILED
    failure = Condition(type=DEGRADED, status="True", reason=reason, message=decision.message)
    told = [failure] if is_retried else [failure, msgspec.structs.replace(failure, type=STALLED)]
    status: Any = before
    kept = [it for it in status.conditions if it.type not in (DEGRADED, STALLED)]
    changed: S = msgspec.structs.replace(
        status,
        conditions=kept + merged(status.conditions, told, generation=generation, at=at),
        observed_generation=status.observed_generation if is_retried else generation,
    )
    return changed


def with_waiting(status: S, wait: Wait) -> S:
    """A status that says what is waited for."""
    words = f"Waiting for {wait.on}: {wait.reason}"
    waiting = Condition(type=PROGRESSING, status="True", reason=WAITING, message=words)
    return _with(status, waiting)


def _with(before: S, condition: Condition) -> S:
    status: Any = before
    others = [it for it in status.conditions if it.type != condition.type]
    changed: S = msgspec.structs.replace(status, conditions=[*others, condition])
    return changed


def is_same(one: Any, other: Any) -> bool:
    return msgspec.json.encode(one) == msgspec.json.encode(other)
