"""The Deployment of a component."""

from quiver.engine.kinds import DEPLOYMENT
from quiver.vecodex.api import Rollout, VecodexSet
from quiver.vecodex.child import child
from quiver.vecodex.component import Component, Searcher, UpdateStrategy
from quiver.vecodex.gpu import devices_of
from quiver.vecodex.names import Role, selector_of
from quiver.vecodex.plain import Object, given
from quiver.vecodex.template import digest, pod_template

TEMPLATE = "quiver.dev/template"
"""Annotation: the digest of the template that was applied last. The live one has more in it."""

_QUARTER = {"maxSurge": "25%", "maxUnavailable": "25%"}
# The old pod holds the device that the new one waits for.
_OLD_POD_FIRST = {"maxSurge": 0, "maxUnavailable": 1}


def desired_deployment(vecodex: VecodexSet, role: Role) -> Object:
    component = vecodex.spec.component(role)
    template = pod_template(vecodex, role)
    described = child(vecodex, DEPLOYMENT, role)
    described["metadata"]["annotations"] = {TEMPLATE: digest(template)}
    rollout = vecodex.spec.rollout or Rollout()
    return described | {
        "spec": {
            "replicas": wanted_replicas(component),
            "selector": {"matchLabels": selector_of(vecodex.metadata.name, role)},
            "strategy": _strategy(component),
            "template": template,
            **given(
                minReadySeconds=component.min_ready_seconds or None,
                progressDeadlineSeconds=rollout.progress_deadline_seconds,
            ),
        },
    }


def wanted_replicas(component: Component) -> int:
    """As the spec says, within the autoscaler's bounds; 0 stops the autoscaler too."""
    autoscaling = component.autoscaling if isinstance(component, Searcher) else None
    if autoscaling is None or component.replicas == 0:
        return component.replicas
    return max(autoscaling.min_replicas, min(component.replicas, autoscaling.max_replicas))


def _strategy(component: Component) -> Object:
    """Written out in full: a field that the server filled in could never be taken away again."""
    wished = component.update_strategy or UpdateStrategy()
    if wished.type == "Recreate":
        return {"type": "Recreate"}
    usual = _OLD_POD_FIRST if devices_of(component) else _QUARTER
    rolling = usual | given(maxSurge=wished.max_surge, maxUnavailable=wished.max_unavailable)
    return {"type": "RollingUpdate", "rollingUpdate": rolling}
