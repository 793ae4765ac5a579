"""From what was asked for to the command lines of the programs. Pure."""

import sys
from pathlib import Path

import msgspec

from quiver.devcluster.home import Home
from quiver.devcluster.known_images import ADDONS, known_images
from quiver.devcluster.network import Network
from quiver.devcluster.processes import Plan, Process
from quiver.devcluster.spec import Spec

SIMULATED = "type=kwok"

CONTROL_PLANE = ("etcd", "kube-apiserver")
NODE = (
    "kubelet", "kube-proxy", "containerd", "containerd-shim-runc-v2", "ctr", "runc",
    "bridge", "loopback", "host-local", "portmap", "registry",
)  # fmt: skip


class ApiServer(msgspec.Struct, frozen=True, kw_only=True):
    """One API server: `number` counts from 1 and names its files and its prefix in etcd."""

    number: int
    address: str
    port: int
    service_cidr: str
    advertised: bool

    @property
    def url(self) -> str:
        return f"https://{self.address}:{self.port}"


class Certificate(msgspec.Struct, frozen=True):
    file: str
    common_name: str
    organization: str = ""
    names: list[str] = []


SERVICE_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


def needed_binaries(spec: Spec) -> list[str]:
    needed = [*CONTROL_PLANE, "kubectl"]
    if spec.runs_controllers:
        needed.append("kube-controller-manager")
    if spec.runs_scheduler:
        needed.append("kube-scheduler")
    if spec.node:
        needed += [*NODE, *addon_binaries()]
    if spec.simulated_nodes:
        needed.append("kwok")
    return needed


def addon_binaries() -> list[str]:
    images = known_images()
    return [binary for name in ADDONS for binary in images[name].binaries]


def api_servers(network: Network | None, ports: list[int]) -> list[ApiServer]:
    return [
        ApiServer(
            number=number,
            address=network.node_ip if network else "127.0.0.1",
            port=port,
            service_cidr=network.service_cidr if network else "10.96.0.0/16",
            advertised=network is not None,
        )
        for number, port in enumerate(ports, start=1)
    ]


def context_name(spec: Spec, server: ApiServer) -> str:
    base = f"quiver-{spec.name}"
    return base if spec.api_servers == 1 else f"{base}-{server.number}"


def plan(
    spec: Spec, home: Home, network: Network | None, servers: list[ApiServer], bin_: dict[str, Path]
) -> Plan:
    processes = [etcd(home, bin_)]
    for server in servers:
        processes.append(apiserver(home, server, bin_))
        if spec.runs_controllers:
            processes.append(controller_manager(home, server, network, bin_))
        if spec.runs_scheduler:
            processes.append(scheduler(home, server, bin_))
        if spec.simulated_nodes:
            processes.append(kwok(home, server, bin_))
    if network:
        processes += node(spec, home, network, bin_)
    ready = [f"{server.url}/readyz" for server in servers]
    return Plan(processes=processes, ready=ready, tied_to=spec.tied_to)


def etcd_socket(home: Home) -> str:
    return f"unix://{home.path}/etcd.sock"


def etcd(home: Home, bin_: dict[str, Path]) -> Process:
    # etcd wants "host:port" even of a socket; the peers' is a file of that name in its folder.
    url, advertised, peer = etcd_socket(home), "unix://etcd:1", "unix://etcd-peer:1"
    argv = [
        str(bin_["etcd"]),
        f"--data-dir={home.data / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={advertised}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8589934592",
        "--auto-compaction-retention=10m",
        "--log-level=warn",
    ]
    return Process(name="etcd", argv=argv, folder=str(home.data))


def apiserver(home: Home, server: ApiServer, bin_: dict[str, Path]) -> Process:
    pki = home.pki(server.number)
    argv = [
        str(bin_["kube-apiserver"]),
        f"--etcd-servers={etcd_socket(home)}",
        f"--etcd-prefix=/registry-{server.number}",
        f"--bind-address={server.address}",
        f"--secure-port={server.port}",
        f"--advertise-address={server.address}",
        f"--endpoint-reconciler-type={'lease' if server.advertised else 'none'}",
        f"--service-cluster-ip-range={server.service_cidr}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        f"--kubelet-client-certificate={pki / 'apiserver-kubelet.crt'}",
        f"--kubelet-client-key={pki / 'apiserver-kubelet.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={pki / 'ca.crt'}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={pki / 'front-proxy.crt'}",
        f"--proxy-client-key-file={pki / 'front-proxy.key'}",
        f"--service-account-key-file={pki / 'sa.pub'}",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--event-ttl=24h",
        "--profiling=false",
    ]
    return Process(name=numbered("kube-apiserver", server), argv=argv)


