"""Requests over kept connections, against a server that writes bytes as told."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from quiver.kube.request import Request
from quiver.kube.wire import IDLE, BrokenOff, Wire

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Sends one of its answers for each request, and counts connections."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(_length(head)))
                answer = self.answers.pop(0) if self.answers else OK
                writer.write(answer)
                await writer.drain()
                if b"close" in answer or not answer:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _length(head: bytes) -> int:
    _, _, rest = head.lower().partition(b"content-length: ")
    return int(rest.partition(b"\r\n")[0] or 0)


@asynccontextmanager
async def serving(*answers: bytes) -> AsyncIterator[tuple[Server, Wire]]:
    server = Server(*answers)
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        server.url = f"http://127.0.0.1:{port}"
        wire = Wire(server.url)
        yield server, wire
        await wire.close()


def get(path: str = "/api/v1", **fields: object) -> Request:
    return Request(method="GET", path=path, deadline=5.0, **fields)  # type: ignore[arg-type]


async def body(wire: Wire, request: Request | None = None) -> tuple[int, bytes]:
    async with asyncio.timeout(5):
        answer = await wire.send(request or get(), [], None)
        return answer.status, await answer.read()


async def test_one_connection_serves_many_requests() -> None:
    async with serving() as (server, wire):
        for _ in range(3):
            assert await body(wire) == (200, b"{}")
        assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    async with serving() as (server, wire):
        await asyncio.gather(*(body(wire) for _ in range(5)))
        assert server.connections == 5
        await asyncio.gather(*(body(wire) for _ in range(5)))
        assert server.connections == 5


async def test_what_is_sent_is_what_was_asked_for() -> None:
    async with serving() as (server, wire):
        request = Request(
            method="POST", path="/x", deadline=5.0, query={"a": "b c"}, body=b'{"z":1}'
        )
        await wire.send(request, [("Accept", "application/json")], None)
    [head] = server.heads
    assert head.startswith(b"POST /x?a=b%20c HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAccept: application/json\r\n" in head
    assert b"\r\nContent-Length: 7\r\n" in head
    assert server.bodies == [b'{"z":1}']


async def test_a_body_in_chunks_is_put_together() -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
    )
    async with serving(chunked) as (server, wire):
        assert await body(wire) == (200, b"abcdefg")
        assert await body(wire) == (200, b"{}")
        assert server.connections == 1


async def test_early_hints_are_no_answer() -> None:
    async with serving(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK) as (_, wire):
        assert await body(wire) == (200, b"{}")


async def test_warnings_and_when_to_come_back_are_told() -> None:
    refusal = (
        b'HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nWarning: 299 - "a"\r\n'
        b'Warning: 299 - "b"\r\nX-Other: z\r\nContent-Length: 0\r\n\r\n'
    )
    async with serving(refusal) as (_, wire):
        answer = await wire.send(get(), [], None)
    assert answer.headers["Retry-After"] == "7"
    assert answer.headers.getall("Warning") == ['299 - "a"', '299 - "b"']
    assert "X-Other" not in answer.headers


async def test_a_connection_that_the_server_will_close_is_not_used_again() -> None:
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    async with serving(closing) as (server, wire):
        await body(wire)
        await body(wire)
        assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="closed without a word"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{}", id="half"
        ),
        pytest.param(b"SSH-2.0-close\r\n", id="no HTTP"),
    ],
)
async def test_an_answer_that_breaks_off_is_an_error_and_is_sent_once(answer: bytes) -> None:
    async with serving(answer) as (server, wire):
        with pytest.raises((BrokenOff, ConnectionError)):
            await body(wire)
        assert len(server.heads) == 1
        assert await body(wire) == (200, b"{}")


async def test_a_cancelled_request_takes_its_connection_with_it() -> None:
    """Otherwise the late answer would be taken for the next one's."""
    async with serving(b"HTTP/1.1 100 Continue\r\n\r\n") as (server, wire):
        asking = asyncio.create_task(body(wire))
        while not server.heads:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert await body(wire) == (200, b"{}")
        assert server.connections == 2


async def test_a_connection_that_was_idle_for_long_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving() as (server, wire):
        await body(wire)
        [[kept]] = wire._free.values()
        kept.idle_since -= IDLE + 1
        await body(wire)
        assert server.connections == 2


@pytest.mark.parametrize(
    ("request_", "headers"),
    [
        (get("/a b"), []),
        (get("/a\r\nX: y"), []),
        (get("/ä"), []),
        (get(), [("Authorization", "Bearer x\r\nX: y")]),
        (get(), [("Authorization", "Bearer x\ny")]),
    ],
)
async def test_nothing_can_be_smuggled_into_the_head(
    request_: Request, headers: list[tuple[str, str]]
) -> None:
    async with serving() as (server, wire):
        with pytest.raises(ValueError, match="cannot be"):
            await wire.send(request_, headers, None)
        assert server.heads == []


async def test_no_socket_is_left() -> None:
    async with serving() as (_, wire):
        await asyncio.gather(*(body(wire) for _ in range(3)))
    gc.collect()
