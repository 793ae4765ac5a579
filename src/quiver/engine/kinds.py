"""Kinds and keys: how the engine names what it watches, writes and works on."""

from typing import NamedTuple

from quiver.engine.crd import Resource, Scope


class Key(NamedTuple):
    """One object of a kind; cluster-scoped ones have no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Kind(NamedTuple):
    """A kind as manifests name it, and its plural, which permissions go by."""

    api_version: str
    name: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        group, _, _ = self.api_version.rpartition("/")
        return group

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


def kind_of(resource: type[Resource]) -> Kind:
    """The kind that a type declares."""
    definition = resource.definition
    return Kind(
        definition.api_version,
        definition.kind,
        definition.plural,
        definition.scope is Scope.NAMESPACED,
    )


CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
EVENT = Kind("events.k8s.io/v1", "Event", "events")
NAMESPACE = Kind("v1", "Namespace", "namespaces", namespaced=False)
NODE = Kind("v1", "Node", "nodes", namespaced=False)
POD = Kind("v1", "Pod", "pods")
SECRET = Kind("v1", "Secret", "secrets")
SERVICE = Kind("v1", "Service", "services")
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
STATEFUL_SET = Kind("apps/v1", "StatefulSet", "statefulsets")
HORIZONTAL_POD_AUTOSCALER = Kind(
    "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
INGRESS = Kind("networking.k8s.io/v1", "Ingress", "ingresses")
POD_DISRUPTION_BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
