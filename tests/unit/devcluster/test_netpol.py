"""The compiled text is judged three times: by an interpreter of it against a model of the
NetworkPolicy semantics, by nft, and by real packets between network namespaces."""

import ctypes
import functools
import itertools
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.devcluster.netpol import TABLE, ruleset

Object = dict[str, Any]


def _can_make_networks() -> bool:
    tools = all(shutil.which(tool) for tool in ("nft", "ip", "sysctl", "unshare"))
    return os.geteuid() == 0 and tools and subprocess.run(["unshare", "-n", "true"]).returncode == 0


needs_nft = pytest.mark.skipif(not _can_make_networks(), reason="needs root, nft and namespaces")
needs_bridge = pytest.mark.skipif(
    not Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(), reason="needs br_netfilter"
)


# Objects as the API server lists them


def pod(name: str, ip: str | None, namespace: str = "default", **more: Any) -> Object:
    status = {"phase": more.get("phase", "Running")} | ({"podIP": ip} if ip else {})
    metadata = {"name": name, "namespace": namespace, "labels": more.get("labels", {"app": name})}
    spec: Object = {"containers": [{"name": "main", "ports": more.get("ports", [])}]}
    if more.get("host_network"):
        spec["hostNetwork"] = True
    return {"metadata": metadata, "spec": spec, "status": status}


def namespace(name: str, **labels: str) -> Object:
    return {"metadata": {"name": name, "labels": labels}}


def policy(namespace: str = "default", **spec: Any) -> Object:
    return {
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {"podSelector": {}} | spec,
    }


def app(*names: str) -> Object:
    return {"matchExpressions": [{"key": "app", "operator": "In", "values": list(names)}]}


def named(name: str, number: int, protocol: str = "TCP") -> Object:
    return {"name": name, "containerPort": number, "protocol": protocol}


@dataclass(frozen=True)
class World:
    policies: list[Object]
    pods: list[Object]
    namespaces: list[Object]

    def ruleset(self) -> str:
        return ruleset(self.policies, self.pods, self.namespaces)


@dataclass(frozen=True)
class Packet:
    """The first of a connection."""

    source: str
    destination: str
    protocol: str = "TCP"
    port: int = 80


# Parsing costs more than all else that the properties do.
address, network = functools.cache(ip_address), functools.cache(ip_network)


# What nft would do with the text


PERMIT = re.compile(
    r"(?:ip (?P<end>[sd])addr \{ (?P<networks>[^}]+) \} )?"
    r"(?:meta l4proto (?P<any_port_of>\w+) "
    r"|(?P<protocol>\w+) dport (?P<first>\d+)(?:-(?P<last>\d+))? )?return"
)
DISPATCH = re.compile(r"ip ([sd])addr vmap \{ (.+) \}")
PREAMBLE = re.compile(r"type filter hook \w+ priority filter; policy accept;|ct state .*accept")


def chains_of(text: str) -> dict[str, list[str]]:
    found = re.findall(r"^  chain (\S+) \{\n(.*?)\n  \}$", text, re.DOTALL | re.MULTILINE)
    return {name: [line.strip() for line in body.split("\n")] for name, body in found}


def passes(text: str, packet: Packet, hook: str = "forward") -> bool:
    return survives(chains_of(text), hook, packet)


def survives(chains: dict[str, list[str]], chain: str, packet: Packet) -> bool:
    for line in chains[chain]:
        if dispatch := DISPATCH.fullmatch(line):
            jumps = dict(entry.split(" : jump ") for entry in dispatch[2].split(", "))
            target = jumps.get(end_of(packet, dispatch[1]))
            if target and not survives(chains, target, packet):
                return False
        elif line == "counter drop":
            return False
        elif permit := PERMIT.fullmatch(line):
            if permits(permit, packet):
                return True
        else:
            assert PREAMBLE.fullmatch(line), line
    return True


