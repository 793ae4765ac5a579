"""One component of a set, as people write it."""

from typing import Annotated, Literal

from msgspec import Meta, field

from quiver.engine.crd import Fields, ListMap, Rule, rules
from quiver.engine.crd.core import (
    Affinity,
    Env,
    EnvFromSource,
    FreeForm,
    IntOrString,
    LocalObjectReference,
    Names,
    PodSecurityContext,
    Probe,
    SecurityContext,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    VolumeMount,
)
from quiver.vecodex.resources import SMALL, Resources

MOST_REPLICAS = 10_000

PortNumber = Annotated[int, Meta(ge=1, le=65535)]
Seconds = Annotated[int, Meta(ge=0, le=86400)]
Image = Annotated[
    str,
    Meta(
        description="The container image.",
        examples=["ghcr.io/ivan-digital/vecodex/app:latest"],
        max_length=1024,
    ),
    Rule(
        r"self.matches('^[^\\s]+$')",
        "image must be a reference such as ghcr.io/acme/searcher:1.2, without spaces",
    ),
]
_ONE_EACH = "self.all(a, self.exists_one(b, a.port == b.port && a.protocol == b.protocol))"


class Port(Fields):
    """A port of the component's Service and of its containers."""

    name: Annotated[
        str,
        Meta(description="Probes and the ingress may refer to it.", max_length=15),
        Rule(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.matches('[a-z]')",
            "must be at most 15 lower-case letters, digits and dashes, such as http or grpc",
        ),
    ]
    port: Annotated[PortNumber, Meta(description="The port of the Service.")]
    container_port: (
        Annotated[PortNumber, Meta(description="Where the container listens; else as `port`.")]
        | None
    ) = None
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    app_protocol: (
        Annotated[
            str,
            Meta(description="What is spoken, for the ingress.", examples=["kubernetes.io/h2c"]),
        ]
        | None
    ) = None

    @property
    def target(self) -> int:
        return self.container_port or self.port


Ports = Annotated[
    list[Port],
    ListMap("name"),
    Meta(
        description=(
            "Ports of the Service, declared in the pods too. Without any, the Service has port 80"
            " and leads to 44400, where Vecodex listens."
        ),
        max_length=16,
    ),
    Rule(_ONE_EACH, "two entries have the same port: a Service has each port once"),
]


@rules(
    Rule(
        "self.type == 'RollingUpdate' || (!has(self.maxSurge) && !has(self.maxUnavailable))",
        "maxSurge and maxUnavailable belong to RollingUpdate: leave them out, or change type",
    )
)
class UpdateStrategy(Fields):
    """How the pods of one component are replaced."""

    type: Literal["RollingUpdate", "Recreate"] = "RollingUpdate"
    max_surge: Annotated[IntOrString, Meta(description="Pods above the wanted number.")] | None = (
        None
    )
    max_unavailable: (
        Annotated[IntOrString, Meta(description="Pods that may be missing meanwhile.")] | None
    ) = None


@rules(
    Rule(
        "!has(self.minAvailable) || !has(self.maxUnavailable)",
        "only one of minAvailable and maxUnavailable can be set",
    )
)
class DisruptionBudget(Fields):
    """How many pods may be evicted at a time, such as by `kubectl drain`; else 1."""

    min_available: IntOrString | None = None
    max_unavailable: IntOrString | None = None


class Component(Fields):
    """One of the programs of a set: its image, how many, and what they need."""

    image: Image
    replicas: Annotated[
        int, Meta(description="How many pods; 0 stops them all.", ge=0, le=MOST_REPLICAS)
    ] = 1
    command: Annotated[list[str], Meta(description="Instead of the image's entry point.")] = []
    args: Annotated[list[str], Meta(description="Arguments of the command.")] = []
    resources: Resources = Resources(requests=SMALL, limits=SMALL)
    ports: Ports = []
    env: Env = []
    env_from: list[EnvFromSource] = []
    liveness_probe: (
        Annotated[Probe, Meta(description="A failing container is restarted.")] | None
    ) = None
    readiness_probe: (
        Annotated[Probe, Meta(description="A pod that is not ready gets no requests.")] | None
    ) = None
    startup_probe: (
        Annotated[Probe, Meta(description="Until it succeeds, the other probes wait.")] | None
    ) = None
    lifecycle: Annotated[FreeForm, Meta(description="As in a container's lifecycle.")] = {}
    update_strategy: UpdateStrategy | None = None
    min_ready_seconds: (
        Annotated[Seconds, Meta(description="How long a pod must be ready to count.")] | None
    ) = None
    pod_disruption_budget: DisruptionBudget | None = None
    topology_spread_constraints: Annotated[
        list[TopologySpreadConstraint],
        Meta(description="Without a labelSelector, the component's own pods are meant."),
    ] = []
    node_selector: Annotated[Names, Meta(description="Labels of the nodes to run on.")] = {}
    tolerations: list[Toleration] = []
    affinity: Affinity = {}
    priority_class_name: str | None = None
    runtime_class_name: str | None = None
    service_account_name: str | None = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secrets: Annotated[list[LocalObjectReference], ListMap("name")] = []
    security_context: SecurityContext = {}
    pod_security_context: PodSecurityContext = {}
    volumes: list[Volume] = []
    volume_mounts: list[VolumeMount] = []
    resource_claims: list[
        Annotated[FreeForm, Meta(description="As in a Pod's spec.resourceClaims.")]
    ] = []
    termination_grace_period_seconds: Seconds | None = None
    pod_labels: Annotated[Names, Meta(description="More labels for the pods.")] = {}
    pod_annotations: Annotated[Names, Meta(description="Annotations for the pods.")] = {}


@rules(
    Rule(
        "self.minReplicas <= self.maxReplicas",
        "minReplicas is above maxReplicas: lower one or raise the other",
        field_path=".minReplicas",
    )
)
class Autoscaling(Fields):
    """A HorizontalPodAutoscaler that sets `spec.searcher.replicas` between two bounds.

    Without any target or metric it aims at 80 % of the requested CPU.
    """

    min_replicas: Annotated[int, Meta(ge=1, le=MOST_REPLICAS)] = 1
    max_replicas: Annotated[int, Meta(ge=1, le=MOST_REPLICAS)]
    target_cpu: (
        Annotated[int, Meta(description="In percent of the requests.", ge=1, le=1000)] | None
    ) = field(default=None, name="targetCPUUtilizationPercentage")
    target_memory: (
        Annotated[int, Meta(description="In percent of the requests.", ge=1, le=1000)] | None
    ) = field(default=None, name="targetMemoryUtilizationPercentage")
    metrics: list[
        Annotated[FreeForm, Meta(description="As in a HorizontalPodAutoscaler's metrics.")]
    ] = []
    behavior: Annotated[
        FreeForm, Meta(description="As in a HorizontalPodAutoscaler's behavior.")
    ] = {}


class Searcher(Component):
    """The component that answers queries; `kubectl scale` and autoscalers act on it."""

    autoscaling: Autoscaling | None = None