def controller_manager(
    home: Home, server: ApiServer, network: Network | None, bin_: dict[str, Path]
) -> Process:
    pki = home.pki(server.number)
    argv = [
        str(bin_["kube-controller-manager"]),
        *_authenticated(home, server, "kube-controller-manager"),
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--service-account-private-key-file={pki / 'sa.key'}",
        f"--service-cluster-ip-range={server.service_cidr}",
        "--use-service-account-credentials=true",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    if network is None:
        argv.append("--secure-port=0")
    return Process(name=numbered("kube-controller-manager", server), argv=argv, wait=True)


def scheduler(home: Home, server: ApiServer, bin_: dict[str, Path]) -> Process:
    argv = [
        str(bin_["kube-scheduler"]),
        *_authenticated(home, server, "kube-scheduler"),
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    if not server.advertised:
        argv.append("--secure-port=0")
    return Process(name=numbered("kube-scheduler", server), argv=argv, wait=True)


def kwok(home: Home, server: ApiServer, bin_: dict[str, Path]) -> Process:
    argv = [
        str(bin_["kwok"]),
        f"--kubeconfig={component_kubeconfig(home, server, 'admin')}",
        f"--config={home.config / 'stages.yaml'}",
        f"--manage-nodes-with-label-selector={SIMULATED}",
        "--node-lease-duration-seconds=40",
        "--cidr=10.64.0.0/14",
        f"--node-ip={server.address}",
    ]
    return Process(name=numbered("kwok", server), argv=argv, wait=True)


def node(spec: Spec, home: Home, network: Network, bin_: dict[str, Path]) -> list[Process]:
    tools = ":".join(str(folder) for folder in tool_folders(bin_))
    path = {"PATH": f"{tools}:/usr/sbin:/usr/bin:/sbin:/bin"}
    kubeconfig = home.config / "kubelet.kubeconfig"
    return [
        Process(
            name="containerd",
            argv=[str(bin_["containerd"]), "--config", str(home.config / "containerd.toml")],
            env=path,
        ),
        Process(
            name="registry",
            argv=[str(bin_["registry"]), "serve", str(home.config / "registry.yaml")],
            env={"OTEL_TRACES_EXPORTER": "none"},
        ),
        Process(
            name="kubelet",
            argv=[
                str(bin_["kubelet"]),
                f"--config={home.config / 'kubelet.yaml'}",
                f"--kubeconfig={kubeconfig}",
                f"--root-dir={home.data / 'kubelet'}",
                f"--cert-dir={home.data / 'kubelet' / 'pki'}",
                f"--hostname-override={spec.name}",
                f"--node-ip={network.node_ip}",
            ],
            env=path,
            wait=True,
        ),
        Process(
            name="kube-proxy",
            argv=[
                str(bin_["kube-proxy"]),
                f"--kubeconfig={home.config / 'kube-proxy.kubeconfig'}",
                "--proxy-mode=nftables",
                "--conntrack-max-per-core=0",
                f"--cluster-cidr={network.pod_cidr}",
                f"--hostname-override={spec.name}",
                f"--bind-address={network.node_ip}",
            ],
            env=path,
            wait=True,
        ),
        Process(
            name="node-agent",
            argv=[sys.executable, "-m", "quiver.devcluster.agent", str(home.path)],
            env=path,
            wait=True,
        ),
    ]


def tool_folders(bin_: dict[str, Path]) -> list[Path]:
    names = ("containerd", "containerd-shim-runc-v2", "runc")
    return sorted({bin_[name].parent for name in names})


def component_kubeconfig(home: Home, server: ApiServer, user: str) -> Path:
    return home.config / f"{numbered(user, server)}.kubeconfig"


def numbered(name: str, server: ApiServer) -> str:
    return name if server.number == 1 else f"{name}-{server.number}"


def _authenticated(home: Home, server: ApiServer, user: str) -> list[str]:
    kubeconfig = component_kubeconfig(home, server, user)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--profiling=false",
    ]


def certificates(server: ApiServer, network: Network | None, node: str) -> list[Certificate]:
    """Everybody who talks to an API server, by the names that RBAC's defaults know."""
    service_ip = server.service_cidr.rpartition(".")[0] + ".1"
    names = [server.address, "127.0.0.1", service_ip, "localhost", *SERVICE_NAMES]
    listed = [
        Certificate("apiserver", "kube-apiserver", names=names),
        Certificate("apiserver-kubelet", "kube-apiserver-kubelet", organization="system:masters"),
        Certificate("front-proxy", "front-proxy"),
        Certificate("admin", "kubernetes-admin", organization="system:masters"),
        Certificate("kube-controller-manager", "system:kube-controller-manager"),
        Certificate("kube-scheduler", "system:kube-scheduler"),
    ]
    if network:
        kubelet = [network.node_ip, node]
        listed += [
            Certificate("kubelet", f"system:node:{node}", "system:nodes", kubelet),
            Certificate("kube-proxy", "system:kube-proxy"),
        ]
    return listed
