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
    name = f"{vecodex_set['metadata']['name']}-{role}"
    labels = {"app": name}
    wanted = vecodex_set["spec"][role]
    container = {"name": role, "image": wanted["image"], "resources": wanted["resources"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(vecodex_set, name, labels),
        "spec": {
            "replicas": wanted["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def service_of(vecodex_set: Object, role: str) -> Object:
    name = f"{vecodex_set['metadata']['name']}-{role}"
    labels = {"app": name}
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 8080}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(vecodex_set, name, labels),
        "spec": {"selector": labels, "ports": ports},
    }


def ingress_of(vecodex_set: Object) -> Object:
    name = vecodex_set["metadata"]["name"]
    service = {"name": f"{name}-coordinator", "port": {"number": 80}}
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": service}}
    rule = {"host": vecodex_set["spec"]["ingress"]["host"], "http": {"paths": [path]}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(vecodex_set, f"{name}-ingress", {}),
        "spec": {"rules": [rule]},
    }


def metadata(vecodex_set: Object, name: str, labels: dict[str, str]) -> Object:
    owner = {
        "apiVersion": GROUP_VERSION,
        "kind": "VecodexSet",
        "name": vecodex_set["metadata"]["name"],
        "uid": vecodex_set["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {"name": name, "ownerReferences": [owner]} | ({"labels": labels} if labels else {})


def status(vecodex_set: Object, now: str) -> Object:
    generation = vecodex_set["metadata"]["generation"]
    condition = {
        "type": "Reconciled",
        "status": "True",
        "observedGeneration": generation,
        "lastTransitionTime": now,
        "reason": "Applied",
        "message": "All objects are as the spec says.",
    }
    return {"observedGeneration": generation, "conditions": [condition]}
