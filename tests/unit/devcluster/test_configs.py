"""Every configuration file is one that its reader can parse and that says what was meant."""

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from quiver.devcluster import configs
from quiver.devcluster.home import Home
from quiver.devcluster.network import Network
from quiver.devcluster.pki import Authority
from quiver.kube import KubeConfig

NETWORK = Network(3, "dev")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home("dev", root=tmp_path)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pki")
    for name in ("one", "two"):
        Authority(root / name, now=datetime.now(UTC), name=name).issue("admin", "me")
    return {name: root / name for name in ("one", "two")}


@pytest.mark.parametrize(("context", "chosen"), [(None, "one"), ("one", "one"), ("two", "two")])
def test_a_kubeconfig_is_read_back_with_the_certificates_of_its_context(
    context: str | None, chosen: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    urls = {"one": "https://127.0.0.1:20000", "two": "https://127.0.0.1:20001"}
    path = tmp_path / "kubeconfig"
    path.write_text(configs.kubeconfig(urls, folders, "admin"))
    assert KubeConfig.load(path, context) == KubeConfig(
        server=urls[chosen],
        ca=(folders[chosen] / "ca.crt").read_text(),
        certificate=(folders[chosen] / "admin.crt").read_text(),
        key=(folders[chosen] / "admin.key").read_text(),
    )


def test_a_kubeconfig_s_certificates_make_a_tls_context(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(configs.kubeconfig({"one": "https://127.0.0.1:1"}, folders, "admin"))
    [authority] = KubeConfig.load(path).tls().get_ca_certs()
    assert authority["subject"] == ((("commonName", "one-ca"),),)


def test_containerd_keeps_all_its_files_in_the_cluster_s_home(home: Home, tmp_path: Path) -> None:
    parsed = tomllib.loads(configs.containerd(home, tmp_path / "cni-bin"))
    assert parsed["version"] == 3
    runtime = parsed["plugins"]["io.containerd.cri.v1.runtime"]
    images = parsed["plugins"]["io.containerd.cri.v1.images"]
    places = [parsed["root"], parsed["state"], parsed["grpc"]["address"]]
    places += [images["registry"]["config_path"], runtime["cni"]["conf_dir"]]
    assert all(Path(place).is_relative_to(home.path) for place in places)
    assert len(set(places)) == len(places)
    assert runtime["cni"]["bin_dirs"] == [str(tmp_path / "cni-bin")]
    assert images["pinned_images"]["sandbox"] == configs.PAUSE_IMAGE


@pytest.mark.parametrize("registry", configs.MIRRORED)
def test_images_are_looked_for_here_first_and_then_at_their_registry(registry: str) -> None:
    parsed = tomllib.loads(configs.registry_hosts(registry, NETWORK))
    upstream = "registry-1.docker.io" if registry == "docker.io" else registry
    assert parsed["server"] == f"https://{upstream}"
    assert parsed["host"] == {
        f"http://10.89.3.2:5000/v2/{registry}": {
            "capabilities": ["pull", "resolve"],
            "override_path": True,
        }
    }


def test_a_registry_can_be_mirrored_under_another_name() -> None:
    parsed = tomllib.loads(configs.registry_hosts("localhost:5000", NETWORK, prefix="local"))
    assert list(parsed["host"]) == ["http://10.89.3.2:5000/v2/local"]


def test_the_registry_stores_where_it_is_told() -> None:
    parsed = yaml.safe_load(configs.registry(Path("/data/registry")))
    assert parsed["storage"]["filesystem"] == {"rootdirectory": "/data/registry"}
    assert parsed["http"] == {"addr": ":5000"}


def test_pods_get_addresses_of_the_cluster_s_range() -> None:
    parsed = json.loads(configs.cni(NETWORK))
    [bridge] = parsed["plugins"]
    assert (bridge["type"], bridge["ipam"]["type"]) == ("bridge", "host-local")
    assert bridge["ipam"]["ranges"] == [[{"subnet": NETWORK.pod_cidr}]]


def test_the_kubelet_trusts_the_cluster_s_authority_and_nobody_else(home: Home) -> None:
    parsed = yaml.safe_load(configs.kubelet(home, NETWORK, cgroup_root="/quiver-dev-3"))
    assert parsed["authentication"]["anonymous"] == {"enabled": False}
    assert parsed["authentication"]["x509"] == {"clientCAFile": str(home.pki() / "ca.crt")}
    assert parsed["authorization"] == {"mode": "Webhook"}
    assert parsed["address"] == NETWORK.node_ip
    assert parsed["clusterDNS"] == [NETWORK.dns_ip]
    assert parsed["cgroupRoot"] == "/quiver-dev-3"
    assert parsed["containerRuntimeEndpoint"] == f"unix://{home.containerd_socket}"


def test_the_stages_of_simulated_nodes_know_the_version_and_are_whole() -> None:
    text = configs.stages("1.99.5")
    stages = list(yaml.safe_load_all(text))
    assert "kubeletVersion: v1.99.5" in text
    assert "${" not in text
    assert "$$" not in text
    assert {stage["kind"] for stage in stages} == {"Stage"}
    assert {stage["spec"]["resourceRef"]["kind"] for stage in stages} == {"Node", "Pod"}
    assert len({stage["metadata"]["name"] for stage in stages}) == len(stages)


@pytest.mark.parametrize(
    ("host", "servers"),
    [
        ("nameserver 8.8.8.8\n", ["8.8.8.8"]),
        ("# nameserver 9.9.9.9\nsearch lan\nnameserver 1.1.1.1\noptions edns0\n", ["1.1.1.1"]),
        ("nameserver 127.0.0.53\nnameserver 1.1.1.1\n", ["1.1.1.1"]),
        ("nameserver 1.1.1.1\nnameserver 2606:4700::1111", ["1.1.1.1", "2606:4700::1111"]),
        ("nameserver 127.0.0.53\n", ["10.89.3.1"]),
        ("nameserver 127.0.0.1\nnameserver ::1\n", ["10.89.3.1"]),
        ("search lan\n", ["10.89.3.1"]),
        ("", ["10.89.3.1"]),
    ],
)
def test_only_name_servers_that_pods_can_reach_are_passed_on(host: str, servers: list[str]) -> None:
    lines = configs.resolv_conf(host, "10.89.3.1").splitlines()
    assert lines == [f"nameserver {server}" for server in servers]


def test_a_tab_separates_as_well_as_a_space_and_an_empty_line_is_passed_over() -> None:
    text = "nameserver\t192.0.2.1\nnameserver \nnameserver 127.0.0.53\n"
    assert configs.resolv_conf(text, "198.51.100.1") == "nameserver 192.0.2.1\n"
