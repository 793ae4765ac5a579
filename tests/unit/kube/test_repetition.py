"""What is sent again and what is not: reads and applies are, other writes only after a 429."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from quiver.kube import (
    ApiError,
    Client,
    KubeConfig,
    KubeError,
    ServerTimeout,
    Timeout,
    TooManyRequests,
    Unreachable,
)
from quiver.kube.backoff import Backoff
from quiver.kube.errors import DisruptionBudgetExceeded
from quiver.kube.request import Request
from unit.kube.fake_api import MAP, MAP_PATH, MAPS_PATH, FakeApi, hangs_up, refuses, says

VERSIONED: dict[str, Any] = {**MAP, "metadata": {**MAP["metadata"], "resourceVersion": "7"}}  # type: ignore[dict-item]

Verb = Callable[[Client], Awaitable[object]]

REPEATED: list[tuple[str, Verb]] = [
    (f"GET {MAP_PATH}", lambda client: client.get("v1", "ConfigMap", "a")),
    (f"GET {MAPS_PATH}", lambda client: client.list("v1", "ConfigMap", "mine")),
    (f"PATCH {MAP_PATH}", lambda client: client.apply(MAP)),
]
NOT_REPEATED: list[tuple[str, Verb]] = [
    (f"POST {MAPS_PATH}", lambda client: client.create(MAP)),
    (f"PATCH {MAP_PATH}", lambda client: client.patch("v1", "ConfigMap", "a", {})),
    (f"PATCH {MAP_PATH}", lambda client: client.apply(VERSIONED)),
    (f"PUT {MAP_PATH}", lambda client: client.replace(VERSIONED)),
    (f"DELETE {MAP_PATH}", lambda client: client.delete("v1", "ConfigMap", "a")),
    (f"DELETE {MAPS_PATH}", lambda client: client.delete_collection("v1", "ConfigMap", "mine")),
]
ANSWER = says({"metadata": {"resourceVersion": "1"}, "items": []})


class Pauses:
    """Sleeps for no time and remembers how long it should have been."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def client(fake: FakeApi, pauses: Pauses) -> AsyncIterator[Client]:
    backoff = Backoff(sleep=pauses, jitter=lambda: 1.0)
    async with Client(KubeConfig(server=fake.url, namespace="mine"), backoff=backoff) as client:
        # The connection is kept alive: a break after this is one that aiohttp would hide.
        await client.discovery.find("v1", "ConfigMap")
        yield client


@pytest.mark.parametrize(("line", "verb"), REPEATED)
@pytest.mark.parametrize("failure", [hangs_up, refuses(503, "ServiceUnavailable")])
async def test_a_read_or_an_apply_that_failed_is_repeated(
    line: str, verb: Verb, failure: Any, fake: FakeApi, client: Client, pauses: Pauses
) -> None:
    fake.on(line, failure, failure, ANSWER)
    await verb(client)
    # aiohttp itself repeats a GET once when a kept connection breaks.
    assert fake.asked(line) in (3, 4)
    assert pauses.slept[:1] == [0.1]


@pytest.mark.parametrize(("line", "verb"), NOT_REPEATED)
async def test_a_write_whose_answer_is_lost_is_sent_once_and_told(
    line: str, verb: Verb, fake: FakeApi, client: Client
) -> None:
    fake.on(line, hangs_up, ANSWER)
    with pytest.raises(Unreachable, match="failed"):
        await verb(client)
    assert fake.asked(line) == 1


@pytest.mark.parametrize(("line", "verb"), NOT_REPEATED)
async def test_a_write_that_the_server_failed_at_is_not_repeated(
    line: str, verb: Verb, fake: FakeApi, client: Client
) -> None:
    fake.on(line, refuses(504, "Timeout"), ANSWER)
    with pytest.raises(ServerTimeout):
        await verb(client)
    assert fake.asked(line) == 1


@pytest.mark.parametrize(("line", "verb"), REPEATED + NOT_REPEATED)
async def test_every_verb_comes_back_when_a_busy_server_asked_it_to(
    line: str, verb: Verb, fake: FakeApi, client: Client, pauses: Pauses
) -> None:
    busy = refuses(429, "TooManyRequests", **{"Retry-After": "7"})
    fake.on(line, *[busy] * 2, ANSWER)
    await verb(client)
    assert pauses.slept == [7.0, 7.0]


