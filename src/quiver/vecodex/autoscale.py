"""The HorizontalPodAutoscaler of the searchers.

It drives the set's `scale` subresource, never the Deployment: one owner of the number, and what a
person sets with `kubectl scale` and what the autoscaler sets are the same field.
"""

from quiver.engine.kinds import HORIZONTAL_POD_AUTOSCALER
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.child import child
from quiver.vecodex.component import Autoscaling
from quiver.vecodex.names import Role
from quiver.vecodex.plain import Object, free, given

USUAL_CPU = 80


def desired_autoscaler(vecodex: VecodexSet, autoscaling: Autoscaling) -> Object:
    definition = VecodexSet.definition
    return child(vecodex, HORIZONTAL_POD_AUTOSCALER, Role.SEARCHER) | {
        "spec": {
            "scaleTargetRef": {
                "apiVersion": definition.api_version,
                "kind": definition.kind,
                "name": vecodex.metadata.name,
            },
            "minReplicas": autoscaling.min_replicas,
            "maxReplicas": autoscaling.max_replicas,
            "metrics": _metrics(autoscaling),
        }
        | given(behavior=free(autoscaling.behavior)),
    }


def _metrics(autoscaling: Autoscaling) -> list[Object]:
    targets = given(cpu=autoscaling.target_cpu, memory=autoscaling.target_memory)
    if not targets and not autoscaling.metrics:
        targets = {"cpu": USUAL_CPU}
    utilizations = [_utilization(name, percent) for name, percent in targets.items()]
    return [*utilizations, *free(autoscaling.metrics)]


def _utilization(name: str, percent: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": name, "target": target}}
