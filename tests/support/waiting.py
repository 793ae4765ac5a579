"""Waiting for what another process does."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(answer: Callable[[], T | None], *, within: float = 30.0) -> T:
    """The first answer that is something; a failure if there is none in time."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if found := answer():
            return found
        time.sleep(0.01)
    raise AssertionError(f"nothing within {within} s")