def permits(permit: re.Match[str], packet: Packet) -> bool:
    cidrs = (permit["networks"] or "0.0.0.0/0").split(", ")
    end = address(end_of(packet, permit["end"] or "s"))
    protocol = permit["any_port_of"] or permit["protocol"]
    first = int(permit["first"] or 0)
    last = int(permit["last"] or permit["first"] or 65535)
    return (
        any(end in network(cidr) for cidr in cidrs)
        and protocol in (None, packet.protocol.lower())
        and first <= packet.port <= last
    )


def end_of(packet: Packet, letter: str) -> str:
    return packet.source if letter == "s" else packet.destination


# What Kubernetes says should happen


def should_pass(world: World, packet: Packet, hook: str = "forward") -> bool:
    if packet.source == packet.destination:
        return True
    leaves = side_allows(world, packet, "egress", packet.source, packet.destination)
    enters = side_allows(world, packet, "ingress", packet.destination, packet.source)
    return leaves and (hook == "input" or enters)


def side_allows(world: World, packet: Packet, side: str, subject_ip: str, peer_ip: str) -> bool:
    subject = live_pod_at(world, subject_ip)
    mine = [p for p in world.policies if subject and isolates(p, subject, side)]
    rules = [(p, rule) for p in mine for rule in p["spec"].get(side, [])]
    return not mine or any(
        rule_names_peer(world, rule.get("from" if side == "ingress" else "to"), p, peer_ip)
        and rule_opens_port(world, rule.get("ports"), packet)
        for p, rule in rules
    )


def live_pod_at(world: World, ip: str) -> Object | None:
    for each in world.pods:
        dead = each["status"]["phase"] in ("Succeeded", "Failed")
        if each["status"].get("podIP") == ip and not dead and "hostNetwork" not in each["spec"]:
            return each
    return None


def isolates(policy: Object, subject: Object, side: str) -> bool:
    spec = policy["spec"]
    if types := spec.get("policyTypes"):
        governed = {"ingress": "Ingress", "egress": "Egress"}[side] in types
    else:
        governed = side == "ingress" or bool(spec.get("egress"))
    same_namespace = policy["metadata"]["namespace"] == subject["metadata"]["namespace"]
    return governed and same_namespace and chosen(spec["podSelector"], subject)


def chosen(selector: Object, obj: Object) -> bool:
    labels = obj["metadata"]["labels"]
    wanted = selector.get("matchLabels", {})
    expressions = selector.get("matchExpressions", [])
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        requirement_met(labels, **expression) for expression in expressions
    )


def requirement_met(
    labels: dict[str, str], key: str, operator: str, values: tuple[str, ...] = ()
) -> bool:
    listed = key in labels and labels[key] in values
    return {
        "In": listed,
        "NotIn": not listed,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }[operator]


def rule_names_peer(world: World, peers: list[Object] | None, policy: Object, ip: str) -> bool:
    return not peers or any(peer_is(world, peer, policy, ip) for peer in peers)


def peer_is(world: World, peer: Object, policy: Object, ip: str) -> bool:
    if block := peer.get("ipBlock"):
        inside = address(ip) in network(block["cidr"])
        return inside and not any(address(ip) in network(hole) for hole in block.get("except", []))
    candidate = live_pod_at(world, ip)
    if candidate is None or not chosen(peer.get("podSelector", {}), candidate):
        return False
    home = candidate["metadata"]["namespace"]
    if "namespaceSelector" not in peer:
        return bool(home == policy["metadata"]["namespace"])
    homes = [n for n in world.namespaces if n["metadata"]["name"] == home]
    return any(chosen(peer["namespaceSelector"], n) for n in homes)


def rule_opens_port(world: World, ports: list[Object] | None, packet: Packet) -> bool:
    return not ports or any(port_is(world, port, packet) for port in ports)


