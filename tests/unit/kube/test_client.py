"""The client against a small server in this process that answers as each test says."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.kube import (
    AlreadyExists,
    ApiError,
    Client,
    Conflict,
    Forbidden,
    Gone,
    KubeConfig,
    NotFound,
    Unreachable,
    WatchEvent,
)
from quiver.kube import lines as lines_module
from quiver.kube.lines import lines as _lines

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

CORE = {
    "resources": [
        {"name": "pods", "kind": "Pod", "namespaced": True},
        {"name": "pods/status", "kind": "Pod", "namespaced": True},
        {"name": "pods/eviction", "kind": "Eviction", "namespaced": True},
        {"name": "nodes", "kind": "Node", "namespaced": False},
    ]
}
APPS = {"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True}]}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


class _Api:
    """Knows the kinds above; everything else it answers with what a test put there."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.Request] = []
        self.bodies: list[Any] = []
        self.answers: dict[str, Handler] = {
            "GET /api/v1": _json(CORE),
            "GET /apis/apps/v1": _json(APPS),
        }

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.json() if request.can_read_body else None)
        answer = self.answers.get(f"{request.method} {request.path}", _no_such_path)
        return await answer(request)

    def asked(self) -> list[str]:
        """The requests so far, without those that discover kinds."""
        lines = [f"{request.method} {request.path}" for request in self.requests]
        return [line for line in lines if line not in ("GET /api/v1", "GET /apis/apps/v1")]

    def discoveries(self) -> int:
        return len(self.requests) - len(self.asked())


def _json(body: object, status: int = 200) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer


def _refusal(code: int, reason: str, message: str = "no") -> Handler:
    return _json({"kind": "Status", "code": code, "reason": reason, "message": message}, code)


_no_such_path = _refusal(404, "NotFound", "the server could not find the requested resource")


def _stream(*chunks: bytes, broken: bool = False) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if broken:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


async def _silence(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


def _event(change: str, **fields: object) -> bytes:
    return json.dumps({"type": change, "object": fields}, ensure_ascii=False).encode() + b"\n"


@pytest.fixture
async def api() -> AsyncIterator[_Api]:
    api = _Api()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield api
    await runner.cleanup()


@pytest.fixture
async def client(api: _Api) -> AsyncIterator[Client]:
    async with Client(KubeConfig(server=api.url, namespace="mine")) as client:
        yield client


async def test_a_group_s_kinds_are_discovered_once(api: _Api, client: Client) -> None:
    api.answers["GET /api/v1/namespaces/mine/pods/a"] = _json(POD)
    api.answers["GET /api/v1/nodes/n"] = _json({})
    for _ in range(3):
        await client.get("v1", "Pod", "a", "mine")
        await client.get("v1", "Node", "n")
    assert api.discoveries() == 1


async def test_each_group_is_asked_for_its_own_kinds(api: _Api, client: Client) -> None:
    api.answers["GET /apis/apps/v1/namespaces/mine/deployments/d"] = _json({"kind": "Deployment"})
    assert await client.get("apps/v1", "Deployment", "d", "mine") == {"kind": "Deployment"}
    assert api.requests[0].path == "/apis/apps/v1"


async def test_a_kind_without_namespaces_is_found_where_one_is_given(
    api: _Api, client: Client
) -> None:
    api.answers["GET /api/v1/nodes/n"] = _json({"kind": "Node"})
    assert await client.get("v1", "Node", "n", "mine") == {"kind": "Node"}


@pytest.mark.parametrize("kind", ["Nothing", "Eviction"])
async def test_an_unknown_kind_is_not_found_and_the_sentence_names_it(
    kind: str, client: Client
) -> None:
    with pytest.raises(NotFound) as refusal:
        await client.get("v1", kind, "a")
    assert str(refusal.value) == f"404 NotFound: the server has no kind {kind} in v1"


async def test_an_unknown_group_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match="could not find the requested resource"):
        await client.get("nothing.example.com/v1", "Thing", "a")


async def test_a_kind_that_came_later_is_discovered(api: _Api, client: Client) -> None:
    with pytest.raises(NotFound):
        await client.get("v1", "Late", "a")
    late = {"name": "lates", "kind": "Late", "namespaced": False}
    api.answers["GET /api/v1"] = _json({"resources": [*CORE["resources"], late]})
    api.answers["GET /api/v1/lates/a"] = _json({"kind": "Late"})
    assert await client.get("v1", "Late", "a") == {"kind": "Late"}


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (403, "Forbidden", Forbidden),
        (500, "InternalError", ApiError),
    ],
)
async def test_a_refusal_has_the_type_of_its_status_and_the_server_s_sentence(
    code: int, reason: str, kind: type[ApiError], api: _Api, client: Client
) -> None:
    api.answers["GET /api/v1/nodes/n"] = _refusal(code, reason, "you may not")
    with pytest.raises(ApiError) as refusal:
        await client.get("v1", "Node", "n")
    assert type(refusal.value) is kind
    assert str(refusal.value) == f"get Node n failed: {code} {reason}: you may not"


