"""The quick cluster for tests: an API server and etcd, without root and without a node."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from quiver.devcluster import liveness
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.home import Home
from quiver.devcluster.processes import Running
from quiver.kube import Client, Conflict, NotFound
from support.machine import processes, quiver
from support.waiting import eventually


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A state directory of this test's own; sockets need a short path."""
    home = Home("quick", tmp_path)
    yield home
    down = quiver("dev", "down", "--name", "quick", QUIVER_STATE=str(tmp_path))
    assert down.returncode == 0, down.stderr


def up(home: Home, *options: str, prefix: tuple[str, ...] = ()) -> tuple[int, str, str]:
    command = ("dev", "up", "--control-plane-only", "--name", home.name, *options)
    done = quiver(*command, prefix=prefix, QUIVER_STATE=str(home.root))
    return done.returncode, done.stdout, done.stderr


def test_a_second_up_finds_the_first(home: Home) -> None:
    code, out, err = up(home)
    assert code == 0, err
    first = liveness.running(home)
    assert up(home)[:2] == (0, out)
    second = liveness.running(home)
    assert first is not None
    assert second is not None
    assert first.supervisor == second.supervisor


def test_it_needs_no_root(home: Home) -> None:
    # A user namespace without a mapping: every capability is gone, and the user is nobody.
    code, _, err = up(home, prefix=("unshare", "--user"))
    assert code == 0, err


def test_killing_the_supervisor_leaves_no_process(home: Home) -> None:
    assert up(home)[0] == 0
    state = liveness.running(home)
    assert state is not None
    assert state.supervisor is not None
    os.kill(state.supervisor.pid, signal.SIGKILL)
    eventually(lambda: not [line for _, line in processes() if str(home.path) in line], within=10)
    assert not liveness.is_running(home)
    assert up(home)[0] == 0


def test_a_dead_part_is_started_again(home: Home) -> None:
    assert up(home)[0] == 0
    before = liveness.running(home)
    assert before is not None
    etcd = before.children["etcd"]
    assert etcd is not None
    os.kill(etcd.pid, signal.SIGKILL)

    def with_another_etcd() -> Running | None:
        now = liveness.running(home)
        return now if now and now.children["etcd"] not in (None, etcd) else None

    now = eventually(with_another_etcd, within=20)
    assert now.restarts["etcd"] == 1
    status = quiver("dev", "status", "--name", home.name, QUIVER_STATE=str(home.root))
    assert "etcd: running, restarts: 1" in status.stdout


async def test_the_controller_manager_comes_on_request(home: Home) -> None:
    assert up(home, "--controller-manager")[0] == 0
    cluster = DevCluster(home)
    async with cluster.client() as client:
        await cluster.make_namespace(client, "controlled")
        account = await client.get("v1", "ServiceAccount", "default", "controlled")
    assert account["metadata"]["name"] == "default"


def test_other_options_on_a_running_cluster_are_refused(home: Home) -> None:
    assert up(home)[0] == 0
    code, _, err = up(home, "--controller-manager")
    assert code == 1
    assert "is already up with other options" in err.splitlines()[-1]


def test_a_port_in_use_is_one_sentence(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, err = up(home, "--api-port", str(port))
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"quiver: port {port} on 127.0.0.1 is in use:")


async def test_each_test_has_a_namespace_of_its_own(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mine", "namespace": namespace},
        "data": {"a": "1"},
    }
    await api_client.create(config_map)
    with pytest.raises(Conflict):
        await api_client.create(config_map)
    found = await api_client.list("v1", "ConfigMap", namespace)
    assert [entry["metadata"]["name"] for entry in found] == ["mine"]
    await api_client.delete("v1", "ConfigMap", "mine", namespace)
    with pytest.raises(NotFound):
        await api_client.get("v1", "ConfigMap", "mine", namespace)
