"""From what was asked for to the programs, their order, and the names in their certificates."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.devcluster import components
from quiver.devcluster.catalog import BINARIES
from quiver.devcluster.components import ApiServer, Certificate
from quiver.devcluster.home import Home
from quiver.devcluster.network import Network
from quiver.devcluster.processes import Plan, Process
from quiver.devcluster.spec import Spec

HOME = Home("dev", root=Path("/state"))
BIN = {name: Path("/cache") / name for name in BINARIES}
NETWORK = Network(2, "dev")
NEVER_WAITS = {"etcd", "kube-apiserver", "containerd", "registry"}

control_planes = st.builds(
    Spec,
    node=st.just(False),
    controller_manager=st.booleans(),
    api_servers=st.integers(min_value=1, max_value=50),
    simulated_nodes=st.sampled_from([0, 5]),
)
specs = control_planes | st.builds(Spec, simulated_nodes=st.sampled_from([0, 5]))


def _servers(spec: Spec) -> list[ApiServer]:
    ports = [6443] if spec.node else list(range(20000, 20000 + spec.api_servers))
    return components.api_servers(NETWORK if spec.node else None, ports)


def _plan(spec: Spec) -> Plan:
    return components.plan(spec, HOME, NETWORK if spec.node else None, _servers(spec), BIN)


def _program(process: Process) -> str:
    return Path(process.argv[0]).name


def _flag(process: Process, name: str) -> str:
    [value] = [it.partition("=")[2] for it in process.argv if it.startswith(f"--{name}=")]
    return value


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        (Spec(node=False), {"etcd", "kube-apiserver", "kubectl"}),
        (
            Spec(node=False, controller_manager=True),
            {"etcd", "kube-apiserver", "kubectl", "kube-controller-manager"},
        ),
        (
            Spec(node=False, simulated_nodes=1),
            {"etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler"}
            | {"kwok"},
        ),
        (
            Spec(),
            {"etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler"}
            | {"kubelet", "kube-proxy", "containerd", "containerd-shim-runc-v2", "ctr", "runc"}
            | {"bridge", "loopback", "host-local", "portmap", "registry"}
            | {"coredns", "metrics-server", "traefik"},
        ),
    ],
)
def test_a_cluster_needs_the_binaries_of_its_parts_and_no_others(
    spec: Spec, needed: set[str]
) -> None:
    assert set(components.needed_binaries(spec)) == needed


@settings(deadline=None)
@given(specs)
def test_every_program_of_a_plan_is_among_the_needed_binaries(spec: Spec) -> None:
    needed = components.needed_binaries(spec)
    assert len(set(needed)) == len(needed)
    assert set(needed) <= BINARIES.keys()
    programs = {
        process.argv[0] for process in _plan(spec).processes if process.name != "node-agent"
    }
    assert programs <= {str(BIN[name]) for name in needed}


@settings(deadline=None)
@given(specs)
def test_no_two_processes_share_a_name(spec: Spec) -> None:
    names = [process.name for process in _plan(spec).processes]
    assert len(set(names)) == len(names)


@settings(deadline=None)
@given(specs)
def test_exactly_what_talks_to_the_api_server_waits_for_it(spec: Spec) -> None:
    for process in _plan(spec).processes:
        assert process.wait == (_program(process) not in NEVER_WAITS)


@settings(deadline=None)
@given(specs)
def test_every_api_server_must_be_ready_before_the_rest_starts(spec: Spec) -> None:
    assert _plan(spec).ready == [f"{server.url}/readyz" for server in _servers(spec)]


@settings(deadline=None)
@given(control_planes)
def test_api_servers_on_one_etcd_share_nothing_else(spec: Spec) -> None:
    plan = _plan(spec)
    servers = [process for process in plan.processes if _program(process) == "kube-apiserver"]
    assert len(servers) == spec.api_servers
    assert len({_flag(process, "etcd-servers") for process in servers}) == 1
    for flag in ("etcd-prefix", "secure-port", "client-ca-file", "service-account-key-file"):
        assert len({_flag(process, flag) for process in servers}) == len(servers)


@settings(deadline=None)
@given(control_planes)
def test_no_prefix_in_etcd_is_inside_another(spec: Spec) -> None:
    servers = [it for it in _plan(spec).processes if _program(it) == "kube-apiserver"]
    prefixes = [f"{_flag(process, 'etcd-prefix')}/" for process in servers]
    for one in prefixes:
        assert [other for other in prefixes if other.startswith(one)] == [one]


@settings(deadline=None)
@given(control_planes)
def test_each_controller_of_each_server_has_a_kubeconfig_of_its_own(spec: Spec) -> None:
    kubeconfigs = [_flag(it, "kubeconfig") for it in _plan(spec).processes if it.wait]
    assert len(set(kubeconfigs)) == len(kubeconfigs)


@settings(deadline=None)
@given(control_planes)
def test_without_a_node_only_the_api_servers_listen(spec: Spec) -> None:
    for process in _plan(spec).processes:
        if _program(process) in ("kube-controller-manager", "kube-scheduler"):
            assert _flag(process, "secure-port") == "0"


def test_a_cluster_is_tied_to_what_its_spec_says() -> None:
    assert _plan(Spec(tied_to="/run/leash")).tied_to == "/run/leash"
    assert _plan(Spec()).tied_to is None


def test_the_node_finds_runc_and_the_shim_on_its_path() -> None:
    folders = {"containerd": Path("/a/containerd"), "runc": Path("/usr/sbin/runc")}
    plan = components.plan(Spec(), HOME, NETWORK, _servers(Spec()), BIN | folders)
    [containerd] = [process for process in plan.processes if process.name == "containerd"]
    assert {"/a", "/usr/sbin", "/cache", "/usr/bin"} <= set(containerd.env["PATH"].split(":"))


def test_the_node_is_known_by_the_cluster_s_name() -> None:
    named = Spec(name="team-a")
    plan = components.plan(named, Home("team-a", Path("/state")), NETWORK, _servers(named), BIN)
    overrides = [it for process in plan.processes for it in process.argv if "hostname-over" in it]
    assert overrides == ["--hostname-override=team-a"] * 2


def test_api_servers_listen_on_the_loopback_address_unless_there_is_a_node() -> None:
    [alone] = components.api_servers(None, [20000])
    [with_node] = components.api_servers(NETWORK, [6443])
    assert (alone.url, alone.advertised) == ("https://127.0.0.1:20000", False)
    assert (with_node.url, with_node.advertised) == ("https://10.89.2.2:6443", True)


def test_contexts_are_numbered_only_if_there_are_several() -> None:
    one, several = Spec(name="a", node=False), Spec(name="a", node=False, api_servers=2)
    assert [components.context_name(one, it) for it in _servers(one)] == ["quiver-a"]
    assert [components.context_name(several, it) for it in _servers(several)] == [
        "quiver-a-1",
        "quiver-a-2",
    ]


def _certificates(network: Network | None) -> dict[str, Certificate]:
    [server] = components.api_servers(network, [6443])
    return {it.file: it for it in components.certificates(server, network, "dev")}


def test_the_api_server_s_certificate_has_every_address_it_is_reached_at() -> None:
    names = _certificates(NETWORK)["apiserver"].names
    assert {NETWORK.node_ip, NETWORK.api_service_ip, "127.0.0.1", "localhost"} <= set(names)
    assert {"kubernetes.default.svc", "kubernetes.default.svc.cluster.local"} <= set(names)


def test_without_a_node_the_service_s_address_is_still_in_the_certificate() -> None:
    assert "10.96.0.1" in _certificates(None)["apiserver"].names


def test_the_kubelet_s_certificate_is_its_node_s() -> None:
    kubelet = _certificates(NETWORK)["kubelet"]
    assert kubelet.common_name == "system:node:dev"
    assert kubelet.organization == "system:nodes"
    assert kubelet.names == [NETWORK.node_ip, "dev"]


def test_only_the_admin_and_the_api_server_are_masters() -> None:
    certificates = _certificates(NETWORK).values()
    masters = {it.file for it in certificates if it.organization == "system:masters"}
    assert masters == {"admin", "apiserver-kubelet"}


@settings(deadline=None)
@given(specs)
def test_every_credential_that_a_process_is_given_is_issued(spec: Spec) -> None:
    network = NETWORK if spec.node else None
    issued = {"ca", "sa"}
    kubeconfigs = set()
    for server in _servers(spec):
        for certificate in components.certificates(server, network, spec.name):
            issued.add(certificate.file)
            kubeconfigs.add(str(components.component_kubeconfig(HOME, server, certificate.file)))
    for process in _plan(spec).processes:
        for value in (it.partition("=")[2] for it in process.argv):
            if value.endswith(".kubeconfig"):
                assert value in kubeconfigs
            if value.endswith((".crt", ".key", ".pub")):
                assert Path(value).stem in issued
