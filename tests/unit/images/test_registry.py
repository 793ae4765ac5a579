"""What the client makes of a registry that fails, lies or stalls.

How it works with one that does not is tested against the real one, in tests/cluster.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from quiver.images import (
    Artifact,
    ArtifactFile,
    Backoff,
    BadReference,
    Busy,
    Content,
    Corrupt,
    Descriptor,
    Layout,
    Refused,
    Registry,
    RegistryError,
    RunConfig,
    Unauthorized,
    Unreachable,
    pack,
)
from quiver.images.oci import INDEX, MANIFEST, describe, digest_of

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[Registry]]

BLOB = describe(b"hello", "text/plain")


class Script:
    """Answers each request with the next of these, and the last one ever after."""

    def __init__(self, *answers: Callable[[], web.StreamResponse]) -> None:
        self.answers = list(answers)
        self.seen: list[str] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        self.seen.append(f"{request.method} {request.path}")
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer()


def says(status: int, text: str = "", **headers: str) -> Callable[[], web.StreamResponse]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda: web.Response(status=status, text=text, headers=named)


class Pauses(list[float]):
    async def sleep(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def serve(pauses: Pauses) -> AsyncIterator[Serve]:
    """A client of a registry that has one handler for everything."""
    cleanup: list[Callable[[], Awaitable[None]]] = []

    async def start(handler: Handler) -> Registry:
        async def answer(request: web.Request) -> web.StreamResponse:
            return await handler(request)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        server = TestServer(app)
        await server.start_server()
        backoff = Backoff(sleep=pauses.sleep, jitter=lambda: 1.0)
        registry = Registry(str(server.make_url("/")), deadline=0.5, backoff=backoff)
        await registry.__aenter__()
        cleanup.append(server.close)
        cleanup.append(lambda: registry.__aexit__(None, None, None))
        return registry

    yield start
    for close in reversed(cleanup):
        await close()


async def test_a_busy_registry_is_asked_again_after_the_pause_it_wants(
    serve: Serve, pauses: Pauses
) -> None:
    registry = await serve(Script(says(429, Retry_After="3"), says(200, "hello")))
    assert await registry.blob("app", BLOB) == b"hello"
    assert pauses == [3]


async def test_a_failing_registry_is_asked_five_times(serve: Serve, pauses: Pauses) -> None:
    script = Script(says(500))
    registry = await serve(script)
    with pytest.raises(Busy, match="was answered with 500"):
        await registry.ping()
    assert len(script.seen) == 5
    assert pauses == [0.25, 0.5, 1.0, 2.0]


@pytest.mark.parametrize("status", [400, 401, 403, 405, 501])
async def test_a_refusal_is_not_asked_for_again(serve: Serve, status: int) -> None:
    script = Script(says(status))
    registry = await serve(script)
    with pytest.raises(Refused) as caught:
        await registry.ping()
    assert caught.value.status == status
    assert isinstance(caught.value, Unauthorized) == (status in {401, 403})
    assert len(script.seen) == 1


async def test_an_error_carries_the_registry_s_own_sentence(serve: Serve) -> None:
    body = '{"errors":[{"code":"NAME_INVALID","message":"that is no name"}]}'
    registry = await serve(Script(says(400, body)))
    with pytest.raises(Refused, match="400 NAME_INVALID: that is no name"):
        await registry.tags("app")


async def test_an_answer_that_breaks_off_is_asked_for_again(serve: Serve) -> None:
    seen: list[str] = []

    async def breaks_off_once(request: web.Request) -> web.StreamResponse:
        seen.append(request.path)
        if len(seen) > 1:
            return web.Response(text="hello")
        answer = web.StreamResponse(headers={"Content-Length": "5"})
        await answer.prepare(request)
        await answer.write(b"he")
        assert request.transport
        request.transport.close()
        return answer

    registry = await serve(breaks_off_once)
    assert await registry.blob("app", BLOB) == b"hello"
    assert len(seen) == 2


async def test_a_registry_that_does_not_answer_in_time_is_unreachable(serve: Serve) -> None:
    async def stalls(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    registry = await serve(stalls)
    with pytest.raises(Unreachable, match="was not answered within"):
        await registry.ping()


async def test_a_closed_port_is_unreachable(unused_tcp_port: int, pauses: Pauses) -> None:
    address = f"http://127.0.0.1:{unused_tcp_port}"
    async with Registry(address, backoff=Backoff(sleep=pauses.sleep)) as registry:
        with pytest.raises(Unreachable, match=address):
            await registry.ping()
    assert len(pauses) == 4


async def test_a_server_that_is_no_registry_is_told_apart(serve: Serve) -> None:
    registry = await serve(Script(says(404)))
    with pytest.raises(RegistryError, match="There is no registry at http://"):
        await registry.ping()


async def test_a_page_that_is_no_list_is_told_apart(serve: Serve) -> None:
    registry = await serve(Script(says(200, "<html>")))
    with pytest.raises(RegistryError, match="does not answer like a registry"):
        await registry.catalog()


@pytest.mark.parametrize("address", ["", "10.0.0.1:5000", "ftp://host", "http://"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(RegistryError, match="is not the address of a registry"):
        Registry(address)


async def test_a_blob_with_other_bytes_is_refused(serve: Serve) -> None:
    registry = await serve(Script(says(200, "jello")))
    with pytest.raises(Corrupt):
        await registry.blob("app", BLOB)


async def test_a_manifest_other_than_its_header_promises_is_refused(serve: Serve) -> None:
    registry = await serve(Script(says(200, "{}", Docker_Content_Digest=BLOB.digest)))
    with pytest.raises(Corrupt):
        await registry.manifest("app", "latest")


async def test_an_endless_answer_is_cut_off(serve: Serve) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(20):
            await answer.write(bytes(1024 * 1024))
        return answer

    registry = await serve(endless)
    with pytest.raises(RegistryError, match="was answered with more than"):
        await registry.manifest("app", "latest")


async def test_pages_that_link_in_a_circle_end(serve: Serve) -> None:
    link = '</v2/app/tags/list?n=100>; rel="next"'
    registry = await serve(Script(says(200, '{"tags":["a"]}', Link=link)))
    assert await registry.tags("app") == ["a"]


@pytest.mark.parametrize("name", ["", "UPPER", "a//b", "../x", "a?b", "a b"])
async def test_a_bad_repository_is_never_sent(serve: Serve, name: str) -> None:
    script = Script(says(200))
    registry = await serve(script)
    with pytest.raises(BadReference, match="cannot be a repository"):
        await registry.tags(name)
    assert script.seen == []


@pytest.mark.parametrize("name", ["", "a/b", "..", "sha256:abc", "a?b"])
async def test_a_bad_tag_or_digest_is_never_sent(serve: Serve, name: str) -> None:
    script = Script(says(200))
    registry = await serve(script)
    with pytest.raises(BadReference, match="neither a tag nor a digest"):
        await registry.manifest("app", name)
    with pytest.raises(BadReference, match="neither a tag nor a digest"):
        await registry.referrers("app", name)
    assert script.seen == []


async def test_an_upload_that_fails_is_begun_again(serve: Serve, tmp_path: Path) -> None:
    script = Script(
        says(404),
        says(202, Location="/v2/app/blobs/uploads/1"),
        says(503),
        says(202, Location="/v2/app/blobs/uploads/2?state=x"),
        says(201),
    )
    registry = await serve(script)
    await registry.put_blob("app", digest_of(b"hello"), b"hello")
    assert script.seen[1:] == [
        "POST /v2/app/blobs/uploads/",
        "PUT /v2/app/blobs/uploads/1",
        "POST /v2/app/blobs/uploads/",
        "PUT /v2/app/blobs/uploads/2",
    ]


async def test_a_manifest_is_not_sent_before_all_its_blobs_are_there(
    serve: Serve, tmp_path: Path
) -> None:
    script = Script(says(200))
    registry = await serve(script)
    image = pack(tmp_path, files=[Content("/a", b"")], config=RunConfig())
    await registry.push_image(Layout(tmp_path), image, "app", "1")
    assert [request.split("/")[0:4:3] for request in script.seen] == [
        ["HEAD ", "blobs"],
        ["HEAD ", "blobs"],
        ["PUT ", "manifests"],
    ]


def _artifact() -> Artifact:
    file = ArtifactFile(media_type="text/plain", data=b"signed")
    return Artifact(artifact_type="example/signature", files=(file,))


async def test_a_registry_that_lists_referrers_itself_gets_no_index_from_us(serve: Serve) -> None:
    script = Script(says(200), says(200), says(201, OCI_Subject=BLOB.digest))
    registry = await serve(script)
    await registry.attach("app", BLOB, _artifact())
    assert [request.split()[0] for request in script.seen] == ["HEAD", "HEAD", "PUT"]


async def test_the_referrers_of_all_pages_are_listed(serve: Serve) -> None:
    def page(name: str, link: str) -> Callable[[], web.StreamResponse]:
        one = f'{{"mediaType":"{MANIFEST}","digest":"{name}","size":1,"artifactType":"{name}"}}'
        body = f'{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{one}]}}'
        return says(200, body, **({"Link": link} if link else {}))

    link = '</v2/app/referrers/next>; rel="next"'
    registry = await serve(Script(page("a", link), page("b", "")))
    assert _digests(await registry.referrers("app", BLOB.digest)) == ["a", "b"]
    registry = await serve(Script(page("a", link), page("b", "")))
    assert _digests(await registry.referrers("app", BLOB.digest, artifact_type="b")) == ["b"]


def _digests(found: list[Descriptor]) -> list[str]:
    return [one.digest for one in found]


async def test_a_failure_to_list_referrers_is_not_taken_for_none(serve: Serve) -> None:
    registry = await serve(Script(says(500)))
    with pytest.raises(Busy):
        await registry.referrers("app", BLOB.digest)


async def test_a_registry_that_is_not_opened_says_how_to_open_it() -> None:
    with pytest.raises(RuntimeError, match="async with Registry"):
        await Registry("http://127.0.0.1:1").ping()
