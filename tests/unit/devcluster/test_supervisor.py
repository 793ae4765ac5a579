"""The supervisor with real processes: it keeps them running, and they never outlive it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from quiver.devcluster import liveness
from quiver.devcluster.home import Home, locked
from quiver.devcluster.processes import Alive, Plan, Process, Running
from quiver.devcluster.supervisor import FIRST_PAUSE, LONGEST_PAUSE, STEADY_AFTER, Child
from support.waiting import eventually

SLEEPER = Process(name="sleeper", argv=["sleep", "1000"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home("dev", root=tmp_path)
    home.logs.mkdir(parents=True)
    return home


@pytest.fixture
def child(home: Home) -> Child:
    return Child(SLEEPER, home.logs)


def _end(child: Child, now: float) -> None:
    """The child's process ends, and the child is told so."""
    popen = child._popen
    assert popen is not None
    popen.kill()
    popen.wait()
    assert child.ended(popen.pid, now)


def _pause_after(child: Child, ended: float) -> float:
    """How long after its end the child is started again, found by asking ever later."""
    waits = [step * FIRST_PAUSE for step in range(int(LONGEST_PAUSE / FIRST_PAUSE) + 2)]
    for wait in waits:
        if child.start_if_due(ended + wait):
            return wait
    raise AssertionError


def _lives(child: Child, *, lasting: float, times: int) -> list[float]:
    """The pauses between lives that each last as long."""
    pauses, now = [], 1000.0
    assert child.start_if_due(now)
    for _ in range(times):
        now += lasting
        _end(child, now)
        pauses.append(_pause_after(child, now))
        now += pauses[-1]
    _end(child, now)
    return pauses


def test_the_pause_before_a_restart_doubles_up_to_ten_seconds(child: Child) -> None:
    pauses = _lives(child, lasting=1.0, times=8)
    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_steady_run_makes_the_pause_short_again(child: Child) -> None:
    assert _lives(child, lasting=STEADY_AFTER + 1, times=3) == [FIRST_PAUSE] * 3


def test_a_run_that_is_not_quite_steady_does_not(child: Child) -> None:
    pauses = _lives(child, lasting=STEADY_AFTER, times=3)
    assert all(one < other for one, other in pairwise(pauses))


def test_a_child_that_runs_is_not_started_again(child: Child) -> None:
    assert child.start_if_due(0.0)
    assert not child.start_if_due(1000.0)
    assert child.restarts == 0
    _end(child, 1000.0)
    assert child.restarts == 1


def test_the_end_of_another_process_is_none_of_a_child_s_business(child: Child) -> None:
    assert not child.ended(os.getpid(), 0.0)
    child.start_if_due(0.0)
    assert not child.ended(os.getpid(), 0.0)
    assert child.alive is not None
    _end(child, 1.0)


def test_a_child_is_alive_from_its_start_to_its_end(child: Child) -> None:
    assert child.alive is None
    child.start_if_due(0.0)
    alive = child.alive
    assert alive is not None
    assert alive.is_running()
    _end(child, 1.0)
    assert child.alive is None
    assert not alive.is_running()


def test_what_a_child_says_is_added_to_its_log_in_its_folder_and_environment(home: Home) -> None:
    (home.logs / "child.log").write_text("before\n")
    process = Process(
        name="child",
        argv=["sh", "-c", "pwd; echo $WORD >&2; exec sleep 1000"],
        env={"WORD": "hello"},
        folder=str(home.path),
    )
    child = Child(process, home.logs)
    child.start_if_due(0.0)
    log = home.logs / "child.log"
    eventually(lambda: log.read_text() == f"before\n{home.path}\nhello\n")
    _end(child, 1.0)


class _Supervised:
    """A whole supervisor as a process of its own."""

    def __init__(self, home: Home, plan: Plan) -> None:
        self._home = home
        home.processes.write_bytes(msgspec.json.encode(plan))
        with home.supervisor_log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "quiver.devcluster.supervisor", home.path],
                stdout=log, stderr=log,
            )  # fmt: skip

    def says(self) -> Running | None:
        return liveness.running(self._home)

    def until(self, holds: Callable[[Running], object]) -> Running:
        def answer() -> Running | None:
            assert self.process.poll() is None, self._home.supervisor_log.read_text()
            said = self.says()
            return said if said and holds(said) else None

        return eventually(answer)

    def life_of(self, name: str, *, after: int = 0) -> Alive:
        """The process that runs once it was started again so many times."""
        said = self.until(lambda it: it.restarts[name] == after and it.children[name])
        alive = said.children[name]
        assert alive is not None
        return alive

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def _supervised(home: Home, *processes: Process, **options: object) -> Iterator[_Supervised]:
    plan = msgspec.convert({"processes": list(processes), **options}, Plan)
    supervised = _Supervised(home, plan)
    try:
        yield supervised
    finally:
        supervised.stop()