async def test_a_pause_that_ends_after_the_deadline_is_not_begun(
    fake: FakeApi, client: Client, pauses: Pauses
) -> None:
    fake.on(f"POST {MAPS_PATH}", refuses(429, "TooManyRequests", **{"Retry-After": "60"}))
    with pytest.raises(TooManyRequests) as refusal:
        await client.create(MAP)
    assert refusal.value.retry_after == 60.0
    assert pauses.slept == []


async def test_a_server_that_keeps_failing_is_given_up_with_its_last_word(
    fake: FakeApi, client: Client, pauses: Pauses
) -> None:
    fake.on(f"GET {MAP_PATH}", refuses(500, "InternalError", "etcd is away"))
    with pytest.raises(ApiError, match="get ConfigMap mine/a failed: 500 InternalError: etcd is a"):
        await client.get("v1", "ConfigMap", "a")
    assert fake.asked(f"GET {MAP_PATH}") == 4
    assert pauses.slept == [0.1, 0.2, 0.4]


@pytest.mark.parametrize("code", [400, 403, 404, 409, 422])
async def test_a_refusal_is_not_argued_with(code: int, fake: FakeApi, client: Client) -> None:
    fake.on(f"GET {MAP_PATH}", refuses(code, "No"))
    with pytest.raises(ApiError):
        await client.get("v1", "ConfigMap", "a")
    assert fake.asked(f"GET {MAP_PATH}") == 1


async def test_the_deadline_covers_all_attempts_together(fake: FakeApi) -> None:
    fake.on(f"GET {MAP_PATH}", refuses(503, "ServiceUnavailable"))
    patient = Backoff(first=0.05, ceiling=0.05, attempts=1000)
    async with Client(KubeConfig(server=fake.url, namespace="mine"), backoff=patient) as client:
        await client.discovery.find("v1", "ConfigMap")
        began = asyncio.get_running_loop().time()
        with pytest.raises(KubeError):
            await client.within(0.3).get("v1", "ConfigMap", "a")
        assert asyncio.get_running_loop().time() - began < 2.0


async def test_a_deadline_that_passes_is_a_timeout_which_is_an_unreachable(fake: FakeApi) -> None:
    async def never(_: object) -> Any:
        await asyncio.Event().wait()

    fake.on(f"GET {MAP_PATH}", never)
    async with Client(KubeConfig(server=fake.url, namespace="mine")) as client:
        await client.discovery.find("v1", "ConfigMap")
        with pytest.raises(Timeout, match=r"get ConfigMap mine/a on .* failed: TimeoutError"):
            await client.within(0.1).get("v1", "ConfigMap", "a")


def _request(*, may_repeat: bool) -> Request:
    return Request(method="GET", path="/", deadline=1.0, may_repeat=may_repeat)


@pytest.mark.parametrize(
    ("error", "may_repeat", "expected"),
    [
        (Unreachable("gone"), True, True),
        (Unreachable("gone"), False, False),
        (ApiError(500, "", ""), True, True),
        (ApiError(500, "", ""), False, False),
        (ApiError(400, "", ""), True, False),
        (TooManyRequests(429, "", ""), False, True),
        (DisruptionBudgetExceeded(429, "", ""), True, False),
    ],
)
def test_whether_to_repeat_depends_on_the_error_and_the_request(
    error: KubeError, may_repeat: bool, expected: bool
) -> None:
    assert Backoff().may_repeat(_request(may_repeat=may_repeat), error, 0) is expected


@pytest.mark.parametrize("number", [0, 1, 5, 5000])
def test_a_pause_is_between_half_and_all_of_its_step_and_below_the_ceiling(number: int) -> None:
    step = min(2.0, 0.1 * 2.0 ** min(number, 10))
    assert Backoff(jitter=lambda: 0.0).pause(number) == step / 2
    assert Backoff(jitter=lambda: 1.0).pause(number) == step
