"""From what a reconcile found to the status that is written."""

from datetime import UTC, datetime

from quiver.engine.conditions import Condition
from quiver.engine.crd import Fields
from quiver.engine.crd.core import Conditions
from quiver.engine.outcome import Decision, Next, Wait
from quiver.engine.reporting import is_same, stamped, with_failure, with_waiting

THEN, NOW = "2026-01-01T00:00:00Z", datetime(2026, 2, 2, tzinfo=UTC)


class Status(Fields):
    observed_generation: int = 0
    phase: str = ""
    conditions: Conditions = []


def ready(status: str = "True", **fields: object) -> Condition:
    usual = {"type": "Ready", "status": status, "reason": "Because", "last_transition_time": THEN}
    return Condition(**(usual | fields))  # type: ignore[arg-type]


def test_a_condition_that_stays_keeps_its_time_and_gets_the_generation() -> None:
    before = Status(observed_generation=1, conditions=[ready()])
    after = stamped(before, Status(conditions=[ready(message="new")]), generation=2, at=NOW)
    assert after.observed_generation == 2
    assert after.conditions[0].last_transition_time == THEN
    assert after.conditions[0].observed_generation == 2


def test_one_that_turns_gets_the_time_of_now() -> None:
    before = Status(conditions=[ready()])
    after = stamped(before, Status(conditions=[ready("False")]), generation=1, at=NOW)
    assert after.conditions[0].last_transition_time == "2026-02-02T00:00:00Z"


def test_a_failure_is_told_beside_what_was_known_and_observes_nothing() -> None:
    before = Status(observed_generation=1, phase="Ready", conditions=[ready()])
    failed = Decision(Next.BACKOFF, failed=True, message="the quota is used up")
    after = with_failure(before, failed, generation=2, at=NOW)
    assert (after.observed_generation, after.phase) == (1, "Ready")
    assert [it.type for it in after.conditions] == ["Ready", "Degraded"]
    degraded = after.conditions[1]
    assert (degraded.reason, degraded.message) == ("Retrying", "the quota is used up")
    assert degraded.observed_generation == 2


def test_the_same_failure_again_changes_nothing() -> None:
    failed = Decision(Next.ON_CHANGE, failed=True, message="no such version")
    once = with_failure(Status(), failed, generation=1, at=NOW)
    assert once.conditions[0].reason == "Failed"
    assert [it.type for it in once.conditions] == ["Degraded", "Stalled"]
    assert once.observed_generation == 1
    assert is_same(once, with_failure(once, failed, generation=1, at=datetime.now(UTC)))


def test_what_is_waited_for_is_told_in_progressing() -> None:
    waiting = with_waiting(Status(conditions=[ready()]), Wait(on="Secret a", reason="create it"))
    assert [it.type for it in waiting.conditions] == ["Ready", "Progressing"]
    assert waiting.conditions[1].message == "Waiting for Secret a: create it"
