"""Lists in pages: whole, of one version, and begun anew when the server forgets that version."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from quiver.kube import Client, Gone, KubeConfig
from unit.kube.fake_api import MAPS_PATH, FakeApi, refuses, says

LINE = f"GET {MAPS_PATH}"


@pytest.fixture
async def client(fake: FakeApi) -> AsyncIterator[Client]:
    async with Client(KubeConfig(server=fake.url)) as client:
        yield client


def page(version: str, *names: str, token: str = "") -> Any:
    items = [{"metadata": {"name": name}} for name in names]
    return says({"metadata": {"resourceVersion": version, "continue": token}, "items": items})


async def listed(client: Client) -> tuple[list[str], str]:
    found, version = await client.list_with_version("v1", "ConfigMap", "mine", page_size=2)
    return [obj["metadata"]["name"] for obj in found], version


async def test_pages_are_asked_for_until_there_is_no_more(fake: FakeApi, client: Client) -> None:
    fake.on(LINE, page("5", "a", "b", token="t1"), page("5", "c", "d", token="t2"), page("5", "e"))
    assert await listed(client) == (["a", "b", "c", "d", "e"], "5")
    queries = [dict(request.query) for request in fake.requests if request.path == MAPS_PATH]
    assert queries == [
        {"limit": "2"},
        {"limit": "2", "continue": "t1"},
        {"limit": "2", "continue": "t2"},
    ]


async def test_an_expired_token_begins_anew_and_nothing_of_the_old_version_stays(
    fake: FakeApi, client: Client
) -> None:
    fake.on(
        LINE,
        page("5", "deleted-since", "b", token="old"),
        refuses(410, "Expired"),
        page("9", "b", "c", "d"),
    )
    assert await listed(client) == (["b", "c", "d"], "9")
    assert not fake.requests[-1].query


async def test_raw_pages_say_when_the_list_began_anew(fake: FakeApi, client: Client) -> None:
    fake.on(LINE, page("5", "a", token="old"), refuses(410, "Expired"), page("9", "b"))
    firsts = [page.is_first async for page in client.pages("v1", "ConfigMap", "mine")]
    assert firsts == [True, True]


async def test_a_list_that_is_gone_from_the_start_is_told(fake: FakeApi, client: Client) -> None:
    fake.on(LINE, refuses(410, "Expired"))
    with pytest.raises(Gone, match="list ConfigMap in mine failed"):
        await listed(client)


async def test_no_items_at_all_is_an_empty_list(fake: FakeApi, client: Client) -> None:
    fake.on(LINE, says({"metadata": {"resourceVersion": "1"}, "items": None}))
    assert await listed(client) == ([], "1")


async def test_items_are_the_bytes_that_the_server_sent(fake: FakeApi, client: Client) -> None:
    fake.on(LINE, page("5", "a"))
    [only] = [page async for page in client.pages("v1", "ConfigMap", "mine")]
    assert bytes(only.items[0]) == b'{"metadata": {"name": "a"}}'
