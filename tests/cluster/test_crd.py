"""CustomResourceDefinitions from types, before a real API server."""

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest
import pytest_asyncio
import yaml
from msgspec import Meta, Raw

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.waiting import until
from quiver.engine.crd import (
    AGE,
    AtLeastOne,
    AtMostOne,
    Atomic,
    Column,
    ExactlyOne,
    Fields,
    Immutable,
    ListMap,
    Nullable,
    Resource,
    Rule,
    Scale,
    Scope,
    Version,
    crd_manifest,
    decode,
    resource,
    rules,
)
from quiver.engine.crd.core import (
    Affinity,
    Conditions,
    Duration,
    Env,
    EnvFromSource,
    Probe,
    Quantity,
    ResourceRequirements,
    SecurityContext,
    Selector,
    Toleration,
    TopologySpreadConstraint,
)
from quiver.kube import ApiError, Client, NotFound

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Port(Fields):
    """A port that is open."""

    name: Annotated[str, Meta(min_length=1, max_length=15, pattern="^[a-z-]+$")]
    number: Annotated[int, Meta(ge=1, le=65535)]
    protocol: Literal["TCP", "UDP"] = "TCP"
    label: Annotated[str, Immutable("the label of a port stays"), Meta(max_length=9)] | None = None


class Bucket(Fields):
    name: Annotated[str, Meta(max_length=63)]


@rules(ExactlyOne("s3", "gcs"), AtMostOne("read_only", "encrypted"))
class Store(Fields):
    """Where the data is."""

    s3: Bucket | None = None
    gcs: Bucket | None = None
    read_only: bool | None = None
    encrypted: bool | None = None


@rules(
    Rule(
        "self.min <= self.max",
        message_expression="'min %d is above max %d'.format([self.min, self.max])",
        reason="FieldValueForbidden",
        field_path=".min",
    )
)
class Range(Fields):
    min: int = 1
    max: int = 3


@rules(AtLeastOne("namespace", "host"))
class Target(Fields):
    namespace: Annotated[str | None, Immutable("the namespace stays")] = None
    host: str | None = None


GROWS = Rule("self >= oldSelf", "a disk cannot shrink")
SET_ONCE = Rule(
    "!oldSelf.hasValue() || oldSelf.value() == self", "epoch is set once", optional_old_self=True
)


class Spec(Fields):
    """What is wanted."""

    text: Annotated[str, Meta(description="Some text.", examples=["hello"], max_length=40)]
    count: Annotated[int, Meta(ge=0, le=10, multiple_of=2)] = 2
    ratio: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    enabled: bool = True
    blob: bytes = b"abc"
    since: datetime = EPOCH
    color: Color = Color.RED
    level: Literal[1, 2, 3] = 2
    port: int | str = "http"
    memory: Quantity = "1Gi"
    timeout: Duration | None = None
    tags: Annotated[set[str], Meta(max_length=5)] = msgspec.field(
        default_factory=lambda: {"b", "a"}
    )
    words: Annotated[list[Annotated[str, Meta(max_length=8)]], Meta(max_length=3)] = []
    pair: tuple[int, int] | None = None
    ports: Annotated[list[Port], ListMap("name", "protocol"), Meta(max_length=8)] = []
    limits: Annotated[dict[str, Quantity], Meta(max_length=2)] = {}
    selector: Annotated[dict[str, str], Atomic()] = {}
    range: Range = Range()
    store: Store | None = None
    target: Target | None = None
    anything: Any = None
    config: dict[str, Any] = {}
    raw: Raw | None = None
    zone: Annotated[str, Immutable("zone cannot be changed"), Meta(max_length=20)] | None = None
    disk: Annotated[int, GROWS] = 1
    epoch: Annotated[int, SET_ONCE] | None = None
    even: Annotated[int, Meta(extra_json_schema={"enum": [0, 2, 4]})] = 0
    target_cpu: Annotated[int, Meta(ge=1)] | None = msgspec.field(default=None, name="targetCPU")
    resources: ResourceRequirements = ResourceRequirements(requests={"cpu": "100m"})
    tolerations: list[Toleration] = []
    extra_tolerations: Annotated[list[Toleration] | None, Nullable()] = None
    env: Env = []
    env_from: list[EnvFromSource] = []
    probe: Probe | None = None
    affinity: Affinity = {}
    security_context: SecurityContext = {}
    spread: list[TopologySpreadConstraint] = []
    pods: Selector | None = None
    replicas: Annotated[int, Meta(ge=0)] = 1


