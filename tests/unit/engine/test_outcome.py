"""What follows from the end of a reconcile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.outcome import (
    SOONEST_REQUEUE,
    WAIT_AT_MOST,
    Decision,
    Next,
    Outcome,
    ReconcileError,
    Requeue,
    Terminal,
    Transient,
    Wait,
    next_attempt,
)
from quiver.kube.errors import Conflict, Unreachable


def test_a_finished_reconcile_rests_until_the_object_changes() -> None:
    assert next_attempt(None) == Decision(Next.ON_CHANGE)


def test_a_requeue_comes_back_when_it_asked_to() -> None:
    decision = next_attempt(Requeue(after=30, reason="2 of 3 shards are copied"))
    assert decision == Decision(Next.LATER, after=30, message="2 of 3 shards are copied")


def test_a_wait_says_what_for_and_comes_back_even_if_no_watch_reports_it() -> None:
    decision = next_attempt(Wait(on="Secret shop/keys", reason="it holds the API key"))
    assert decision.message == "Waiting for Secret shop/keys: it holds the API key"
    assert (decision.next, decision.after) == (Next.LATER, WAIT_AT_MOST)


def test_a_wait_can_shorten_its_safety_timer() -> None:
    assert next_attempt(Wait(on="a", reason="b", at_most=60)).after == 60


@given(st.floats())
def test_no_requeue_spins(after: float) -> None:
    assert next_attempt(Requeue(after=after, reason="")).after >= SOONEST_REQUEUE


@pytest.mark.parametrize("outcome", [Requeue(after=0, reason=""), Wait(on="", reason="")])
def test_an_unfinished_outcome_ends_a_chain_of_phases(outcome: Outcome) -> None:
    assert (None or outcome or Requeue(after=1, reason="never reached")) is outcome


@pytest.mark.parametrize(
    ("error", "then"),
    [
        (ReconcileError("the bucket is full"), Next.BACKOFF),
        (Transient("the bucket is full"), Next.BACKOFF),
        (Terminal("the bucket is full"), Next.ON_CHANGE),
    ],
)
def test_an_error_is_retried_as_its_type_says(error: ReconcileError, then: Next) -> None:
    decision = next_attempt(error)
    assert (decision.next, decision.failed, decision.message) == (then, True, "the bucket is full")


def test_only_what_may_pass_by_itself_is_not_told_at_once() -> None:
    assert not next_attempt(Transient("the network is slow")).is_told_at_once
    assert not next_attempt(Unreachable("no answer")).is_told_at_once
    assert next_attempt(Terminal("there is no such version")).is_told_at_once
    assert next_attempt(ReconcileError("the quota is used up")).is_told_at_once
    together = ExceptionGroup("", [Transient("slow"), ReconcileError("quota")])
    assert next_attempt(together).is_told_at_once


def test_an_error_of_an_operator_inherits_its_policy() -> None:
    class UnknownVersion(Terminal):
        """An operator's own error."""

    assert next_attempt(UnknownVersion("there is no 1.99")).next is Next.ON_CHANGE


@pytest.mark.parametrize(
    "error",
    [Conflict(409, "Conflict", "helm owns .spec.replicas"), Unreachable("no answer in 5 s")],
)
def test_what_the_api_server_said_is_retried_and_quoted(error: Exception) -> None:
    decision = next_attempt(error)
    assert (decision.next, decision.message) == (Next.BACKOFF, str(error))


def test_an_unexpected_error_is_retried_but_never_quoted() -> None:
    decision = next_attempt(ValueError("cannot parse 'hunter2'"))
    assert decision.next is Next.BACKOFF
    assert "ValueError" in decision.message
    assert "hunter2" not in decision.message


def test_a_group_is_terminal_only_if_all_of_it_is() -> None:
    terminal, transient = Terminal("no such image"), Transient("registry is slow")
    both = ExceptionGroup("", [terminal, ExceptionGroup("", [transient, terminal])])
    assert next_attempt(both) == Decision(
        Next.BACKOFF, failed=True, message="no such image; registry is slow"
    )
    assert next_attempt(ExceptionGroup("", [terminal])) == next_attempt(terminal)


errors = st.sampled_from([Terminal("a"), Transient("b"), ReconcileError("c"), KeyError("d")])
groups = st.recursive(
    errors, lambda inner: st.lists(inner, min_size=1).map(lambda es: ExceptionGroup("", es))
)


def _leaves(error: Exception) -> list[Exception]:
    if isinstance(error, ExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


@given(groups)
def test_no_failure_that_could_pass_is_given_up(error: Exception) -> None:
    decision = next_attempt(error)
    given_up = decision.next is Next.ON_CHANGE
    assert given_up == all(isinstance(leaf, Terminal) for leaf in _leaves(error))
    assert decision.failed
    assert decision.message
