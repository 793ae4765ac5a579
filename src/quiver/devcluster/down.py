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
    if not home.path.exists():
        return False
    refuse_anothers(home)
    with home.locked():
        with progress.step(f"ending cluster {home.name!r}", "a second"):
            return remove(home)


def remove(home: Home) -> bool:
    """True if there was something to remove. The caller holds the cluster's lock."""
    record = home.record()
    if record is None and not home.path.exists():
        return False
    stop_processes(home)
    if record is None or record.spec.node:
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


def refuse_anothers(home: Home) -> None:
    if home.path.stat().st_uid != os.geteuid():
        raise DevClusterError(f"cluster {home.name!r} was made by another user: run this with sudo")


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