class Status(Fields):
    """What is there."""

    conditions: Conditions = []
    replicas: int = 0
    selector: str = ""


def sample_of(group: str) -> type[Resource]:
    @resource(
        group=group,
        versions=["v1", Version("v1beta1", deprecated="use v1")],
        short_names=["smp"],
        categories=["quivertest"],
        columns=[
            Column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
            Column("Replicas", "integer", ".spec.replicas", "How many.", priority=1),
            AGE,
        ],
        scale=Scale(spec=".spec.replicas", status=".status.replicas", selector=".status.selector"),
        rules=[Rule("self.metadata.name.size() <= 30", "the name is too long")],
    )
    class Sample(Resource):
        """A resource with everything."""

        spec: Spec
        status: Status = Status()

    return Sample


def a_group(ending: str) -> str:
    """A name of this run's own: CustomResourceDefinitions belong to the whole cluster."""
    return f"t{uuid.uuid4().hex[:10]}.{ending}"


async def install(client: Client, cls: type[Resource]) -> dict[str, Any]:
    manifest = crd_manifest(cls)
    await client.apply(manifest)

    async def not_served() -> str | None:
        crd = await client.get(manifest["apiVersion"], manifest["kind"], cls.definition.name)
        status = {entry["type"]: entry["status"] for entry in crd["status"].get("conditions") or []}
        if status.get("Established") != "True":
            return f"{cls.definition.name} is not established: {crd['status']}"
        try:
            await client.json("GET", f"/apis/{cls.definition.api_version}")
        except NotFound:
            return f"{cls.definition.api_version} is not served"
        return None

    await until(not_served, within=60)
    return await client.get(manifest["apiVersion"], manifest["kind"], cls.definition.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sample(api_server: DevCluster) -> type[Resource]:
    cls = sample_of(a_group("sample.quiver.dev"))
    async with api_server.client() as client:
        await install(client, cls)
    return cls


class Bench:
    """Objects of the sample kind in one namespace."""

    def __init__(self, client: Client, cls: type[Resource], namespace: str) -> None:
        self.client = client
        self.cls = cls
        self.namespace = namespace

    async def create(self, name: str = "one", **spec: Any) -> dict[str, Any]:
        return await self.client.create(self.manifest(name, **spec))

    async def change(self, name: str = "one", **spec: Any) -> dict[str, Any]:
        definition = self.cls.definition
        patch = {"spec": spec}
        return await self.client.patch(
            definition.api_version, definition.kind, name, patch, self.namespace
        )

    def manifest(self, name: str = "one", **spec: Any) -> dict[str, Any]:
        definition = self.cls.definition
        return {
            "apiVersion": definition.api_version,
            "kind": definition.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"text": "hello"} | spec,
        }

    def url(self, name: str, subresource: str) -> str:
        definition = self.cls.definition
        return (
            f"/apis/{definition.api_version}/namespaces/{self.namespace}/{definition.plural}"
            f"/{name}/{subresource}"
        )


@pytest.fixture
def bench(api_client: Client, sample: type[Resource], namespace: str) -> Bench:
    return Bench(api_client, sample, namespace)


