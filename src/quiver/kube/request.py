"""One request to an API server, before anything about HTTP clients is known."""

from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from typing import ClassVar, Protocol
from urllib.parse import quote, urlencode

from multidict import CIMultiDictProxy

from quiver.kube.secretive import Secretive

JSON = "application/json"


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    """An operator asks with few different queries, and encoding one costs 7 µs."""
    return urlencode(query, quote_via=quote)


class Request(Secretive, frozen=True, kw_only=True, gc=False):
    """`may_repeat` says that doing it twice is the same as doing it once."""

    hidden: ClassVar[frozenset[str]] = frozenset({"body"})

    method: str
    path: str
    deadline: float
    subject: str = ""
    query: Mapping[str, str] = {}
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    may_repeat: bool = False
    idle: float | None = None

    def __str__(self) -> str:
        return self.subject or f"{self.method} {self.path}"

    @property
    def target(self) -> str:
        if not self.query:
            return self.path
        return f"{self.path}?{_encoded(tuple(self.query.items()))}"


class Answer(Protocol):
    """What came back, its body still unread. Whoever gets one reads it to the end or closes it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> CIMultiDictProxy[str]: ...

    async def read(self) -> bytes: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...
