"""The rights that an operator needs, from what its controllers declare.

They are sorted by where and when they are needed, because that decides how they are granted:

| field         | granted                                                             |
|---------------|---------------------------------------------------------------------|
| `cluster`     | on the cluster                                                      |
| `watched`     | in the namespaces that the operator watches, or on the whole cluster |
| `own`         | in the operator's own namespace                                     |
| `install`     | on the cluster, if the operator installs its CRDs                   |
| `admission`   | on the cluster, if the operator answers admission webhooks          |
| `certificate` | in the operator's own namespace, if it answers admission webhooks   |

What `list`, `watch` and `create` may do can be limited by name after all: the first two when the
request selects `metadata.name`, and `create` when it happens by server-side apply. Both are how
`definitions.py` asks, so that no right on the CRDs of others is needed.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quiver.engine.controller import Controller, Permission
from quiver.engine.installing.grants import Grants, grants
from quiver.engine.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    EVENT,
    LEASE,
    SECRET,
    Kind,
    kind_of,
)

AnyController = type[Controller[Any]]

READ = ("get", "list", "watch")
OWN = (*READ, "create", "patch", "delete")
REMOVE = (*READ, "delete")
REPORT = ("get", "update", "patch")
EDIT = (*READ, "create", "update", "patch", "delete")
INSTALL = ("create", "update", "patch")
REGISTER = (*READ, "create", "patch", "delete")
KEEP_CERTIFICATE = (*READ, "update")
ELECT = (*READ, "create", "update", "delete")

ADMISSION = "admissionregistration.k8s.io"
VALIDATING = "validatingwebhookconfigurations"
MUTATING = "mutatingwebhookconfigurations"

CERTIFICATE = "quiver-webhook-tls"
"""The Secret in which the replicas keep the certificate of their webhooks."""
NAMESPACE = "quiver-system"

NOTHING: Grants = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """What is needed, by where and when: see the module."""

    cluster: Grants = NOTHING
    watched: Grants = NOTHING
    own: Grants = NOTHING
    install: Grants = NOTHING
    admission: Grants = NOTHING
    certificate: Grants = NOTHING

    def __or__(self, other: "Rights") -> "Rights":
        mine, theirs = self.by_place(), other.by_place()
        return Rights(**{place: mine[place] | theirs[place] for place in mine})

    def by_place(self) -> dict[str, Grants]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def base_rights() -> Rights:
    """What the process needs, whichever controllers run in it: leadership and its shards."""
    return Rights(own=_subset(LEASE, ELECT))


def rights_of(controller: AnyController, namespace: str = NAMESPACE) -> Rights:
    """The least with which this controller works, in an operator that runs in `namespace`."""
    rights = _on_itself(controller) | _on_its_definition(controller)
    rights |= _webhook_rights(controller, namespace)
    for kind in controller.owns:
        rights |= _on(kind, OWN)
    for kind in controller.owned_formerly:
        rights |= _on(kind, REMOVE)
    for watch in controller.watches:
        rights |= _on(watch.kind, READ)
    for permission in controller.permissions:
        rights |= _granted(permission)
    return rights


def viewer_grants(controllers: Iterable[AnyController]) -> Grants:
    """For people who look at the resources of these controllers."""
    return NOTHING.union(
        *(_subset(kind_of(controller.resource), READ) for controller in controllers)
    )


def editor_grants(controllers: Iterable[AnyController]) -> Grants:
    """For people who keep resources of these controllers; their status is the operator's."""
    return NOTHING.union(
        *(_subset(kind_of(controller.resource), EDIT) for controller in controllers)
    )


def _on_itself(controller: AnyController) -> Rights:
    kind = kind_of(controller.resource)
    rights = _on(kind, READ) | _on(EVENT._replace(namespaced=kind.namespaced), ("create", "patch"))
    if "status" in controller.resource.__struct_fields__:
        rights |= _on(kind, REPORT, subresource="status")
    if controller.finalizer:
        rights |= _on(kind, ("update", "patch"))
    if controller.owns:
        # Clusters that enforce it ask for this before a child may block its owner's deletion.
        rights |= _on(kind, ("update",), subresource="finalizers")
    return rights


def _on_its_definition(controller: AnyController) -> Rights:
    name = controller.resource.definition.name
    kind = CUSTOM_RESOURCE_DEFINITION
    return Rights(
        cluster=grants(kind.group, [kind.plural], READ, [name]),
        install=grants(kind.group, [kind.plural], INSTALL, [name]),
    )


def _webhook_rights(controller: AnyController, namespace: str) -> Rights:
    configurations = webhook_configurations(controller)
    if not configurations:
        return Rights()
    named = grants(SECRET.group, [SECRET.plural], KEEP_CERTIFICATE, [CERTIFICATE])
    return Rights(
        admission=grants(ADMISSION, configurations, REGISTER, [configuration_name(namespace)]),
        certificate=named | _subset(SECRET, ["create"]),
    )


def configuration_name(namespace: str) -> str:
    """Of the webhook configurations of the operator in a namespace; they belong to none."""
    return f"quiver-{namespace}"


def webhook_configurations(controller: AnyController) -> list[str]:
    """The kinds of webhook that a controller needs: those whose method it overrides."""
    validates = controller.validate is not Controller.validate
    defaults = controller.default is not Controller.default
    return [VALIDATING] * validates + [MUTATING] * defaults


def _granted(permission: Permission) -> Rights:
    rights = grants(permission.group, permission.resources, permission.verbs, permission.names)
    return Rights(watched=rights) if permission.namespaced else Rights(cluster=rights)


def _on(kind: Kind, verbs: Iterable[str], *, subresource: str = "") -> Rights:
    rights = _subset(kind, verbs, subresource)
    return Rights(watched=rights) if kind.namespaced else Rights(cluster=rights)


def _subset(kind: Kind, verbs: Iterable[str], subresource: str = "") -> Grants:
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    return grants(kind.group, [resource], verbs)
