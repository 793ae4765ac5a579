"""Where the dev cluster keeps what can be had again (cache) and what cannot (state)."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from quiver.devcluster.catalog import BinaryError

ROOTS_STATE = Path("/var/lib/quiver")

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    if chosen := environ.get("QUIVER_CACHE"):
        return Path(chosen).absolute()
    return _xdg(environ, "XDG_CACHE_HOME", ".cache") / "quiver"


def state_dir(environ: Mapping[str, str] = os.environ, *, user: int | None = None) -> Path:
    if chosen := environ.get("QUIVER_STATE"):
        return Path(chosen).absolute()
    if (os.geteuid() if user is None else user) == 0:
        return ROOTS_STATE
    return _xdg(environ, "XDG_STATE_HOME", ".local/state") / "quiver"


def upstream_dir() -> Path:
    """The pinned Go modules: inside the installed package, or at the root of a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "upstream"
    return installed if installed.is_dir() else package.parents[2] / "upstream"


def architecture(system: str | None = None, machine: str | None = None) -> str:
    """This machine's name for itself in release files: amd64 or arm64."""
    system, machine = system or platform.system(), machine or platform.machine()
    if system == "Linux" and machine in _ARCHITECTURES:
        return _ARCHITECTURES[machine]
    raise BinaryError(
        f"the dev cluster runs on Linux on amd64 or arm64, and this is {system} on {machine}:"
        " use a Linux machine, a virtual machine or WSL 2"
    )


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    chosen = environ.get(variable, "")
    # The XDG specification says to ignore a relative path.
    return Path(chosen) if chosen.startswith("/") else Path.home() / fallback
