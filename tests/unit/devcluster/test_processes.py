"""Processes are told apart by number and start, and only the ones that were meant are ended."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from quiver.devcluster.processes import Alive, end, end_namespaces, members, namespace, start_time

_RENAMED = """
import sys
with open("/proc/self/comm", "w") as name:
    name.write("a) Z 7 (b")
print("renamed", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def _alive(process: subprocess.Popen[bytes]) -> Alive:
    started = start_time(process.pid)
    assert started is not None
    return Alive(process.pid, started)


def test_a_living_process_has_one_start_time(sleeper: subprocess.Popen[bytes]) -> None:
    assert start_time(sleeper.pid) == start_time(sleeper.pid)
    me, child = start_time(os.getpid()), start_time(sleeper.pid)
    assert me is not None
    assert child is not None
    assert me <= child


def test_a_process_that_is_gone_has_none() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert start_time(process.pid) is None


def test_a_process_that_only_waits_to_be_reaped_has_none() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(process.pid) is None
    process.wait()


def test_a_process_s_own_name_for_itself_cannot_confuse() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _RENAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        before = start_time(process.pid)
        assert process.stdout is not None
        assert process.stdout.readline() == b"renamed\n"
        assert start_time(process.pid) == before is not None


def test_a_later_process_with_the_same_number_is_another(
    sleeper: subprocess.Popen[bytes],
) -> None:
    alive = _alive(sleeper)
    assert alive.is_running()
    assert not Alive(alive.pid, alive.started - 1).is_running()


def test_a_process_that_has_ended_does_not_run() -> None:
    process = subprocess.Popen(["sleep", "1000"])
    alive = _alive(process)
    process.kill()
    process.wait()
    assert not alive.is_running()


def test_what_is_to_end_ends(sleeper: subprocess.Popen[bytes]) -> None:
    alive = _alive(sleeper)
    assert end([alive], patience=30) == []
    assert not alive.is_running()


def test_a_later_process_with_the_same_number_is_not_ended(
    sleeper: subprocess.Popen[bytes],
) -> None:
    alive = _alive(sleeper)
    assert end([Alive(alive.pid, alive.started - 1)], patience=30) == []
    assert alive.is_running()


def test_what_does_not_end_in_time_is_told(sleeper: subprocess.Popen[bytes]) -> None:
    alive = _alive(sleeper)
    assert end([alive], patience=0) == [alive]


def test_ending_what_has_ended_is_nothing() -> None:
    assert end([], patience=0) == []
    assert end_namespaces([], patience=0) == []


@pytest.mark.parametrize("kind", ["pid", "net", "mnt"])
def test_a_child_is_in_the_namespaces_of_its_parent(
    kind: str, sleeper: subprocess.Popen[bytes]
) -> None:
    mine = namespace(kind)
    assert mine is not None
    assert namespace(kind, sleeper.pid) == mine
    assert {os.getpid(), sleeper.pid} <= set(members(kind, mine))


def test_a_process_that_is_gone_is_in_no_namespace() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert namespace("pid", process.pid) is None


def test_nobody_is_in_a_namespace_that_is_not() -> None:
    assert members("net", 0) == []
    assert end_namespaces([("net", 0), ("pid", 0)], patience=0) == []
