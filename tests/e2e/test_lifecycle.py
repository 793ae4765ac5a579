"""A second cluster beside the first: it comes, crashes, comes back and leaves nothing."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from quiver.devcluster import liveness
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.home import Home
from quiver.devcluster.processes import members
from support.machine import QUIVER, bridges, nft_tables, quiver, shared_places, traces_of

NAME = f"life-{os.getpid()}"


@pytest.fixture
def home(cluster: DevCluster) -> Iterator[Home]:
    """The name of a cluster that does not exist yet, beside one that does."""
    home = Home(NAME)
    yield home
    quiver("dev", "down", "--name", NAME)


def slot_of(home: Home) -> int:
    record = home.record()
    assert record is not None
    assert record.network is not None
    return record.network.slot


def test_a_cluster_comes_and_goes_without_a_trace_and_without_touching_its_neighbour(
    cluster: DevCluster, home: Home
) -> None:
    before = (bridges(), nft_tables(), shared_places())
    up = quiver("dev", "up", "--name", NAME)
    assert up.returncode == 0, up.stderr
    assert f"export KUBECONFIG={home.kubeconfig}" in up.stdout
    assert slot_of(home) != slot_of(cluster.home)
    assert NAME in quiver("dev", "status").stdout

    pods = quiver("dev", "kubectl", "--name", NAME, "get", "pods", "-A", "-o", "name")
    assert "pod/coredns" in pods.stdout
    assert traces_of(NAME, slot_of(home), home.root)

    again = quiver("dev", "up", "--name", NAME)
    assert (again.returncode, again.stdout) == (0, up.stdout)

    state = liveness.running(home)
    assert state is not None
    slot = slot_of(home)
    os.kill(members("pid", state.pid_namespace)[0], signal.SIGKILL)
    crashed = quiver("dev", "status", "--name", NAME)
    assert crashed.returncode == 1
    assert "does not run any more" in crashed.stderr

    anew = quiver("dev", "up", "--name", NAME)
    assert anew.returncode == 0, anew.stderr
    nodes = quiver("dev", "kubectl", "--name", NAME, "get", "nodes", "--no-headers")
    assert " Ready " in nodes.stdout

    down = quiver("dev", "down", "--name", NAME)
    assert down.returncode == 0, down.stderr
    assert traces_of(NAME, slot, home.root) == []
    assert (bridges(), nft_tables(), shared_places()) == before
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"
    assert quiver("dev", "down", "--name", NAME).stdout == f"there is no cluster {NAME!r}\n"


@pytest.mark.parametrize("part", ["cluster.json", "processes.json", "running.json"])
def test_an_up_that_is_cut_off_is_cleaned_by_down(home: Home, part: str) -> None:
    # Killed at the moment when this file appears: nothing of the cluster is finished then.
    with subprocess.Popen([*QUIVER, "dev", "up", "--name", NAME], stderr=subprocess.PIPE) as up:
        while not (home.path / part).exists():
            assert up.poll() is None
        up.kill()
    slot = slot_of(home)
    assert traces_of(NAME, slot, home.root)
    assert quiver("dev", "down", "--name", NAME).returncode == 0
    assert traces_of(NAME, slot, home.root) == []