async def test_a_server_that_does_not_answer_in_time_is_unreachable(api: _Api) -> None:
    api.answers["GET /slow"] = _silence
    async with Client(KubeConfig(server=api.url), deadline=0.05) as client:
        with pytest.raises(Unreachable, match=f"GET /slow on {api.url} failed: TimeoutError"):
            await client.raw("GET", "/slow")


async def test_a_body_that_does_not_end_in_time_is_unreachable(api: _Api) -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{")
        return await _silence(request)

    api.answers["GET /half"] = half
    async with Client(KubeConfig(server=api.url), deadline=0.05) as client:
        with pytest.raises(Unreachable):
            await client.raw("GET", "/half")


async def test_a_server_that_refuses_the_connection_is_unreachable() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}"
        async with Client(KubeConfig(server=url)) as client:
            with pytest.raises(Unreachable, match=f"GET /api/v1 on {url} failed"):
                await client.get("v1", "Pod", "a", "mine")


async def test_a_connection_that_breaks_in_the_middle_of_an_answer_is_unreachable(
    api: _Api, client: Client
) -> None:
    api.answers["GET /broken"] = _stream(b'{"half":', broken=True)
    with pytest.raises(Unreachable):
        await client.json("GET", "/broken")


async def test_a_token_is_sent_with_every_request(api: _Api) -> None:
    async with Client(KubeConfig(server=api.url, token="secret")) as client:
        await client.raw("GET", "/api/v1")
    assert api.requests[0].headers["Authorization"] == "Bearer secret"


async def test_without_a_token_nothing_is_said_about_one(api: _Api, client: Client) -> None:
    await client.raw("GET", "/api/v1")
    assert "Authorization" not in api.requests[0].headers


async def test_a_list_has_the_version_from_which_to_watch(api: _Api, client: Client) -> None:
    answer = {"items": [POD], "metadata": {"resourceVersion": "17"}}
    api.answers["GET /api/v1/pods"] = _json(answer)
    assert await client.list_with_version("v1", "Pod", labels="app=a,b!=c") == ([POD], "17")
    assert api.requests[-1].query == {"labelSelector": "app=a,b!=c"}
    assert await client.list("v1", "Pod") == [POD]
    assert not api.requests[-1].query


@pytest.mark.parametrize(("namespace", "path"), [(None, "mine"), ("other", "other")])
async def test_an_object_without_a_namespace_is_created_in_the_one_of_the_context(
    namespace: str | None, path: str, api: _Api, client: Client
) -> None:
    pod = {**POD, "metadata": {"name": "a"} | ({"namespace": namespace} if namespace else {})}
    api.answers[f"POST /api/v1/namespaces/{path}/pods"] = _json(pod, 201)
    assert await client.create(pod) == pod
    assert api.bodies[-1] == pod
    assert api.requests[-1].content_type == "application/json"


@pytest.mark.parametrize(("force", "said"), [(False, "false"), (True, "true")])
async def test_apply_names_its_manager_and_takes_fields_only_by_force(
    force: bool, said: str, api: _Api, client: Client
) -> None:
    api.answers["PATCH /api/v1/namespaces/mine/pods/a"] = _json(POD)
    await client.apply(POD, force=force)
    assert api.requests[-1].content_type == "application/apply-patch+yaml"
    assert api.requests[-1].query == {"fieldManager": "quiver", "force": said}


async def test_a_patch_of_a_subresource_goes_to_its_path(api: _Api, client: Client) -> None:
    api.answers["PATCH /api/v1/nodes/n/status"] = _json({})
    await client.patch("v1", "Node", "n", {"status": {}}, subresource="status")
    assert api.requests[-1].content_type == "application/merge-patch+json"
    assert api.bodies[-1] == {"status": {}}


async def test_deleting_what_is_gone_is_an_error_unless_that_is_fine(client: Client) -> None:
    with pytest.raises(NotFound):
        await client.delete("v1", "Node", "n")
    await client.delete("v1", "Node", "n", missing_ok=True)


async def test_missing_ok_forgives_nothing_else(api: _Api, client: Client) -> None:
    api.answers["DELETE /api/v1/nodes/n"] = _refusal(403, "Forbidden")
    with pytest.raises(ApiError, match="403 Forbidden"):
        await client.delete("v1", "Node", "n", missing_ok=True)