def _gone(alive: Alive) -> bool:
    return not alive.is_running()


def test_a_process_that_dies_is_started_again(home: Home) -> None:
    with _supervised(home, SLEEPER) as supervised:
        first = supervised.life_of("sleeper")
        os.kill(first.pid, signal.SIGKILL)
        second = supervised.life_of("sleeper", after=1)
        assert second.is_running()
        assert not first.is_running()


def test_a_process_that_cannot_be_started_does_not_stop_the_others(home: Home) -> None:
    broken = Process(name="broken", argv=["/no/such/program"])
    with _supervised(home, broken, SLEEPER) as supervised:
        supervised.until(lambda it: it.restarts["broken"] >= 1)
        assert supervised.life_of("sleeper").is_running()
        assert "/no/such/program" in (home.logs / "broken.log").read_text()


def test_the_supervisor_tells_who_it_is_and_holds_the_cluster_s_lock(home: Home) -> None:
    with _supervised(home, SLEEPER) as supervised:
        supervised.life_of("sleeper")
        said = supervised.says()
        assert said is not None
        assert said.supervisor is not None
        assert said.supervisor.pid == supervised.process.pid
        assert said.supervisor.is_running()
        assert said.pid_namespace == Path("/proc/self/ns/pid").stat().st_ino
        assert liveness.is_running(home)
    assert not liveness.is_running(home)


def test_the_supervisor_ends_with_its_children_when_its_leash_is_released(home: Home) -> None:
    leash = home.root / "leash"
    held = ExitStack()
    held.enter_context(locked(leash))
    with held, _supervised(home, SLEEPER, tied_to=str(leash)) as supervised:
        alive = supervised.life_of("sleeper")
        held.close()
        assert supervised.process.wait(timeout=30) == 0
    assert eventually(lambda: _gone(alive))


def test_the_supervisor_lives_while_its_leash_is_held(home: Home) -> None:
    leash = home.root / "leash"
    with locked(leash), _supervised(home, SLEEPER, tied_to=str(leash)) as supervised:
        # A restart takes a turn of the loop in which the leash is looked at.
        os.kill(supervised.life_of("sleeper").pid, signal.SIGKILL)
        supervised.life_of("sleeper", after=1)
        assert supervised.process.poll() is None


@pytest.mark.parametrize("leash", ["never-made", "nobody-holds-it"])
def test_without_anybody_at_its_leash_the_supervisor_ends_at_once(leash: str, home: Home) -> None:
    path = home.root / leash
    if leash == "nobody-holds-it":
        path.touch()
    with _supervised(home, SLEEPER, tied_to=str(path)) as supervised:
        assert supervised.process.wait(timeout=30) == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_die_with_their_supervisor_however_it_ends(
    how: signal.Signals, home: Home
) -> None:
    fifo = home.path / "fifo"
    os.mkfifo(fifo)
    reading = f"trap '' TERM INT; echo ready; read forever < {fifo}"
    stubborn = Process(name="stubborn", argv=["sh", "-c", reading])
    with _supervised(home, SLEEPER, stubborn) as supervised:
        alive = [supervised.life_of(name) for name in ("sleeper", "stubborn")]
        eventually(lambda: "ready" in (home.logs / "stubborn.log").read_text())
        supervised.process.send_signal(how)
        supervised.process.wait(timeout=30)
        assert eventually(lambda: all(map(_gone, alive)))


class _Readiness(BaseHTTPRequestHandler):
    """Says whether it is ready, as an API server does."""

    status = 503

    def do_GET(self) -> None:
        self.send_response(type(self).status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quietly."""


@pytest.fixture
def readiness() -> Iterator[tuple[type[_Readiness], str]]:
    handler = type("Own", (_Readiness,), {})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield handler, f"http://127.0.0.1:{server.server_port}/readyz"
        server.shutdown()
        thread.join()


def test_what_waits_starts_only_once_the_api_is_ready(
    readiness: tuple[type[_Readiness], str], home: Home
) -> None:
    handler, url = readiness
    later = Process(name="later", argv=["sleep", "1000"], wait=True)
    with _supervised(home, SLEEPER, later, ready=[url]) as supervised:
        os.kill(supervised.life_of("sleeper").pid, signal.SIGKILL)
        supervised.life_of("sleeper", after=1)
        said = supervised.says()
        assert said is not None
        assert said.children["later"] is None
        assert not said.api_ready
        handler.status = 200
        supervised.life_of("later")
        said = supervised.says()
        assert said is not None
        assert said.api_ready


def test_without_anything_to_wait_for_all_starts_at_once(home: Home) -> None:
    later = Process(name="later", argv=["sleep", "1000"], wait=True)
    with _supervised(home, later) as supervised:
        assert supervised.life_of("later").is_running()
