"""A cluster runs exactly while its supervisor holds the lock."""

import os
from pathlib import Path

import msgspec
import pytest

from quiver.devcluster import liveness
from quiver.devcluster.home import Home
from quiver.devcluster.processes import Alive, Running


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home("dev", root=tmp_path)
    home.path.mkdir(parents=True)
    return home


def test_a_cluster_that_was_never_started_does_not_run(home: Home) -> None:
    assert not liveness.is_running(home)
    assert liveness.running(home) is None
    assert not liveness.is_running(Home("other", root=home.root))


def test_a_cluster_runs_while_its_lock_is_held(home: Home) -> None:
    held = liveness.hold(home)
    assert liveness.is_running(home)
    os.close(held)
    assert not liveness.is_running(home)


def test_a_cluster_has_one_supervisor_at_a_time(home: Home) -> None:
    held = liveness.hold(home)
    with pytest.raises(BlockingIOError):
        liveness.hold(home)
    os.close(held)


def test_looking_does_not_keep_a_supervisor_from_starting(home: Home) -> None:
    os.close(liveness.hold(home))
    assert not liveness.is_running(home)
    os.close(liveness.hold(home))


def test_what_a_supervisor_last_said_is_read_also_when_it_is_gone(home: Home) -> None:
    said = Running(
        supervisor=Alive(7, 1000),
        pid_namespace=4026531836,
        children={"etcd": Alive(8, 1001), "kubelet": None},
        restarts={"etcd": 0, "kubelet": 3},
        api_ready=True,
    )
    home.running.write_bytes(msgspec.json.encode(said))
    assert liveness.running(home) == said
    assert not liveness.is_running(home)