async def test_the_server_accepts_every_feature_and_finds_the_schema_structural(
    api_client: Client, sample: type[Resource]
) -> None:
    crd = await api_client.get(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", sample.definition.name
    )
    conditions = {entry["type"]: entry["status"] for entry in crd["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions
    assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


async def test_applying_it_again_changes_nothing(
    api_client: Client, sample: type[Resource]
) -> None:
    manifest = crd_manifest(sample)
    before = await api_client.get(manifest["apiVersion"], manifest["kind"], sample.definition.name)
    after = await api_client.apply(manifest)
    assert after["metadata"]["generation"] == before["metadata"]["generation"] == 1
    assert contains(after["spec"], manifest["spec"])


def contains(live: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return all(key in live and contains(live[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        pairs = zip(live, wanted, strict=True)
        return all(contains(one, other) for one, other in pairs)
    return bool(live == wanted)


async def test_defaults_appear(bench: Bench) -> None:
    created = await bench.create()
    assert created["spec"] == {
        "text": "hello",
        "count": 2,
        "ratio": 0.5,
        "enabled": True,
        "blob": "YWJj",
        "since": "2024-01-01T00:00:00Z",
        "color": "red",
        "level": 2,
        "port": "http",
        "memory": "1Gi",
        "tags": ["a", "b"],
        "range": {"min": 1, "max": 3},
        "disk": 1,
        "even": 0,
        "resources": {"requests": {"cpu": "100m"}},
        "replicas": 1,
    }
    assert "status" not in created


async def test_defaults_appear_inside_what_is_given(bench: Bench) -> None:
    created = await bench.create(range={"max": 5}, ports=[{"name": "a", "number": 1}])
    assert created["spec"]["range"] == {"min": 1, "max": 5}
    assert created["spec"]["ports"] == [{"name": "a", "number": 1, "protocol": "TCP"}]


async def test_what_the_server_filled_in_is_what_the_type_fills_in(
    bench: Bench, sample: type[Resource]
) -> None:
    created = await bench.create()
    written = decode(sample, msgspec.json.encode(bench.manifest()))
    stored = decode(sample, msgspec.json.encode(created))
    assert stored.spec == written.spec  # type: ignore[attr-defined]


async def test_null_is_as_good_as_absent(bench: Bench) -> None:
    created = await bench.create(tolerations=None, zone=None, count=None, store=None, config=None)
    assert created["spec"]["count"] == 2
    assert not {"tolerations", "zone", "store", "config"} & set(created["spec"])


async def test_a_nullable_field_takes_null_also_from_server_side_apply(
    bench: Bench, sample: type[Resource]
) -> None:
    with pytest.raises(ApiError, match=r"spec\.tolerations: Invalid value"):
        await bench.client.apply(bench.manifest(tolerations=None))
    applied = await bench.client.apply(bench.manifest(extraTolerations=None))
    assert decode(sample, msgspec.json.encode(applied)).metadata.name == "one"


@pytest.mark.parametrize(
    ("spec", "path", "complaint"),
    [
        ({"text": 5}, "spec.text", "must be of type string"),
        ({"text": "x" * 41}, "spec.text", "may not be more than 40"),
        ({"count": "two"}, "spec.count", "must be of type integer"),
        ({"count": -2}, "spec.count", "should be greater than or equal to 0"),
        ({"count": 12}, "spec.count", "should be less than or equal to 10"),
        ({"count": 3}, "spec.count", "should be a multiple of 2"),
        ({"ratio": 0}, "spec.ratio", "should be greater than 0"),
        ({"ratio": 1}, "spec.ratio", "should be less than 1"),
        ({"enabled": "yes"}, "spec.enabled", "must be of type boolean"),
        ({"blob": "%"}, "spec.blob", "must be of type byte"),
        ({"since": "yesterday"}, "spec.since", "must be of type date-time"),
        ({"color": "green"}, "spec.color", 'supported values: "red", "blue"'),
        ({"level": 4}, "spec.level", 'supported values: "1", "2", "3"'),
        ({"port": 1.5}, "spec.port", "must be of type integer,string"),
        ({"memory": "1 GB"}, "spec.memory", "should match"),
        ({"timeout": "two hours"}, "spec.timeout", "should match"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", "Duplicate value"),
        ({"tags": list("abcdef")}, "spec.tags", "must have at most 5 items"),
        ({"words": ["much too long"]}, "spec.words[0]", "may not be more than 8"),
        ({"pair": [1]}, "spec.pair", "should have at least 2 items"),
        ({"pair": [1, 2, 3]}, "spec.pair", "must have at most 2 items"),
        ({"ports": [{"name": "a"}]}, "spec.ports[0].number", "Required value"),
        ({"ports": [{"name": "A", "number": 1}]}, "spec.ports[0].name", "should match"),
        ({"ports": [{"name": "a", "number": 1}] * 2}, "spec.ports[1]", "Duplicate value"),
        ({"limits": {"cpu": "1", "memory": "x"}}, "spec.limits.memory", "should match"),
        ({"limits": dict.fromkeys("abc", 1)}, "spec.limits", "must have at most 2 items"),
        ({"selector": {"a": 1}}, "spec.selector.a", "must be of type string"),
        ({"range": {"min": 9}}, "spec.range.min", "min 9 is above max 3"),
        ({"store": {}}, "spec.store", "exactly one of s3, gcs must be set"),
        (
            {"store": {"s3": {"name": "a"}, "gcs": {"name": "b"}}},
            "spec.store",
            "exactly one of s3, gcs must be set",
        ),
        (
            {"store": {"s3": {"name": "a"}, "readOnly": True, "encrypted": True}},
            "spec.store",
            "at most one of readOnly, encrypted must be set",
        ),
        ({"target": {}}, "spec.target", "at least one of namespace, host must be set"),
        ({"config": "text"}, "spec.config", "must be of type object"),
        ({"even": 3}, "spec.even", "Unsupported value"),
        ({"targetCPU": 0}, "spec.targetCPU", "should be greater than or equal to 1"),
        ({"resources": {"limits": {"cpu": "a"}}}, "spec.resources.limits.cpu", "should match"),
        ({"tolerations": [{"effect": "Never"}]}, "spec.tolerations[0].effect", "Unsupported"),
        ({"env": [{"value": "a"}]}, "spec.env[0].name", "Required value"),
        ({"env": [{"name": "A", "valueFrom": {}}]}, "spec.env[0].valueFrom", "at least 1"),
        ({"probe": {"httpGet": {}}}, "spec.probe.httpGet.port", "Required value"),
        ({"spread": [{"maxSkew": 0}]}, "spec.spread[0].maxSkew", "greater than or equal to 1"),
    ],
)
async def test_an_invalid_field_is_refused_by_its_path(
    bench: Bench, spec: dict[str, Any], path: str, complaint: str
) -> None:
    with pytest.raises(ApiError) as refused:
        await bench.create(**spec)
    assert refused.value.status == 422
    assert f"{path}: " in refused.value.message
    assert complaint in refused.value.message


async def test_a_required_field_is_asked_for(bench: Bench) -> None:
    manifest = bench.manifest()
    del manifest["spec"]["text"]
    with pytest.raises(ApiError, match=r"spec\.text: Required value"):
        await bench.client.create(manifest)


async def test_a_rule_about_the_whole_object_is_kept(bench: Bench) -> None:
    with pytest.raises(ApiError, match="the name is too long"):
        await bench.create(name="a-name-that-is-far-longer-than-thirty")


@pytest.mark.parametrize(
    ("before", "after", "path", "message"),
    [
        ({"zone": "a"}, {"zone": "b"}, "spec.zone", "zone cannot be changed"),
        ({"zone": "a"}, {"zone": None}, "spec.zone", "zone cannot be changed"),
        ({"disk": 5}, {"disk": 4}, "spec.disk", "a disk cannot shrink"),
        ({"epoch": 1}, {"epoch": 2}, "spec.epoch", "epoch is set once"),
        (
            {"target": {"namespace": "a", "host": "h"}},
            {"target": {"namespace": None}},
            "spec.target.namespace",
            "the namespace stays",
        ),
        (
            {"ports": [{"name": "a", "number": 1, "label": "x"}]},
            {"ports": [{"name": "b", "number": 1}, {"name": "a", "number": 1, "label": "y"}]},
            "spec.ports[1].label",
            "the label of a port stays",
        ),
    ],
)
async def test_a_change_against_a_rule_is_refused_in_its_words(
    bench: Bench, before: dict[str, Any], after: dict[str, Any], path: str, message: str
) -> None:
    await bench.create(**before)
    with pytest.raises(ApiError) as refused:
        await bench.change(**after)
    assert refused.value.status == 422
    assert f"{path}: " in refused.value.message
    assert message in refused.value.message


async def test_what_is_immutable_can_be_set_later(bench: Bench) -> None:
    await bench.create()
    changed = await bench.change(zone="a", disk=7, epoch=4)
    assert changed["spec"]["zone"] == "a"
    assert (await bench.change(count=4))["spec"]["epoch"] == 4


async def test_unknown_fields_are_dropped_except_where_anything_goes(bench: Bench) -> None:
    free = {"deep": {"er": [1, "two", {"three": None}]}}
    created = await bench.create(
        unknown=1,
        range={"typo": 1},
        config=free,
        raw=[1, 2],
        anything="text",
        affinity={"nodeAffinity": free},
        securityContext={"runAsUser": 1},
    )
    spec = created["spec"]
    assert "unknown" not in spec
    assert spec["range"] == {"min": 1, "max": 3}
    assert (spec["config"], spec["raw"], spec["anything"]) == (free, [1, 2], "text")
    assert spec["affinity"] == {"nodeAffinity": free}
    assert spec["securityContext"] == {"runAsUser": 1}


POD_PARTS = """
resources:
  requests: {cpu: 125m, memory: 128Mi}
  limits: {cpu: 1, memory: 1e9, nvidia.com/gpu: "1"}
  claims: [{name: gpu, request: one}]
tolerations:
  - {key: weaviate-db, operator: Exists, effect: NoSchedule}
  - {key: slow, operator: Equal, value: "yes", effect: NoExecute, tolerationSeconds: 60}
env:
  - {name: PLAIN, value: a}
  - {name: SECRET, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
  - {name: MAP, valueFrom: {configMapKeyRef: {name: s, key: k}}}
  - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
  - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
envFrom:
  - {prefix: A_, secretRef: {name: s, optional: true}}
  - {configMapRef: {name: c}}
probe:
  httpGet: {path: /ready, port: http, scheme: HTTPS, httpHeaders: [{name: a, value: b}]}
  initialDelaySeconds: 3
  periodSeconds: 10
  timeoutSeconds: 3
  successThreshold: 1
  failureThreshold: 3
  terminationGracePeriodSeconds: 30
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: a}}}
spread:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}
    minDomains: 2
    matchLabelKeys: [pod-template-hash]
    nodeAffinityPolicy: Honor
    nodeTaintsPolicy: Ignore
pods: {matchLabels: {app: a}}
"""


async def test_parts_of_pods_are_stored_as_written_and_read_back(
    bench: Bench, sample: type[Resource]
) -> None:
    parts = yaml.safe_load(POD_PARTS)
    parts["resources"]["limits"]["memory"] = "1e9"
    created = await bench.create(**parts)
    assert {key: created["spec"][key] for key in parts} == parts
    read = decode(sample, msgspec.json.encode(created))
    again = msgspec.to_builtins(read.spec)  # type: ignore[attr-defined]
    assert {key: again[key] for key in parts} == parts


async def test_applied_lists_merge_by_key_and_sets_by_value(
    api_server: DevCluster, bench: Bench
) -> None:
    first = bench.manifest(ports=[{"name": "a", "number": 1}], tags=["x"], selector={"a": "1"})
    second = bench.manifest(ports=[{"name": "b", "number": 2}], tags=["y"])
    await bench.client.apply(first)
    config = bench.client.config
    async with Client(config, manager="somebody-else") as other:
        merged = await other.apply(second)
        with pytest.raises(ApiError, match=r"conflict.*\.spec\.selector"):
            await other.apply(bench.manifest(selector={"b": "2"}))
    assert [port["name"] for port in merged["spec"]["ports"]] == ["a", "b"]
    assert merged["spec"]["tags"] == ["x", "y"]


async def test_descriptions_are_published_for_kubectl_explain(
    bench: Bench, sample: type[Resource]
) -> None:
    definition = sample.definition
    name = ".".join([*reversed(definition.group.split(".")), "v1", definition.kind])

    async def unpublished() -> str | None:
        try:
            page = await bench.client.json("GET", f"/openapi/v3/apis/{definition.api_version}")
        except NotFound:
            return "no OpenAPI yet"
        return None if name in page["components"]["schemas"] else f"no {name} yet"

    await until(unpublished, within=60)
    page = await bench.client.json("GET", f"/openapi/v3/apis/{definition.api_version}")
    schema = page["components"]["schemas"][name]
    assert schema["description"] == "A resource with everything."
    spec = schema["properties"]["spec"]
    assert spec["description"] == "What is wanted."
    assert spec["properties"]["text"]["description"] == 'Some text. For example "hello".'
    assert spec["properties"]["ports"]["items"]["description"] == "A port that is open."


async def test_names_categories_and_versions_are_discovered(
    bench: Bench, sample: type[Resource]
) -> None:
    definition = sample.definition
    for version in definition.versions:
        path = f"/apis/{definition.group}/{version.name}"
        found = {
            entry["name"]: entry for entry in (await bench.client.json("GET", path))["resources"]
        }
        assert found["samples"]["shortNames"] == ["smp"]
        assert found["samples"]["categories"] == ["quivertest"]
        assert {"samples/status", "samples/scale"} <= set(found)


async def test_an_object_is_the_same_in_every_version(bench: Bench, sample: type[Resource]) -> None:
    created = await bench.create(zone="a")
    other = await bench.client.get(
        f"{sample.definition.group}/v1beta1", "Sample", "one", bench.namespace
    )
    assert other["spec"] == created["spec"]


async def test_the_status_is_written_apart_from_the_spec(bench: Bench) -> None:
    manifest = bench.manifest() | {"status": {"replicas": 9}}
    assert "status" not in await bench.client.create(manifest)
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AllIsWell",
        "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    written = await bench.client.json(
        "PATCH",
        bench.url("one", "status"),
        {"spec": {"count": 4}, "status": {"replicas": 3, "conditions": [condition]}},
        content_type="application/merge-patch+json",
    )
    assert written["status"] == {"replicas": 3, "conditions": [condition]}
    assert written["spec"]["count"] == 2
    assert written["metadata"]["generation"] == 1


async def test_kubectl_scale_reads_and_writes_the_replicas(
    bench: Bench, sample: type[Resource]
) -> None:
    definition = sample.definition
    await bench.create(replicas=2)
    await bench.client.patch(
        definition.api_version,
        "Sample",
        "one",
        {"status": {"replicas": 2, "selector": "app=one"}},
        bench.namespace,
        subresource="status",
    )
    scale = await bench.client.json("GET", bench.url("one", "scale"))
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 2, "selector": "app=one"}
    await bench.client.json(
        "PATCH",
        bench.url("one", "scale"),
        {"spec": {"replicas": 5}},
        content_type="application/merge-patch+json",
    )
    now = await bench.client.get(definition.api_version, "Sample", "one", bench.namespace)
    assert now["spec"]["replicas"] == 5


async def test_kubectl_get_shows_the_columns(api_server: DevCluster, bench: Bench) -> None:
    await bench.create(replicas=2)
    get = ("get", bench.cls.definition.name, "-n", bench.namespace)
    narrow = api_server.kubectl(*get).splitlines()
    wide = api_server.kubectl(*get, "-o", "wide").splitlines()
    assert narrow[0].split() == ["NAME", "READY", "AGE"]
    assert wide[0].split() == ["NAME", "READY", "REPLICAS", "AGE"]
    assert wide[1].split()[:2] == ["one", "2"]


async def test_a_kind_can_belong_to_the_whole_cluster(api_client: Client) -> None:
    @resource(group=a_group("wide.quiver.dev"), version="v1", scope=Scope.CLUSTER, plural="wides")
    class Wide(Resource):
        spec: Range = Range()

    await install(api_client, Wide)
    definition = Wide.definition
    created = await api_client.json(
        "POST",
        f"/apis/{definition.api_version}/wides",
        {"apiVersion": definition.api_version, "kind": "Wide", "metadata": {"name": "one"}},
    )
    assert created["spec"] == {"min": 1, "max": 3}


class Component(Fields):
    """One of the programs that make up a Vecodex cluster."""

    image: Annotated[str, Meta(description="The container image.", min_length=1, max_length=1024)]
    replicas: Annotated[int, Meta(description="How many pods.", ge=0, le=1000)] = 1
    command: list[str] = []
    resources: ResourceRequirements = ResourceRequirements(
        requests={"cpu": "100m", "memory": "128Mi"}
    )


class Ingress(Fields):
    """How the cluster is reached from outside."""

    host: Annotated[str, Meta(description="The host name.", min_length=1, max_length=253)]


class VecodexSetSpec(Fields):
    """A Vecodex cluster."""

    coordinator: Component
    writer: Component
    searcher: Component
    ingress: Ingress | None = None


class ComponentStatus(Fields):
    """What runs of one component."""

    replicas: int = 0
    ready_replicas: int = 0


class VecodexSetStatus(Fields):
    """What runs of the cluster."""

    observed_generation: int = 0
    conditions: Conditions = []
    searcher: ComponentStatus = ComponentStatus()
    selector: str = ""


VECODEXSET = """
apiVersion: apps.vecodex.link/v1alpha1
kind: VecodexSet
metadata:
  name: search-cluster
  namespace: default
spec:
  coordinator:
    image: "vecodex-coordinator-image:latest"
    replicas: 1
    resources:
      requests:
        cpu: "125m"
        memory: "128Mi"
      limits:
        cpu: "125m"
        memory: "128Mi"
  writer:
    image: "vecodex-writer-image:latest"
    replicas: 1
    resources:
      requests:
        cpu: "125m"
        memory: "128Mi"
      limits:
        cpu: "125m"
        memory: "128Mi"
        # GPU (if your cluster has an NVIDIA GPU plugin)
        nvidia.com/gpu: "1"
  searcher:
    image: "vecodex-searcher-image:latest"
    replicas: 3
    resources:
      requests:
        cpu: "125m"
        memory: "128Mi"
      limits:
        cpu: "125m"
        memory: "128Mi"
  ingress:
    host: "search.vecodex.link"
"""


def vecodexset_of(group: str) -> type[Resource]:
    @resource(
        group=group,
        version="v1alpha1",
        short_names=["vs"],
        categories=["quiver"],
        columns=[Column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"), AGE],
        scale=Scale(
            spec=".spec.searcher.replicas",
            status=".status.searcher.replicas",
            selector=".status.selector",
        ),
    )
    class VecodexSet(Resource):
        """A vector search cluster."""

        spec: VecodexSetSpec
        status: VecodexSetStatus = VecodexSetStatus()

    return VecodexSet


async def test_the_manifest_of_seed_003_applies_unchanged(
    api_client: Client, namespace: str
) -> None:
    vecodexset = vecodexset_of(a_group("vecodex.link"))
    await install(api_client, vecodexset)
    manifest = yaml.safe_load(VECODEXSET)
    # Only the group and the namespace differ, so that runs and workers do not meet.
    manifest["apiVersion"] = vecodexset.definition.api_version
    manifest["metadata"]["namespace"] = namespace
    applied = await api_client.apply(manifest)
    assert applied["spec"] == manifest["spec"]
    read = decode(vecodexset, msgspec.json.encode(applied))
    spec: VecodexSetSpec = read.spec  # type: ignore[attr-defined]
    assert spec.searcher.replicas == 3
    assert spec.writer.resources.limits["nvidia.com/gpu"] == "1"
    assert msgspec.to_builtins(spec)["ingress"] == manifest["spec"]["ingress"]


async def test_a_component_needs_no_more_than_an_image(api_client: Client, namespace: str) -> None:
    vecodexset = vecodexset_of(a_group("vecodex.link"))
    await install(api_client, vecodexset)
    component = {"image": "a"}
    created = await api_client.create(
        {
            "apiVersion": vecodexset.definition.api_version,
            "kind": "VecodexSet",
            "metadata": {"name": "small", "namespace": namespace},
            "spec": dict.fromkeys(("coordinator", "writer", "searcher"), component),
        }
    )
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}}
    filled = {"image": "a", "replicas": 1, "resources": resources}
    assert created["spec"] == dict.fromkeys(("coordinator", "writer", "searcher"), filled)
