"""What one VecodexSet becomes, for the peers written in Python. The standard library only."""

from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]

GROUP_VERSION = "apps.vecodex.link/v1alpha1"
ROLES = ("coordinator", "writer", "searcher")
CHILDREN = 2 * len(ROLES) + 1


def set_path(namespace: str, name: str) -> str:
    return f"/apis/{GROUP_VERSION}/namespaces/{namespace}/vecodexsets/{name}"


def children(vecodex_set: Object) -> Iterator[tuple[str, Object]]:
    """The path and the contents of each child."""
    namespace = vecodex_set["metadata"]["namespace"]
    for role in ROLES:
        deployment = deployment_of(vecodex_set, role)
        name = deployment["metadata"]["name"]
        yield f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}", deployment
        yield f"/api/v1/namespaces/{namespace}/services/{name}", service_of(vecodex_set, role)
    ingress = ingress_of(vecodex_set)
    name = ingress["metadata"]["name"]
    yield f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses/{name}", ingress


def deployment_of(vecodex_set: Object, role: str) -> Object:
    selector = selector_of(vecodex_set, role)
    wanted = vecodex_set["spec"][role]
    container = {"name": role, "image": wanted["image"], "resources": wanted["resources"]}
    quarter = {"maxSurge": "25%", "maxUnavailable": "25%"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(vecodex_set, role),
        "spec": {
            "replicas": wanted["replicas"],
            "selector": {"matchLabels": selector},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": quarter},
            "template": {"metadata": {"labels": selector}, "spec": {"containers": [container]}},
        },
    }


def service_of(vecodex_set: Object, role: str) -> Object:
    port = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 44400}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(vecodex_set, role),
        "spec": {
            "type": "ClusterIP",
            "selector": selector_of(vecodex_set, role),
            "ports": [port],
        },
    }


def ingress_of(vecodex_set: Object) -> Object:
    name = vecodex_set["metadata"]["name"]
    service = {"name": f"{name}-coordinator", "port": {"number": 80}}
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": service}}
    rule = {"host": vecodex_set["spec"]["ingress"]["host"], "http": {"paths": [path]}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(vecodex_set, "ingress"),
        "spec": {"rules": [rule]},
    }


def selector_of(vecodex_set: Object, role: str) -> dict[str, str]:
    return {"app": f"{vecodex_set['metadata']['name']}-{role}"}


def metadata(vecodex_set: Object, component: str) -> Object:
    name = vecodex_set["metadata"]["name"]
    owner = {
        "apiVersion": GROUP_VERSION,
        "kind": "VecodexSet",
        "name": name,
        "uid": vecodex_set["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {
        "app.kubernetes.io/name": "vecodex",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": "quiver",
    }
    return {"name": f"{name}-{component}", "labels": labels, "ownerReferences": [owner]}


def status(vecodex_set: Object, now: str) -> Object:
    """Of a set whose children were just made; no pod runs where there is no node."""
    name, generation = vecodex_set["metadata"]["name"], vecodex_set["metadata"]["generation"]
    missing = "; ".join(f"{role}: its controller has not looked at it yet" for role in ROLES)
    conditions = [
        ("Ready", "False", "NotReady", missing),
        ("Progressing", "True", "RollingOut", missing),
        ("Degraded", "False", "AsExpected", "nothing failed"),
    ]
    return {
        "observedGeneration": generation,
        "phase": "Progressing",
        "conditions": [condition(*it, generation, now) for it in conditions],
        "selector": f"app={name}-searcher",
        "endpoint": f"http://{vecodex_set['spec']['ingress']['host']}",
    } | {role: component_status(vecodex_set["spec"][role]) for role in ROLES}


def condition(
    kind: str, holds: str, reason: str, message: str, generation: int, now: str
) -> Object:
    return {
        "type": kind,
        "status": holds,
        "observedGeneration": generation,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def component_status(wanted: Object) -> Object:
    replicas = wanted["replicas"]
    return {
        "summary": f"0/{replicas}",
        "desired": replicas,
        "replicas": 0,
        "ready": 0,
        "updated": 0,
        "image": wanted["image"],
    }
