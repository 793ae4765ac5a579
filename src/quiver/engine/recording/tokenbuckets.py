"""Token buckets, one for each key: so many at once, then one per so many seconds."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class _Level(NamedTuple):
    tokens: float
    at: float


class TokenBuckets(Generic[K]):
    """Of more keys than `most`, those that took longest ago are forgotten, hence full again."""

    def __init__(self, *, burst: int, seconds_per_token: float, most: int) -> None:
        self._burst = burst
        self._seconds_per_token = seconds_per_token
        self._most = most
        self._levels: OrderedDict[K, _Level] = OrderedDict()

    def __len__(self) -> int:
        return len(self._levels)

    def take(self, key: K, at: float) -> bool:
        """Whether there was a token; `at` is in seconds of any clock, and may step back."""
        tokens = self._tokens(key, at)
        granted = tokens >= 1
        self._levels[key] = _Level(tokens - granted, at)
        self._levels.move_to_end(key)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return granted

    def _tokens(self, key: K, at: float) -> float:
        level = self._levels.get(key)
        if level is None:
            return self._burst
        refilled = max(0.0, at - level.at) / self._seconds_per_token
        return min(self._burst, level.tokens + refilled)
