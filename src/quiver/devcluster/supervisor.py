"""Keeps the processes of one dev cluster running: `python -m quiver.devcluster.supervisor HOME`.

With a node this is process 1 of the cluster's PID namespace, so it also reaps whatever the
container runtime leaves behind. Each child is told to die with its parent: a supervisor that is
killed, or simply ends, leaves nothing running. A process that ends is started again after a
pause that doubles up to ten seconds. The supervisor ends on SIGTERM, or when the holder of the
lock file that the cluster is tied to is gone.

There are no threads here: the loop waits for a signal, at most a second. Signals are not
blocked, since children would inherit the mask and never see their SIGTERM; a pipe wakes the loop.
"""

import ctypes
import http.client
import os
import select
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from quiver.devcluster import liveness
from quiver.devcluster.home import Home, is_held, write_atomically
from quiver.devcluster.processes import Alive, Plan, Process, Running, namespace, start_time

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
STEADY_AFTER = 30.0

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class Child:
    """One process of the plan over all its lives."""

    def __init__(self, process: Process, logs: Path) -> None:
        self.process = process
        self.restarts = 0
        self._log = logs / f"{process.name}.log"
        self._popen: subprocess.Popen[bytes] | None = None
        self._pause = FIRST_PAUSE
        self._started_at = 0.0
        self._not_before = 0.0

    @property
    def alive(self) -> Alive | None:
        if self._popen is None:
            return None
        started = start_time(self._popen.pid)
        return Alive(self._popen.pid, started) if started is not None else None

    def start_if_due(self, now: float) -> bool:
        if self._popen is not None or now < self._not_before:
            return False
        self._started_at = now
        with self._log.open("ab") as log:
            try:
                self._popen = self._start(log)
            except OSError as error:
                log.write(f"it cannot be started: {error}\n".encode())
                self._wait_before_next(now)
        return True

    def ended(self, pid: int, now: float) -> bool:
        if self._popen is None or self._popen.pid != pid:
            return False
        if now - self._started_at > STEADY_AFTER:
            self._pause = FIRST_PAUSE
        self._wait_before_next(now)
        return True

    def _start(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.process.argv,
            env=os.environ | self.process.env,
            cwd=self.process.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509, there are no threads here
        )

    def _wait_before_next(self, now: float) -> None:
        self._popen = None
        self.restarts += 1
        self._not_before = now + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


class Alarm:
    """Wakes the loop on a signal, and remembers whether one of them asked to stop."""

    def __init__(self) -> None:
        self.stop_requested = False
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)

    def sleep(self, seconds: float) -> None:
        readable, _, _ = select.select([self._woken], [], [], seconds)
        if readable:
            os.read(self._woken, 4096)

    def _stop(self, *_: object) -> None:
        self.stop_requested = True


class Supervisor:
    def __init__(self, home: Home, plan: Plan, alarm: Alarm) -> None:
        self._home = home
        self._alarm = alarm
        self._plan = plan
        self._children = [Child(process, home.logs) for process in plan.processes]
        self._api_ready = not plan.ready

    def run(self) -> None:
        self._report()
        while not self._alarm.stop_requested and not self._owner_is_gone():
            if self._tend(time.monotonic()):
                self._report()
            self._alarm.sleep(1.0 if self._api_ready else 0.1)

    def _tend(self, now: float) -> bool:
        changed = self._reap(now)
        if not self._api_ready and all(_answers(url) for url in self._plan.ready):
            self._api_ready = changed = True
        for child in self._children:
            if self._api_ready or not child.process.wait:
                changed |= child.start_if_due(now)
        return changed

    def _reap(self, now: float) -> bool:
        changed = False
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return changed
            if pid == 0:
                return changed
            for child in self._children:
                changed |= child.ended(pid, now)

    def _owner_is_gone(self) -> bool:
        return self._plan.tied_to is not None and not is_held(Path(self._plan.tied_to))

    def _report(self) -> None:
        me = start_time(os.getpid())
        running = Running(
            supervisor=Alive(os.getpid(), me) if me is not None else None,
            pid_namespace=namespace("pid") or 0,
            children={child.process.name: child.alive for child in self._children},
            restarts={child.process.name: child.restarts for child in self._children},
            api_ready=self._api_ready,
        )
        write_atomically(self._home.running, msgspec.json.encode(running))


def _die_with(parent: int) -> Callable[[], None]:
    """For the child, before it becomes its program: the kernel kills it with its parent."""

    def prepare() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # The parent died first, and the kernel will not tell.
            os._exit(1)

    return prepare


def _answers(url: str) -> bool:
    """Whether an API server says it is ready. Who it is does not matter here, only that it is."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # Never by a proxy: these addresses exist on this machine only.
    handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False


def main() -> None:
    path = Path(sys.argv[1])
    home = Home(path.name, path.parent.parent)
    plan = msgspec.json.decode(home.processes.read_bytes(), type=Plan)
    liveness.hold(home)
    Supervisor(home, plan, Alarm()).run()


if __name__ == "__main__":
    main()
