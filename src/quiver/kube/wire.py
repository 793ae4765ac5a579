"""Short requests over HTTP/1.1 connections that are kept, with little between us and the socket.

An operator's cost is its writes. With `aiohttp.ClientSession` one of them takes 190 µs of our CPU,
here 50 (measured over TLS, 1.5 KB there and 2.5 KB back). So what is sent and answered in one piece
goes this way; streams and proxies stay with aiohttp. The parser is llhttp, by httptools.

A connection carries one request at a time. What is cancelled or broken in the middle is dropped,
never used again, and nothing is ever sent twice from here.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from typing import cast
from urllib.parse import urlsplit

import httptools
from multidict import CIMultiDict, CIMultiDictProxy

from quiver.kube.handshakes import Handshakes
from quiver.kube.request import Request

IDLE = 15.0
"""Seconds after which a kept connection is not trusted any more: servers close theirs later."""

# All that is ever asked about an answer.
_WANTED = frozenset({b"retry-after", b"warning"})
_NONE = CIMultiDictProxy(CIMultiDict[str]())

Headers = Sequence[tuple[str, str]]


class BrokenOff(ConnectionError):
    """The server closed the connection before its answer was complete."""


class Received:
    """An answer, all of it."""

    __slots__ = ("_body", "headers", "status")

    def __init__(self, status: int, headers: CIMultiDictProxy[str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self._body = body

    async def read(self) -> bytes:
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        """There is nothing left to close."""


class Connection(asyncio.Protocol):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Received] | None = None
        self._headers: CIMultiDict[str] | None = None
        self._body: list[bytes] = []
        self.idle_since = 0.0
        self.is_usable = True

    async def exchange(self, message: bytes) -> Received:
        """Send one request and wait for its answer."""
        assert self._transport is not None
        self._answer = self._loop.create_future()
        self._transport.write(message)
        try:
            return await self._answer
        except BaseException:
            # An answer may still be on its way, and would be taken for that of the next request.
            self.drop()
            raise

    def drop(self) -> None:
        self.is_usable = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(BrokenOff(f"the server does not speak HTTP: {error}"))
            self.drop()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_usable = False
        self._fail(error or BrokenOff("the server closed the connection"))

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() in _WANTED:
            if self._headers is None:
                self._headers = CIMultiDict()
            self._headers.add(name.decode("latin-1"), value.decode("latin-1"))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # Early hints and the like: the answer is yet to come.
            self._forget()
            return
        self.is_usable = self.is_usable and self._parser.should_keep_alive()
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            # Nobody asked: whatever it is, it would be taken for the next answer.
            self.drop()
            return
        headers = _NONE if self._headers is None else CIMultiDictProxy(self._headers)
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._forget()
        answer.set_result(Received(status, headers, body))

    def _forget(self) -> None:
        self._headers = None
        self._body = []

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)


class Wire:
    """The connections to one server; those that are free are kept, the last used one first."""

    def __init__(self, server: str, *, server_hostname: str | None = None) -> None:
        parts = urlsplit(server)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._prefix = parts.path
        self._authority = parts.netloc.rpartition("@")[2]
        self._server_hostname = server_hostname
        self._free: dict[ssl.SSLContext | None, list[Connection]] = {}
        self._handshakes = Handshakes()

    async def send(
        self, request: Request, headers: Headers, context: ssl.SSLContext | None
    ) -> Received:
        message = self._message(request, headers)
        connection = self._kept(context) or await self._connected(context)
        received = await connection.exchange(message)
        if connection.is_usable:
            connection.idle_since = asyncio.get_running_loop().time()
            self._free.setdefault(context, []).append(connection)
        return received

    async def close(self) -> None:
        await self._handshakes.settled()
        for connections in self._free.values():
            for connection in connections:
                connection.drop()
        self._free.clear()
        # Dropped transports close their sockets in the next turn of the loop.
        await asyncio.sleep(0)

    def _kept(self, context: ssl.SSLContext | None) -> Connection | None:
        free = self._free.get(context)
        if not free:
            return None
        fresh_since = asyncio.get_running_loop().time() - IDLE
        while free:
            connection = free.pop()
            if connection.is_usable and connection.idle_since >= fresh_since:
                return connection
            connection.drop()
        # The last used one is too old, so all are; and a context may have been rotated away.
        del self._free[context]
        return None

    async def _connected(self, context: ssl.SSLContext | None) -> Connection:
        loop = asyncio.get_running_loop()
        named = (self._server_hostname or self._host) if context else None
        connecting = loop.create_connection(
            lambda: Connection(loop), self._host, self._port, ssl=context, server_hostname=named
        )
        _, connection = await self._handshakes.made(connecting, lambda it: it[1].drop())
        return connection

    def _message(self, request: Request, headers: Headers) -> bytes:
        lines = [
            f"{request.method} {self._prefix}{request.target} HTTP/1.1",
            f"Host: {self._authority}",
            "User-Agent: quiver",
            *(f"{name}: {value}" for name, value in headers),
        ]
        body = request.body
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        elif request.method not in ("GET", "DELETE"):
            lines.append("Content-Length: 0")
        head = "\r\n".join(lines)
        _refuse_injection(head, lines)
        return head.encode("latin-1") + b"\r\n\r\n" + (body or b"")


def _refuse_injection(head: str, lines: list[str]) -> None:
    """No name or token may end its line and begin another, nor the path end before its time."""
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise ValueError("a header or path with a line break cannot be sent")
    if lines[0].count(" ") != 2 or not lines[0].isascii() or "\0" in head:
        raise ValueError(f"{lines[0]!r} cannot be the first line of a request")
