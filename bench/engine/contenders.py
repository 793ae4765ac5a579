"""Who is measured, and how each is started. All have the same rights on the server.

Quiver and controller-runtime elect a leader, as they do where they are installed.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.programs import PEERS, ROOT, go_program, python_environment
from quiver.devcluster.progress import Progress

QUIVER = "quiver"
GO = "controller-runtime"
KOPF = "kopf"
BARE = "bare client"

# The quickest of 8, 16 and 32 in both of two interleaved rounds, and as many as Quiver has.
GO_WORKERS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Contender:
    name: str
    command: Callable[[Path], Sequence[str]]
    """From the kubeconfig's path to the command line."""
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> str:
        return self.name.replace(" ", "-") + ".log"


def quiver() -> Contender:
    start = [sys.executable, "-m", "quiver", "operator", "--controllers=vecodex"]
    lead = ["--leader-elect", "--leader-elect-namespace=default"]
    return Contender(
        name=QUIVER, command=lambda kubeconfig: [*start, *lead, f"--kubeconfig={kubeconfig}"]
    )


def controller_runtime(progress: Progress, workers: int = GO_WORKERS) -> Contender:
    program = str(go_program(PEERS / "controller-runtime", progress))
    return Contender(
        name=GO,
        command=lambda kubeconfig: [
            program, f"--kubeconfig={kubeconfig}", f"--workers={workers}"
        ],
    )  # fmt: skip


def kopf(progress: Progress) -> Contender:
    program = str(python_environment(PEERS / "kopf" / "requirements.txt", progress) / "kopf")
    operator = str(PEERS / "kopf" / "operator.py")
    run = [program, "run", "--quiet", "--standalone", "--all-namespaces", operator]
    return Contender(
        name=KOPF,
        command=lambda kubeconfig: ["env", f"KUBECONFIG={kubeconfig}", *run],
        environ={"PYTHONPATH": str(ROOT)},
    )


def bare_client(writes: Path) -> Contender:
    start = [sys.executable, "-m", "bench.peers.bare", f"--writes={writes}"]
    return Contender(name=BARE, command=lambda kubeconfig: [*start, f"--kubeconfig={kubeconfig}"])
