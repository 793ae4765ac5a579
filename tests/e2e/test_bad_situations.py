"""Each bad situation is one clear sentence and a non-zero exit."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.machine import quiver


def sentence(*arguments: str, prefix: tuple[str, ...] = (), **environment: str) -> str:
    """The one line that a failing command prints."""
    done = quiver(*arguments, prefix=prefix, **environment)
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tiny", str(tmp_path)], check=True)
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_without_root() -> None:
    # In a user namespace without a mapping everybody is nobody.
    said = sentence("dev", "up", "--name", "rootless", prefix=("unshare", "--user"))
    assert said.startswith("quiver: a dev cluster with a node needs root")
    assert "sudo" in said


def test_without_disk_space(tiny_disk: Path) -> None:
    said = sentence("dev", "up", "--control-plane-only", QUIVER_STATE=str(tiny_disk))
    assert said.startswith(f"quiver: no disk space: {tiny_disk} has 0.0 GB free")
    assert "QUIVER_STATE" in said


def test_a_name_that_cannot_be_one() -> None:
    assert "'Not A Name' cannot be a cluster's name" in sentence(
        "dev", "up", "--name", "Not A Name"
    )


def test_several_api_servers_with_a_node() -> None:
    assert "--control-plane-only" in sentence("dev", "up", "--api-servers", "3")


def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    for verb in (["kubeconfig"], ["status", "--name", "dev"], ["images"], ["kubectl", "version"]):
        assert "there is no cluster 'dev'" in sentence("dev", *verb, QUIVER_STATE=str(tmp_path))
