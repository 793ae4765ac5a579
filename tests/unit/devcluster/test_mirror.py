"""The copy follows what the server tells, and starts over when it stops telling."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from quiver.devcluster import mirror as mirrors
from quiver.devcluster.mirror import Mirror
from quiver.kube import Gone, Object, Unreachable, WatchEvent
from support.scripted import ScriptedClient

KINDS = [("v1", "Pod"), ("v1", "Node")]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "RETRY_AFTER", 0.0)


def _pod(uid: str, *, version: int = 1) -> Object:
    return {"metadata": {"uid": uid, "resourceVersion": str(version)}}


@asynccontextmanager
async def _following(client: ScriptedClient) -> AsyncIterator[Mirror]:
    mirror = Mirror(client.client, KINDS)
    following = asyncio.create_task(mirror.run())
    try:
        yield mirror
    finally:
        following.cancel()
        await asyncio.wait([following])


async def _until(mirror: Mirror, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await mirror.changed()


async def test_what_is_there_at_the_start_appears() -> None:
    async with _following(ScriptedClient(Pod=[_pod("a"), _pod("b")])) as mirror:
        await _until(mirror, mirror.is_complete)
        assert mirror.objects("Pod") == [_pod("a"), _pod("b")]
        assert mirror.objects("Node") == []


async def test_it_is_complete_only_when_every_kind_was_listed() -> None:
    mirror = Mirror(ScriptedClient().client, KINDS)
    assert not mirror.is_complete()
    listing = asyncio.create_task(mirror._list_and_watch("v1", "Pod"))
    await mirror.changed(timeout=10)
    assert not mirror.is_complete()
    other = asyncio.create_task(mirror._list_and_watch("v1", "Node"))
    await mirror.changed(timeout=10)
    assert mirror.is_complete()
    for task in (listing, other):
        task.cancel()
    await asyncio.wait([listing, other])


async def test_changes_are_followed() -> None:
    client = ScriptedClient(Pod=[_pod("a")])
    async with _following(client) as mirror:
        await _until(mirror, mirror.is_complete)
        client.tell("Pod", WatchEvent("ADDED", _pod("b")))
        await _until(mirror, lambda: mirror.objects("Pod") == [_pod("a"), _pod("b")])
        client.tell("Pod", WatchEvent("MODIFIED", _pod("a", version=2)))
        await _until(mirror, lambda: mirror.objects("Pod") == [_pod("a", version=2), _pod("b")])
        client.tell("Pod", WatchEvent("DELETED", _pod("a", version=3)))
        await _until(mirror, lambda: mirror.objects("Pod") == [_pod("b")])
        assert client.lists.count("Pod") == 1


async def test_deleting_what_was_never_seen_is_nothing() -> None:
    client = ScriptedClient()
    async with _following(client) as mirror:
        await _until(mirror, mirror.is_complete)
        client.tell("Pod", WatchEvent("DELETED", _pod("a")))
        client.tell("Pod", WatchEvent("ADDED", _pod("b")))
        await _until(mirror, lambda: mirror.objects("Pod") == [_pod("b")])


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(Unreachable("the watch on Pod broke off"), id="a broken connection"),
        pytest.param(Gone(410, "Expired", "too old"), id="a version compacted away"),
        pytest.param(None, id="the server's ordinary end of a watch"),
    ],
)
async def test_when_a_watch_ends_everything_is_listed_anew(
    end: Unreachable | Gone | None,
) -> None:
    client = ScriptedClient(Pod=[_pod("a"), _pod("b")])
    async with _following(client) as mirror:
        await _until(mirror, mirror.is_complete)
        client.objects["Pod"] = [_pod("b", version=2), _pod("c")]
        client.tell("Pod", end)
        await _until(mirror, lambda: mirror.objects("Pod") == [_pod("b", version=2), _pod("c")])
        client.tell("Pod", WatchEvent("ADDED", _pod("d")))
        await _until(mirror, lambda: _pod("d") in mirror.objects("Pod"))
        assert client.lists == ["Pod", "Node", "Pod"]


async def test_a_list_that_fails_is_tried_again() -> None:
    client = ScriptedClient(Pod=[_pod("a")])
    client.failing_lists = [Unreachable("refused"), Unreachable("refused")]
    async with _following(client) as mirror:
        await _until(mirror, mirror.is_complete)
        assert mirror.objects("Pod") == [_pod("a")]


async def test_a_watch_goes_on_where_its_list_ended() -> None:
    client = ScriptedClient()
    async with _following(client) as mirror:
        await _until(mirror, mirror.is_complete)
        client.tell("Node", WatchEvent("ADDED", _pod("n")))
        client.tell("Pod", WatchEvent("ADDED", _pod("a")))
        await _until(mirror, lambda: bool(mirror.objects("Pod") and mirror.objects("Node")))
    assert client.watched_since == ["version-1", "version-2"]


async def test_a_change_before_the_wait_is_not_missed() -> None:
    client = ScriptedClient()
    async with _following(client) as mirror:
        await _until(mirror, mirror.is_complete)
        await mirror.changed(timeout=0)
        client.tell("Pod", WatchEvent("ADDED", _pod("a")))
        async with asyncio.timeout(10):
            await mirror.changed()
        assert mirror.objects("Pod") == [_pod("a")]


async def test_without_a_change_the_wait_ends_with_its_time() -> None:
    mirror = Mirror(ScriptedClient().client, KINDS)
    await mirror.changed(timeout=0.001)
    assert not mirror.is_complete()
