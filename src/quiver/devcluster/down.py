"""Ends one cluster and removes everything it left on the machine, and nothing else.

Safe on a cluster in any state: never finished, running, crashed, half removed.
"""

import contextlib
import os
import shutil
import subprocess

from quiver.devcluster import cgroups, liveness, network
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import Home
from quiver.devcluster.processes import end, end_namespace, pid_namespace
from quiver.devcluster.progress import Progress

PATIENCE = 20.0


def down(home: Home, progress: Progress) -> bool:
    """End and remove a cluster; False if there was none."""
    with home.locked():
        if not home.path.exists():
            return False
        with progress.step(f"ending cluster {home.name!r}", "a second"):
            return remove(home)


def remove(home: Home) -> bool:
    """True if there was something to remove. The caller holds the cluster's lock."""
    record = home.record()
    if record is None and not home.path.exists():
        return False
    stop_processes(home)
    if record is None or record.spec.node:
        require_root(home)
        network.disconnect(home.name, record.network if record else None)
        cgroups.remove(home.name)
        detach_loop_devices(home)
    shutil.rmtree(home.path)
    return True


def stop_processes(home: Home) -> None:
    if (last := liveness.running(home)) is None:
        return
    if last.pid_namespace != pid_namespace():
        left = end_namespace(last.pid_namespace, patience=PATIENCE)
    else:
        everybody = [last.supervisor, *last.children.values()]
        alive = [process for process in everybody if process]
        left = [process.pid for process in end(alive, patience=PATIENCE)]
    if left:
        raise DevClusterError(
            f"processes {', '.join(map(str, left))} of cluster {home.name!r} do not end:"
            f" look at them with `ps`, end them, and run `quiver dev down --name {home.name}` again"
        )


def require_root(home: Home) -> None:
    if os.geteuid() != 0:
        raise DevClusterError(
            f"cluster {home.name!r} was made by root and has a node: run `down` with sudo"
        )


def detach_loop_devices(home: Home) -> None:
    """The kernel clears them with their last mount; this is for those never mounted."""
    listed = subprocess.run(
        ["losetup", "--noheadings", "--raw", "--output", "NAME,BACK-FILE"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    for line in listed.stdout.splitlines():
        device, _, file = line.partition(" ")
        if file.startswith(f"{home.volumes}/"):
            # It may clear itself in this very moment, which is as good.
            with contextlib.suppress(subprocess.CalledProcessError):
                subprocess.run(["losetup", "-d", device], check=True, capture_output=True)
