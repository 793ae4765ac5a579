"""The cgroup that all pods of one dev cluster live under, on version 1, 2 or both."""

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
DELEGATED = ("cpuset", "cpu", "io", "memory", "pids", "hugetlb")


def name_of(cluster: str) -> str:
    return f"/quiver-{cluster}"


def make(cluster: str) -> None:
    for hierarchy in hierarchies():
        group = hierarchy / name_of(cluster).lstrip("/")
        group.mkdir(exist_ok=True)
        if (hierarchy / "cgroup.controllers").exists():
            _delegate(hierarchy, group)
        _inherit_cpuset(hierarchy, group)


def remove(cluster: str) -> None:
    """Remove the groups from the leaves up; they are empty once their processes are gone."""
    for hierarchy in hierarchies():
        group = hierarchy / name_of(cluster).lstrip("/")
        if group.is_dir():
            inner = [path for path in group.rglob("*") if path.is_dir()]
            for folder in sorted(inner, key=lambda path: len(path.parts), reverse=True):
                folder.rmdir()
            group.rmdir()


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
