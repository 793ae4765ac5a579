"""Ends one cluster and removes everything it left on the machine, and nothing else.

Safe on a cluster in any state: never finished, running, crashed, half removed.
"""

import contextlib
import os
import shutil
import subprocess
import time

from quiver.devcluster import cgroups, liveness, network
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import Home
from quiver.devcluster.network import Network
from quiver.devcluster.processes import end, end_namespaces
from quiver.devcluster.progress import Progress

PATIENCE = 20.0


def down(home: Home, progress: Progress) -> bool:
    """End and remove a cluster; False if there was none."""
    if not home.path.exists():
        return False
    refuse_anothers(home)
    with home.locked(), progress.step(f"ending cluster {home.name!r}", "a second"):
        return remove(home)


def remove(home: Home) -> bool:
    """True if there was something to remove. The caller holds the cluster's lock."""
    if not home.path.exists():
        return False
    # Without a record nothing but the folder was made.
    if record := home.record():
        net = record.network
        refuse_survivors(home, stop_node(home, net) if net else stop_control_plane(home))
        if net:
            network.disconnect(net)
            cgroups.remove(net.label)
            detach_loop_devices(home)
    shutil.rmtree(home.path)
    return True


def stop_node(home: Home, net: Network) -> list[int]:
    """Kill everything in the cluster's namespaces, also if its supervisor never said a word."""
    namespaces = []
    if net.namespace.exists():
        namespaces.append(("net", net.namespace.stat().st_ino))
    if said := liveness.running(home):
        namespaces.append(("pid", said.pid_namespace))
    return end_namespaces(namespaces, patience=PATIENCE)


def stop_control_plane(home: Home) -> list[int]:
    """Kill the supervisor, and the children it told of in case they outlive it."""
    deadline = time.monotonic() + PATIENCE
    while (said := liveness.running(home)) is None:
        if not liveness.is_running(home) or time.monotonic() > deadline:
            return []
        time.sleep(0.02)
    everybody = (said.supervisor, *said.children.values())
    left = end([process for process in everybody if process], patience=PATIENCE)
    return [process.pid for process in left]


def refuse_survivors(home: Home, left: list[int]) -> None:
    if left:
        raise DevClusterError(
            f"processes {', '.join(map(str, left))} of cluster {home.name!r} do not end:"
            f" look at them with `ps`, end them, and run `quiver dev down --name {home.name}` again"
        )


def refuse_anothers(home: Home) -> None:
    if os.geteuid() not in (0, home.path.stat().st_uid):
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
