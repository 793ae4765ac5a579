"""The webhook configurations: who the API servers ask, about what, and whom they trust.

They fail open, never match DELETE or a subresource, and do without side effects, so the worst that
a dead operator does to its users is to check later, at the reconcile. `namespaceSelector` and
`objectSelector` are not set: they belong to whoever runs the cluster.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from quiver.engine.crd import Definition
from quiver.engine.kinds import Kind
from quiver.engine.webhooks.endpoints import Endpoint, Verb
from quiver.engine.webhooks.ownership import LABELS, is_ours
from quiver.kube import Object

GROUP_VERSION = "admissionregistration.k8s.io/v1"
VALIDATING = Kind(
    GROUP_VERSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False
)
MUTATING = Kind(
    GROUP_VERSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False
)
KINDS = {Verb.VALIDATE: VALIDATING, Verb.MUTATE: MUTATING}
TIMEOUT_SECONDS = 5
SERVICE_PORT = 443


@dataclass(frozen=True, slots=True)
class Service:
    """The way from the API servers to webhooks in the cluster."""

    namespace: str
    name: str

    @property
    def hosts(self) -> tuple[str, ...]:
        inside = f"{self.name}.{self.namespace}.svc"
        return inside, f"{inside}.cluster.local"

    def client_config(self, path: str) -> Object:
        named = {"namespace": self.namespace, "name": self.name, "path": path}
        return {"service": named | {"port": SERVICE_PORT}}


@dataclass(frozen=True, slots=True)
class Url:
    """The way to webhooks outside of the cluster: tests, and an operator on a desk."""

    base: str

    @property
    def hosts(self) -> tuple[str, ...]:
        host = urlsplit(self.base).hostname
        if not host:
            raise ValueError(f"the URL of the webhooks has no host: {self.base!r}")
        return (host,)

    def client_config(self, path: str) -> Object:
        return {"url": self.base.rstrip("/") + path}


def configuration(
    verb: Verb, endpoints: Iterable[Endpoint], *, name: str, to: Service | Url, bundle: bytes
) -> Object:
    kind = KINDS[verb]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, "labels": LABELS},
        "webhooks": [_webhook(endpoint, to, bundle) for endpoint in endpoints],
    }


def _webhook(endpoint: Endpoint, to: Service | Url, bundle: bytes) -> Object:
    trusted = {"caBundle": base64.b64encode(bundle).decode()}
    webhook = {
        "name": f"{endpoint.verb}.{endpoint.definition.name}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": to.client_config(endpoint.path) | trusted,
        "rules": [_rule(endpoint.definition)],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    if endpoint.verb is Verb.MUTATE:
        # What another webhook writes after us is seen again: `default` says how it should be.
        webhook["reinvocationPolicy"] = "IfNeeded"
    return webhook


def _rule(definition: Definition) -> Object:
    return {
        "apiGroups": [definition.group],
        "apiVersions": [version.name for version in definition.versions if version.served],
        "resources": [definition.plural],
        "operations": ["CREATE", "UPDATE"],
        "scope": definition.scope.value,
    }


def must_apply(live: Object | None, wanted: Object) -> bool:
    """Whether it is missing, or somebody changed what we say in it."""
    if live is None or not is_ours(live):
        return True
    found, ours = _by_name(live), _by_name(wanted)
    return found.keys() != ours.keys() or not all(_contains(found[it], ours[it]) for it in ours)


def _by_name(configured: Object) -> dict[str, Object]:
    return {webhook["name"]: webhook for webhook in configured.get("webhooks") or ()}


def _contains(live: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(live, dict):
        return all(name in live and _contains(live[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list) and isinstance(live, list):
        return len(live) == len(wanted) and all(map(_contains, live, wanted))
    return bool(live == wanted)
