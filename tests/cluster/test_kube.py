"""The client against a real API server: what only a server can prove."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.identity import identity_of
from quiver.kube import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    Client,
    Conflict,
    DisruptionBudgetExceeded,
    Forbidden,
    Impersonation,
    Invalid,
    KubeConfig,
    NotFound,
    Object,
    Unauthorized,
    Unreachable,
    ends_initial_events,
)
from quiver.kube.accounts import issue_token
from quiver.kube.errors import FieldConflict
from quiver.kube.faults import Faults, answer, cut_after, is_watch, lose_answer, method
from quiver.kube.pods import evict


def config_map(name: str, namespace: str, **data: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(namespace: str) -> Object:
    labels = {"app": "web"}
    container = {"name": "web", "image": "web:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


@pytest.fixture
def config(api_server: DevCluster) -> KubeConfig:
    return KubeConfig.load(api_server.kubeconfig)


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def faulty(config: KubeConfig, faults: Faults) -> AsyncIterator[Client]:
    async with Client(config, interceptor=faults) as client:
        yield client


async def test_an_apply_conflict_names_the_other_manager_and_the_field(
    api_client: Client, namespace: str
) -> None:
    await api_client.apply(config_map("a", namespace, colour="red"), manager="painter")
    with pytest.raises(ApplyConflict) as conflict:
        await api_client.apply(config_map("a", namespace, colour="blue"))
    assert conflict.value.fields == (FieldConflict("painter", ".data.colour"),)
    assert conflict.value.managers == {"painter"}
    assert str(conflict.value).startswith(f"apply ConfigMap {namespace}/a failed: 409 Conflict: ")
    forced = await api_client.apply(config_map("a", namespace, colour="blue"), force=True)
    assert forced["data"] == {"colour": "blue"}


async def test_creating_twice_already_exists(api_client: Client, namespace: str) -> None:
    await api_client.create(config_map("a", namespace))
    with pytest.raises(AlreadyExists, match=f"create ConfigMap {namespace}/a failed: 409"):
        await api_client.create(config_map("a", namespace))


async def test_replacing_an_older_version_is_a_conflict(api_client: Client, namespace: str) -> None:
    old = await api_client.create(config_map("a", namespace, n="1"))
    new = await api_client.replace(old | {"data": {"n": "2"}})
    assert new["data"] == {"n": "2"}
    with pytest.raises(Conflict) as conflict:
        await api_client.replace(old | {"data": {"n": "3"}})
    assert type(conflict.value) is Conflict


async def test_a_delete_spares_what_is_not_the_object_that_was_meant(
    api_client: Client, namespace: str
) -> None:
    old = metadata_of_object(await api_client.create(config_map("a", namespace)))
    new = metadata_of_object(
        await api_client.patch("v1", "ConfigMap", "a", {"data": {"b": "c"}}, namespace)
    )
    with pytest.raises(Conflict):
        await api_client.delete("v1", "ConfigMap", "a", namespace, uid=str(uuid.uuid4()))
    with pytest.raises(Conflict):
        await api_client.delete("v1", "ConfigMap", "a", namespace, version=old[1])
    await api_client.delete("v1", "ConfigMap", "a", namespace, uid=new[0], version=new[1])
    with pytest.raises(NotFound):
        await api_client.get("v1", "ConfigMap", "a", namespace)


def metadata_of_object(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]


async def test_foreground_deletion_keeps_the_object_until_its_children_are_gone(
    api_client: Client, namespace: str
) -> None:
    await api_client.create(deployment(namespace))
    await api_client.delete("apps/v1", "Deployment", "web", namespace, propagation="Foreground")
    left = await api_client.get("apps/v1", "Deployment", "web", namespace)
    assert left["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_delete_collection_takes_what_its_selector_matches(
    api_client: Client, namespace: str
) -> None:
    for name, labels in (("a", {"gone": "yes"}), ("b", {"gone": "yes"}), ("c", {})):
        obj = config_map(name, namespace)
        obj["metadata"]["labels"] = labels
        await api_client.create(obj)
    await api_client.delete_collection("v1", "ConfigMap", namespace, labels="gone=yes")
    left = await api_client.list("v1", "ConfigMap", namespace)
    assert [obj["metadata"]["name"] for obj in left] == ["c"]


async def test_pages_together_are_the_whole_list_of_one_version(
    api_client: Client, namespace: str
) -> None:
    names = [f"map-{number:02}" for number in range(25)]
    await asyncio.gather(*(api_client.create(config_map(name, namespace)) for name in names))
    pages = [page async for page in api_client.pages("v1", "ConfigMap", namespace, page_size=10)]
    assert [len(page.items) for page in pages] == [10, 10, 5]
    assert [page.is_first for page in pages] == [True, False, False]
    assert len({page.metadata.resource_version for page in pages}) == 1
    found = [identity_of(item).name for page in pages for item in page.items]
    assert found == names
    listed = await api_client.list("v1", "ConfigMap", namespace, page_size=10)
    assert [obj["metadata"]["name"] for obj in listed] == names


async def test_a_field_selector_chooses(api_client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        await api_client.create(config_map(name, namespace))
    found = await api_client.list("v1", "ConfigMap", namespace, fields="metadata.name=b")
    assert [obj["metadata"]["name"] for obj in found] == ["b"]


async def test_metadata_only_leaves_out_the_data(api_client: Client, namespace: str) -> None:
    await api_client.create(config_map("a", namespace, secret="no"))
    [page] = [
        page async for page in api_client.pages("v1", "ConfigMap", namespace, metadata_only=True)
    ]
    [item] = page.items
    assert identity_of(item).name == "a"
    assert b"secret" not in bytes(item).replace(b"f:secret", b"")


async def test_a_json_patch_whose_test_does_not_hold_is_invalid(
    api_client: Client, namespace: str
) -> None:
    await api_client.create(config_map("a", namespace, n="1"))
    test = {"op": "test", "path": "/data/n", "value": "2"}
    change = {"op": "replace", "path": "/data/n", "value": "3"}
    with pytest.raises(Invalid):
        await api_client.json_patch("v1", "ConfigMap", "a", [test, change], namespace)
    changed = await api_client.json_patch("v1", "ConfigMap", "a", [change], namespace)
    assert changed["data"] == {"n": "3"}


async def test_a_dry_run_changes_nothing(api_client: Client, namespace: str) -> None:
    for attempt in (api_client.create, api_client.apply):
        told = await attempt(config_map("a", namespace), dry_run=True)
        assert told["metadata"]["uid"]
    assert await api_client.list("v1", "ConfigMap", namespace) == []


async def test_an_invalid_object_is_refused_with_the_fields_that_are_wrong(
    api_client: Client, namespace: str
) -> None:
    wrong = deployment(namespace)
    wrong["spec"]["replicas"] = -1
    with pytest.raises(Invalid) as refusal:
        await api_client.create(wrong)
    [cause] = refusal.value.causes
    assert cause.field == "spec.replicas"
    assert "greater than or equal to 0" in cause.message


async def test_an_unknown_field_is_a_warning_or_an_error_as_wanted(
    config: KubeConfig, namespace: str
) -> None:
    warnings: list[str] = []
    odd = config_map("a", namespace) | {"colour": "red"}
    async with Client(config, on_warning=warnings.append) as client:
        await client.create(odd, field_validation="Warn", dry_run=True)
        assert warnings == ['unknown field "colour"']
        with pytest.raises(ApiError, match='unknown field "colour"'):
            await client.create(odd, field_validation="Strict")
        await client.create(odd, field_validation="Ignore")
    assert len(warnings) == 1


async def test_subresources_are_read_and_changed_at_their_own_path(
    api_client: Client, namespace: str
) -> None:
    await api_client.create(deployment(namespace))
    scale = await api_client.get("apps/v1", "Deployment", "web", namespace, subresource="scale")
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 1)
    await api_client.patch(
        "apps/v1", "Deployment", "web", {"spec": {"replicas": 3}}, namespace, subresource="scale"
    )
    status = {key: deployment(namespace)[key] for key in ("apiVersion", "kind", "metadata")}
    status["status"] = {"replicas": 2}
    whole = await api_client.apply(status, subresource="status")
    assert (whole["spec"]["replicas"], whole["status"]["replicas"]) == (3, 2)


async def test_a_budget_that_forbids_an_eviction_is_told_at_once(
    api_client: Client, namespace: str
) -> None:
    account = {"name": "default", "namespace": namespace}
    await api_client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    metadata = {"name": "p", "namespace": namespace, "labels": {"app": "p"}}
    spec = {"containers": [{"name": "p", "image": "p"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    await api_client.create(pod)
    running = {"status": {"phase": "Running"}}
    await api_client.patch("v1", "Pod", "p", running, namespace, subresource="status")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
    }
    await api_client.create(budget)
    with pytest.raises(DisruptionBudgetExceeded) as refusal:
        async with asyncio.timeout(5):
            await evict(api_client, "p", namespace)
    assert refusal.value.retry_after
    await api_client.delete("policy/v1", "PodDisruptionBudget", "b", namespace)
    await evict(api_client, "p", namespace, grace_seconds=0)
    with pytest.raises(NotFound):
        await api_client.get("v1", "Pod", "p", namespace)


async def test_a_token_proves_who_we_are_and_not_that_we_may(
    api_client: Client, config: KubeConfig, namespace: str
) -> None:
    account = {"name": "robot", "namespace": namespace}
    await api_client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    issued = await issue_token(api_client, "robot", namespace)
    assert issued.token not in repr(issued)
    robot = KubeConfig(server=config.server, ca=config.ca, token=issued.token)
    async with Client(robot) as client:
        with pytest.raises(Forbidden, match=f"list Secret in {namespace} failed: 403 Forbidden"):
            await client.list("v1", "Secret", namespace)
    stranger = KubeConfig(server=config.server, ca=config.ca, token="nobody's")
    async with Client(stranger) as client:
        with pytest.raises(Unauthorized):
            await client.list("v1", "Secret", namespace)


async def test_an_impersonated_person_has_only_the_rights_of_that_person(
    api_client: Client, namespace: str
) -> None:
    jane = api_client.impersonating(Impersonation(user="jane", groups=("painters", "cooks")))
    with pytest.raises(Forbidden, match='User "jane" cannot list'):
        await jane.list("v1", "Secret", namespace)
    review = await jane.json(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert {"painters", "cooks"} <= set(review["status"]["userInfo"]["groups"])
    assert await api_client.list("v1", "Secret", namespace) == []


async def test_a_watch_goes_on_after_the_list_without_a_gap(
    api_client: Client, namespace: str
) -> None:
    _, version = await api_client.list_with_version("v1", "ConfigMap", namespace)
    await api_client.create(config_map("a", namespace, n="1"))
    await api_client.apply(config_map("a", namespace, n="2"), force=True)
    await api_client.delete("v1", "ConfigMap", "a", namespace)
    seen = []
    async with (
        asyncio.timeout(20),
        aclosing(api_client.watch("v1", "ConfigMap", version, namespace)) as events,
    ):
        async for event in events:
            seen.append((event.type, event.object["data"]["n"]))
            if event.type == "DELETED":
                break
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


async def test_initial_events_are_all_objects_and_then_the_bookmark_that_says_so(
    api_client: Client, namespace: str
) -> None:
    names = {f"map-{number}" for number in range(5)}
    for name in names:
        obj = config_map(name, namespace)
        obj["metadata"]["labels"] = {"watched": "yes"}
        await api_client.create(obj)
    await api_client.create(config_map("other", namespace))
    seen = set()
    async with asyncio.timeout(20), aclosing(
        api_client.watch_raw(
            "v1", "ConfigMap", "", namespace,
            initial_events=True, bookmarks=True, labels="watched=yes",
        )
    ) as events:  # fmt: skip
        async for event in events:
            if ends_initial_events(event):
                break
            seen.add((event.type, identity_of(event.object).name))
    assert seen == {("ADDED", name) for name in names}


async def test_the_server_ends_a_watch_after_the_time_that_was_asked_for(
    api_client: Client, namespace: str
) -> None:
    _, version = await api_client.list_with_version("v1", "ConfigMap", namespace)
    async with asyncio.timeout(20):
        watch = api_client.watch("v1", "ConfigMap", version, namespace, timeout=1)
        assert [event async for event in watch] == []


async def test_a_kind_is_found_as_soon_as_its_definition_is_served(api_client: Client) -> None:
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    await api_client.create(definition(group, "things", "Thing"))
    await eventually(lambda: api_client.list(f"{group}/v1", "Thing"))
    assert (await api_client.discovery.preferred_version(group)) == f"{group}/v1"
    with pytest.raises(NotFound, match=f"the server has no kind Other in {group}/v1"):
        await api_client.list(f"{group}/v1", "Other")
    await api_client.create(definition(group, "others", "Other"))
    await eventually(lambda: api_client.list(f"{group}/v1", "Other"))


def definition(group: str, plural: str, kind: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


async def eventually(found: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await found()
            except NotFound:
                await asyncio.sleep(0.1)
            else:
                return


async def test_the_groups_are_those_of_the_server(api_client: Client) -> None:
    groups = {group.name: group for group in await api_client.discovery.groups()}
    assert groups[""].preferred_api_version == "v1"
    assert groups["apps"].preferred_api_version == "apps/v1"
    pod = await api_client.discovery.find("v1", "Pod")
    assert {"eviction", "log", "status"} <= pod.subresources
    assert "watch" in pod.verbs


async def test_a_create_whose_answer_is_lost_happened_once_and_is_told(
    faulty: Client, faults: Faults, namespace: str
) -> None:
    faults.add(lose_answer, when=method("POST"))
    with pytest.raises(Unreachable, match=f"create ConfigMap {namespace}/a on .* failed"):
        await faulty.create(config_map("a", namespace))
    assert [request.method for request in faults.seen].count("POST") == 1
    assert await faulty.get("v1", "ConfigMap", "a", namespace)


async def test_an_apply_whose_answer_is_lost_is_repeated_and_changes_nothing_more(
    faulty: Client, faults: Faults, namespace: str
) -> None:
    await faulty.apply(config_map("a", namespace, n="1"))
    faults.add(lose_answer, when=method("PATCH"))
    repeated = await faulty.apply(config_map("a", namespace, n="2"))
    assert [request.method for request in faults.seen].count("PATCH") == 3
    again = await faulty.apply(config_map("a", namespace, n="2"))
    assert again["metadata"]["resourceVersion"] == repeated["metadata"]["resourceVersion"]


async def test_a_server_that_is_busy_is_asked_again_also_for_a_create(
    faulty: Client, faults: Faults, namespace: str
) -> None:
    busy = answer(429, "TooManyRequests", retry_after=0)
    faults.add(busy, when=method("POST"), times=2)
    assert await faulty.create(config_map("a", namespace))


async def test_a_watch_that_is_cut_shows_what_came_before(
    faulty: Client, faults: Faults, namespace: str
) -> None:
    _, version = await faulty.list_with_version("v1", "ConfigMap", namespace)
    for name in ("a", "b", "c"):
        await faulty.create(config_map(name, namespace))
    faults.add(cut_after(2), when=is_watch)
    seen: list[str] = []
    with pytest.raises(Unreachable, match="the watch on ConfigMap broke off"):
        await note_names(faulty, version, namespace, seen)
    assert seen == ["a", "b"]


async def note_names(client: Client, version: str, namespace: str, seen: list[str]) -> None:
    async with asyncio.timeout(20):
        async for event in client.watch("v1", "ConfigMap", version, namespace):
            seen += [event.object["metadata"]["name"]]
