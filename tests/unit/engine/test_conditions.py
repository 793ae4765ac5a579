"""Conditions keep their time while their status stays."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.conditions import Condition, Status, merged, transitions

MONDAY = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
TUESDAY = datetime(2026, 11, 17, 8, 0, tzinfo=UTC)

statuses: st.SearchStrategy[Status] = st.sampled_from(("True", "False", "Unknown"))
conditions = st.builds(
    Condition,
    type=st.sampled_from(["Ready", "Progressing", "Degraded"]),
    status=statuses,
    reason=st.sampled_from(["A", "B"]),
    message=st.text(max_size=5),
)


def ready(status: Status, reason: str = "Because", message: str = "") -> Condition:
    return Condition(type="Ready", status=status, reason=reason, message=message)


def test_a_new_condition_has_the_time_and_the_generation_of_its_decision() -> None:
    (written,) = merged([], [ready("True")], generation=3, at=MONDAY)
    assert written.last_transition_time == "2026-11-16T08:00:00Z"
    assert written.observed_generation == 3


def test_another_message_does_not_move_the_time() -> None:
    before = merged([], [ready("False", message="1 of 3")], generation=1, at=MONDAY)
    (after,) = merged(before, [ready("False", message="2 of 3")], generation=2, at=TUESDAY)
    assert after.last_transition_time == "2026-11-16T08:00:00Z"
    assert (after.message, after.observed_generation) == ("2 of 3", 2)


def test_another_status_moves_the_time() -> None:
    before = merged([], [ready("False")], generation=1, at=MONDAY)
    (after,) = merged(before, [ready("True")], generation=1, at=TUESDAY)
    assert after.last_transition_time == "2026-11-17T08:00:00Z"


def test_a_condition_that_is_not_decided_any_more_is_dropped() -> None:
    before = merged([], [ready("True")], generation=1, at=MONDAY)
    assert merged(before, [], generation=1, at=MONDAY) == []


@given(st.lists(conditions), st.lists(conditions))
def test_writing_the_same_decision_again_changes_nothing(
    before: list[Condition], now: list[Condition]
) -> None:
    first = merged(merged([], before, generation=1, at=MONDAY), now, generation=1, at=MONDAY)
    assert merged(first, now, generation=1, at=TUESDAY) == first
    assert len({condition.type for condition in first}) == len(first)


@given(st.lists(conditions, unique_by=lambda condition: condition.type))
def test_only_another_status_or_reason_is_a_transition(now: list[Condition]) -> None:
    assert transitions(now, now) == []
    assert transitions([], now) == [(None, condition) for condition in now]
    reworded = [
        Condition(type=it.type, status=it.status, reason=it.reason, message="other") for it in now
    ]
    assert transitions(now, reworded) == []
