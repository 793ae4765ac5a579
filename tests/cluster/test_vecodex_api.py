"""VecodexSet before a real API server: its definition, what is refused, and its children."""

import copy
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from quiver.devcluster.waiting import until
from quiver.engine.crd import Resource, crd_manifest, resource
from quiver.kube import ApiError, Client, NotFound
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.desired import desired, desired_deployments
from quiver.vecodex.names import LONGEST_NAME, Role
from quiver.vecodex.rollout import held_back
from support.vecodex import EXAMPLES, SAMPLE, a_manifest, a_set, manifest_from, vecodex_from

Object = dict[str, Any]

API, KIND = VecodexSet.definition.api_version, VecodexSet.definition.kind
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
GPU = "nvidia.com/gpu"


async def install(client: Client, definition: Object) -> None:
    await client.apply(definition, force=True)
    group, version = definition["spec"]["group"], definition["spec"]["versions"][0]["name"]

    async def not_served() -> str | None:
        try:
            await client.json("GET", f"/apis/{group}/{version}")
        except NotFound:
            return f"{group} is not served"
        return None

    await until(not_served, within=60)


@pytest.fixture(autouse=True)
async def installed(api_client: Client) -> None:
    await install(api_client, crd_manifest(VecodexSet))


@pytest.fixture
def sample(namespace: str) -> Object:
    return manifest_from(SAMPLE, namespace)


async def scale_of(client: Client, name: str, namespace: str) -> Object:
    return await client.get(API, KIND, name, namespace, subresource="scale")


async def test_the_definition_is_accepted(api_client: Client) -> None:
    found = await api_client.get(*DEFINITION, VecodexSet.definition.name)
    conditions = {entry["type"]: entry["status"] for entry in found["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions


async def test_the_manifest_of_the_documents_applies_unchanged(api_client: Client) -> None:
    manifest = yaml.safe_load(SAMPLE.read_text())
    stored = await api_client.apply(manifest, field_validation="Strict", manager="kubectl")
    for name, component in manifest["spec"].items():
        assert stored["spec"][name] == component
    await api_client.delete(API, KIND, "search-cluster", "default")


async def test_defaults_are_the_original_operators(api_client: Client, namespace: str) -> None:
    manifest = a_manifest()
    manifest["metadata"]["namespace"] = namespace
    stored = await api_client.create(manifest)
    small = {"cpu": "100m", "memory": "128Mi"}
    assert stored["spec"]["writer"] == {
        "image": "writer:1",
        "replicas": 1,
        "resources": {"requests": small, "limits": small},
    }
    assert "ingress" not in stored["spec"]


def put(path: str, value: Any) -> Callable[[Object], None]:
    def change(manifest: Object) -> None:
        *above, last = path.split(".")
        place = manifest
        for step in above:
            place = place.setdefault(step, {})
        place[last] = value

    return change


def without(path: str) -> Callable[[Object], None]:
    def change(manifest: Object) -> None:
        *above, last = path.split(".")
        place = manifest
        for step in above:
            place = place[step]
        del place[last]

    return change


TWICE = [{"name": "a", "port": 1}, {"name": "b", "port": 1}]
RESOURCES = "spec.searcher.resources"


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        (put("spec.searcher.replicas", -1), "spec.searcher.replicas", "greater than or equal to 0"),
        (put("spec.searcher.replicas", "two"), "spec.searcher.replicas", "must be of type integer"),
        (without("spec.searcher.image"), "spec.searcher.image", "Required value"),
        (put("spec.searcher.image", ""), "spec.searcher.image", "image must be a reference"),
        (put("spec.searcher.image", "a b"), "spec.searcher.image", "without spaces"),
        (without("spec.writer"), "spec.writer", "Required value"),
        (put(f"{RESOURCES}.limits.memory", "1 GB"), f"{RESOURCES}.limits[memory]", "such as 500m"),
        (put(f"{RESOURCES}.limits.memory", "-1"), f"{RESOURCES}.limits[memory]", "of 0 or more"),
        (put(f"{RESOURCES}.limits.memory", "1Mi"), RESOURCES, "a request is above its limit"),
        (put(f"{RESOURCES}.requests", {GPU: 1}), RESOURCES, "a GPU or another device belongs into"),
        (put("spec.ingress.host", "http://a.b"), "spec.ingress.host", "without scheme"),
        (put("spec.ingress.host", "a.b:80"), "spec.ingress.host", "host must be a DNS name"),
        (put("spec.ingress.host", "A.b"), "spec.ingress.host", "lower case"),
        (put("spec.ingress.host", "10.0.0.1"), "spec.ingress.host", "no IP address"),
        (put("spec.ingress.host", "a" * 64 + ".b"), "spec.ingress.host", "must be a DNS name"),
        (put("spec.ingress.host", ""), "spec.ingress.host", "host must be a DNS name"),
        (put("spec.ingress", {}), "spec.ingress.host", "Required value"),
        (put("metadata.name", "x" * (LONGEST_NAME + 1)), "metadata", "choose another name"),
        (put("metadata.name", "1a"), "metadata", "begin with a letter"),
        (put("metadata.name", "a.b"), "metadata", "letters, digits and dashes"),
        (put("spec.writer.ports", TWICE), "spec.writer.ports", "the same port"),
        (put("spec.writer.ports", TWICE[:1] * 2), "spec.writer.ports[1]", "Duplicate value"),
        (
            put("spec.writer.ports", [{"name": "Web", "port": 1}]),
            "spec.writer.ports[0].name",
            "lower-case",
        ),
        (
            put("spec.writer.ports", [{"name": "web", "port": 70000}]),
            "spec.writer.ports[0].port",
            "less than or equal to 65535",
        ),
        (
            put("spec.writer.updateStrategy", {"type": "Recreate", "maxSurge": 1}),
            "spec.writer.updateStrategy",
            "belong to RollingUpdate",
        ),
        (
            put("spec.writer.podDisruptionBudget", {"minAvailable": 1, "maxUnavailable": 1}),
            "spec.writer.podDisruptionBudget",
            "only one of",
        ),
        (
            put("spec.searcher.autoscaling", {"minReplicas": 5, "maxReplicas": 2}),
            "spec.searcher.autoscaling.minReplicas",
            "minReplicas is above maxReplicas",
        ),
        (
            put("spec.searcher.autoscaling", {"minReplicas": 1}),
            "spec.searcher.autoscaling.maxReplicas",
            "Required value",
        ),
        (put("spec.rollout", {"strategy": "Maybe"}), "spec.rollout.strategy", '"AllAtOnce"'),
    ],
)
async def test_bad_input_is_refused_by_its_path_and_with_what_to_do(
    api_client: Client, sample: Object, change: Callable[[Object], None], path: str, says: str
) -> None:
    change(sample)
    with pytest.raises(ApiError) as refused:
        await api_client.create(sample, dry_run=True)
    assert refused.value.status == 422
    assert path in {cause.field for cause in refused.value.causes}
    assert says in refused.value.message