async def test_a_client_outside_its_context_says_how_to_use_it(api: _Api) -> None:
    with pytest.raises(RuntimeError, match="use the client as a context"):
        await Client(KubeConfig(server=api.url)).raw("GET", "/api/v1")


async def _watched(client: Client) -> list[WatchEvent]:
    return [event async for event in client.watch("v1", "Pod", "17")]


async def test_a_watch_goes_on_where_the_list_ended_and_ends_with_the_server(
    api: _Api, client: Client
) -> None:
    events = _event("ADDED", n=1) + _event("MODIFIED", n=2) + _event("DELETED", n=3)
    api.answers["GET /api/v1/pods"] = _stream(events)
    assert await _watched(client) == [
        ("ADDED", {"n": 1}),
        ("MODIFIED", {"n": 2}),
        ("DELETED", {"n": 3}),
    ]
    assert api.requests[-1].query == {
        "watch": "true",
        "resourceVersion": "17",
        "allowWatchBookmarks": "true",
    }


async def test_bookmarks_are_hidden(api: _Api, client: Client) -> None:
    bookmark = _event("BOOKMARK", metadata={"resourceVersion": "18"})
    api.answers["GET /api/v1/pods"] = _stream(bookmark + _event("ADDED", n=1) + bookmark)
    assert await _watched(client) == [("ADDED", {"n": 1})]


async def test_events_arrive_whole_when_each_byte_arrives_alone(api: _Api, client: Client) -> None:
    events = _event("ADDED", name="größer") + _event("DELETED", name="二")
    api.answers["GET /api/v1/pods"] = _stream(*(bytes([byte]) for byte in events))
    assert await _watched(client) == [("ADDED", {"name": "größer"}), ("DELETED", {"name": "二"})]


async def test_an_event_may_be_larger_than_the_reader_s_buffer(api: _Api, client: Client) -> None:
    api.answers["GET /api/v1/pods"] = _stream(_event("ADDED", data="x" * 2_000_000))
    [event] = await _watched(client)
    assert len(event.object["data"]) == 2_000_000


async def test_an_event_larger_than_any_object_is_refused(
    api: _Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 1000)
    api.answers["GET /api/v1/pods"] = _stream(b"x" * 2000)
    with pytest.raises(Unreachable, match="larger than any Kubernetes object"):
        await _watched(client)


@pytest.mark.parametrize("inside", [True, False])
async def test_a_version_that_is_compacted_away_is_gone(
    inside: bool, api: _Api, client: Client
) -> None:
    error = _event("ERROR", kind="Status", code=410, reason="Expired", message="too old")
    answer = _stream(error) if inside else _refusal(410, "Expired", "too old")
    api.answers["GET /api/v1/pods"] = answer
    with pytest.raises(Gone, match="410 Expired: too old"):
        await _watched(client)


async def test_events_before_a_broken_connection_are_seen_and_then_it_is_unreachable(
    api: _Api, client: Client
) -> None:
    arrived = asyncio.Event()

    async def breaks_off(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(_event("ADDED", n=1) + b'{"type": "ADD')
        await arrived.wait()
        assert request.transport is not None
        request.transport.abort()
        return response

    api.answers["GET /api/v1/pods"] = breaks_off
    events = aiter(client.watch("v1", "Pod", "17"))
    assert await anext(events) == ("ADDED", {"n": 1})
    arrived.set()
    with pytest.raises(Unreachable, match="the watch on Pod broke off"):
        await anext(events)


class _Chunks:
    """A stream that hands out exactly these chunks, which no socket promises."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    async def iter_any(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


def _read(chunks: list[bytes]) -> list[bytes]:
    async def read() -> list[bytes]:
        return [line async for line in _lines(_Chunks(chunks).iter_any())]

    return asyncio.run(read())


_THREE = [b'{"a":1}', '{"ü":"二"}'.encode(), b"{}"]


@pytest.mark.parametrize("cut", range(len(b"\n".join(_THREE)) + 2))
def test_lines_are_the_same_wherever_they_are_cut_in_two(cut: int) -> None:
    text = b"\n".join(_THREE) + b"\n"
    assert _read([text[:cut], text[cut:]]) == _THREE


_line = st.binary(min_size=1, max_size=20).map(lambda line: line.replace(b"\n", b"-"))


@settings(deadline=None, max_examples=60)
@given(st.lists(_line, max_size=8), st.lists(st.integers(min_value=0, max_value=160), max_size=12))
def test_lines_are_the_same_however_often_they_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    text = b"".join(line + b"\n" for line in lines)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    chunks = [text[start:end] for start, end in pairwise(edges)]
    assert _read(chunks) == lines


def test_empty_lines_and_an_unfinished_last_line_are_no_events() -> None:
    assert _read([b"\n\n{}\n\n", b'{"half']) == [b"{}"]
