"""The operator as a process of its own, which can be killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from quiver.devcluster.waiting import until
from support.web import http


class OperatorProcess:
    """`quiver operator`, limited to one namespace. Its log goes to a file."""

    def __init__(self, kubeconfig: Path, namespace: str, folder: Path, *arguments: str) -> None:
        self.port = _free_port()
        self.log = folder / f"operator-{self.port}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", "quiver", "operator", "--controllers=vecodex",
                    f"--kubeconfig={kubeconfig}", f"--namespaces={namespace}",
                    f"--leader-elect-namespace={namespace}", "--no-install-crds",
                    f"--health-probe-bind-address=127.0.0.1:{self.port}",
                    f"--metrics-bind-address=127.0.0.1:{self.port}", *arguments,
                ],
                stdout=log, stderr=log,
            )  # fmt: skip

    def kill(self) -> None:
        """As the kernel would for want of memory: no last words."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self, *, within: float = 40) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(within)

    async def ready(self, *, within: float = 30) -> None:
        async def missing() -> str | None:
            if self._process.poll() is not None:
                raise AssertionError(f"the operator ended: {self.log.read_text()}")
            try:
                status, text = await http("GET", f"http://127.0.0.1:{self.port}/readyz")
            except OSError as error:
                return str(error)
            return None if status == 200 else str(text)

        await until(missing, within=within)

    async def metric(self, name: str) -> float:
        """The sum of all series whose line begins so."""
        _, text = await http("GET", f"http://127.0.0.1:{self.port}/metrics")
        lines = [line for line in str(text).splitlines() if line.startswith(name)]
        return sum(float(line.rpartition(" ")[2]) for line in lines)


def processes_of(folder: Path, program: str) -> list[int]:
    """Running programs that were started with paths below a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if program.encode() in command.split(b"\0")[0] and os.fsencode(folder) in command:
            found.append(int(entry.name))
    return found


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
