"""The HTTPS server of the webhooks."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import msgspec
import pytest

from quiver.engine.controller import Controller, Object, Refusal
from quiver.engine.crd import Fields, Resource, resource
from quiver.engine.outcome import Outcome
from quiver.engine.webhooks import answering
from quiver.engine.webhooks.answering import ASIDE_FROM
from quiver.engine.webhooks.certificates import issued
from quiver.engine.webhooks.endpoints import endpoints_of
from quiver.engine.webhooks.server import Server
from support.web import http


class HillSpec(Fields):
    height: int = 0
    note: str = ""


@resource(group="land.example.com", version="v1")
class Hill(Resource):
    spec: HillSpec


class HillController(Controller[Hill]):
    name = "hill"
    resource = Hill

    async def reconcile(self, obj: Hill, turn: Any) -> Outcome:
        raise NotImplementedError

    def validate(self, new: Hill, old: Hill | None) -> Iterable[Refusal]:
        if new.spec.height == 13:
            raise RuntimeError(f"cannot count: {new.spec.note}")
        if new.spec.height < 1:
            yield Refusal("spec.height", "a hill has a height")
        if old and old.spec.height > new.spec.height:
            yield Refusal("spec.height", "a hill does not shrink")


class Counted:
    def __init__(self) -> None:
        self.in_flight = 0
        self.codes: list[int] = []

    def started(self) -> None:
        self.in_flight += 1

    def ended(self, code: int, seconds: float) -> None:
        assert seconds > 0
        self.in_flight -= 1
        self.codes.append(code)


class Served:
    def __init__(self, server: Server, port: int, counted: Counted) -> None:
        self.server = server
        self.port = port
        self.counted = counted
        self.authority = b""

    async def change_certificate(self) -> None:
        self.authority, pair = issued(["127.0.0.1"], now=datetime.now(UTC))
        await self.server.serve(pair)

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.decode())

    async def ask(self, body: bytes, path: str = "/validate/hills.land.example.com") -> Any:
        url = f"https://127.0.0.1:{self.port}{path}"
        return await http("POST", url, data=body, ssl=self.trusting())


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    counted = Counted()
    endpoints = endpoints_of([HillController()])
    server = Server(endpoints, bind=("127.0.0.1", port), counts=lambda _: counted)
    found = Served(server, port, counted)
    await found.change_certificate()
    yield found
    await server.stop()


def review(**spec: Any) -> bytes:
    hill: Object = {"metadata": {"name": "green"}, "spec": spec}
    body = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u-1", "operation": "CREATE", "object": hill, "oldObject": None},
    }
    return msgspec.json.encode(body)


async def test_a_review_is_answered(served: Served) -> None:
    status, answered = await served.ask(review(height=0))
    assert status == 200
    assert answered["response"]["uid"] == "u-1"
    assert answered["response"]["status"]["message"] == "spec.height: a hill has a height"


async def test_a_large_review_is_answered_too(served: Served) -> None:
    status, answered = await served.ask(review(height=1, note="x" * ASIDE_FROM))
    assert (status, answered["response"]["allowed"]) == (200, True)


async def test_a_bad_request_is_told_what_is_wrong(served: Served) -> None:
    status, text = await served.ask(b"hello")
    assert status == 400
    assert text.startswith("the body is no AdmissionReview")


async def test_every_request_is_counted_with_its_code(served: Served) -> None:
    for body in (review(height=1), review(height=0), b"", review(height=13)):
        await served.ask(body)
    assert served.counted.codes == [200, 200, 400, 500]
    assert served.counted.in_flight == 0


async def test_an_unknown_kind_is_not_found(served: Served) -> None:
    status, _ = await served.ask(review(height=1), "/validate/lakes.land.example.com")
    assert status == 404


async def test_a_bug_answers_500_and_quotes_nothing_of_the_object(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    status, text = await served.ask(review(height=13, note="hunter2"))
    assert status == 500
    assert text.startswith("/validate/hills.land.example.com failed: unexpected RuntimeError")
    assert "in validate" in caplog.text
    assert "hunter2" not in text + caplog.text


async def test_a_body_that_never_ends_is_given_up(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "TIMEOUT_SECONDS", 0.01)

    async def endless() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    url = f"https://127.0.0.1:{served.port}/validate/hills.land.example.com"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=endless(), ssl=served.trusting()) as answer,
    ):
        assert answer.status == 408


async def test_new_connections_see_the_new_certificate_and_old_ones_go_on(served: Served) -> None:
    url = f"https://127.0.0.1:{served.port}/validate/hills.land.example.com"
    connector = aiohttp.TCPConnector(ssl=served.trusting(), limit=1)
    async with aiohttp.ClientSession(connector=connector) as early:
        async with early.post(url, data=review(height=1)) as answer:
            assert answer.status == 200
            await answer.read()
        await served.change_certificate()
        # Trusts only the old authority, so this can only be the old connection.
        async with early.post(url, data=review(height=1)) as answer:
            assert answer.status == 200
    status, _ = await served.ask(review(height=1))
    assert status == 200