async def test_a_typing_error_is_found_by_strict_validation(
    api_client: Client, sample: Object
) -> None:
    put("spec.searcher.replica", 3)(sample)
    with pytest.raises(ApiError, match=r'unknown field "spec\.searcher\.replica"'):
        await api_client.create(sample, dry_run=True, field_validation="Strict")


async def test_the_longest_name_is_allowed(api_client: Client, sample: Object) -> None:
    put("metadata.name", "x" * LONGEST_NAME)(sample)
    stored = await api_client.create(sample, dry_run=True)
    for child in desired(vecodex_from(stored)):
        await api_client.create(child, dry_run=True)


async def test_searchers_are_scaled_through_the_scale_subresource(
    api_client: Client, sample: Object, namespace: str
) -> None:
    await api_client.create(sample)
    patch = {"spec": {"replicas": 7}}
    await api_client.patch(API, KIND, "search-cluster", patch, namespace, subresource="scale")
    stored = await api_client.get(API, KIND, "search-cluster", namespace)
    assert stored["spec"]["searcher"]["replicas"] == 7
    status = {"selector": "app=search-cluster-searcher", "searcher": {"replicas": 5}}
    await api_client.patch(
        API, KIND, "search-cluster", {"status": status}, namespace, subresource="status"
    )
    scale = await scale_of(api_client, "search-cluster", namespace)
    assert scale["spec"] == {"replicas": 7}
    assert scale["status"] == {"replicas": 5, "selector": "app=search-cluster-searcher"}


async def test_what_an_autoscaler_set_stays_when_a_manifest_without_replicas_is_applied(
    api_client: Client, sample: Object, namespace: str
) -> None:
    without("spec.searcher.replicas")(sample)
    await api_client.apply(sample, manager="kubectl")
    patch = {"spec": {"replicas": 6}}
    await api_client.patch(API, KIND, "search-cluster", patch, namespace, subresource="scale")
    put("spec.writer.image", "writer:2")(sample)
    stored = await api_client.apply(sample, manager="kubectl")
    assert stored["spec"]["searcher"]["replicas"] == 6


