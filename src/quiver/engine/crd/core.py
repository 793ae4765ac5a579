"""Parts of Kubernetes' own types that other kinds embed.

Small and settled ones are spelled out, so that a typing error is found when the resource is
applied. The API server drops fields it finds here under no name, also those that a later
Kubernetes may add. Large or growing ones (`Affinity`, `SecurityContext`, …) are therefore kept
as written, whole, and checked by the API server when it is given the pods.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from quiver.engine.conditions import Condition
from quiver.engine.crd.fields import Fields
from quiver.engine.crd.schema import Atomic, ListMap

Quantity = Annotated[
    int
    | Annotated[
        str,
        Meta(
            pattern=(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"),
            max_length=64,
        ),
    ],
    Meta(title="Quantity", description="An amount, such as 500m, 2, 1.5Gi."),
]
Duration = Annotated[
    str,
    Meta(
        title="Duration",
        pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$",
        max_length=64,
        description="A time span, such as 50ms, 90s, 2h30m.",
    ),
]
IntOrString = int | str
Conditions = Annotated[list[Condition], ListMap("type")]
Names = dict[str, str]

FreeForm = dict[str, Any]
Affinity = Annotated[FreeForm, Meta(description="As in a Pod's spec.affinity.")]
PodSecurityContext = Annotated[FreeForm, Meta(description="As in a Pod's spec.securityContext.")]
SecurityContext = Annotated[FreeForm, Meta(description="As in a container's securityContext.")]
Volume = Annotated[FreeForm, Meta(description="As in a Pod's spec.volumes.")]
VolumeMount = Annotated[FreeForm, Meta(description="As in a container's volumeMounts.")]

_ONE = Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})
_SECONDS = Meta(ge=0)


class ResourceClaim(Fields):
    """A claim of the Pod that the container uses."""

    name: str
    request: str | None = None


class ResourceRequirements(Fields):
    """What a container asks for, and what it may use at most."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    claims: Annotated[list[ResourceClaim], ListMap("name")] = []


class LabelSelectorRequirement(Fields):
    """A condition on one label."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] = []


class LabelSelector(Fields):
    """Objects by their labels: all conditions must hold."""

    match_labels: Names = {}
    match_expressions: list[LabelSelectorRequirement] = []


Selector = Annotated[LabelSelector, Atomic()]


class Toleration(Fields):
    """A taint that does not keep the pods away."""

    key: str | None = None
    operator: Literal["Exists", "Equal", "Gt", "Lt"] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Fields):
    """How evenly the pods spread over nodes or zones."""

    max_skew: Annotated[int, Meta(ge=1)]
    topology_key: str
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: Selector | None = None
    min_domains: Annotated[int, Meta(ge=1)] | None = None
    match_label_keys: list[str] = []
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None


class LocalObjectReference(Fields):
    """An object in the same namespace."""

    name: str


class KeySelector(Fields):
    """One key of a Secret or ConfigMap in the same namespace."""

    name: str
    key: str
    optional: bool | None = None


class FieldSelector(Fields):
    """A field of the pod itself."""

    field_path: str
    api_version: str | None = None


class ResourceFieldSelector(Fields):
    """A container's own requests or limits."""

    resource: str
    container_name: str | None = None
    divisor: Quantity | None = None


class EnvVarSource(Fields):
    """Where a variable's value comes from."""

    secret_key_ref: KeySelector | None = None
    config_map_key_ref: KeySelector | None = None
    field_ref: FieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None


class EnvVar(Fields):
    """A variable of the container's environment."""

    name: Annotated[str, Meta(min_length=1)]
    value: str | None = None
    value_from: Annotated[EnvVarSource | None, _ONE] = None


Env = Annotated[list[EnvVar], ListMap("name")]


class EnvFromReference(Fields):
    """A Secret or ConfigMap in the same namespace."""

    name: str
    optional: bool | None = None


class EnvFromSource(Fields):
    """All keys of a Secret or ConfigMap as variables."""

    prefix: str | None = None
    secret_ref: EnvFromReference | None = None
    config_map_ref: EnvFromReference | None = None


class ExecAction(Fields):
    """A command in the container; 0 is healthy."""

    command: list[str] = []


class HttpHeader(Fields):
    """A header of a probe's request."""

    name: str
    value: str


class HttpGetAction(Fields):
    """A request; 200 to 399 is healthy."""

    port: IntOrString
    path: str | None = None
    host: str | None = None
    scheme: Literal["HTTP", "HTTPS"] | None = None
    http_headers: list[HttpHeader] = []


class TcpSocketAction(Fields):
    """A connection; accepted is healthy."""

    port: IntOrString
    host: str | None = None


class GrpcAction(Fields):
    """The gRPC health protocol."""

    port: int
    service: str | None = None


class Probe(Fields):
    """How the kubelet asks a container for its health."""

    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpSocketAction | None = None
    grpc: GrpcAction | None = None
    initial_delay_seconds: Annotated[int, _SECONDS] | None = None
    timeout_seconds: Annotated[int, _SECONDS] | None = None
    period_seconds: Annotated[int, _SECONDS] | None = None
    success_threshold: Annotated[int, Meta(ge=0)] | None = None
    failure_threshold: Annotated[int, Meta(ge=0)] | None = None
    termination_grace_period_seconds: Annotated[int, Meta(ge=1)] | None = None
