"""When to try again. Time and chance are arguments, so that tests need neither."""

import asyncio
import email.utils
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from quiver.images.errors import Busy, Unreachable

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Doubles from `first` to `ceiling`, each pause between half and all of that.

    A registry that asks for a longer pause gets it, up to `patience`; beyond that the error is
    worth more to the caller than the wait.
    """

    attempts: int = 5
    first: float = 0.25
    ceiling: float = 10.0
    patience: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], float] = time.time

    async def retried(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Run something that may be done twice, until it succeeds or the attempts are used up."""
        for number in range(self.attempts - 1):
            try:
                return await attempt()
            except (Busy, Unreachable) as error:
                asked = error.retry_after if isinstance(error, Busy) else 0.0
                if asked > self.patience:
                    raise
            await self.sleep(max(asked, self.pause(number)))
        return await attempt()

    def pause(self, number: int) -> float:
        longest = min(self.ceiling, self.first * 2.0**number)
        return longest * (0.5 + self.jitter() / 2)

    def seconds_asked(self, retry_after: str) -> float:
        """The header `Retry-After`: seconds, or a date."""
        if retry_after.strip().isdecimal():
            return float(retry_after)
        try:
            date = email.utils.parsedate_to_datetime(retry_after)
        except ValueError:
            return 0.0
        return max(0.0, date.timestamp() - self.now())