def port_is(world: World, port: Object, packet: Packet) -> bool:
    if port.get("protocol", "TCP") != packet.protocol:
        return False
    match port.get("port"):
        case None:
            return True
        case int(number):
            return bool(number <= packet.port <= port.get("endPort", number))
        case name:
            destination = live_pod_at(world, packet.destination)
            known = destination["spec"]["containers"][0]["ports"] if destination else []
            return named(name, packet.port, packet.protocol) in known


# Any world, crowded enough for rules to meet


ADDRESSES = [f"10.0.0.{host}" for host in range(1, 7)]
PLACES = [*ADDRESSES, "10.0.0.7", "10.9.0.1", "192.0.2.7"]
BLOCKS = {
    "0.0.0.0/0": ["10.0.0.0/29", "192.0.2.0/24", "0.0.0.0/1"],
    "10.0.0.0/29": ["10.0.0.0/30", "10.0.0.2/31", "10.0.0.2/32", "10.0.0.5/32"],
    "10.0.0.4/30": ["10.0.0.6/32"],
    "fd00::/8": ["fd00::/16"],
}
PORT_NAMES, PROTOCOLS, NUMBERS = ["web", "dns"], ["TCP", "UDP", "SCTP"], [1, 53, 80, 65535]
HOMES = st.sampled_from(["x", "x", "x", "y"])
PROTOCOL = st.sampled_from(["TCP", "TCP", *PROTOCOLS])
KEYS, VALUES = st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b"])
LABELS = st.fixed_dictionaries({"app": VALUES}, optional={"tier": VALUES})


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=optional)


def few(of: st.SearchStrategy[Object]) -> st.SearchStrategy[list[Object]]:
    return st.integers(0, 2).flatmap(lambda size: st.lists(of, min_size=size, max_size=size))


@st.composite
def expressions(draw: st.DrawFn) -> Object:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]))
    values = [draw(VALUES)] if operator.endswith("In") else None
    return {"key": draw(KEYS), "operator": operator} | ({"values": values} if values else {})


SELECTORS: st.SearchStrategy[Object] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"matchLabels": some(app=VALUES, tier=VALUES)}),
    st.fixed_dictionaries({"matchExpressions": few(expressions())}),
)


@st.composite
def blocks(draw: st.DrawFn) -> Object:
    cidr = draw(st.sampled_from(sorted(BLOCKS)))
    holes = draw(st.permutations(BLOCKS[cidr]))[: draw(st.integers(0, 3))]
    return {"ipBlock": {"cidr": cidr} | ({"except": holes} if holes else {})}


@st.composite
def policy_ports(draw: st.DrawFn) -> Object:
    wanted = draw(st.sampled_from([None, *NUMBERS, *PORT_NAMES, *PORT_NAMES]))
    port: Object = {} if wanted is None else {"port": wanted}
    if isinstance(wanted, int) and draw(st.booleans()):
        port["endPort"] = draw(st.sampled_from([n for n in NUMBERS if n >= wanted]))
    return port | draw(some(protocol=PROTOCOL))


def rules(peers: str) -> st.SearchStrategy[list[Object]]:
    selected = some(podSelector=SELECTORS, namespaceSelector=SELECTORS).filter(bool)
    return few(some(**{peers: few(blocks() | selected), "ports": few(policy_ports())}))


@st.composite
def policies(draw: st.DrawFn) -> Object:
    types = st.lists(st.sampled_from(["Ingress", "Egress"]), unique=True)
    spec = some(policyTypes=types, ingress=rules("from"), egress=rules("to"))
    return policy(draw(HOMES), podSelector=draw(SELECTORS), **draw(spec))


@st.composite
def pods(draw: st.DrawFn, ip: str) -> Object:
    port = st.builds(named, st.sampled_from(PORT_NAMES), st.sampled_from(NUMBERS), PROTOCOL)
    oddity: Object = draw(
        st.sampled_from([{}, {}, {}, {}, {"phase": "Failed"}, {"host_network": True}])
    )
    details = {"labels": draw(LABELS), "ports": draw(few(port))} | oddity
    return pod(f"pod-{ip}", draw(st.sampled_from([*[ip] * 9, None])), draw(HOMES), **details)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return World(
        policies=draw(st.lists(policies(), min_size=1, max_size=3)),
        pods=[draw(pods(ip)) for ip in ADDRESSES[: draw(st.integers(2, 6))]],
        namespaces=[namespace("x", **draw(LABELS)), namespace("y", **draw(LABELS))],
    )


