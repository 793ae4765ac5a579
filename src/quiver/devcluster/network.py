"""The addresses of one dev cluster, and the network namespace that carries them.

Each cluster has a slot, and each slot its own ranges, so that several clusters stand side by side
and the host reaches the nodes, pods and Services of all of them.
"""

import ipaddress
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec

from quiver.devcluster.errors import DevClusterError

SLOTS = 32


class Network(msgspec.Struct, frozen=True):
    slot: int
    cluster: str

    @property
    def label(self) -> str:
        """Names what is outside the cluster's folder; unique on this machine, as the slot is."""
        return f"quiver-{self.cluster}-{self.slot}"

    @property
    def namespace(self) -> Path:
        return Path("/run/netns") / self.label

    @property
    def host_ip(self) -> str:
        return f"10.89.{self.slot}.1"

    @property
    def node_ip(self) -> str:
        return f"10.89.{self.slot}.2"

    @property
    def node_cidr(self) -> str:
        return f"10.89.{self.slot}.0/24"

    @property
    def pod_cidr(self) -> str:
        return f"10.{128 + self.slot}.0.0/16"

    @property
    def service_cidr(self) -> str:
        return f"10.{192 + self.slot}.0.0/16"

    @property
    def api_service_ip(self) -> str:
        return f"10.{192 + self.slot}.0.1"

    @property
    def dns_ip(self) -> str:
        return f"10.{192 + self.slot}.0.10"

    @property
    def interface(self) -> str:
        return f"quiver{self.slot}"

    def ranges(self) -> list[ipaddress.IPv4Network]:
        cidrs = (self.node_cidr, self.pod_cidr, self.service_cidr)
        return [ipaddress.IPv4Network(cidr) for cidr in cidrs]


def free_network(
    cluster: str, taken_slots: set[int], routes: Iterable[ipaddress.IPv4Network]
) -> Network:
    """The first slot that no cluster holds and no route of this machine overlaps."""
    routes = list(routes)
    for slot in range(SLOTS):
        network = Network(slot, cluster)
        clash = any(mine.overlaps(theirs) for mine in network.ranges() for theirs in routes)
        if slot not in taken_slots and not clash:
            return network
    raise DevClusterError(
        f"all {SLOTS} address ranges for dev clusters are in use on this machine:"
        " end a cluster with `quiver dev down --name NAME` (`quiver dev status` lists them)"
    )


def host_routes() -> list[ipaddress.IPv4Network]:
    shown = subprocess.run(
        ["ip", "-json", "-4", "route", "show", "table", "main"], check=True, capture_output=True
    )
    destinations = (route["dst"] for route in json.loads(shown.stdout or b"[]"))
    return [ipaddress.IPv4Network(dst) for dst in destinations if dst != "default"]


def connect(network: Network) -> None:
    """Make the namespace, join it to the host by a veth pair, and route both ways."""
    namespace, interface = network.label, network.interface
    _ip("netns", "add", namespace)
    _ip("link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    _ip("address", "add", f"{network.host_ip}/24", "dev", interface)
    _ip("link", "set", interface, "up")
    _ip("-n", namespace, "link", "set", "lo", "up")
    _ip("-n", namespace, "address", "add", f"{network.node_ip}/24", "dev", "eth0")
    _ip("-n", namespace, "link", "set", "eth0", "up")
    _ip("-n", namespace, "route", "add", "default", "via", network.host_ip)
    for cidr in (network.pod_cidr, network.service_cidr):
        _ip("route", "add", cidr, "via", network.node_ip)
    _let_out(network)


def disconnect(network: Network) -> None:
    """Remove what `connect` made; what is not there any more is not missed."""
    # The link first: a deleted namespace takes its end of the pair with it, some time later.
    if (Path("/sys/class/net") / network.interface).exists():
        _ip("link", "delete", network.interface)
    if network.namespace.exists():
        _ip("netns", "delete", network.label)
    if network.label in nat_tables():
        _nft(f"delete table ip {network.label}")


def nat_tables() -> set[str]:
    shown = subprocess.run(["nft", "-j", "list", "tables"], check=True, capture_output=True)
    tables = (entry.get("table", {}) for entry in json.loads(shown.stdout)["nftables"])
    return {table["name"] for table in tables if table.get("name", "").startswith("quiver-")}


def _let_out(network: Network) -> None:
    """Pods and image pulls reach the outside as this machine, where there is an outside."""
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    _nft(
        f"""table ip {network.label} {{
            chain postrouting {{
                type nat hook postrouting priority srcnat
                ip saddr {network.node_cidr} oifname != "{network.interface}" masquerade
            }}
        }}
        """
    )


def _ip(*arguments: str) -> None:
    _run(["ip", *arguments])


def _nft(script: str) -> None:
    _run(["nft", "-f", "-"], script)


def _run(command: list[str], stdin: str | None = None) -> None:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevClusterError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
