"""Injected faults look to the client as real ones do."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from quiver.kube import Client, KubeConfig, Timeout, TooManyRequests, Unreachable
from quiver.kube.backoff import Backoff
from quiver.kube.faults import (
    Faults,
    answer,
    cut_after,
    is_watch,
    lose_answer,
    method,
    refuse,
    slow,
)
from unit.kube.fake_api import MAP, MAP_PATH, MAPS_PATH, FakeApi, says, streams


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def client(fake: FakeApi, faults: Faults) -> AsyncIterator[Client]:
    config = KubeConfig(server=fake.url, namespace="mine")
    quick = Backoff(first=0.001, ceiling=0.001)
    async with Client(config, interceptor=faults, backoff=quick) as client:
        await client.discovery.find("v1", "ConfigMap")
        yield client


async def test_every_request_is_seen_and_passes_where_no_rule_applies(
    fake: FakeApi, faults: Faults, client: Client
) -> None:
    fake.on(f"GET {MAP_PATH}", says(MAP))
    faults.add(refuse, when=method("POST"))
    assert await client.get("v1", "ConfigMap", "a") == MAP
    assert [request.path for request in faults.seen] == ["/api/v1", MAP_PATH]


async def test_a_refused_connection_never_reaches_the_server(
    fake: FakeApi, faults: Faults, client: Client
) -> None:
    faults.add(refuse, times=None)
    with pytest.raises(Unreachable, match="ConnectionRefusedError"):
        await client.create(MAP)
    assert fake.asked(f"POST {MAPS_PATH}") == 0


async def test_a_lost_answer_was_acted_upon(fake: FakeApi, faults: Faults, client: Client) -> None:
    fake.on(f"POST {MAPS_PATH}", says(MAP, 201))
    faults.add(lose_answer)
    with pytest.raises(Unreachable, match="ConnectionResetError"):
        await client.create(MAP)
    assert fake.asked(f"POST {MAPS_PATH}") == 1


async def test_a_slow_answer_meets_the_deadline(
    fake: FakeApi, faults: Faults, client: Client
) -> None:
    faults.add(slow(60))
    with pytest.raises(Timeout):
        await client.within(0.05).create(MAP)


async def test_a_rule_is_used_as_often_as_it_says(
    fake: FakeApi, faults: Faults, client: Client
) -> None:
    fake.on(f"POST {MAPS_PATH}", says(MAP, 201))
    faults.add(answer(500, "InternalError"), when=method("POST"), times=1)
    faults.add(answer(429, "TooManyRequests", retry_after=60), when=method("POST"), times=1)
    with pytest.raises(Exception, match="500 InternalError: injected"):
        await client.create(MAP)
    with pytest.raises(TooManyRequests):
        await client.create(MAP)
    assert await client.create(MAP) == MAP


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("events", [0, 1, 2, 3])
async def test_a_watch_is_cut_after_exactly_so_many_events(
    chunked: bool, events: int, fake: FakeApi, faults: Faults, client: Client
) -> None:
    lines = [b'{"type":"ADDED","object":{"n":%d}}\n' % number for number in range(3)]
    fake.on(f"GET {MAPS_PATH}", streams(*lines) if chunked else streams(b"".join(lines)))
    faults.add(cut_after(events), when=is_watch)
    seen: list[int] = []
    with pytest.raises(Unreachable, match="the watch on ConfigMap broke off"):
        await _note(client, seen)
    assert seen == list(range(events))


async def _note(client: Client, seen: list[int]) -> None:
    async with asyncio.timeout(10):
        async for event in client.watch("v1", "ConfigMap", "1", "mine"):
            seen += [event.object["n"]]
