"""Makes a cluster, or finds that it is there already.

Everything that `down` must know is on disk before anything is made, so that an `up` that is
cut off at any point is cleaned away by the next `up` or `down`.
"""

import asyncio
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from quiver.devcluster import cgroups, components, configs, down, liveness, network, preflight
from quiver.devcluster.binaries import Binaries
from quiver.devcluster.catalog import KUBERNETES
from quiver.devcluster.components import ApiServer
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.furnish import furnish
from quiver.devcluster.home import Home, Record, locked, records, write_atomically
from quiver.devcluster.network import Network
from quiver.devcluster.pki import Authority
from quiver.devcluster.processes import Running
from quiver.devcluster.progress import Progress
from quiver.devcluster.spec import Spec, checked

API_READY_WITHIN = 120.0
TOO_MANY_RESTARTS = 8
ADDRESSES_LOCK = Path("/run/lock/quiver-addresses")


def up(spec: Spec, progress: Progress, *, root: Path | None = None) -> Home:
    home = Home(checked(spec).name, root)
    preflight.check(spec, home.root, progress)
    bin_ = Binaries.default(progress).ensure(components.needed_binaries(spec))
    with home.locked():
        record = home.record()
        if record is None or not liveness.is_running(home):
            down.remove(home)
            record = create(spec, home, bin_, progress)
        else:
            refuse_another_shape(record.spec, spec)
        servers = components.api_servers(record.network, record.api_ports)
        contexts = [components.context_name(record.spec, server) for server in servers]
        asyncio.run(furnish(spec, home, record.network, contexts, progress))
    return home


def create(spec: Spec, home: Home, bin_: dict[str, Path], progress: Progress) -> Record:
    with progress.step(f"starting cluster {home.name!r}", "a few seconds"):
        record = reserve(spec, home)
        servers = components.api_servers(record.network, record.api_ports)
        write_files(spec, home, record.network, servers, bin_)
        start_supervisor(home, record.network)
        await_api(home)
    return record


def reserve(spec: Spec, home: Home) -> Record:
    """Choose addresses that nobody else has, write them down, and take them."""
    return reserve_network(spec, home) if spec.node else reserve_ports(spec, home)


def reserve_network(spec: Spec, home: Home) -> Record:
    # For the whole machine, whatever its state directories: a range is taken once it has routes.
    with locked(ADDRESSES_LOCK):
        slots = {other.network.slot for other in records(home.root).values() if other.network}
        chosen = network.free_network(home.name, slots, network.host_routes())
        record = home.write(Record(spec=spec, network=chosen, api_ports=[preflight.API_PORT]))
        network.connect(chosen)
        cgroups.make(chosen.label)
    return record


def reserve_ports(spec: Spec, home: Home) -> Record:
    with locked(home.root / "locks" / ".ports"):
        taken = {port for other in records(home.root).values() for port in other.api_ports}
        ports = preflight.api_ports(spec, taken, preflight.is_free)
        return home.write(Record(spec=spec, api_ports=ports))


def write_files(
    spec: Spec, home: Home, network: Network | None, servers: list[ApiServer], bin_: dict[str, Path]
) -> None:
    for folder in (home.config, home.data, home.volumes):
        folder.mkdir(parents=True, exist_ok=True)
    for server in servers:
        write_credentials(spec, home, network, server)
    contexts = {components.context_name(spec, server): server.url for server in servers}
    folders = {components.context_name(spec, server): home.pki(server.number) for server in servers}
    home.kubeconfig.touch(mode=0o600)
    home.kubeconfig.write_text(configs.kubeconfig(contexts, folders, "admin"))
    give_to_caller(home.kubeconfig)
    if spec.simulated_nodes:
        (home.config / "stages.yaml").write_text(configs.stages(KUBERNETES))
    if network:
        write_node_files(home, network, bin_)
    plan = components.plan(spec, home, network, servers, bin_)
    write_atomically(home.processes, msgspec.json.encode(plan))


def give_to_caller(path: Path) -> None:
    """Under sudo, to the person who typed it: the cluster is for them."""
    if os.geteuid() == 0 and "SUDO_UID" in os.environ:
        os.chown(path, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))


def write_credentials(spec: Spec, home: Home, network: Network | None, server: ApiServer) -> None:
    pki = home.pki(server.number)
    authority = Authority(pki, now=datetime.now(UTC), name=f"quiver-{spec.name}-{server.number}")
    authority.issue_signing_key("sa")
    name = components.context_name(spec, server)
    for certificate in components.certificates(server, network, spec.name):
        authority.issue(
            certificate.file, certificate.common_name,
            organization=certificate.organization, names=certificate.names,
        )  # fmt: skip
        file = components.component_kubeconfig(home, server, certificate.file)
        file.touch(mode=0o600)
        file.write_text(configs.kubeconfig({name: server.url}, {name: pki}, certificate.file))


