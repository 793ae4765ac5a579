"""The operator of `docs/write-an-operator.md` at work, on a cluster that is reached in two ways.

From outside it has a kubeconfig and all rights; from inside, what a pod has: the files of its
service account, two variables, and the rights that `site_operator.py rbac` prints.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.installing.roles import Setting, bound, operator_roles
from quiver.engine.kinds import DEPLOYMENT, INGRESS, SERVICE, SERVICE_ACCOUNT
from quiver.kube import Client, Invalid, KubeConfig
from quiver.kube.accounts import issue_token
from quiver.testing import Options, running
from support.rights import took_effect
from support.site_operator import SITE, Ledger, Place, condition_of, example, site_operator

ACCOUNT = "site-operator"
Running = AbstractAsyncContextManager[None]


@pytest.fixture
async def place(api_client: Client, namespace: str) -> AsyncIterator[Place]:
    async with Client(api_client.config, manager="kubectl") as client:
        yield Place(client, namespace)


@pytest.fixture(params=["from outside", "from inside"])
async def config(
    request: pytest.FixtureRequest, api_server: DevCluster, place: Place, tmp_path: Path
) -> KubeConfig:
    if request.param == "from outside":
        return KubeConfig.load(api_server.kubeconfig)
    await _grant_rights(place)
    return await _as_a_pod(place, tmp_path)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def operator(config: KubeConfig, place: Place, ledger: Ledger) -> Running:
    return _operator(config, place, ledger)


def _operator(config: KubeConfig, place: Place, ledger: Ledger) -> Running:
    options = Options(namespaces=(place.namespace,))
    return running(config, [site_operator.SiteController()], options, interceptor=ledger)


async def _grant_rights(place: Place) -> None:
    namespace = place.namespace
    setting = Setting(name=f"site-{namespace}", namespace=namespace, watched=[namespace])
    await place.make(SERVICE_ACCOUNT, ACCOUNT)
    for role in operator_roles([site_operator.SiteController], setting):
        await place.client.create(role)
        await place.client.create(bound(role, account=ACCOUNT, namespace=namespace))
    await took_effect(place.client, f"system:serviceaccount:{namespace}:{ACCOUNT}", namespace)


async def _as_a_pod(place: Place, folder: Path) -> KubeConfig:
    issued = await issue_token(place.client, ACCOUNT, place.namespace)
    outside = place.client.config
    assert outside.ca is not None
    files = {"ca.crt": outside.ca, "token": issued.token, "namespace": place.namespace}
    for name, text in files.items():
        (folder / name).write_text(text)
    server = urlsplit(outside.server)
    return KubeConfig.in_cluster(
        folder=folder,
        environment={
            "KUBERNETES_SERVICE_HOST": str(server.hostname),
            "KUBERNETES_SERVICE_PORT": str(server.port),
        },
    )


async def test_a_site_gets_its_children_and_is_ready_when_they_are(
    operator: Running, place: Place
) -> None:
    async with operator:
        site = await place.create("web", replicas=2, host="web.example.com")
        ready = await place.told("web", "Ready", "False")
        assert ready["message"] == "Deployment web: 0 of 2 are updated"
        for kind in (DEPLOYMENT, SERVICE, INGRESS):
            child = await place.awaited(kind, "web")
            (owner,) = child["metadata"]["ownerReferences"]
            assert (owner["uid"], owner["controller"]) == (site["metadata"]["uid"], True)
        await place.pods_are_ready("web")
        ready = await place.told("web", "Ready", "True")
    assert ready["message"] == "everything is as the spec says"
    assert ready["observedGeneration"] == site["metadata"]["generation"]


async def test_a_child_that_was_deleted_comes_back(operator: Running, place: Place) -> None:
    async with operator:
        await place.create("web")
        before = await place.awaited(SERVICE, "web")
        await place.delete(SERVICE, "web")
        await place.awaited(
            SERVICE, "web", lambda it: it["metadata"]["uid"] != before["metadata"]["uid"]
        )


async def test_a_field_that_somebody_changed_is_changed_back_and_what_is_theirs_stays(
    operator: Running, place: Place
) -> None:
    async with operator:
        await place.create("web", replicas=2)
        await place.awaited(DEPLOYMENT, "web")
        await place.change(DEPLOYMENT, "web", spec={"replicas": 7, "revisionHistoryLimit": 3})
        healed = await place.awaited(DEPLOYMENT, "web", lambda it: it["spec"]["replicas"] == 2)
    assert healed["spec"]["revisionHistoryLimit"] == 3


async def test_a_child_that_is_no_longer_wanted_goes(operator: Running, place: Place) -> None:
    async with operator:
        await place.create("web", host="web.example.com")
        await place.awaited(INGRESS, "web")
        await place.change(SITE, "web", spec={"host": None})
        await place.gone(INGRESS, "web")
        assert await place.get(SERVICE, "web")


async def test_a_site_costs_one_write_for_each_child_and_each_status_and_then_nothing(
    operator: Running, config: KubeConfig, place: Place, ledger: Ledger
) -> None:
    of_web = [
        f"POST /apis/apps/v1/namespaces/{place.namespace}/deployments",
        f"POST /api/v1/namespaces/{place.namespace}/services",
        f"PUT /apis/example.com/v1/namespaces/{place.namespace}/sites/web/status",
    ]
    async with operator:
        await place.create("web")
        await place.told("web", "Ready", "False")
        assert sorted(ledger.writes()) == sorted(of_web)
        await place.pods_are_ready("web")
        await place.told("web", "Ready", "True")
        assert ledger.writes()[3:] == of_web[2:]
        asked = len(ledger.requests)
        await place.later()
    assert [it for it in ledger.requests[asked:] if "/web" in it] == []
    again = Ledger()
    async with _operator(config, place, again):
        await place.later("after-the-restart")
    assert [it for it in again.writes() if "/web" in it or "/later" in it] == []


async def test_a_site_that_is_being_deleted_is_left_to_the_garbage_collector(
    operator: Running, place: Place
) -> None:
    async with operator:
        await place.create("web")
        await place.told("web", "Ready", "False")
        await place.client.delete(
            SITE.api_version, SITE.name, "web", place.namespace, propagation="Foreground"
        )
        await place.delete(DEPLOYMENT, "web")
        await place.later()
        assert await place.get(DEPLOYMENT, "web") is None
        await place.change(SITE, "web", metadata={"finalizers": None})
        await place.gone(SITE, "web")
        await place.delete(SERVICE, "web")
        await place.later("later-still")
        assert await place.get(SERVICE, "web") is None


async def test_a_bad_site_says_what_is_wrong_with_it_until_it_is_right(
    operator: Running, place: Place
) -> None:
    async with operator:
        await place.create("web", host="Not A Host")
        degraded = await place.told("web", "Degraded", "True")
        assert degraded["reason"] == "Retrying"
        said = f"the server refuses Ingress {place.namespace}/web: "
        assert degraded["message"].startswith(said)
        assert "spec.rules[0].host" in degraded["message"]
        assert await place.get(DEPLOYMENT, "web")
        await place.change(SITE, "web", spec={"host": "web.example.com"})
        await place.awaited(INGRESS, "web")
        site = await place.awaited(SITE, "web", lambda it: condition_of(it, "Ready"))
    assert condition_of(site, "Degraded") == {}


async def test_what_belongs_to_somebody_else_is_left_alone_and_its_place_taken_when_it_is_gone(
    operator: Running, place: Place
) -> None:
    before = await place.make(SERVICE, "web", spec={"ports": [{"port": 1234}]})
    async with operator:
        await place.create("web")
        degraded = await place.told("web", "Degraded", "True")
        said = f"Service {place.namespace}/web exists and has no owner"
        assert degraded["message"].startswith(said)
        assert await place.get(SERVICE, "web") == before
        await place.delete(SERVICE, "web")
        await place.awaited(SERVICE, "web", lambda it: it["metadata"].get("ownerReferences"))


async def test_the_schema_refuses_what_no_reconcile_could_carry_out(
    operator: Running, place: Place
) -> None:
    async with operator:
        for field, value in {"image": "", "replicas": -1, "port": 65536}.items():
            with pytest.raises(Invalid, match=f"spec.{field}"):
                await place.create("web", **{field: value})


test_the_test_that_the_page_shows = example("test_site").test_a_site_gets_a_service
