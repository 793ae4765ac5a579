"""How often to ask again a server that is busy, and how long to wait before."""

import random
import time
from collections.abc import Callable

import msgspec

TRIES = 6
_FIRST_DELAY = 2.0
_LONGEST_DELAY = 60.0


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """Waiting and chance, so that a test needs neither."""

    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    tries: int = TRIES

    def delay(self, failures: int, *, asked: float = 0.0) -> float:
        """Doubles with each failure; never shorter than the server asked for, within reason."""
        doubled = _FIRST_DELAY * 2.0 ** (failures - 1) * (0.5 + self.jitter())
        return min(max(doubled, asked), _LONGEST_DELAY)

    def wait(self, failures: int, *, asked: float = 0.0) -> None:
        self.sleep(self.delay(failures, asked=asked))
