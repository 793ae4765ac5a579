"""How the components are reached: a Service each, and an Ingress for the coordinator."""

from typing import Any

from quiver.engine.kinds import INGRESS, SERVICE
from quiver.vecodex.api import IngressRoute, VecodexSet
from quiver.vecodex.child import child
from quiver.vecodex.component import Component, Port
from quiver.vecodex.names import Role, child_name, selector_of
from quiver.vecodex.plain import Object, given

# Where the Vecodex app listens, and where the original's Ingress knocks.
USUAL_PORT = Port(name="http", port=80, container_port=44400)


def ports_of(component: Component) -> list[Port]:
    return component.ports or [USUAL_PORT]


def desired_service(vecodex: VecodexSet, role: Role, live: Object | None) -> Object:
    component = vecodex.spec.component(role)
    return child(vecodex, SERVICE, role) | {
        "spec": {
            "type": "ClusterIP",
            "selector": selector_of(vecodex.metadata.name, role),
            "ports": [_port(port, component, live) for port in ports_of(component)],
        },
    }


def desired_ingress(vecodex: VecodexSet, route: IngressRoute) -> Object:
    described = child(vecodex, INGRESS, None)
    described["metadata"] |= given(annotations=route.annotations)
    backend = {
        "name": child_name(vecodex.metadata.name, Role.COORDINATOR),
        "port": {"number": ingress_port(vecodex.spec.coordinator, route).port},
    }
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": backend}}
    rule = {"host": route.host, "http": {"paths": [path]}}
    return described | {
        "spec": given(ingressClassName=route.class_name, rules=[rule], tls=_tls(route))
    }


def ingress_port(coordinator: Component, route: IngressRoute) -> Port:
    """The port that the route names, else the first."""
    ports = ports_of(coordinator)
    return next((port for port in ports if port.name == route.port), ports[0])


def endpoint(vecodex: VecodexSet) -> str:
    """Where the set is reached: from outside if it can be, else from inside the cluster."""
    route = vecodex.spec.ingress
    if route:
        return f"{'https' if route.tls else 'http'}://{route.host}"
    service = child_name(vecodex.metadata.name, Role.COORDINATOR)
    port = ports_of(vecodex.spec.coordinator)[0].port
    return f"{service}.{vecodex.metadata.namespace}.svc:{port}"


def _port(port: Port, component: Component, live: Object | None) -> Object:
    return {
        "name": port.name,
        "port": port.port,
        "protocol": port.protocol,
        "targetPort": _target(port, component, live),
    } | given(appProtocol=port.app_protocol)


def _target(port: Port, component: Component, live: Object | None) -> int | str:
    """By name, so that old and new pods are each reached where they listen.

    By number where pods do not declare the port, and as long as it already is: pods from before
    the port was declared have no name for it, and would be cut off.
    """
    if not component.ports or _live_target(port.name, live) == port.target:
        return port.target
    return port.name


def _live_target(name: str, live: Object | None) -> Any:
    ports = live["spec"].get("ports", []) if live else []
    return next((port.get("targetPort") for port in ports if port.get("name") == name), None)


def _tls(route: IngressRoute) -> list[Object]:
    if route.tls is None:
        return []
    return [{"hosts": [route.host]} | given(secretName=route.tls.secret_name)]
