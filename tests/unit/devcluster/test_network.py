"""Clusters side by side never share an address, and never take one that is in use."""

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.network import SLOTS, Network, free_network

TEN = int(IPv4Address("10.0.0.0"))

slots = st.integers(min_value=0, max_value=SLOTS - 1)
names = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
networks = st.builds(Network, slots, names)
routes = st.builds(
    lambda address, length: IPv4Network((address, length), strict=False),
    st.integers(min_value=TEN, max_value=TEN + 2**24 - 1),
    st.integers(min_value=9, max_value=32),
)


@settings(deadline=None)
@given(networks, networks)
def test_the_ranges_of_two_slots_never_overlap(one: Network, other: Network) -> None:
    for mine in one.ranges():
        for theirs in other.ranges():
            assert not mine.overlaps(theirs) or (one.slot == other.slot and mine == theirs)


@settings(deadline=None)
@given(networks)
def test_every_address_is_inside_its_range(network: Network) -> None:
    node, _, service = network.ranges()
    assert {IPv4Address(network.host_ip), IPv4Address(network.node_ip)} <= set(node.hosts())
    assert network.host_ip != network.node_ip
    assert IPv4Address(network.api_service_ip) == service.network_address + 1
    assert IPv4Address(network.dns_ip) in service


@settings(deadline=None)
@given(networks)
def test_simulated_pods_and_clusters_without_a_node_use_other_addresses(network: Network) -> None:
    others = [IPv4Network("10.64.0.0/14"), IPv4Network("10.96.0.0/16")]
    assert not any(mine.overlaps(it) for mine in network.ranges() for it in others)


@settings(deadline=None)
@given(networks, networks)
def test_two_clusters_never_share_a_label(one: Network, other: Network) -> None:
    assert (one.label == other.label) == (one == other)


def test_what_outlives_a_cluster_carries_its_name() -> None:
    network = Network(3, "team-a")
    assert network.label == "quiver-team-a-3"
    assert str(network.namespace) == "/run/netns/quiver-team-a-3"


def test_the_interface_s_name_is_one_that_the_kernel_takes() -> None:
    interfaces = {Network(slot, "a" * 30).interface for slot in range(SLOTS)}
    assert len(interfaces) == SLOTS
    assert all(len(name) <= 15 for name in interfaces)


def test_the_first_cluster_gets_the_first_slot() -> None:
    assert free_network("dev", set(), []) == Network(0, "dev")


@settings(deadline=None)
@given(st.sets(slots), st.lists(routes, max_size=6))
def test_a_free_network_is_free_and_the_first_that_is(
    taken: set[int], others: list[IPv4Network]
) -> None:
    def is_free(network: Network) -> bool:
        clash = any(it.overlaps(other) for it in network.ranges() for other in others)
        return network.slot not in taken and not clash

    candidates = [Network(slot, "dev") for slot in range(SLOTS)]
    first = next(filter(is_free, candidates), None)
    if first:
        assert free_network("dev", taken, iter(others)) == first
    else:
        with pytest.raises(DevClusterError):
            free_network("dev", taken, iter(others))


@pytest.mark.parametrize(
    ("route", "slot"),
    [
        ("10.89.0.0/24", 1),
        ("10.89.0.128/25", 1),
        ("10.128.7.0/24", 1),
        ("10.192.0.1/32", 1),
        ("10.128.0.0/12", 16),
        ("192.168.0.0/16", 0),
        ("172.17.0.0/16", 0),
    ],
)
def test_a_route_of_this_machine_is_kept_clear_of(route: str, slot: int) -> None:
    assert free_network("dev", set(), [IPv4Network(route)]).slot == slot


@pytest.mark.parametrize(
    ("taken", "routes"), [(set(range(SLOTS)), []), (set(), [IPv4Network("10.0.0.0/8")])]
)
def test_when_nothing_is_free_the_sentence_says_how_to_free_something(
    taken: set[int], routes: list[IPv4Network]
) -> None:
    with pytest.raises(DevClusterError) as refusal:
        free_network("dev", taken, routes)
    assert str(refusal.value) == (
        "all 32 address ranges for dev clusters are in use on this machine:"
        " end a cluster with `quiver dev down --name NAME` (`quiver dev status` lists them)"
    )