@pytest.mark.parametrize("path", [SAMPLE, *EXAMPLES], ids=lambda path: path.stem)
async def test_the_server_takes_every_example_and_all_of_its_children(
    api_client: Client, namespace: str, path: Path
) -> None:
    manifest = manifest_from(path, namespace)
    stored = await api_client.create(manifest, dry_run=True, field_validation="Strict")
    for child in desired(vecodex_from(stored)):
        await api_client.create(child, dry_run=True, field_validation="Strict")
        await api_client.apply(child, dry_run=True, field_validation="Strict")


def as_the_original_made_it(deployment: Object) -> Object:
    """It wrote labels, image and resources, and replaced the whole spec on each update."""
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    kept = {key: container[key] for key in ("name", "image", "resources")}
    original = copy.deepcopy(deployment)
    del original["metadata"]["labels"], original["metadata"]["annotations"]
    del original["spec"]["strategy"]
    original["spec"]["template"]["spec"]["containers"] = [kept]
    return original


async def test_taking_over_a_deployment_of_the_original_restarts_nothing(
    api_client: Client, sample: Object
) -> None:
    for role, wanted in desired_deployments(vecodex_from(sample)).items():
        before = await api_client.create(as_the_original_made_it(wanted))
        after = await api_client.apply(wanted, force=True)
        assert after["spec"]["template"] == before["spec"]["template"]
        # The writer asks for a GPU, so its pods are replaced in another way from now on.
        if role is not Role.WRITER:
            assert after["spec"] == before["spec"]


async def test_holding_a_deployment_back_changes_only_what_does_not_restart_pods(
    api_client: Client, namespace: str
) -> None:
    def deployment(**writer: Any) -> Object:
        found = desired_deployments(a_set(writer=writer))[Role.WRITER]
        found["metadata"]["namespace"] = namespace
        return found

    old = {"env": [{"name": "A", "value": "a"}], "readinessProbe": {"tcpSocket": {"port": 1}}}
    before = await api_client.apply(deployment(**old))
    held = held_back(deployment(image="writer:2", replicas=4), before)
    after = await api_client.apply(held, force=True)
    assert after["spec"]["replicas"] == 4
    assert after["spec"]["template"] == before["spec"]["template"]
    released = await api_client.apply(deployment(image="writer:2", replicas=4), force=True)
    container = released["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "writer:2"
    assert not {"env", "readinessProbe"} & set(container)


async def test_pods_can_be_replaced_all_at_once_after_they_were_replaced_in_turn(
    api_client: Client, namespace: str
) -> None:
    for strategy in ({}, {"type": "Recreate"}, {"maxSurge": 1}):
        wanted = desired_deployments(a_set(writer={"updateStrategy": strategy}))[Role.WRITER]
        wanted["metadata"]["namespace"] = namespace
        applied = await api_client.apply(wanted)
        assert applied["spec"]["strategy"] == wanted["spec"]["strategy"]


def without_rules(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_rules(entry)
            for key, entry in value.items()
            if key != "x-kubernetes-validations"
        }
    return [without_rules(entry) for entry in value] if isinstance(value, list) else value


def under_another_group() -> type[Resource]:
    """The definition belongs to the whole cluster; this test changes its own."""

    @resource(
        group=f"t{uuid.uuid4().hex[:10]}.vecodex.link",
        version="v1alpha1",
        kind=KIND,
        rules=VecodexSet.definition.rules,
    )
    class Elsewhere(VecodexSet):
        pass

    return Elsewhere


async def test_a_set_from_before_the_rules_can_still_be_told_what_is_wrong(
    api_client: Client, namespace: str
) -> None:
    elsewhere = under_another_group()
    await install(api_client, without_rules(crd_manifest(elsewhere)))
    manifest = a_manifest("1a") | {"apiVersion": elsewhere.definition.api_version}
    manifest["metadata"]["namespace"] = namespace
    await api_client.create(manifest)
    await install(api_client, crd_manifest(elsewhere))

    async def not_yet_refused() -> str | None:
        other = copy.deepcopy(manifest)
        other["metadata"]["name"] = "1b"
        try:
            await api_client.create(other, dry_run=True)
        except ApiError as error:
            return None if "choose another name" in error.message else str(error)
        return "the rules are not in force yet"

    await until(not_yet_refused, within=30)
    stored = await api_client.patch(
        elsewhere.definition.api_version,
        KIND,
        "1a",
        {"status": {"endpoint": "told"}},
        namespace,
        subresource="status",
    )
    assert stored["status"] == {"endpoint": "told"}
