"""What a person is told about clusters, word by word."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from quiver.devcluster import liveness, report
from quiver.devcluster.catalog import KUBERNETES
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import Home, Record
from quiver.devcluster.network import Network
from quiver.devcluster.processes import Alive, Running
from quiver.devcluster.spec import Spec

ALIVE = Alive(7, 1000)
OVERVIEW = """\
NAME     STATE    API                                 SHAPE
alone    ended    https://127.0.0.1:20000             control plane only
cut-off  ended    -                                   unfinished
many     ended    https://127.0.0.1:20001 and 2 more  control plane only, 5 simulated nodes
whole    running  https://10.89.1.2:6443              node"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIVER_STATE", str(tmp_path))
    return tmp_path


def _make(spec: Spec, *ports: int, network: Network | None = None) -> Home:
    home = Home(spec.name)
    home.write(Record(spec=spec, network=network, api_ports=list(ports)))
    return home


@contextmanager
def _running(home: Home) -> Iterator[None]:
    held = liveness.hold(home)
    yield
    os.close(held)


def _says(home: Home, *, api_ready: bool, **children: tuple[Alive | None, int]) -> None:
    said = Running(
        supervisor=ALIVE,
        pid_namespace=1,
        children={name: alive for name, (alive, _) in children.items()},
        restarts={name: restarts for name, (_, restarts) in children.items()},
        api_ready=api_ready,
    )
    home.running.write_bytes(msgspec.json.encode(said))


def test_without_clusters_the_way_to_the_first_one_is_told() -> None:
    assert report.overview() == "there are no clusters: `quiver dev up` makes one"


def test_the_overview_is_a_table_of_all_clusters(state: Path) -> None:
    _make(Spec(name="alone", node=False), 20000)
    _make(Spec(name="many", node=False, api_servers=3, simulated_nodes=5), 20001, 20002, 20003)
    with_node = _make(Spec(name="whole"), 6443, network=Network(1, "whole"))
    (state / "clusters" / "cut-off").mkdir()
    with _running(with_node):
        assert report.overview() == OVERVIEW


def test_a_control_plane_is_welcomed_with_its_address_and_how_to_use_and_end_it() -> None:
    home = _make(Spec(name="team-a", node=False), 20000)
    assert report.welcome(home) == "\n".join(
        [
            f"cluster 'team-a' is up: Kubernetes {KUBERNETES}",
            "  API        https://127.0.0.1:20000  (context quiver-team-a)",
            f"  kubectl    export KUBECONFIG={home.kubeconfig}",
            "             or: quiver dev kubectl --name team-a get pods -A",
            "  end it     quiver dev down --name team-a",
        ]
    )


def test_the_default_cluster_need_not_be_named() -> None:
    lines = report.welcome(_make(Spec(node=False), 20000)).splitlines()
    assert lines[-2:] == [
        "             or: quiver dev kubectl get pods -A",
        "  end it     quiver dev down",
    ]


def test_each_of_several_api_servers_has_its_context() -> None:
    text = report.welcome(_make(Spec(node=False, api_servers=2), 20000, 20001))
    assert "https://127.0.0.1:20000  (context quiver-dev-1)\n" in text
    assert "https://127.0.0.1:20001  (context quiver-dev-2)\n" in text


def test_a_node_brings_ingress_registry_and_storage() -> None:
    text = report.welcome(_make(Spec(), 6443, network=Network(4, "dev")))
    assert "  API        https://10.89.4.2:6443  (context quiver-dev)\n" in text
    assert "  ingress    http://10.89.4.2  (by Host header)\n" in text
    assert "  registry   10.89.4.2:5000  (localhost:5000 in manifests)\n" in text


@pytest.mark.parametrize(
    ("api_ready", "etcd", "healthy"),
    [
        (True, ALIVE, True),
        (False, ALIVE, False),
        (True, None, False),
    ],
)
def test_a_cluster_is_well_exactly_if_all_parts_run_and_the_api_answers(
    api_ready: bool, etcd: Alive | None, healthy: bool
) -> None:
    home = _make(Spec(node=False), 20000)
    _says(home, api_ready=api_ready, etcd=(etcd, 0))
    with _running(home):
        assert report.details("dev")[1] is healthy


def test_each_part_is_told_with_how_often_it_was_started_again() -> None:
    home = _make(Spec(node=False), 20000)
    _says(home, api_ready=True, etcd=(ALIVE, 0), one=(ALIVE, 2), two=(None, 3))
    with _running(home):
        text, _ = report.details("dev")
    assert text == "\n".join(
        [
            report.welcome(home),
            "  parts",
            "             etcd: running",
            "             one: running, restarts: 2",
            "             two: not running, restarts: 3",
        ]
    )


def test_a_cluster_that_is_not_there_or_does_not_run_is_told_with_the_way_to_it() -> None:
    with pytest.raises(DevClusterError) as missing:
        report.details("team-a")
    assert str(missing.value) == (
        "there is no cluster 'team-a': `quiver dev up --name team-a` makes it"
    )
    _make(Spec(name="team-a", node=False), 20000)
    with pytest.raises(DevClusterError) as ended:
        report.running_home("team-a")
    assert str(ended.value) == (
        "cluster 'team-a' does not run any more: `quiver dev up --name team-a` starts it anew"
    )


def test_only_a_cluster_with_a_node_has_a_registry() -> None:
    alone = _make(Spec(name="alone", node=False), 20000)
    whole = _make(Spec(name="whole"), 6443, network=Network(1, "whole"))
    with _running(alone), _running(whole):
        assert report.network_of("whole") == Network(1, "whole")
        with pytest.raises(DevClusterError, match="'alone' has no node and therefore no registry"):
            report.network_of("alone")
