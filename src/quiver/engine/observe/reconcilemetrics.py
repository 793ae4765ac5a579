"""Counting reconciles: how each ended, how long it took, how many run."""

import enum

from quiver.engine.observe.instruments import Counter, Registry
from quiver.engine.outcome import Outcome, ReconcileError, Requeue, Terminal, Wait
from quiver.kube.errors import KubeError

RECONCILE_SECONDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip
_RESULTS = ("success", "requeue", "requeue_after", "error")


class Ending(enum.Enum):
    """How a reconcile ended, as far as it is counted. The value is for traces and logs."""

    SUCCESS = "success"
    REQUEUE_AFTER = "requeue_after"
    ERROR = "error"
    TERMINAL = "terminal"
    UNEXPECTED = "unexpected"
    """No `ReconcileError` and no `KubeError`, hence a bug: what Go calls a panic."""
    TIMEOUT = "timeout"


# A group is retried if one of its members is, hence an error hides a terminal one.
_WORST_FIRST = (Ending.UNEXPECTED, Ending.TIMEOUT, Ending.ERROR, Ending.TERMINAL)


def ending_of(ended: Outcome | Exception) -> Ending:
    """How to count what a reconcile returned or raised; of a group, its worst member."""
    match ended:
        case None:
            return Ending.SUCCESS
        case Requeue() | Wait():
            return Ending.REQUEUE_AFTER
        case Terminal():
            return Ending.TERMINAL
        case TimeoutError():  # First: the engine's own is a `ReconcileError` too.
            return Ending.TIMEOUT
        case ReconcileError() | KubeError():
            return Ending.ERROR
        case ExceptionGroup():
            return min(map(ending_of, ended.exceptions), key=_WORST_FIRST.index)
        case _:
            return Ending.UNEXPECTED


class ReconcileFamilies:
    def __init__(self, registry: Registry) -> None:
        prefix = "controller_runtime_"
        self.total = registry.counter(
            f"{prefix}reconcile_total", "Total number of reconciliations per controller",
            "controller", "result",
        )  # fmt: skip
        self.errors = registry.counter(
            f"{prefix}reconcile_errors_total",
            "Total number of reconciliation errors per controller",
            "controller",
        )
        self.terminal_errors = registry.counter(
            f"{prefix}terminal_reconcile_errors_total",
            "Total number of terminal reconciliation errors per controller",
            "controller",
        )
        self.panics = registry.counter(
            f"{prefix}reconcile_panics_total",
            "Total number of unexpected exceptions in reconciliations per controller",
            "controller",
        )
        self.timeouts = registry.counter(
            f"{prefix}reconcile_timeouts_total",
            "Total number of reconciliations that were cancelled at their deadline per controller",
            "controller",
        )
        self.time = registry.histogram(
            f"{prefix}reconcile_time_seconds", "Length of time per reconciliation per controller",
            "controller", bounds=RECONCILE_SECONDS,
        )  # fmt: skip
        self.max_concurrent = registry.gauge(
            f"{prefix}max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            "controller",
        )
        self.active_workers = registry.gauge(
            f"{prefix}active_workers", "Number of currently used workers per controller",
            "controller",
        )  # fmt: skip


class ControllerMetrics:
    """The reconciles of one controller: `started`, then either `ended` or `abandoned`."""

    def __init__(self, families: ReconcileFamilies, controller: str, workers: int) -> None:
        # All of them at once, as controller-runtime does: a rate needs the zero before the one.
        results = {result: families.total.of(controller, result) for result in _RESULTS}
        error = (results["error"], families.errors.of(controller))
        self._counters: dict[Ending, tuple[Counter, ...]] = {
            Ending.SUCCESS: (results["success"],),
            Ending.REQUEUE_AFTER: (results["requeue_after"],),
            Ending.ERROR: error,
            Ending.TERMINAL: (*error, families.terminal_errors.of(controller)),
            Ending.UNEXPECTED: (*error, families.panics.of(controller)),
            Ending.TIMEOUT: (*error, families.timeouts.of(controller)),
        }
        self._time = families.time.of(controller)
        self._active = families.active_workers.of(controller)
        families.max_concurrent.of(controller).set(workers)

    def started(self) -> None:
        self._active.value += 1

    def ended(self, ending: Ending, seconds: float) -> None:
        self._active.value -= 1
        self._time.observe(seconds)
        for counter in self._counters[ending]:
            counter.value += 1

    def abandoned(self) -> None:
        """Cancelled because the process ends: neither a success nor a failure."""
        self._active.value -= 1
