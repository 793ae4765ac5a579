"""Chart and kustomize on a real API server: all of it applies, and the rights are just enough."""

import shutil
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from quiver.devcluster.handle import DevCluster
from quiver.engine.installing.definitions import On, settle
from quiver.engine.installing.grants import Grant, allowed
from quiver.engine.installing.rbac import CERTIFICATE, AnyController
from quiver.engine.leading.leases import Leases, new_lease, wall_clock
from quiver.engine.webhooks.configurations import Service
from quiver.engine.webhooks.endpoints import endpoints_of
from quiver.engine.webhooks.registration import Registration
from quiver.engine.webhooks.shared_keyring import SharedKeyring
from quiver.kube import Client, Forbidden, Impersonation, Object
from support.chart import CHART, render
from support.generator import generate
from support.rights import GROUP as SENTINEL
from support.rights import took_effect
from support.site import SiteController, ZoneController

ROOT = CHART.parents[1]
TOYS: dict[str, AnyController] = {"vecodex": SiteController, "zone": ZoneController}
BOTH = {"controllers": {"zone": {"enabled": True}}}
REVIEWS = {"authentication.k8s.io", "authorization.k8s.io"}
SITE = ("rbac.quiver.dev/v1", "Site")


@dataclass(frozen=True)
class Installed:
    """An operator's account, and the namespaces around it."""

    client: Client
    own: str
    watched: str
    other: str


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the chart, with the rights of two toys instead of the product's."""
    root = tmp_path_factory.mktemp("chart")
    shutil.copytree(CHART, root / "charts" / "quiver")
    generate.write(generate.generated(TOYS), root)
    return root / "charts" / "quiver"


@pytest.fixture
async def namespaces(api_server: DevCluster, api_client: Client) -> list[str]:
    names = [f"chart-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    for name in names:
        await api_server.make_namespace(api_client, name)
    return names


async def _apply(client: Client, objects: Sequence[Object]) -> None:
    for obj in objects:
        await client.apply(obj, field_validation="Strict", manager="helm")


async def _remove_from_cluster(client: Client, objects: Sequence[Object]) -> None:
    for obj in objects:
        if obj["kind"] in ("ClusterRole", "ClusterRoleBinding"):
            await client.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])


async def _installed(
    client: Client, chart: Path, namespaces: list[str], *, limited: bool
) -> AsyncIterator[Installed]:
    own, watched, other = namespaces
    values: dict[str, Any] = BOTH | {"watchNamespaces": [watched] if limited else []}
    objects = render(values, chart=chart, name=own, namespace=own)
    await _apply(client, [it for it in objects if "Role" in it["kind"] or "Account" in it["kind"]])
    (account,) = [it for it in objects if it["kind"] == "ServiceAccount"]
    user = f"system:serviceaccount:{own}:{account['metadata']['name']}"
    await took_effect(client, user, own)
    groups = ("system:serviceaccounts", "system:authenticated")
    impersonation = Impersonation(user=user, groups=groups)
    yield Installed(client.impersonating(impersonation), own, watched, other)
    await _remove_from_cluster(client, objects)


@pytest.fixture
async def limited(
    api_client: Client, chart: Path, namespaces: list[str]
) -> AsyncIterator[Installed]:
    async for it in _installed(api_client, chart, namespaces, limited=True):
        yield it


@pytest.fixture
async def everywhere(
    api_client: Client, chart: Path, namespaces: list[str]
) -> AsyncIterator[Installed]:
    async for it in _installed(api_client, chart, namespaces, limited=False):
        yield it


async def _rights(client: Client, namespace: str) -> frozenset[Grant]:
    """All that the server lets this account do in a namespace, but for asking what it may."""
    review = await client.create(
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "metadata": {},
            "spec": {"namespace": namespace},
        }
    )
    found = allowed(review["status"]["resourceRules"])
    return frozenset(grant for grant in found if grant.group not in (*REVIEWS, SENTINEL))


def _declared(*places: str) -> frozenset[Grant]:
    rights = generate.base_rights()
    for controller in TOYS.values():
        rights |= generate.rights_of(controller, "NAMESPACE")
    by_place = rights.by_place()
    return frozenset[Grant]().union(*(by_place[place] for place in places))


def _named(rights: frozenset[Grant], namespace: str) -> frozenset[Grant]:
    return frozenset(it._replace(name=it.name.replace("NAMESPACE", namespace)) for it in rights)


ON_CLUSTER = ("cluster", "install", "admission")


async def test_an_operator_of_one_namespace_may_do_what_it_declares_there_and_nothing_more(
    limited: Installed,
) -> None:
    cluster = _named(_declared(*ON_CLUSTER), limited.own)
    assert await _rights(limited.client, limited.other) == cluster
    watched = await _rights(limited.client, limited.watched)
    assert watched == cluster | _declared("watched")
    own = await _rights(limited.client, limited.own)
    assert own == cluster | _declared("own", "certificate")


async def test_an_operator_of_all_namespaces_may_do_what_it_declares_and_nothing_more(
    everywhere: Installed,
) -> None:
    expected = _named(_declared(*ON_CLUSTER, "watched"), everywhere.own)
    assert await _rights(everywhere.client, everywhere.other) == expected