def write_node_files(home: Home, network: Network, bin_: dict[str, Path]) -> None:
    plugins = home.config / "cni-bin"
    plugins.mkdir()
    for plugin in ("bridge", "loopback", "host-local", "portmap"):
        (plugins / plugin).symlink_to(bin_[plugin])
    for registry in configs.MIRRORED:
        folder = home.config / "registries" / registry
        folder.mkdir(parents=True)
        (folder / "hosts.toml").write_text(configs.registry_hosts(registry, network))
    (home.config / "cni").mkdir()
    (home.config / "cni" / "10-quiver.conflist").write_text(configs.cni(network))
    (home.config / "containerd.toml").write_text(configs.containerd(home, plugins))
    (home.config / "registry.yaml").write_text(configs.registry(home.data / "registry"))
    kubelet = configs.kubelet(home, network, cgroup_root=f"/{network.label}")
    (home.config / "kubelet.yaml").write_text(kubelet)
    upstream = configs.resolv_conf(host_resolv_conf(), network.host_ip)
    (home.config / "resolv.conf").write_text(upstream)


def host_resolv_conf() -> str:
    """Behind systemd-resolved, /etc/resolv.conf names only the stub on the loopback address."""
    files = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))
    return next((file.read_text() for file in files if file.exists()), "")


def start_supervisor(home: Home, network: Network | None) -> None:
    """Start it as nobody's child, so that it neither waits for this process nor ends with it."""
    command = [sys.executable, "-m", "quiver.devcluster.supervisor", str(home.path)]
    if network:
        command = [*_in_namespaces(home, network), *command]
    with home.supervisor_log.open("ab") as log:
        subprocess.run(
            ["setsid", "--fork", *command],
            check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
        )  # fmt: skip


def _in_namespaces(home: Home, network: Network) -> list[str]:
    """Own network, mounts and process numbers. `ip netns exec` would hide the cgroup mounts."""
    # Places that the runtime and the kubelet write to, whatever they are told: the cluster has
    # its own, so that the machine's stay as they were.
    places = ("/var/log", "/var/lib/cni", "/var/lib/kubelet")
    own = {place: home.data / place.lstrip("/").replace("/", "-") for place in places}
    # Policies see packets between two pods only where bridged packets pass the firewall.
    settings = ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables")
    steps = [
        "mount --make-rshared /",
        "mount -t tmpfs -o mode=755 quiver /run",
        "mkdir /run/lock /run/netns",
        *(f"mkdir -p {path} {place} && mount --bind {path} {place}" for place, path in own.items()),
        *(f"echo 1 > /proc/sys/net/{setting}" for setting in settings),
        'exec "$@"',
    ]
    return [
        "nsenter", f"--net={network.namespace}", "--",
        "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
        "sh", "-c", " && ".join(steps), "sh",
    ]  # fmt: skip


def await_api(home: Home) -> None:
    deadline = time.monotonic() + API_READY_WITHIN
    while time.monotonic() < deadline:
        if state := liveness.running(home):
            if state.api_ready:
                return
            refuse_crash_loop(home, state)
        time.sleep(0.05)
    raise DevClusterError(
        f"the API server was not ready within {API_READY_WITHIN:.0f} s: {last_words(home, '*')}"
    )


def refuse_crash_loop(home: Home, state: Running) -> None:
    for name, restarts in state.restarts.items():
        if restarts >= TOO_MANY_RESTARTS:
            raise DevClusterError(f"{name} ends again and again: {last_words(home, name)}")


def last_words(home: Home, name: str) -> str:
    logs = sorted(home.logs.glob(f"{name}.log"))
    lines = [log.read_text(errors="replace").strip().rpartition("\n")[2][:300] for log in logs]
    words = "; ".join(line for line in lines if line)
    return f"{words or 'it said nothing'} (all of it in {home.logs})"


def refuse_another_shape(there: Spec, asked: Spec) -> None:
    """Labels, GPUs and simulated nodes can be added to a running cluster; its processes not."""
    before, now = components.needed_binaries(there), components.needed_binaries(asked)
    if there.node != asked.node or there.api_servers < asked.api_servers or set(now) - set(before):
        raise DevClusterError(
            f"cluster {there.name!r} is already up with other options: end it first with"
            f" `quiver dev down --name {there.name}`, or choose another --name"
        )
