"""What goes over the wire beside the request: proxies, impersonation, warnings, fair shares."""

import asyncio

import pytest
from aiohttp import web

from quiver.kube import Client, Impersonation, KubeConfig, Unreachable
from unit.kube.fake_api import MAP, MAP_PATH, FakeApi, says


async def test_a_proxy_is_asked_for_the_server_and_its_refusal_is_told_without_the_password() -> (
    None
):
    heads: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        config = KubeConfig(
            server="https://api.invalid", proxy_url=f"http://user:hunter2@127.0.0.1:{port}"
        )
        async with Client(config, deadline=5.0) as client:
            with pytest.raises(Unreachable, match="ClientHttpProxyError: 403 Forbidden") as failure:
                await client.raw("POST", "/api/v1")
    assert heads[0].startswith(b"CONNECT api.invalid:443 ")
    assert b"Proxy-Authorization: Basic dXNlcjpodW50ZXIy" in heads[0]
    assert "hunter2" not in f"{failure.value} {failure.value.__cause__}"


async def test_a_proxy_that_is_away_is_named_without_its_password() -> None:
    config = KubeConfig(server="http://api.invalid", proxy_url="http://u:hunter2@127.0.0.1:1")
    async with Client(config, deadline=2.0) as client:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1") as failure:
            await client.raw("POST", "/api/v1")
    assert "hunter2" not in str(failure.value)
    assert "hunter2" not in str(failure.value.__cause__)


async def test_who_is_impersonated_is_said_in_headers(fake: FakeApi) -> None:
    jane = Impersonation(user="jane", groups=("a", "b"), uid="7")
    async with Client(KubeConfig(server=fake.url, impersonation=jane)) as client:
        await client.raw("GET", "/api/v1")
        await client.impersonating(Impersonation(user="joe")).raw("GET", "/api/v1")
    first, second = (request.headers for request in fake.requests)
    assert first["Impersonate-User"] == "jane"
    assert first.getall("Impersonate-Group") == ["a", "b"]
    assert first["Impersonate-Uid"] == "7"
    assert second["Impersonate-User"] == "joe"
    assert "Impersonate-Group" not in second


async def test_a_redirect_is_not_followed_with_our_token(fake: FakeApi) -> None:
    fake.on("GET /there", says({}, 302, Location=f"{fake.url}/elsewhere"))
    async with Client(KubeConfig(server=fake.url, token="t")) as client:
        with pytest.raises(Exception, match="GET /there failed: 302"):
            await client.raw("GET", "/there")
    assert fake.asked("GET /elsewhere") == 0


async def test_no_more_requests_are_under_way_than_there_are_connections(fake: FakeApi) -> None:
    under_way, most = 0, 0

    async def busy(_: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return web.json_response(MAP)

    fake.on(f"GET {MAP_PATH}", busy)
    async with Client(KubeConfig(server=fake.url), connections=3) as client:
        await asyncio.gather(*(client.get("v1", "ConfigMap", "a", "mine") for _ in range(20)))
    assert most == 3


async def test_warnings_reach_the_callback(fake: FakeApi) -> None:
    heard: list[str] = []
    fake.on(f"GET {MAP_PATH}", says(MAP, Warning='299 - "v1 ConfigMap is old"'))
    async with Client(KubeConfig(server=fake.url), on_warning=heard.append) as client:
        await client.get("v1", "ConfigMap", "a", "mine")
    assert heard == ["v1 ConfigMap is old"]


async def test_a_request_s_repr_does_not_show_what_it_carries(fake: FakeApi) -> None:
    seen: list[str] = []

    async def note(request, send):  # type: ignore[no-untyped-def]
        seen.append(repr(request))
        return await send(request)

    async with Client(KubeConfig(server=fake.url), interceptor=note) as client:
        await client.raw("GET", "/api/v1", {"password": "hunter2"})
    assert "path='/api/v1'" in seen[0]
    assert "hunter2" not in seen[0]
