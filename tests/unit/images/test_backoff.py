"""Trying again is patient, bounded and spread out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.images import Backoff, Busy, NotFound, Unreachable


class Clock:
    """Remembers the pauses instead of making them."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


class Failing:
    """Fails so many times before it succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def _busy(retry_after: float = 0.0) -> Busy:
    error = Busy("GET /", 429, "TOOMANYREQUESTS", "slow down")
    error.retry_after = retry_after
    return error


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    clock = Clock()
    backoff = Backoff(sleep=clock.sleep, jitter=lambda: 1.0)
    assert await backoff.retried(Failing(_busy(), Unreachable("reset"))) == "done"
    assert clock.pauses == [0.25, 0.5]


async def test_the_last_error_is_raised_when_the_attempts_are_used_up() -> None:
    attempt = Failing(*(Unreachable(str(number)) for number in range(9)))
    with pytest.raises(Unreachable, match="2"):
        await Backoff(attempts=3, sleep=Clock().sleep).retried(attempt)
    assert attempt.calls == 3


async def test_a_final_answer_is_not_asked_for_again() -> None:
    attempt = Failing(NotFound("GET /", 404, "NAME_UNKNOWN", "no"))
    with pytest.raises(NotFound):
        await Backoff(sleep=Clock().sleep).retried(attempt)
    assert attempt.calls == 1


async def test_a_registry_gets_the_pause_it_asks_for() -> None:
    clock = Clock()
    await Backoff(sleep=clock.sleep).retried(Failing(_busy(retry_after=7)))
    assert clock.pauses == [7]


async def test_a_registry_that_asks_for_too_long_a_pause_is_given_up() -> None:
    attempt = Failing(_busy(retry_after=3600))
    with pytest.raises(Busy):
        await Backoff(patience=60, sleep=Clock().sleep).retried(attempt)
    assert attempt.calls == 1


@settings(deadline=None)
@given(st.integers(0, 200), st.floats(0, 1))
def test_a_pause_is_never_longer_than_the_ceiling_nor_shorter_than_half_the_first(
    number: int, chance: float
) -> None:
    pause = Backoff(jitter=lambda: chance).pause(number)
    assert 0.125 <= pause <= 10


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("12", 12),
        ("soon", 0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str, seconds: float) -> None:
    assert Backoff(now=lambda: 100.0).seconds_asked(header) == seconds
