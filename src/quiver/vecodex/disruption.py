"""The PodDisruptionBudget of a component."""

from quiver.engine.kinds import POD_DISRUPTION_BUDGET
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.child import child
from quiver.vecodex.component import DisruptionBudget
from quiver.vecodex.names import Role, selector_of
from quiver.vecodex.plain import Object, given


def desired_budget(vecodex: VecodexSet, role: Role, budget: DisruptionBudget) -> Object:
    bound = given(minAvailable=budget.min_available, maxUnavailable=budget.max_unavailable)
    return child(vecodex, POD_DISRUPTION_BUDGET, role) | {
        "spec": {
            "selector": {"matchLabels": selector_of(vecodex.metadata.name, role)},
            # Else pods that are broken already would keep their node from being drained.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            **(bound or {"maxUnavailable": 1}),
        },
    }
