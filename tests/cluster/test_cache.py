"""The cache on a real API server, also when the connection or the server misbehaves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.cache import Cache, Informer
from quiver.engine.controller import Change
from quiver.engine.kinds import CONFIG_MAP, Key
from quiver.engine.reflector import Source
from quiver.kube import Client, KubeConfig
from quiver.kube.faults import Faults, answer, cut_after, refuse
from quiver.kube.interceptor import Send
from quiver.kube.request import Answer, Request
from support.until import until

SOURCE = Source(CONFIG_MAP, labels="test=cache")


def config_map(namespace: str, name: str, value: str = "1") -> dict[str, object]:
    metadata = {"namespace": namespace, "name": name, "labels": {"test": "cache"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": value}}


@asynccontextmanager
async def watching(
    api_server: DevCluster, namespace: str, faults: Faults | None = None, source: Source = SOURCE
) -> AsyncIterator[tuple[Informer, list[Change]]]:
    async with Client(KubeConfig.load(api_server.kubeconfig), interceptor=faults) as client:
        cache = Cache(client, namespaces=[namespace])
        informer = cache.informer(source)
        changes: list[Change] = []
        informer.subscribe(changes, changes.append)
        running = asyncio.create_task(cache.run())
        try:
            async with asyncio.timeout(20):
                await cache.synced()
            yield informer, changes
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def value(informer: Informer, key: Key) -> str | None:
    raw = informer.store.get(key)
    return None if raw is None else str(msgspec.json.decode(raw)["data"]["x"])


def is_list(request: Request) -> bool:
    return "/configmaps" in request.path and "watch" not in request.query


def is_watch(request: Request) -> bool:
    return "/configmaps" in request.path and "watch" in request.query


def is_resumed(request: Request) -> bool:
    return is_watch(request) and "sendInitialEvents" not in request.query


def is_streaming_list(request: Request) -> bool:
    return "sendInitialEvents" in request.query


async def test_it_knows_what_was_there_and_hears_what_changes(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    await api_client.create(config_map(namespace, "old"))
    async with watching(api_server, namespace) as (informer, changes):
        old, new = Key(namespace, "old"), Key(namespace, "new")
        assert value(informer, old) == "1"
        await api_client.create(config_map(namespace, "new"))
        await api_client.apply(config_map(namespace, "old", "2"), force=True)
        await until(lambda: value(informer, old) == "2" and new in informer.store)
        await api_client.delete("v1", "ConfigMap", "new", namespace)
        await until(lambda: new not in informer.store)
        assert changes[-1].after is None
        assert changes[-1].before is not None


async def test_managed_fields_are_neither_kept_nor_told(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    await api_client.apply(config_map(namespace, "a"))
    async with watching(api_server, namespace) as (informer, _):
        assert b"managedFields" not in (informer.store.get(Key(namespace, "a")) or b"managedFields")


async def test_a_server_without_streaming_lists_is_listed_page_by_page(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    await api_client.create(config_map(namespace, "a"))
    faults = Faults()
    refusal = answer(422, "Invalid", "sendInitialEvents is forbidden for watch")
    faults.add(refusal, when=is_streaming_list, times=None)
    async with watching(api_server, namespace, faults) as (informer, _):
        assert value(informer, Key(namespace, "a")) == "1"
        await api_client.create(config_map(namespace, "b"))
        await until(lambda: Key(namespace, "b") in informer.store)
        assert any(map(is_list, faults.seen))


@pytest.mark.parametrize("streams", [True, False])
async def test_what_was_deleted_while_the_version_was_forgotten_is_told(
    api_server: DevCluster, api_client: Client, namespace: str, streams: bool
) -> None:
    for name in ("stays", "goes"):
        await api_client.create(config_map(namespace, name))
    deleted = asyncio.Event()

    async def expired(request: Request, send: Send) -> Answer:
        await deleted.wait()
        return await answer(410, "Expired", "too old resource version")(request, send)

    faults = Faults()
    if streams:
        faults.add(cut_after(3), when=is_streaming_list)  # Two objects, and the end of the list.
    else:
        faults.add(answer(400, "BadRequest"), when=is_streaming_list, times=None)
        faults.add(cut_after(0), when=is_resumed)
    faults.add(expired, when=is_resumed)
    async with watching(api_server, namespace, faults) as (informer, changes):
        goes, unheard = Key(namespace, "goes"), Key(namespace, "unheard")
        # With this event the watch breaks off, and the one that resumes it is too late.
        await api_client.create(config_map(namespace, "unheard"))
        await api_client.delete("v1", "ConfigMap", "goes", namespace)
        deleted.set()
        await until(lambda: goes not in informer.store and unheard in informer.store)
        assert [change.key for change in changes if change.after is None] == [goes]
        assert Key(namespace, "stays") in informer.store


async def test_it_resumes_where_it_was_after_the_server_was_away(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    await api_client.create(config_map(namespace, "a"))
    faults = Faults()
    faults.add(cut_after(3), when=is_streaming_list)
    faults.add(refuse, when=is_watch, times=2)
    async with watching(api_server, namespace, faults) as (informer, _):
        await api_client.create(config_map(namespace, "b"))
        await api_client.create(config_map(namespace, "c"))
        keys = {Key(namespace, name) for name in ("a", "b", "c")}
        await until(lambda: set(informer.store.keys()) == keys)
        await until(lambda: informer.trouble is None)
        assert any(map(is_resumed, faults.seen))


async def test_our_own_write_is_in_the_cache_at_once_and_its_echo_is_not_told(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    async with watching(api_server, namespace) as (informer, changes):
        others: list[Change] = []
        informer.subscribe(others, others.append)
        key = Key(namespace, "a")
        request = api_client.create_raw(config_map(namespace, "a"))
        await informer.write(key, request, by=changes)
        assert value(informer, key) == "1"
        await api_client.create(config_map(namespace, "after"))
        await until(lambda: Key(namespace, "after") in informer.store)
        assert [change.key.name for change in changes] == ["after"]
        assert [change.key.name for change in others] == ["a", "after"]


async def test_what_somebody_else_did_while_we_wrote_is_told(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    async with watching(api_server, namespace) as (informer, changes):
        key = Key(namespace, "a")

        async def overtaken() -> bytes:
            raw = await api_client.create_raw(config_map(namespace, "a"))
            await api_client.apply(config_map(namespace, "a", "theirs"), force=True)
            await until(lambda: value(informer, key) == "theirs")
            return raw

        await informer.write(key, overtaken(), by=changes)
        assert value(informer, key) == "theirs"
        assert [change.key for change in changes] == [key]


async def test_an_object_in_doubt_is_read_back(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    faults = Faults()
    async with watching(api_server, namespace, faults) as (informer, _):
        key = Key(namespace, "a")
        informer.doubt(key)
        await informer.settle_doubt(key)
        assert key not in informer.store
        await informer.settle_doubt(key)
        assert sum(request.method == "GET" and not request.query for request in faults.seen) == 2


async def test_only_metadata_is_kept_where_only_metadata_is_asked_for(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    await api_client.create(config_map(namespace, "a"))
    source = Source(CONFIG_MAP, labels="test=cache", metadata_only=True)
    async with watching(api_server, namespace, source=source) as (informer, _):
        held = msgspec.json.decode(informer.store.get(Key(namespace, "a")) or b"")
        assert held["metadata"]["name"] == "a"
        assert "data" not in held