ALL_PAIRS = list(itertools.product(PLACES, PLACES))
OPENINGS = st.tuples(
    st.sampled_from([*PROTOCOLS, *PROTOCOLS, "ICMP"]), st.sampled_from([*NUMBERS, 2, 9999])
)


@settings(max_examples=300, deadline=None)
@given(worlds(), st.lists(OPENINGS, min_size=3, max_size=3), st.sampled_from(["forward", "input"]))
def test_a_packet_passes_exactly_if_kubernetes_says_so(
    world: World, openings: list[tuple[str, int]], hook: str
) -> None:
    chains = chains_of(world.ruleset())
    for (source, destination), (protocol, port) in itertools.product(ALL_PAIRS, openings):
        packet = Packet(source, destination, protocol, port)
        assert survives(chains, hook, packet) == should_pass(world, packet, hook), packet


@settings(deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_any_list_does_not_change_the_text(world: World, random: Random) -> None:
    def shuffled(value: Any) -> Any:
        match value:
            case list():
                return random.sample([shuffled(item) for item in value], k=len(value))
            case dict():
                return {key: shuffled(item) for key, item in value.items()}
        return value

    again = World(*map(shuffled, (world.policies, world.pods, world.namespaces)))
    assert again.ruleset() == world.ruleset()


@settings(deadline=None)
@given(worlds())
def test_a_pod_has_a_chain_exactly_if_a_policy_isolates_it(world: World) -> None:
    chains = chains_of(world.ruleset())
    for ip, side in itertools.product(PLACES, ["ingress", "egress"]):
        subject = live_pod_at(world, ip)
        isolated = any(subject and isolates(p, subject, side) for p in world.policies)
        assert (f"{side}-{ip}" in chains) == isolated


# The table


A, B, C, WORLD = "10.0.0.1", "10.0.0.2", "10.0.0.3", "192.0.2.7"
TRIO = [
    pod("a", A, ports=[named("web", 8080)]),
    pod("b", B, ports=[named("web", 80), named("dns", 53, "UDP")]),
    pod("c", C, namespace="other", ports=[named("web", 80)]),
]
TEAMS = [namespace("default", team="red"), namespace("other", team="blue")]


def from_(*peers: Object, ports: list[Object] | None = None) -> list[Object]:
    return [{"from": list(peers)} | ({"ports": ports} if ports else {})]


def to(*peers: Object, ports: list[Object] | None = None) -> list[Object]:
    return [{"to": list(peers)} | ({"ports": ports} if ports else {})]


DENY = policy()
ONLY_A = {"podSelector": app("a")}
HOLES = ["192.0.2.0/30", "192.0.2.6/32", "192.0.2.128/25"]
BLUE = {"matchLabels": {"team": "blue"}}
CASES = {
    "no policy": ([], Packet(A, B), True),
    "deny all": ([DENY], Packet(A, B), False),
    "deny all spares the other namespace": ([DENY], Packet(A, C), True),
    "deny all spares egress": ([DENY], Packet(A, WORLD), True),
    "deny the world too": ([DENY], Packet(WORLD, B), False),
    "egress rules imply isolation": ([policy(egress=to(ONLY_A))], Packet(B, WORLD), False),
    "an empty rule allows all": ([policy(ingress=[{}])], Packet(WORLD, B), True),
    "from a": ([policy(ingress=from_(ONLY_A))], Packet(A, B), True),
    "policies add up": ([DENY, policy(ingress=from_(ONLY_A))], Packet(A, B), True),
    "own namespace only": ([policy(ingress=from_({"podSelector": {}}))], Packet(C, B), False),
    "any namespace": ([policy(ingress=from_({"namespaceSelector": {}}))], Packet(C, B), True),
    "any pod is not the world": (
        [policy(ingress=from_({"namespaceSelector": {}}))],
        Packet(WORLD, B),
        False,
    ),
    "both selectors must hold": (
        [policy(ingress=from_({"namespaceSelector": BLUE, "podSelector": app("a")}))],
        Packet(C, B),
        False,
    ),
    "either peer may hold": (
        [policy(ingress=from_({"namespaceSelector": BLUE}, ONLY_A))],
        Packet(C, B),
        True,
    ),
    "inside the block": (
        [policy(ingress=from_({"ipBlock": {"cidr": "192.0.2.0/24"}}))],
        Packet(WORLD, B),
        True,
    ),
    "in the hole of the block": (
        [policy(ingress=from_({"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.4/30"]}}))],
        Packet(WORLD, B),
        False,
    ),
    "between the holes of the block": (
        [policy(ingress=from_({"ipBlock": {"cidr": "192.0.2.0/24", "except": HOLES}}))],
        Packet(WORLD, B),
        True,
    ),
    "a block with leading zeros and host bits": (
        [policy(ingress=from_({"ipBlock": {"cidr": "192.000.002.001/24"}}))],
        Packet(WORLD, B),
        True,
    ),
    "a port without a protocol is TCP": (
        [policy(ingress=from_(ports=[{"port": 80}]))],
        Packet(A, B, "UDP", 80),
        False,
    ),
    "the end of a range is inside it": (
        [policy(ingress=from_(ports=[{"port": 80, "endPort": 90}]))],
        Packet(A, B, port=90),
        True,
    ),
    "a protocol without a port": (
        [policy(ingress=from_(ports=[{"protocol": "SCTP"}]))],
        Packet(A, B, "SCTP", 7),
        True,
    ),
    "a named port has its own protocol": (
        [policy(ingress=from_(ports=[{"port": "dns"}]))],
        Packet(A, B, "TCP", 53),
        False,
    ),
    "a named ingress port is the selected pod's": (
        [policy(ingress=from_(ports=[{"port": "web"}]))],
        Packet(B, A, port=8080),
        True,
    ),
    "a named egress port is the peer's": (
        [policy(egress=to({"podSelector": {}}, ports=[{"port": "web"}]), policyTypes=["Egress"])],
        Packet(B, A, port=80),
        False,
    ),
    "a named egress port of no peer": (
        [policy(egress=to(ONLY_A, ports=[{"port": "web"}]), policyTypes=["Egress"])],
        Packet(A, B, port=80),
        False,
    ),
    "a named egress port to everyone": (
        [policy(egress=to(ports=[{"port": "web"}]), policyTypes=["Egress"])],
        Packet(A, C, port=80),
        True,
    ),
    "an egress permit does not open ingress": (
        [DENY, policy(egress=[{}], policyTypes=["Egress"])],
        Packet(A, B),
        False,
    ),
}


