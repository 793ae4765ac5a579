"""What must hold before a cluster is made, each with one sentence for when it does not."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.progress import Progress
from quiver.devcluster.spec import Spec

GIGABYTE = 10**9
NODE_DISK = 5 * GIGABYTE
CONTROL_PLANE_DISK = GIGABYTE // 2
API_PORT = 6443
PORTS = range(20000, 32000)

# The tool that is looked for, and the Debian package that has it.
NODE_TOOLS = {
    "ip": "iproute2",
    "nft": "nftables",
    "mkfs.xfs": "xfsprogs",
    "runc": "runc",
    "busybox": "busybox-static",
    "losetup": "mount",
    "unshare": "util-linux",
    "setsid": "util-linux",
}
CONTROL_PLANE_TOOLS = {"setsid": "util-linux"}


def check(spec: Spec, state: Path, progress: Progress) -> None:
    refuse_unsupported_system(sys.platform)
    if spec.node:
        refuse_without_root(os.geteuid())
    refuse_full_disk(state, NODE_DISK if spec.node else CONTROL_PLANE_DISK, free_bytes)
    install_missing(NODE_TOOLS if spec.node else CONTROL_PLANE_TOOLS, progress)
    if spec.node:
        load_kernel_modules()


def refuse_unsupported_system(platform: str) -> None:
    if platform != "linux":
        raise DevClusterError(
            f"a dev cluster runs on Linux only, and this is {platform}:"
            " use a Debian or Ubuntu machine, a virtual machine or WSL 2"
        )


def refuse_without_root(user: int) -> None:
    if user != 0:
        raise DevClusterError(
            "a dev cluster with a node needs root, for network namespaces and mounts:"
            " run it with sudo, or add --control-plane-only, which needs no root"
        )


def refuse_full_disk(state: Path, needed: int, free: Callable[[Path], int]) -> None:
    if (available := free(state)) < needed:
        raise DevClusterError(
            f"no disk space: {state} has {available / GIGABYTE:.1f} GB free and the cluster needs"
            f" {needed / GIGABYTE:.1f} GB: free some, or set QUIVER_STATE to a folder elsewhere"
        )


def free_bytes(path: Path) -> int:
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def install_missing(tools: dict[str, str], progress: Progress) -> None:
    missing = missing_packages(tools, lambda tool: shutil.which(tool, path=search_path()))
    if not missing:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise DevClusterError(
            f"some tools are missing: install {', '.join(missing)} (Debian's names) and try again"
        )
    with progress.step(f"installing {', '.join(missing)} with apt-get", "half a minute"):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
            done = subprocess.run(
                ["apt-get", "-qq", *command],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise DevClusterError(
                    f"`apt-get {' '.join(command)}` failed, so install {', '.join(missing)} by"
                    f" hand: {done.stderr.strip()[-400:]}"
                )


def load_kernel_modules() -> None:
    """Present in the kernel or loadable in every ordinary distribution."""
    if not Path("/proc/sys/net/bridge").exists():
        done = subprocess.run(["modprobe", "br_netfilter"], capture_output=True, check=False)
        if done.returncode != 0:
            raise DevClusterError(
                "the kernel has no br_netfilter, which pods on a bridge need: install the"
                " distribution's kernel modules (linux-modules-extra on Ubuntu) and try again"
            )


def missing_packages(tools: dict[str, str], which: Callable[[str], str | None]) -> list[str]:
    return sorted({package for tool, package in tools.items() if which(tool) is None})


def search_path() -> str:
    """An ordinary user's PATH often lacks the folders of the system's tools."""
    return f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"


def api_ports(spec: Spec, taken: set[int], is_free: Callable[[int], bool]) -> list[int]:
    """Ports on the loopback address for the API servers of a cluster without a node."""
    ports: list[int] = []
    if spec.api_port is not None:
        if spec.api_port in taken or not is_free(spec.api_port):
            raise DevClusterError(
                f"port {spec.api_port} on 127.0.0.1 is in use: choose another --api-port,"
                " or leave it out to get a free one"
            )
        ports.append(spec.api_port)
    for port in PORTS:
        if len(ports) == spec.api_servers:
            break
        if port not in taken and port not in ports and is_free(port):
            ports.append(port)
    if len(ports) < spec.api_servers:
        raise DevClusterError(f"no free port from {PORTS[0]} to {PORTS[-1]} is left on 127.0.0.1")
    return ports


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
