"""Compiles NetworkPolicies to an nftables ruleset for a node whose pods hang on a bridge.

The input is what the API server lists, the output is text for `nft -f -`. Equal inputs in any
order give equal text, so that a caller may compare and skip. IPv4 only: IPv6 pod addresses and
IPv6 blocks match nothing.

Every pod that a policy isolates in a direction gets one chain for it, named by its address: a
line per permit that returns, then a drop. The hooks dispatch into these chains by a map lookup on
the address, so pods that no policy selects cost nothing:

    forward   pod to pod, pod to world, world to pod: the source's egress chain, then the
              destination's ingress chain. A permit is a `return`, never an `accept`, because an
              accepted egress would skip the ingress check.
    input     pod to node: the source's egress chain only.
    output    not hooked: the node (kubelet probes) reaches every pod.

kube-proxy has rewritten service addresses in prerouting, so both hooks see real endpoints.
Connections that are established when a policy arrives live on.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, collapse_addresses
from typing import Any

TABLE = "quiver-netpol"

Object = dict[str, Any]
Labels = dict[str, str]
Networks = tuple[IPv4Network, ...]
Permits = dict[IPv4Address, set[str]]
"""The lines that let packets pass, for each isolated pod."""

EVERYWHERE: Networks = (IPv4Network("0.0.0.0/0"),)


@dataclass(frozen=True)
class Direction:
    """How a policy and a packet call the two ends of a connection."""

    name: str
    peers: str
    pod_address: str
    peer_address: str

    def chain_of(self, pod: IPv4Address) -> str:
        return f"{self.name}-{pod}"


INGRESS = Direction("ingress", peers="from", pod_address="ip daddr", peer_address="ip saddr")
EGRESS = Direction("egress", peers="to", pod_address="ip saddr", peer_address="ip daddr")


@dataclass(frozen=True)
class Pod:
    namespace: str
    labels: Labels
    address: IPv4Address
    named_ports: frozenset[tuple[str, str, int]]

    def numbers_of(self, name: str, protocol: str) -> set[int]:
        return {number for *known, number in self.named_ports if known == [name, protocol]}


@dataclass(frozen=True)
class Cluster:
    pods: list[Pod]
    namespaces: dict[str, Labels]


def ruleset(policies: list[Object], pods: list[Object], namespaces: list[Object]) -> str:
    """Text that replaces the whole table in one transaction, whether or not it exists."""
    cluster = Cluster(_policed_pods(pods), {_name(n): _labels(n) for n in namespaces})
    egress = _permits(EGRESS, policies, cluster)
    ingress = _permits(INGRESS, policies, cluster)
    chains = [
        *_pod_chains(EGRESS, egress),
        *_pod_chains(INGRESS, ingress),
        _hook("forward", [*_dispatch(EGRESS, egress), *_dispatch(INGRESS, ingress)]),
        _hook("input", _dispatch(EGRESS, egress)),
    ]
    # Deleting a missing table is an error that undoes the transaction: create it first.
    replace = f"table ip {TABLE}\ndelete table ip {TABLE}\n"
    return f"{replace}table ip {TABLE} {{\n{''.join(chains)}}}\n"


def _policed_pods(pods: list[Object]) -> list[Pod]:
    """The live pods with an address of their own.

    A dead pod may be listed for a while after its address has a new owner: the youngest wins.
    """
    owners = {}
    for pod in sorted(filter(_has_own_network, pods), key=_birth):
        for address in _ipv4_addresses(pod):
            owners[address] = Pod(_namespace(pod), _labels(pod), address, _named_ports(pod))
    return list(owners.values())


def _has_own_network(pod: Object) -> bool:
    ended = pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    return not ended and not pod["spec"].get("hostNetwork")


def _birth(pod: Object) -> tuple[str, str, str]:
    return pod["metadata"].get("creationTimestamp") or "", _namespace(pod), _name(pod)


def _ipv4_addresses(pod: Object) -> set[IPv4Address]:
    status = pod.get("status", {})
    texts = {status.get("podIP"), *(entry["ip"] for entry in status.get("podIPs") or [])}
    return {IPv4Address(text) for text in texts if text and ":" not in text}


def _named_ports(pod: Object) -> frozenset[tuple[str, str, int]]:
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    return frozenset(
        (port["name"], _protocol(port), port["containerPort"])
        for container in [*(spec.get("containers") or []), *sidecars]
        for port in container.get("ports") or []
        if port.get("name")
    )


def _protocol(port: Object) -> str:
    return str(port.get("protocol") or "TCP").lower()


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _namespace(obj: Object) -> str:
    return str(obj["metadata"]["namespace"])


def _labels(obj: Object) -> Labels:
    return obj["metadata"].get("labels") or {}


def _permits(direction: Direction, policies: list[Object], cluster: Cluster) -> Permits:
    permits: Permits = {}
    for policy in policies:
        if not _governs(policy, direction):
            continue
        isolated = _isolated_pods(policy, cluster)
        for pod in isolated:
            permits.setdefault(pod.address, {_permit_to_itself(direction, pod)})
        for rule in policy["spec"].get(direction.name) or []:
            peers = _peer_networks(rule.get(direction.peers), _namespace(policy), cluster)
            for permit, holders in _rule_permits(direction, rule, peers, isolated, cluster):
                for pod in holders:
                    permits[pod.address].add(permit)
    return permits


def _governs(policy: Object, direction: Direction) -> bool:
    spec = policy["spec"]
    implied = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return direction.name.capitalize() in (spec.get("policyTypes") or implied)


def _isolated_pods(policy: Object, cluster: Cluster) -> list[Pod]:
    selector = policy["spec"].get("podSelector") or {}
    neighbours = [pod for pod in cluster.pods if pod.namespace == _namespace(policy)]
    return [pod for pod in neighbours if _selects(selector, pod.labels)]


def _selects(selector: Object, labels: Labels) -> bool:
    wanted = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or []
    return wanted.items() <= labels.items() and all(_holds(e, labels) for e in expressions)


def _holds(expression: Object, labels: Labels) -> bool:
    key, values = expression["key"], expression.get("values") or []
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case unknown:
            raise ValueError(f"no label selector operator is called {unknown!r}")


def _peer_networks(peers: list[Object] | None, own_namespace: str, cluster: Cluster) -> Networks:
    """The addresses that a rule's `from` or `to` names; leaving it out names everyone."""
    if not peers:
        return EVERYWHERE
    networks: list[IPv4Network] = []
    for peer in peers:
        if block := peer.get("ipBlock"):
            networks += _block_networks(block)
        else:
            networks += _peer_pod_networks(peer, own_namespace, cluster)
    return _union(networks)


