"""The `process_*` metrics that every Prometheus client library exports."""

import os
import resource
from pathlib import Path

from quiver.engine.observe.instruments import Registry

_PROC = Path("/proc")


def add_process_metrics(registry: Registry, proc: Path = _PROC) -> None:
    """Where there is no /proc, there are none of these metrics."""
    if not (proc / "self" / "stat").exists():
        return
    gauges = {
        name: registry.gauge(f"process_{name}", text).of()
        for name, text in (
            ("resident_memory_bytes", "Resident memory size in bytes."),
            ("virtual_memory_bytes", "Virtual memory size in bytes."),
            ("start_time_seconds", "Start time of the process since the epoch in seconds."),
            ("open_fds", "Number of open file descriptors."),
            ("max_fds", "Maximum number of open file descriptors."),
        )
    }
    cpu = registry.counter("process_cpu_seconds_total", "User and system CPU time in seconds.").of()
    gauges["start_time_seconds"].set(_start_time(proc))

    def refresh() -> None:
        fields = _stat(proc)
        cpu.value = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        gauges["virtual_memory_bytes"].set(int(fields[20]))
        gauges["resident_memory_bytes"].set(int(fields[21]) * resource.getpagesize())
        gauges["open_fds"].set(_open_files(proc))
        gauges["max_fds"].set(resource.getrlimit(resource.RLIMIT_NOFILE)[0])

    registry.before_render(refresh)


def _stat(proc: Path) -> list[str]:
    # The second field is the program's name, which may contain blanks and brackets.
    return (proc / "self" / "stat").read_text().rpartition(")")[2].split()


def _open_files(proc: Path) -> int:
    return sum(1 for _ in (proc / "self" / "fd").iterdir())


def _start_time(proc: Path) -> float:
    booted = next(
        int(line.split()[1])
        for line in (proc / "stat").read_text().splitlines()
        if line.startswith("btime ")
    )
    return booted + int(_stat(proc)[19]) / os.sysconf("SC_CLK_TCK")
