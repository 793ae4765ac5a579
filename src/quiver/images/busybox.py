"""A shell and its tools for an image: the host's static busybox under all its names."""

import shutil
import subprocess
from pathlib import Path

from quiver.images.elf import is_elf, is_static
from quiver.images.entries import Entry, HostFile, Symlink
from quiver.images.errors import CannotCollect

_INSTALL = "Install Debian's busybox-static: `apt-get install busybox-static`."


def busybox(program: Path | None = None) -> list[Entry]:
    """`/bin/busybox`, a link in `/bin` for each applet, and `/usr/bin/env` for scripts."""
    program = program or _on_this_host()
    _require_static(program)
    links = [Symlink(f"/bin/{applet}", "busybox") for applet in _applets(program)]
    env = Symlink("/usr/bin/env", "/bin/busybox")
    return [HostFile("/bin/busybox", program, mode=0o755), *links, env]


def _on_this_host() -> Path:
    found = shutil.which("busybox")
    if found is None:
        raise CannotCollect(f"This host has no busybox. {_INSTALL}")
    return Path(found).resolve()


def _require_static(program: Path) -> None:
    if not is_elf(program) or not is_static(program):
        raise CannotCollect(
            f"{program} is not a static program and cannot run alone in an image. {_INSTALL}"
        )


def _applets(program: Path) -> list[str]:
    listing = subprocess.run(
        [program, "--list"], check=True, capture_output=True, text=True, timeout=30
    )
    return [applet for applet in listing.stdout.split() if applet != "busybox"]