def _peer_pod_networks(peer: Object, own_namespace: str, cluster: Cluster) -> list[IPv4Network]:
    namespaces = _peer_namespaces(peer.get("namespaceSelector"), own_namespace, cluster)
    candidates = [pod for pod in cluster.pods if pod.namespace in namespaces]
    selector = peer.get("podSelector") or {}
    return [IPv4Network(pod.address) for pod in candidates if _selects(selector, pod.labels)]


def _peer_namespaces(selector: Object | None, own: str, cluster: Cluster) -> set[str]:
    """An absent selector means the policy's own namespace, an empty one means all."""
    if selector is None:
        return {own}
    return {name for name, labels in cluster.namespaces.items() if _selects(selector, labels)}


def _block_networks(block: Object) -> Networks:
    networks = _ipv4_network(block["cidr"])
    for excepted in block.get("except") or []:
        for hole in _ipv4_network(excepted):
            networks = tuple(part for network in networks for part in _without(network, hole))
    return networks


def _ipv4_network(cidr: str) -> Networks:
    if ":" in cidr:
        return ()
    # The API server admits leading zeros and host bits, which Python refuses.
    return (IPv4Network(re.sub(r"\b0+(?=\d)", "", cidr), strict=False),)


def _without(network: IPv4Network, hole: IPv4Network) -> Iterable[IPv4Network]:
    if not network.overlaps(hole):
        return [network]
    return [] if network.subnet_of(hole) else network.address_exclude(hole)


def _union(networks: Iterable[IPv4Network]) -> Networks:
    """Sorted and disjoint, so that one set of addresses has one spelling."""
    return tuple(collapse_addresses(networks))


def _rule_permits(
    direction: Direction, rule: Object, peers: Networks, isolated: list[Pod], cluster: Cluster
) -> Iterator[tuple[str, list[Pod]]]:
    """Each permit of a rule, with the isolated pods that hold it."""
    # An empty set is a syntax error that would undo the whole transaction.
    if not peers:
        return
    if not rule.get("ports"):
        yield _permit(direction, peers), isolated
    for port in rule.get("ports") or []:
        protocol, wanted = _protocol(port), port.get("port")
        if wanted is None:
            yield _permit(direction, peers, f"meta l4proto {protocol}"), isolated
        elif isinstance(wanted, int):
            last = port.get("endPort")
            numbers = f"{wanted}-{last}" if last else wanted
            yield _permit(direction, peers, f"{protocol} dport {numbers}"), isolated
        elif direction is INGRESS:
            for number, owners in _owners_by_number(wanted, protocol, isolated).items():
                yield _permit(direction, peers, f"{protocol} dport {number}"), owners
        else:
            peer_pods = [pod for pod in cluster.pods if _within(peers, pod)]
            for number, owners in _owners_by_number(wanted, protocol, peer_pods).items():
                addresses = _union(IPv4Network(pod.address) for pod in owners)
                yield _permit(direction, addresses, f"{protocol} dport {number}"), isolated


def _within(networks: Networks, pod: Pod) -> bool:
    return any(pod.address in network for network in networks)


def _owners_by_number(name: str, protocol: str, pods: list[Pod]) -> dict[int, list[Pod]]:
    """The pods that have a port of that name, by the number each of them gives it."""
    owners = defaultdict(list)
    for pod in pods:
        for number in pod.numbers_of(name, protocol):
            owners[number].append(pod)
    return owners


def _permit_to_itself(direction: Direction, pod: Pod) -> str:
    return _permit(direction, (IPv4Network(pod.address),))


def _permit(direction: Direction, peers: Networks, *ports: str) -> str:
    elements = ", ".join(str(network) for network in peers)
    whom = [] if peers == EVERYWHERE else [f"{direction.peer_address} {{ {elements} }}"]
    return " ".join([*whom, *ports, "return"])


def _pod_chains(direction: Direction, permits: Permits) -> Iterator[str]:
    for pod in sorted(permits):
        yield _chain(direction.chain_of(pod), [*sorted(permits[pod]), "counter drop"])


def _dispatch(direction: Direction, permits: Permits) -> list[str]:
    jumps = [f"{pod} : jump {direction.chain_of(pod)}" for pod in sorted(permits)]
    return [f"{direction.pod_address} vmap {{ {', '.join(jumps)} }}"] if jumps else []


def _hook(name: str, dispatches: list[str]) -> str:
    hook = f"type filter hook {name} priority filter; policy accept;"
    return _chain(name, [hook, "ct state established,related accept", *dispatches])


def _chain(name: str, lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"  chain {name} {{\n{body}  }}\n"
