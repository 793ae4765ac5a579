"""The pods of a component.

For a spec that only says what the original operator understood, the template is exactly the
original's, so that taking over a set restarts nothing.
"""

import hashlib

import msgspec

from quiver.vecodex.api import VecodexSet
from quiver.vecodex.component import Component
from quiver.vecodex.names import Role, selector_of
from quiver.vecodex.plain import Object, free, given, plain, plain_all
from quiver.vecodex.resources import Resources


def pod_template(vecodex: VecodexSet, role: Role) -> Object:
    component = vecodex.spec.component(role)
    selector = selector_of(vecodex.metadata.name, role)
    return {
        "metadata": given(
            labels=component.pod_labels | selector, annotations=component.pod_annotations
        ),
        "spec": {"containers": [_container(component, role)]} | _pod(component, selector),
    }


def digest(template: Object) -> str:
    """The same for the same template, in whatever order it was written."""
    text = msgspec.json.encode(template, order="sorted")
    return hashlib.sha256(text).hexdigest()[:16]


def _container(component: Component, role: Role) -> Object:
    return {"name": role.value, "image": component.image} | given(
        imagePullPolicy=component.image_pull_policy,
        command=component.command,
        args=component.args,
        ports=[_port(port.name, port.target, port.protocol) for port in component.ports],
        env=plain_all(component.env),
        envFrom=plain_all(component.env_from),
        resources=_resources(component.resources),
        livenessProbe=component.liveness_probe and plain(component.liveness_probe),
        readinessProbe=component.readiness_probe and plain(component.readiness_probe),
        startupProbe=component.startup_probe and plain(component.startup_probe),
        lifecycle=free(component.lifecycle),
        securityContext=free(component.security_context),
        volumeMounts=free(component.volume_mounts),
    )


def _pod(component: Component, selector: dict[str, str]) -> Object:
    return given(
        serviceAccountName=component.service_account_name,
        imagePullSecrets=plain_all(component.image_pull_secrets),
        securityContext=free(component.pod_security_context),
        nodeSelector=component.node_selector,
        tolerations=plain_all(component.tolerations),
        affinity=free(component.affinity),
        topologySpreadConstraints=[
            {"labelSelector": {"matchLabels": selector}} | plain(constraint)
            for constraint in component.topology_spread_constraints
        ],
        priorityClassName=component.priority_class_name,
        runtimeClassName=component.runtime_class_name,
        terminationGracePeriodSeconds=component.termination_grace_period_seconds,
        volumes=free(component.volumes),
        resourceClaims=free(component.resource_claims),
    )


def _port(name: str, number: int, protocol: str) -> Object:
    return {"name": name, "containerPort": number, "protocol": protocol}


def _resources(resources: Resources) -> Object:
    return given(
        requests={name: str(amount) for name, amount in resources.requests.items()},
        limits={name: str(amount) for name, amount in resources.limits.items()},
        claims=plain_all(resources.claims),
    )
