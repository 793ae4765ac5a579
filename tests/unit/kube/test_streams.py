"""Watches and logs: what comes, when it ends, and when silence is too long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from aiohttp import web

from quiver.kube import Client, KubeConfig, NotFound, RawEvent, Timeout, ends_initial_events
from quiver.kube.pods import follow_logs, logs
from unit.kube.fake_api import MAPS_PATH, FakeApi, streams

LOG_PATH = "/api/v1/namespaces/mine/pods/p/log"
BOOKMARK = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"18"}}}\n'
END = b'{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}'


@pytest.fixture
async def client(fake: FakeApi) -> AsyncIterator[Client]:
    async with Client(KubeConfig(server=fake.url, namespace="mine")) as client:
        yield client


async def begins_and_falls_silent(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(BOOKMARK)
    await asyncio.sleep(60)
    return response


async def test_a_raw_watch_yields_the_object_s_bytes_as_they_came(
    fake: FakeApi, client: Client
) -> None:
    fake.on(f"GET {MAPS_PATH}", streams(b'{"type": "ADDED", "object": {"a" : 1}}\n' + BOOKMARK))
    seen = [event async for event in client.watch_raw("v1", "ConfigMap", "1", "mine")]
    assert seen == [("ADDED", b'{"a" : 1}')]


async def test_bookmarks_are_shown_where_they_are_wanted(fake: FakeApi, client: Client) -> None:
    fake.on(f"GET {MAPS_PATH}", streams(BOOKMARK))
    watch = client.watch("v1", "ConfigMap", "1", "mine", bookmarks=True)
    [event] = [event async for event in watch]
    assert event.object["metadata"]["resourceVersion"] == "18"


async def test_a_watch_says_what_it_wants(fake: FakeApi, client: Client) -> None:
    fake.on(f"GET {MAPS_PATH}", streams())
    watch = client.watch(
        "v1", "ConfigMap", "", "mine",
        initial_events=True, labels="a=b", fields="metadata.name=c", timeout=9,
    )  # fmt: skip
    assert [event async for event in watch] == []
    assert fake.requests[-1].query == {
        "watch": "true",
        "resourceVersion": "",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "9",
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=c",
    }


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (RawEvent("BOOKMARK", END), True),
        (RawEvent("ADDED", END), False),
        (RawEvent("BOOKMARK", b'{"metadata":{"resourceVersion":"18"}}'), False),
    ],
)
def test_only_a_bookmark_that_says_so_ends_the_initial_events(
    event: RawEvent, expected: bool
) -> None:
    assert ends_initial_events(event) is expected


async def test_a_watch_that_falls_silent_for_too_long_is_a_timeout(
    fake: FakeApi, client: Client
) -> None:
    fake.on(f"GET {MAPS_PATH}", begins_and_falls_silent)
    watch = client.watch("v1", "ConfigMap", "1", "mine", idle=0.1)
    with pytest.raises(Timeout, match="the watch on ConfigMap broke off"):
        async with asyncio.timeout(10):
            await anext(watch)


async def test_a_watch_that_is_left_gives_its_connection_back(
    fake: FakeApi, client: Client
) -> None:
    ended = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        try:
            return await begins_and_falls_silent(request)
        finally:
            ended.set()

    fake.on(f"GET {MAPS_PATH}", endless)
    watch = client.watch("v1", "ConfigMap", "1", "mine", bookmarks=True)
    async with aclosing(watch):
        await anext(watch)
    async with asyncio.timeout(10):
        await ended.wait()


async def test_logs_are_text_and_only_as_much_as_was_asked_for(
    fake: FakeApi, client: Client
) -> None:
    fake.on(f"GET {LOG_PATH}", streams("größer\n".encode()))
    text = await logs(client, "p", "mine", container="c", tail=5, previous=True, limit_bytes=99)
    assert text == "größer\n"
    assert fake.requests[-1].query == {
        "container": "c", "tailLines": "5", "previous": "true", "limitBytes": "99",
    }  # fmt: skip


async def test_followed_logs_come_line_by_line_with_the_unfinished_last(
    fake: FakeApi, client: Client
) -> None:
    fake.on(f"GET {LOG_PATH}", streams(b"eins\n\nzw", "ö".encode()[:1], b"\xb6lf\nend"))
    seen = [line async for line in follow_logs(client, "p", "mine", tail=2)]
    assert seen == ["eins", "", "zwölf", "end"]
    assert fake.requests[-1].query == {"tailLines": "2", "follow": "true"}


async def test_logs_of_a_pod_that_is_not_there_say_which(client: Client) -> None:
    with pytest.raises(NotFound, match="read the logs of Pod mine/p failed: 404 NotFound: no"):
        await logs(client, "p", "mine")
