"""When to send a request again. Time and chance are arguments, so that tests need neither."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quiver.kube.errors import (
    ApiError,
    DisruptionBudgetExceeded,
    KubeError,
    TooManyRequests,
    Unreachable,
)
from quiver.kube.request import Request


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Doubles from `first` to `ceiling`, each pause between half and all of that.

    A request that may arrive twice is repeated when the connection or the server failed. One that
    may not is repeated only when the server says that it did not act (429). A longer pause that
    the server asks for is kept. The request's deadline covers all attempts and pauses.
    """

    attempts: int = 4
    first: float = 0.1
    ceiling: float = 2.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    def pause_after(self, request: Request, error: KubeError, number: int) -> float | None:
        """Seconds to wait after failed attempt `number` (from 0), or None: do not repeat."""
        if not self.may_repeat(request, error, number):
            return None
        asked = (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
        return max(asked, self.pause(number))

    def may_repeat(self, request: Request, error: KubeError, number: int) -> bool:
        if isinstance(error, DisruptionBudgetExceeded):
            return False
        if isinstance(error, TooManyRequests):
            return True
        failed = isinstance(error, Unreachable) or (
            isinstance(error, ApiError) and error.status >= 500
        )
        return failed and request.may_repeat and number + 1 < self.attempts

    def pause(self, number: int) -> float:
        longest = min(self.ceiling, self.first * 2.0 ** min(number, 16))
        return longest * (0.5 + self.jitter() / 2)
