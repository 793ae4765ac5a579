"""The processes of a dev cluster, as data that the supervisor reads, and as facts of /proc."""

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One program to keep running. Those that `wait` start once the API servers are ready."""

    name: str
    argv: list[str]
    env: dict[str, str] = {}
    folder: str = "/"
    wait: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that one supervisor runs; `ready` are the URLs that must answer before the rest."""

    processes: list[Process]
    ready: list[str] = []
    tied_to: str | None = None


class Alive(msgspec.Struct, frozen=True):
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    started: int

    def is_running(self) -> bool:
        return start_time(self.pid) == self.started


class Running(msgspec.Struct, kw_only=True):
    """What the supervisor says of itself; rewritten whenever a process starts or ends."""

    supervisor: Alive | None
    pid_namespace: int
    children: dict[str, Alive | None] = {}
    restarts: dict[str, int] = {}
    api_ready: bool = False


def start_time(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat; None for a process that is gone or only waits to be reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def namespace(kind: str, pid: int | str = "self") -> int | None:
    """The number of a process's namespace; None if the process is gone or not ours to ask."""
    try:
        return Path(f"/proc/{pid}/ns/{kind}").stat().st_ino
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def members(kind: str, number: int) -> list[int]:
    """The processes in a namespace, oldest first: the first is process 1 of a PID namespace."""
    pids = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if namespace(kind, pid) == number]


def end(processes: Iterable[Alive], *, patience: float) -> list[Alive]:
    """Kill, and wait until they are gone. Returns those that are not in time."""
    left = [process for process in processes if process.is_running()]
    for process in left:
        send(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + patience
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [process for process in left if process.is_running()]
    return left


def end_namespaces(namespaces: Iterable[tuple[str, int]], *, patience: float) -> list[int]:
    """Kill all that is in any of these namespaces. Returns the processes that are left."""
    deadline = time.monotonic() + patience
    while left := [pid for kind, number in namespaces for pid in members(kind, number)]:
        if time.monotonic() > deadline:
            break
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(0.05)
    return left


def send(pid: int, signal_number: int) -> None:
    try:
        os.kill(pid, signal_number)
    except ProcessLookupError:
        return  # It ended by itself, which is what was wanted.
