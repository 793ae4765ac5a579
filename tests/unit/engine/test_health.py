"""Probes over real HTTP, and the liveness checks on a clock of their own."""

import socket
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.observe.checks import Checks
from quiver.engine.observe.health import Address, health_routes, metrics_routes, serving
from quiver.engine.observe.liveness import LATE, LATE_TICKS, TICK, LoopLag, loop_lag, stuck_worker
from quiver.engine.queue import Metrics, Timer
from support.web import http


def fine() -> None:
    return None


def broken() -> str:
    return "the cache of pods is not filled yet"


def checks(name: str, **named: Callable[[], str | None]) -> Checks:
    result = Checks(name)
    for check, function in named.items():
        result.add(check, function)
    return result


async def ask(path: str, ready: Checks, live: Checks | None = None) -> tuple[int, str]:
    routes = health_routes(live or Checks("healthz"), ready)
    async with serving("127.0.0.1:0", routes) as address:
        return await http("GET", f"http://{address}{path}")


async def test_a_healthy_process_answers_ok() -> None:
    assert await ask("/readyz", checks("readyz", caches=fine)) == (200, "ok")


async def test_a_process_without_checks_is_healthy() -> None:
    assert await ask("/healthz", Checks("readyz")) == (200, "ok")


async def test_a_failure_says_which_check_and_why() -> None:
    status, text = await ask("/readyz", checks("readyz", ping=fine, caches=broken))
    assert status == 500
    assert text == (
        "[+]ping ok\n[-]caches failed: the cache of pods is not filled yet\nreadyz check failed\n"
    )


async def test_verbose_lists_all_checks() -> None:
    status, text = await ask("/readyz?verbose", checks("readyz", ping=fine))
    assert (status, text) == (200, "[+]ping ok\nreadyz check passed\n")


async def test_an_excluded_check_does_not_count() -> None:
    ready = checks("readyz", ping=fine, caches=broken)
    assert await ask("/readyz?exclude=caches", ready) == (200, "ok")
    _, text = await ask("/readyz?verbose&exclude=caches&exclude=typo", ready)
    assert "[+]caches excluded: ok\n" in text
    assert 'no matches for "typo"' in text


async def test_one_check_can_be_asked_for() -> None:
    ready = checks("readyz", ping=fine, caches=broken)
    assert await ask("/readyz/ping", ready) == (200, "ok")
    status, text = await ask("/readyz/caches", ready)
    assert status == 500
    assert "the cache of pods is not filled yet" in text
    assert (await ask("/readyz/typo", ready))[0] == 404


async def test_livez_and_healthz_are_the_same_and_not_readyz() -> None:
    live = checks("healthz", loop=broken)
    for path, status in {
        "/livez": 500,
        "/healthz": 500,
        "/livez/loop": 500,
        "/readyz": 200,
    }.items():
        assert (await ask(path, Checks("readyz"), live))[0] == status


async def test_a_check_that_raises_fails_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def raises() -> None:
        raise RuntimeError("hunter2")

    status, text = await ask("/readyz", checks("readyz", caches=raises))
    assert status == 500
    assert "RuntimeError" in text
    assert "hunter2" not in text
    assert caplog.records


def test_two_checks_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="has a check ping already"):
        checks("readyz", ping=fine).add("ping", fine)


async def test_metrics_are_served_as_prometheus_expects() -> None:
    async with serving("127.0.0.1:0", metrics_routes(lambda: b"up 1\n")) as address:
        assert await http("GET", f"http://{address}/metrics") == (200, "up 1\n")
        assert (await http("GET", f"http://{address}/readyz"))[0] == 404


async def test_without_a_host_both_ip_versions_are_served() -> None:
    async with serving(":0", metrics_routes(lambda: b"up 1\n")) as address:
        await http("GET", f"http://127.0.0.1:{address.port}/metrics")
        if socket.has_dualstack_ipv6():
            await http("GET", f"http://[::1]:{address.port}/metrics")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
async def test_an_ipv6_address_is_served() -> None:
    async with serving("[::1]:0", metrics_routes(lambda: b"up 1\n")) as address:
        assert str(address).startswith("[::1]:")
        assert (await http("GET", f"http://{address}/metrics"))[0] == 200


async def test_the_port_is_free_after_the_block() -> None:
    async with serving("127.0.0.1:0", []) as address:
        pass
    async with serving(str(address), []) as again:
        assert again == address


@given(st.sampled_from(["", "127.0.0.1", "::1", "::", "localhost"]), st.integers(0, 65535))
def test_an_address_is_read_as_it_is_written(host: str, port: int) -> None:
    address = Address(host, port)
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize("text", ["", "8081", "host:", ":x", ":65536", "::1:8081", "[::1:8081"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no address to listen at"):
        Address.parse(text)


class Clock:
    def __init__(self) -> None:
        self.time = 100.0
        self._next: tuple[float, Callable[[], None]] | None = None

    def now(self) -> float:
        return self.time

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        self._next = (when, callback)
        return self

    def cancel(self) -> None:
        self._next = None

    def tick(self, *, late: float) -> None:
        assert self._next is not None
        when, callback = self._next
        self.time = when + late
        callback()

    @property
    def waits(self) -> bool:
        return self._next is not None


def test_one_long_pause_is_shown_and_is_no_failure() -> None:
    clock = Clock()
    lag = LoopLag(now=clock.now, call_at=clock.call_at)
    lag.start()
    clock.tick(late=600)
    assert lag.seconds == pytest.approx(600)
    assert lag.check() is None


def test_a_loop_that_is_late_again_and_again_is_not_alive_until_it_recovers() -> None:
    clock = Clock()
    lag = LoopLag(now=clock.now, call_at=clock.call_at)
    lag.start()
    for _ in range(LATE_TICKS):
        assert lag.check() is None
        clock.tick(late=LATE + 1)
    assert "late 3 times in a row" in (lag.check() or "")
    clock.tick(late=0)
    assert lag.check() is None


def test_a_timer_that_fires_early_is_not_negative_lag() -> None:
    clock = Clock()
    lag = LoopLag(now=clock.now, call_at=clock.call_at)
    lag.start()
    clock.tick(late=-TICK / 1000)
    assert lag.seconds == 0


def test_a_stopped_measurement_leaves_no_timer() -> None:
    clock = Clock()
    lag = LoopLag(now=clock.now, call_at=clock.call_at)
    lag.start()
    lag.stop()
    assert not clock.waits


async def test_the_running_loop_can_be_measured() -> None:
    lag = loop_lag()
    lag.start()
    assert lag.check() is None
    lag.stop()


@pytest.mark.parametrize(("seconds", "stuck"), [(0, False), (299, False), (301, True)])
def test_a_worker_is_stuck_long_after_its_deadline(seconds: float, stuck: bool) -> None:
    metrics = Metrics({}, 0, 0, 0.0, seconds, seconds)
    check = stuck_worker(lambda: metrics, timeout=120)
    assert (check() is not None) is stuck