def _deployment(namespace: str, owner: Object) -> Object:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {"app": "site"}
    containers = [{"name": "web", "image": "web"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "ownerReferences": [reference]},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


async def test_with_its_rights_an_operator_does_its_work(
    api_client: Client, limited: Installed
) -> None:
    client, namespace = limited.client, limited.watched
    standings = await settle(client, TOYS.values(), install=True)
    assert standings == {"site": On(), "zone": On()}
    site = await api_client.create(
        {"apiVersion": SITE[0], "kind": SITE[1],
         "metadata": {"name": "mine", "namespace": namespace}}
    )  # fmt: skip
    assert [it["metadata"]["name"] for it in await client.list(*SITE, namespace)] == ["mine"]
    child = _deployment(namespace, site)
    created = await client.create(child)
    await client.apply(child, force=True)
    await client.delete("apps/v1", "Deployment", "web", namespace, uid=created["metadata"]["uid"])
    await client.replace(site | {"status": {"replicas": 2}}, subresource="status")
    assert await client.list("v1", "Node") == []
    await _take_a_lease(client, limited.own)
    await _register_webhooks(client, limited.own)
    await _keep_a_certificate(client, limited.own)


async def _take_a_lease(client: Client, namespace: str) -> None:
    leases = Leases(client, namespace)
    lease = await leases.create(new_lease("quiver", namespace))
    held = await leases.swap(lease.held("me", at=wall_clock(), duration=15))
    await leases.list("")
    await leases.delete("quiver", version=held.version)


async def _register_webhooks(client: Client, namespace: str) -> None:
    endpoints = endpoints_of([SiteController()])
    to = Service(namespace, "quiver-webhook")
    name = f"quiver-{namespace}"
    await Registration(client, endpoints, name=name, to=to).ensure(b"")
    live = await client.get(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name
    )
    await Registration(client, endpoints, name=name, to=to).ensure(b"")
    await client.delete(live["apiVersion"], live["kind"], name, uid=live["metadata"]["uid"])


async def _keep_a_certificate(client: Client, namespace: str) -> None:
    """Made, and replaced when it has expired."""
    today = wall_clock()

    async def ensure(now: datetime) -> None:
        keyring = SharedKeyring(
            client, namespace=namespace, name=CERTIFICATE, names=["a.svc"], now=lambda: now
        )
        await keyring.ensure(lambda _: True)

    await ensure(today)
    await ensure(today + timedelta(days=3650))


async def test_outside_of_its_namespaces_an_operator_can_neither_read_nor_write(
    limited: Installed,
) -> None:
    for namespace in (limited.other, None):
        with pytest.raises(Forbidden):
            await limited.client.list("apps/v1", "Deployment", namespace)
    with pytest.raises(Forbidden):
        await limited.client.get("v1", "Secret", "anything", limited.own)
    with pytest.raises(Forbidden):
        await limited.client.delete_collection("apps/v1", "Deployment", limited.watched)


async def test_everything_in_the_chart_applies_without_an_unknown_field(
    api_client: Client, chart: Path, namespaces: list[str]
) -> None:
    own, watched, _ = namespaces
    values = BOTH | {
        "replicas": 3,
        "watchNamespaces": [watched],
        "networkPolicy": {"enabled": True, "metricsFrom": [{"namespaceSelector": {}}]},
        "serviceAccount": {"annotations": {"team": "search"}},
        "image": {"pullSecrets": ["registry"]},
        "extraEnv": [{"name": "A", "value": "b"}],
        "podLabels": {"tier": "1"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "",
    }
    objects = render(values, chart=chart, name=own, namespace=own, crds=True, hooks=True)
    await _apply(api_client, objects)
    await _remove_from_cluster(api_client, objects)


async def test_the_product_s_own_chart_applies(api_client: Client, namespace: str) -> None:
    objects = render(name=namespace, namespace=namespace, crds=True, hooks=True)
    await _apply(api_client, objects)
    await _remove_from_cluster(api_client, objects)


async def test_everything_in_the_kustomization_applies_without_an_unknown_field(
    api_server: DevCluster, api_client: Client
) -> None:
    printed = api_server.kubectl("kustomize", str(ROOT / "config" / "default"))
    objects = list(yaml.safe_load_all(printed))
    await _apply(api_client, sorted(objects, key=lambda it: it["kind"] != "Namespace"))
    account = await api_client.get(
        "v1", "ServiceAccount", "quiver-controller-manager", "quiver-system"
    )
    bindings = [it for it in objects if it["kind"].endswith("RoleBinding")]
    names = {it["metadata"]["name"] for it in objects if it["kind"] in ("ClusterRole", "Role")}
    assert bindings
    for binding in bindings:
        assert binding["subjects"][0]["name"] == account["metadata"]["name"]
        assert binding["subjects"][0]["namespace"] == "quiver-system"
        assert binding["roleRef"]["name"] in names
    await _remove_from_cluster(api_client, objects)
