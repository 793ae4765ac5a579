"""Requests to one registry: each with a deadline, each failure a typed error.

`once` sends a request once. `repeated` tries again where that helps, and is only for requests
that may arrive twice.
"""

import asyncio
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

import aiohttp
from yarl import URL

from quiver.images.backoff import Backoff
from quiver.images.errors import Busy, Refused, RegistryError, Unreachable, refusal

_MAX_DOCUMENT = 16 * 1024 * 1024
# The deadline of a transfer grows with its size; slower than this is as good as stuck.
_SLOWEST_BYTES_PER_SECOND = 256 * 1024
_MAY_BE_REDIRECTED = frozenset({"GET", "HEAD"})


class Request(NamedTuple):
    """`body` is sent as it is, or streamed from a file; `expects` is the answer's size if known."""

    method: str
    url: URL
    headers: Mapping[str, str] = {}
    body: bytes | Path | None = None
    expects: int = 0

    def __str__(self) -> str:
        return f"{self.method} {self.url}"

    def deadline(self, patience: float) -> float:
        return patience + (self._bytes_sent() + self.expects) / _SLOWEST_BYTES_PER_SECOND

    def _bytes_sent(self) -> int:
        if isinstance(self.body, Path):
            return self.body.stat().st_size
        return len(self.body or b"")


class Answer(NamedTuple):
    url: URL
    headers: Mapping[str, str]
    body: bytes
    next_page: URL | None


class Transport:
    def __init__(
        self, base: str, *, deadline: float, backoff: Backoff, tls: ssl.SSLContext | None
    ) -> None:
        self.base = _checked(base)
        self.backoff = backoff
        self._deadline = deadline
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._tls or True),
            # Digests are of the bytes as stored: nothing on the way may compress them.
            headers={"User-Agent": "quiver", "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()

    async def repeated(self, request: Request) -> Answer:
        return await self.backoff.retried(lambda: self.once(request))

    async def once(self, request: Request) -> Answer:
        seconds = request.deadline(self._deadline)
        try:
            async with asyncio.timeout(seconds):
                return await self._exchange(request)
        except TimeoutError as error:
            raise Unreachable(f"{request} was not answered within {seconds:.0f} s.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{request} failed: {error!r}.") from error

    async def _exchange(self, request: Request) -> Answer:
        follow = request.method in _MAY_BE_REDIRECTED
        with _payload(request.body) as data:
            async with self._open().request(
                request.method,
                request.url,
                headers=request.headers,
                data=data,
                allow_redirects=follow,
            ) as answer:
                body = await _bounded(answer, request)
                if not 200 <= answer.status < 300:
                    raise self._refusal(request, answer, body)
                return Answer(answer.url, answer.headers, body, _next_page(answer))

    def _refusal(self, request: Request, answer: aiohttp.ClientResponse, body: bytes) -> Refused:
        error = refusal(str(request), answer.status, body)
        if isinstance(error, Busy):
            error.retry_after = self.backoff.seconds_asked(answer.headers.get("Retry-After", ""))
        return error

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("use the registry as a context: `async with Registry(url) as …`")
        return self._session


async def _bounded(answer: aiohttp.ClientResponse, request: Request) -> bytes:
    """The answer's body, read no further than it may be long."""
    limit = max(request.expects, _MAX_DOCUMENT)
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise RegistryError(f"{request} was answered with more than {limit} bytes.")
    return bytes(body)


@contextmanager
def _payload(body: bytes | Path | None) -> Iterator[bytes | IO[bytes] | None]:
    if not isinstance(body, Path):
        yield body
        return
    with body.open("rb") as file:
        yield file


def _next_page(answer: aiohttp.ClientResponse) -> URL | None:
    link = answer.links.get("next")
    url = link.get("url") if link else None
    return url if isinstance(url, URL) else None


def _checked(base: str) -> URL:
    url = URL(base.rstrip("/"))
    if url.scheme not in {"http", "https"} or not url.host:
        raise RegistryError(
            f"{base!r} is not the address of a registry; write it like http://10.89.0.2:5000."
        )
    return url
