"""What a process and its children used, from /proc."""

import os
import re
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """CPU in seconds since the start; memory in bytes, now and at its highest."""

    cpu: float
    memory: int
    peak: int

    def __add__(self, other: object) -> "Usage":
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(self.cpu + other.cpu, self.memory + other.memory, self.peak + other.peak)


NOTHING = Usage(0.0, 0, 0)


def usage_of_tree(pid: int) -> Usage:
    total = NOTHING
    for member in tree(pid, parents()):
        try:
            total += usage_of(member)
        except (FileNotFoundError, ProcessLookupError):
            continue  # It ended while we looked; its parent has its CPU.
    return total


def usage_of(pid: int) -> Usage:
    proc = Path(f"/proc/{pid}")
    return parsed((proc / "stat").read_text(), (proc / "status").read_text())


def parsed(stat: str, status: str) -> Usage:
    """CPU with that of children that ended and were waited for."""
    fields = stat.rpartition(")")[2].split()
    return Usage(
        cpu=sum(map(int, fields[11:15])) / TICKS,
        memory=_kilobytes(status, "VmRSS"),
        peak=_kilobytes(status, "VmHWM"),
    )


def parents() -> dict[int, int]:
    """Of every process on the machine."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    return found


def tree(root: int, parent_of: dict[int, int]) -> list[int]:
    """The process and all that descend from it."""
    members = [root]
    for member in members:
        members += [pid for pid, parent in parent_of.items() if parent == member]
    return members


def _kilobytes(status: str, field: str) -> int:
    line = re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
    # A process that ended and was not waited for has no memory any more.
    return int(line[1]) * 1024 if line else 0
