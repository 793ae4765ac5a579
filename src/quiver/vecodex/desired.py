"""From a set to all of its children. Pure: no I/O, no clock, no chance.

Deployments are kept apart, because the roll-out (`rollout.py`) decides when each may change.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from quiver.vecodex.api import VecodexSet
from quiver.vecodex.autoscale import desired_autoscaler
from quiver.vecodex.deployment import desired_deployment
from quiver.vecodex.disruption import desired_budget
from quiver.vecodex.names import Role, child_name
from quiver.vecodex.network import desired_ingress, desired_service
from quiver.vecodex.plain import Object


class Observed(NamedTuple):
    """The live children that decisions look at."""

    deployments: dict[Role, Object]
    services: dict[Role, Object]


def observed(
    vecodex: VecodexSet, *, deployments: Iterable[Object], services: Iterable[Object]
) -> Observed:
    """The children by their role; others are left out."""
    return Observed(_by_role(vecodex, deployments), _by_role(vecodex, services))


NOTHING = Observed({}, {})


def desired(vecodex: VecodexSet, seen: Observed = NOTHING) -> list[Object]:
    """All children of a set, Deployments first."""
    return [*desired_deployments(vecodex).values(), *desired_others(vecodex, seen)]


def desired_deployments(vecodex: VecodexSet) -> dict[Role, Object]:
    return {role: desired_deployment(vecodex, role) for role in Role}


def desired_others(vecodex: VecodexSet, seen: Observed = NOTHING) -> list[Object]:
    """What changes at once: Services, Ingress, autoscaler, disruption budgets."""
    return list(_others(vecodex, seen))


def _others(vecodex: VecodexSet, seen: Observed) -> Iterator[Object]:
    spec = vecodex.spec
    for role in Role:
        yield desired_service(vecodex, role, seen.services.get(role))
    if spec.ingress:
        yield desired_ingress(vecodex, spec.ingress)
    if spec.searcher.autoscaling:
        yield desired_autoscaler(vecodex, spec.searcher.autoscaling)
    for role in Role:
        if budget := spec.component(role).pod_disruption_budget:
            yield desired_budget(vecodex, role, budget)


def _by_role(vecodex: VecodexSet, objects: Iterable[Object]) -> dict[Role, Object]:
    by_name = {obj["metadata"]["name"]: obj for obj in objects}
    names = {role: child_name(vecodex.metadata.name, role) for role in Role}
    return {role: by_name[name] for role, name in names.items() if name in by_name}
