"""GPUs and other devices: which components ask for them, and whether a node offers them.

Whether the scheduler finds room at this moment is not decided here: a pod may wait for one that
ends. This tells what no waiting helps against.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

import msgspec

from quiver.kube.quantity import parse_quantity
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.component import Component
from quiver.vecodex.names import Role


class NodeMeta(msgspec.Struct, frozen=True, gc=False):
    name: str
    labels: dict[str, str] = {}


class NodeStatus(msgspec.Struct, frozen=True, gc=False):
    allocatable: dict[str, str] = {}


class Node(msgspec.Struct, frozen=True, gc=False):
    """What matters of a node; decodes from its JSON."""

    metadata: NodeMeta
    status: NodeStatus = NodeStatus()


class Devices(NamedTuple):
    """Whether every device that is asked for is offered, and the sentence that says so."""

    offered: bool
    message: str


def devices_of(component: Component) -> dict[str, Decimal]:
    """What one pod asks for beyond cpu, memory and storage, by resource name."""
    limits = {name: parse_quantity(it) for name, it in component.resources.limits.items()}
    return {name: amount for name, amount in limits.items() if "/" in name and amount}


def asks_for_devices(vecodex: VecodexSet) -> bool:
    return any(_wanted(vecodex))


def devices(vecodex: VecodexSet, nodes: Iterable[Node]) -> Devices | None:
    """None where no device is asked for."""
    wanted = list(_wanted(vecodex))
    if not wanted:
        return None
    nodes = list(nodes)
    lacks = [lack for it in wanted if (lack := _lack(*it, nodes))]
    if lacks:
        return Devices(False, "; ".join(lacks))
    names = sorted({name for _, _, name, _ in wanted})
    return Devices(True, f"there are nodes that offer {', '.join(names)}")


def offers(node: Node) -> dict[str, str]:
    """The devices of a node; while these and its labels stay, no set has to look again."""
    return {name: amount for name, amount in node.status.allocatable.items() if "/" in name}


Wanted = tuple[Role, Component, str, Decimal]


def _wanted(vecodex: VecodexSet) -> Iterable[Wanted]:
    for role in Role:
        component = vecodex.spec.component(role)
        if component.replicas:
            for name, amount in devices_of(component).items():
                yield role, component, name, amount


def _lack(role: Role, component: Component, name: str, amount: Decimal, nodes: list[Node]) -> str:
    """Empty if a pod of this component fits on some node, were it alone there."""
    offered = [node for node in nodes if _offer(node, name)]
    matching = [node for node in offered if _matches(node, component.node_selector)]
    if any(_offer(node, name) >= amount for node in matching):
        return ""
    if not offered:
        return (
            f"no node offers {name}, which {role} asks for: add a node with it and install its"
            f" device plugin, or remove {name} from spec.{role}.resources.limits"
        )
    if not matching:
        return (
            f"no node that offers {name} has the labels of spec.{role}.nodeSelector: label one, or"
            " change nodeSelector"
        )
    most = max(_offer(node, name) for node in matching)
    return (
        f"{role} asks for {amount:f} {name} in each pod, but no node has more than {most:f}: lower"
        f" spec.{role}.resources.limits, or add a larger node"
    )


def _offer(node: Node, name: str) -> Decimal:
    return parse_quantity(node.status.allocatable.get(name, "0"))


def _matches(node: Node, selector: Mapping[str, str]) -> bool:
    return all(node.metadata.labels.get(key) == value for key, value in selector.items())
