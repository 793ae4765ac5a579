"""The cgroup that all pods of one dev cluster live under, on version 1, 2 or both."""

import errno
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PATIENCE = 10.0
DELEGATED = ("cpuset", "cpu", "io", "memory", "pids", "hugetlb")


def make(name: str) -> None:
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        if (hierarchy / "cgroup.controllers").exists():
            _delegate(hierarchy, group)
        _inherit_cpuset(hierarchy, group)


def remove(name: str) -> None:
    for hierarchy in hierarchies():
        if (group := hierarchy / name).is_dir():
            inner = [path for path in group.rglob("*") if path.is_dir()]
            for folder in sorted(inner, key=lambda path: len(path.parts), reverse=True):
                _remove_when_empty(folder)
            _remove_when_empty(group)


def _remove_when_empty(folder: Path) -> None:
    """A group is busy for a moment longer than the last process that was in it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return folder.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def hierarchies() -> list[Path]:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    points = [Path(point) for _, point, kind, *_ in mounts if kind in ("cgroup", "cgroup2")]
    return [point for point in points if point.is_relative_to(ROOT)]


def _delegate(hierarchy: Path, group: Path) -> None:
    for folder in (hierarchy, group):
        offered = (folder / "cgroup.controllers").read_text().split()
        wanted = " ".join(f"+{name}" for name in DELEGATED if name in offered)
        if wanted:
            (folder / "cgroup.subtree_control").write_text(wanted)


def _inherit_cpuset(hierarchy: Path, group: Path) -> None:
    """A version 1 cpuset starts empty, and nothing can run in an empty one."""
    for file in ("cpuset.cpus", "cpuset.mems"):
        source, target = hierarchy / file, group / file
        if source.exists() and target.exists():
            target.write_text(source.read_text())