@pytest.mark.parametrize(("policies", "packet", "expected"), CASES.values(), ids=CASES)
def test_a_packet_passes_as_the_table_says(
    policies: list[Object], packet: Packet, expected: bool
) -> None:
    world = World(policies, TRIO, TEAMS)
    assert passes(world.ruleset(), packet) == expected


def test_only_egress_is_checked_on_the_way_to_the_node() -> None:
    closed = policy(policyTypes=["Ingress", "Egress"])
    text = ruleset([closed], TRIO, TEAMS)
    assert not passes(text, Packet(A, "10.0.0.254"), hook="input")
    assert passes(ruleset([DENY], TRIO, TEAMS), Packet(A, "10.0.0.254"), hook="input")
    assert "hook output" not in text


def test_the_text_is_the_same_in_every_process() -> None:
    """Python orders a set of strings by a seed that each process draws for itself."""
    load = "import json, sys; from quiver.devcluster.netpol import ruleset"
    program = f"{load}; print(ruleset(*json.load(sys.stdin)))"
    many_ports = policy(ingress=from_(ports=[{"port": number} for number in range(1, 9)]))

    def text_with_seed(seed: str) -> str:
        return subprocess.check_output(
            [sys.executable, "-c", program],
            input=json.dumps([[many_ports], TRIO, TEAMS]),
            env=os.environ | {"PYTHONHASHSEED": seed},
            text=True,
        )

    assert text_with_seed("1") == text_with_seed("2")


