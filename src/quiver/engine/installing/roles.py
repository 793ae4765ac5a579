"""Rights as the objects of Kubernetes that grant them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from quiver.engine.installing.grants import Grants, policy_rules
from quiver.engine.installing.rbac import (
    NAMESPACE,
    AnyController,
    Rights,
    base_rights,
    editor_grants,
    rights_of,
    viewer_grants,
)

Object = dict[str, Any]

API_VERSION = "rbac.authorization.k8s.io/v1"
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """How the operator runs, as far as its rights depend on it."""

    name: str = "quiver"
    """What its roles are called, or begin with."""
    namespace: str = NAMESPACE
    watched: Sequence[str] = ()
    """The namespaces that it is limited to; none means all."""
    installs_definitions: bool = True
    answers_webhooks: bool = True


def operator_roles(controllers: Iterable[AnyController], setting: Setting) -> list[Object]:
    """One role for the process and, for each controller, those in which its rights are."""
    roles = _roles(setting.name, base_rights(), setting)
    for controller in controllers:
        rights = rights_of(controller, setting.namespace)
        roles += _roles(f"{setting.name}-{controller.name}", rights, setting)
    return roles


def bound(role: Object, *, account: str, namespace: str) -> Object:
    """The binding that gives a role to a service account, under the role's own name."""
    return {
        "apiVersion": API_VERSION,
        "kind": f"{role['kind']}Binding",
        "metadata": role["metadata"],
        "roleRef": {
            "apiGroup": API_VERSION.partition("/")[0],
            "kind": role["kind"],
            "name": role["metadata"]["name"],
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def people_roles(controllers: Iterable[AnyController]) -> list[Object]:
    """What those who may view, edit or administer a namespace may do there with our kinds."""
    kinds = list(controllers)
    editing = {f"{AGGREGATE}{role}": "true" for role in ("admin", "edit")}
    viewing = {f"{AGGREGATE}view": "true"}
    return [
        _labelled(_cluster_role("quiver-editor", editor_grants(kinds)), editing),
        _labelled(_cluster_role("quiver-viewer", viewer_grants(kinds)), viewing),
    ]


def _roles(name: str, rights: Rights, setting: Setting) -> list[Object]:
    cluster, own = _needed(rights, setting)
    if not setting.watched:
        cluster |= rights.watched
    # Its own namespace may be one of the watched, hence another name there.
    roles = [_cluster_role(name, cluster), _role(f"{name}-own", setting.namespace, own)]
    roles += [_role(name, namespace, rights.watched) for namespace in setting.watched]
    return [role for role in roles if role["rules"]]


def _needed(rights: Rights, setting: Setting) -> tuple[Grants, Grants]:
    cluster, own = rights.cluster, rights.own
    if setting.installs_definitions:
        cluster |= rights.install
    if setting.answers_webhooks:
        cluster |= rights.admission
        own |= rights.certificate
    return cluster, own


def _cluster_role(name: str, rights: Grants) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": policy_rules(rights),
    }


def _role(name: str, namespace: str, rights: Grants) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": policy_rules(rights),
    }


def _labelled(role: Object, labels: dict[str, str]) -> Object:
    return role | {"metadata": role["metadata"] | {"labels": labels}}
