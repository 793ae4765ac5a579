"""VecodexSet, `apps.vecodex.link/v1alpha1`: the only source of its CRD and reference.

Defaults are in the schema, as in the original: who reads a stored set sees what runs, and a later
version with other defaults changes no set that exists. What would restart the pods of a set that
is taken over (ports, probes, labels) has no default at all.
"""

from typing import Annotated, Literal

from msgspec import Meta

from quiver.engine.crd import AGE, Column, Fields, Resource, Rule, Scale, resource
from quiver.engine.crd.core import Conditions, Names
from quiver.vecodex.component import Component, Searcher
from quiver.vecodex.names import LONGEST_NAME, Role

Host = Annotated[
    str,
    Meta(
        description="The name under which the set is reached.",
        examples=["search.vecodex.link"],
        max_length=253,
    ),
    Rule(
        r"self.matches('^(\\*\\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
        r"(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$') && !self.matches('^[0-9.]+$')",
        "host must be a DNS name such as search.example.com: lower case, without scheme, port or"
        " path, and no IP address",
    ),
]


class Tls(Fields):
    """HTTPS. Without a Secret, the ingress controller's own certificate is used."""

    secret_name: (
        Annotated[
            str,
            Meta(description="A kubernetes.io/tls Secret in the same namespace.", max_length=253),
        ]
        | None
    ) = None


class IngressRoute(Fields):
    """How the coordinator is reached from outside; without it, there is no Ingress."""

    host: Host
    class_name: (
        Annotated[
            str,
            Meta(description="The IngressClass; else the cluster's default.", examples=["nginx"]),
        ]
        | None
    ) = None
    tls: Tls | None = None
    port: (
        Annotated[
            str,
            Meta(description="The name of the coordinator's port; else its first.", max_length=15),
        ]
        | None
    ) = None
    annotations: Annotated[
        Names, Meta(description="For the ingress controller, cert-manager, …")
    ] = {}


class Rollout(Fields):
    """How a change reaches the components of a running set."""

    strategy: Annotated[
        Literal["Ordered", "AllAtOnce"],
        Meta(
            description=(
                "Ordered changes searchers, then writers, then coordinators, each when the one"
                " before is done, and halts on failure. AllAtOnce does not wait."
            )
        ),
    ] = "Ordered"
    progress_deadline_seconds: (
        Annotated[
            int,
            Meta(
                description="How long a component may make no progress; else 600.",
                ge=1,
                le=86400,
            ),
        ]
        | None
    ) = None


class Spec(Fields):
    """What is wanted."""

    coordinator: Annotated[Component, Meta(description="Takes requests and asks the others.")]
    writer: Annotated[Component, Meta(description="Takes documents and builds the index.")]
    searcher: Searcher
    ingress: IngressRoute | None = None
    rollout: Rollout | None = None
    paused: Annotated[
        bool, Meta(description="While true, nothing is changed; the status is kept up to date.")
    ] = False

    def component(self, role: Role) -> Component:
        found: Component = getattr(self, role)
        return found


class ComponentStatus(Fields, omit_defaults=False):
    """How far one component is."""

    summary: Annotated[str, Meta(description="Ready of desired, such as 2/3.")] = ""
    desired: Annotated[int, Meta(description="How many pods there should be.")] = 0
    replicas: Annotated[int, Meta(description="How many pods there are.")] = 0
    ready: Annotated[int, Meta(description="How many of them are ready.")] = 0
    updated: Annotated[int, Meta(description="How many of them are as the spec says.")] = 0
    image: Annotated[str, Meta(description="The image that new pods get.")] = ""


Phase = Literal["", "Ready", "Progressing", "Halted", "Degraded", "Paused"]


class Status(Fields):
    """What is there."""

    observed_generation: int = 0
    phase: Annotated[Phase, Meta(description="The conditions in one word.")] = ""
    conditions: Conditions = []
    coordinator: ComponentStatus | None = None
    writer: ComponentStatus | None = None
    searcher: ComponentStatus | None = None
    selector: Annotated[str, Meta(description="The searchers' pods, for autoscalers.")] = ""
    endpoint: Annotated[str, Meta(description="Where the set is reached.")] = ""


NAME_RULE = (
    f"metadata.name must be at most {LONGEST_NAME} lower-case letters, digits and dashes and begin"
    " with a letter, because Services and labels are named after it: choose another name"
)


def _component_column(role: Role) -> Column:
    words = f"Ready {role}s of desired."
    return Column(role.capitalize(), "string", f".status.{role}.summary", words)


@resource(
    group="apps.vecodex.link",
    version="v1alpha1",
    short_names=["vdx", "vecodex"],
    categories=["quiver"],
    columns=[
        Column("Phase", "string", ".status.phase"),
        *map(_component_column, reversed(Role)),
        Column("Endpoint", "string", ".status.endpoint"),
        AGE,
        Column("Message", "string", ".status.conditions[?(@.type=='Ready')].message", priority=1),
    ],
    scale=Scale(
        spec=".spec.searcher.replicas",
        status=".status.searcher.replicas",
        selector=".status.selector",
    ),
    rules=[
        # Only when it is created: names never change, and a set of the original with a bad one
        # could otherwise not even be told so in its status.
        Rule(
            f"oldSelf.hasValue() || (self.metadata.name.size() <= {LONGEST_NAME}"
            " && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",
            NAME_RULE,
            field_path=".metadata",
            optional_old_self=True,
        )
    ],
)
class VecodexSet(Resource):
    """A Vecodex vector search: coordinator, writers and searchers, reached through an ingress."""

    spec: Spec
    status: Status = Status()
