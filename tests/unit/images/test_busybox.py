"""A busybox in an image runs alone there."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from quiver.images import (
    CannotCollect,
    HostFile,
    Layout,
    Manifest,
    RunConfig,
    Symlink,
    busybox,
    pack,
)
from quiver.images.elf import is_elf, is_static
from quiver.images.oci import decode

needs_busybox = pytest.mark.skipif(shutil.which("busybox") is None, reason="needs busybox-static")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for chroot")


@needs_busybox
def test_every_applet_is_a_link_to_the_one_program() -> None:
    entries = busybox()
    (program,) = (entry for entry in entries if isinstance(entry, HostFile))
    assert (program.path, program.mode) == ("/bin/busybox", 0o755)
    links = {entry.path for entry in entries if isinstance(entry, Symlink)}
    assert {"/bin/sh", "/bin/ls", "/bin/wget", "/usr/bin/env"} <= links


@needs_busybox
@needs_root
def test_a_shell_runs_in_the_image(tmp_path: Path) -> None:
    image = pack(tmp_path / "images", files=busybox(), config=RunConfig())
    layout = Layout(tmp_path / "images")
    (layer,) = decode(layout.read(image), Manifest, "the manifest").layers
    with tarfile.open(layout.path(layer.digest)) as tar:
        tar.extractall(tmp_path / "root", filter="tar")
    command = ["chroot", str(tmp_path / "root"), "/bin/sh", "-c", "echo $(id -un) | tr a-z A-Z"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "ROOT\n"


def test_a_program_that_needs_libraries_is_refused() -> None:
    shell = Path("/bin/sh").resolve()
    assert is_elf(shell)
    assert not is_static(shell)
    with pytest.raises(CannotCollect, match="apt-get install busybox-static"):
        busybox(shell)


def test_a_script_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "busybox"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(CannotCollect, match="is not a static program"):
        busybox(script)


def test_a_host_without_busybox_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CannotCollect, match="This host has no busybox"):
        busybox()
