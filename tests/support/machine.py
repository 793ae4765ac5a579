"""What a dev cluster could leave on this machine, and the command that ends it."""

import json
import os
import subprocess
import sys
from pathlib import Path

QUIVER = [sys.executable, "-m", "quiver"]


def quiver(
    *arguments: str, prefix: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, *QUIVER, *arguments],
        env=os.environ | environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def traces_of(name: str, slot: int, state: Path) -> list[str]:
    """Everything on this machine that belongs to the cluster of this name."""
    home, label = str(state / "clusters" / name), f"quiver-{name}-{slot}"
    found = [f"process {pid}: {line}" for pid, line in processes() if home in line]
    found += [f"mount {line}" for line in lines_of("/proc/mounts") if home in line]
    found += [f"netns {it.name}" for it in glob("/run/netns", label)]
    found += [f"mount {line}" for line in lines_of("/proc/mounts") if f"{label} " in line]
    found += [f"link {it.name}" for it in glob("/sys/class/net", f"quiver{slot}")]
    found += [f"nft table {it}" for it in nft_tables() if it == label]
    found += [f"cgroup {it}" for it in glob("/sys/fs/cgroup", f"**/{label}")]
    found += [f"loop device on {it}" for it in loop_files() if it.startswith(home)]
    found += [f"route {line}" for line in routes() if f"10.89.{slot}." in line]
    found += [f"folder {home}"] if Path(home).exists() else []
    return found


def processes() -> list[tuple[int, str]]:
    found = []
    for entry in glob("/proc", "[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        found.append((int(entry.name), line))
    return found


def shared_places() -> dict[str, list[str]]:
    """What container runtimes and kubelets like to leave in places of the whole machine."""
    places = ("/run/netns", "/run/containerd", "/run/quiver-cni", "/var/log/pods", "/var/lib/cni")
    return {place: [str(path) for path in glob(place, "**/*")] for place in places}


def bridges() -> list[str]:
    return [it.parent.name for it in glob("/sys/class/net", "*/bridge")]


def nft_tables() -> list[str]:
    shown = subprocess.run(["nft", "-j", "list", "tables"], capture_output=True, check=True)
    entries = json.loads(shown.stdout)["nftables"]
    return [entry["table"]["name"] for entry in entries if "table" in entry]


def loop_files() -> list[str]:
    shown = subprocess.run(
        ["losetup", "--noheadings", "--raw", "--output", "BACK-FILE"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return shown.stdout.splitlines()


def routes() -> list[str]:
    shown = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()


def lines_of(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def glob(folder: str, pattern: str) -> list[Path]:
    return sorted(Path(folder).glob(pattern))