def test_a_peer_that_another_peer_covers_does_not_change_the_text() -> None:
    block = {"ipBlock": {"cidr": "10.0.0.0/29"}}
    alone = ruleset([policy(ingress=from_(block))], TRIO, TEAMS)
    assert ruleset([policy(ingress=from_(ONLY_A, block))], TRIO, TEAMS) == alone


def test_an_address_belongs_to_its_youngest_owner() -> None:
    old, young = pod("old", A), pod("young", A)
    old["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    young["metadata"]["creationTimestamp"] = "2025-01-02T00:00:00Z"
    for listed in ([old, young], [young, old]):
        assert passes(ruleset([policy(podSelector=app("old"))], listed, TEAMS), Packet(B, A))
        assert not passes(ruleset([policy(podSelector=app("young"))], listed, TEAMS), Packet(B, A))


def test_a_dual_stack_pod_is_policed_by_its_ipv4_address() -> None:
    dual = pod("dual", "fd00::1")
    dual["status"]["podIPs"] = [{"ip": "fd00::1"}, {"ip": A}]
    assert set(chains_of(ruleset([DENY], [dual], TEAMS))) == {f"ingress-{A}", "forward", "input"}


def test_a_sidecar_names_ports_and_an_init_container_does_not() -> None:
    target = pod("a", A)
    target["spec"]["initContainers"] = [
        {"name": "sidecar", "restartPolicy": "Always", "ports": [named("web", 81)]},
        {"name": "init", "ports": [named("web", 82)]},
    ]
    text = ruleset([policy(ingress=from_(ports=[{"port": "web"}]))], [target], TEAMS)
    assert passes(text, Packet(B, A, port=81))
    assert not passes(text, Packet(B, A, port=82))


# The kernel


@needs_nft
@settings(max_examples=40, deadline=None)
@given(worlds())
def test_the_kernel_takes_any_ruleset_and_its_replacement(world: World) -> None:
    twice = 'rules=$(cat); for turn in 1 2; do echo "$rules" | nft -f - || exit 1; done'
    command = ["unshare", "--net", "sh", "-c", f"{twice}; nft -s list table ip {TABLE}"]
    answer = subprocess.run(command, input=world.ruleset(), capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert set(re.findall(r"chain (\S+)", answer.stdout)) == set(chains_of(world.ruleset()))


def run(command: str, stdin: str = "") -> None:
    subprocess.run(command.split(), input=stdin, check=True, text=True)


class BridgedPods:
    """Network namespaces for a node with a bridge and for the pods on it."""

    NODE = "10.0.0.254"
    PORT = 8080

    def __init__(self, resources: ExitStack, pods: dict[str, str]) -> None:
        self._resources = resources
        self._suffix = secrets.token_hex(4)
        self._build_node()
        for name, ip in pods.items():
            self._build_pod(name, ip)
        self._servers = {ip: self._listen(name) for name, ip in pods.items()}
        self._servers[self.NODE] = self._listen("node")

    def load(self, *policies: Object) -> None:
        text = ruleset(list(policies), TRIO, TEAMS)
        run(f"ip netns exec {self._netns('node')} nft -f -", stdin=text)

    def reaches(self, client: str, ip: str, patience: float = 5) -> bool:
        """Whether a connection opens and carries the server's answer back."""
        with self._socket_in(client) as connection:
            connection.settimeout(patience)
            try:
                connection.connect((ip, self.PORT))
            except TimeoutError:
                return False
            accepted, _ = self._servers[ip].accept()
            with accepted:
                accepted.sendall(b"pong")
            return connection.recv(4) == b"pong"

    def is_cut_off(self, client: str, ip: str) -> bool:
        return not self.reaches(client, ip, patience=0.7)

    def _build_node(self) -> None:
        self._add_netns("node")
        node = self._netns("node")
        run(f"ip netns exec {node} sysctl -qw net.bridge.bridge-nf-call-iptables=1")
        run(f"ip -n {node} link add pods type bridge")
        run(f"ip -n {node} address add {self.NODE}/24 dev pods")
        run(f"ip -n {node} link set pods up")

    def _build_pod(self, name: str, ip: str) -> None:
        self._add_netns(name)
        node, netns = self._netns("node"), self._netns(name)
        run(f"ip -n {node} link add to-{name} type veth peer name eth0 netns {netns}")
        run(f"ip -n {node} link set to-{name} master pods up")
        run(f"ip -n {netns} address add {ip}/24 dev eth0")
        run(f"ip -n {netns} link set eth0 up")

    def _netns(self, name: str) -> str:
        return f"netpol-test-{name}-{self._suffix}"

    def _add_netns(self, name: str) -> None:
        run(f"ip netns add {self._netns(name)}")
        self._resources.callback(run, f"ip netns delete {self._netns(name)}")

    def _listen(self, name: str) -> socket.socket:
        server = self._resources.enter_context(self._socket_in(name))
        server.settimeout(5)
        server.bind(("0.0.0.0", self.PORT))
        server.listen()
        return server

    def _socket_in(self, name: str) -> socket.socket:
        # A socket stays in the namespace of the thread that made it; the thread is thrown away.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_socket_inside, Path("/run/netns", self._netns(name))).result()


def _socket_inside(netns: Path) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    with netns.open() as handle:
        if libc.setns(handle.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"cannot enter {netns}")
    return socket.socket()


@pytest.fixture(scope="module")
def bridged() -> Iterator[BridgedPods]:
    with ExitStack() as resources:
        yield BridgedPods(resources, {"a": A, "b": B, "c": C})


ONLY_A_TO_B = policy(podSelector=app("b"), ingress=from_(ONLY_A))


@needs_nft
@needs_bridge
def test_real_packets_reach_an_isolated_pod_only_from_its_permitted_peer(
    bridged: BridgedPods,
) -> None:
    bridged.load()
    assert bridged.reaches("c", B)
    bridged.load(DENY, ONLY_A_TO_B)
    assert bridged.reaches("a", B)
    assert bridged.is_cut_off("c", B)
    bridged.load()
    assert bridged.reaches("c", B)


@needs_nft
@needs_bridge
def test_real_replies_and_probes_reach_a_pod_that_admits_nobody(bridged: BridgedPods) -> None:
    bridged.load(DENY)
    assert bridged.reaches("b", C)
    assert bridged.reaches("node", B)
    assert bridged.is_cut_off("c", B)


@needs_nft
@needs_bridge
def test_real_packets_leave_only_for_permitted_peers_and_are_checked_again_there(
    bridged: BridgedPods,
) -> None:
    ports = [{"port": BridgedPods.PORT}]
    leave_for_b_and_c = to({"ipBlock": {"cidr": "10.0.0.2/31"}}, ports=ports)
    bridged.load(policy(podSelector=app("a"), policyTypes=["Egress"], egress=leave_for_b_and_c))
    assert bridged.reaches("a", B)
    assert bridged.reaches("a", C)
    assert bridged.is_cut_off("a", BridgedPods.NODE)
    bridged.load(
        policy(podSelector=app("a"), policyTypes=["Egress"], egress=leave_for_b_and_c),
        policy(podSelector=app("b")),
    )
    assert bridged.is_cut_off("a", B)
    assert bridged.reaches("b", BridgedPods.NODE)
