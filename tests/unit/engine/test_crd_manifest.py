"""A kind's CustomResourceDefinition, its reference page, and its objects."""

from typing import Annotated, Any

import msgspec
import pytest
import yaml
from msgspec import Meta

from quiver.engine.crd import (
    AGE,
    CannotDeclare,
    CannotDecode,
    Column,
    ExactlyOne,
    Fields,
    Immutable,
    ListMap,
    ObjectMeta,
    Resource,
    Rule,
    Scale,
    Scope,
    Version,
    crd_manifest,
    decode,
    reference_markdown,
    resource,
    rules,
    to_yaml,
)
from quiver.engine.crd.core import Quantity


class Port(Fields):
    """A port that is open."""

    name: str
    number: Annotated[int, Meta(ge=1, lt=65536)] = 80


@rules(ExactlyOne("s3", "gcs"))
class Store(Fields):
    s3: str | None = None
    gcs: str | None = None


class Spec(Fields):
    """What is wanted."""

    image: Annotated[str, Meta(description="Either a | or b.", min_length=1)]
    replicas: Annotated[int, Meta(ge=0, multiple_of=2)] = 2
    ports: Annotated[list[Port], ListMap("name"), Meta(max_length=8)] = []
    limits: dict[str, Quantity] = {}
    zone: Annotated[str, Immutable("zone stays")] | None = None
    store: Store | None = None
    config: dict[str, Any] = {}


class Status(Fields):
    """What is there."""

    replicas: int = 0
    selector: str = ""


@resource(
    group="test.quiver.dev",
    versions=["v1", Version("v1beta1", deprecated="use v1"), Version("v1alpha1", served=False)],
    kind="Thing",
    plural="things",
    short_names=["th"],
    categories=["quiver"],
    columns=[Column("Image", "string", ".spec.image", "Which image.", priority=1), AGE],
    scale=Scale(spec=".spec.replicas", status=".status.replicas", selector=".status.selector"),
    rules=[Rule("self.metadata.name != 'x'", "the name is taken")],
)
class Thing(Resource):
    """A thing that is kept running."""

    spec: Spec
    status: Status = Status()


@resource(group="test.quiver.dev", version="v1", scope=Scope.CLUSTER)
class Bare(Resource):
    spec: Store = Store()


def test_the_manifest_carries_the_names_is_marked_as_ours_and_is_kept_by_helm() -> None:
    manifest = crd_manifest(Thing)
    assert manifest["metadata"] == {
        "name": "things.test.quiver.dev",
        "labels": {"app.kubernetes.io/managed-by": "quiver"},
        "annotations": {"helm.sh/resource-policy": "keep"},
    }
    assert manifest["spec"]["scope"] == "Namespaced"
    assert manifest["spec"]["conversion"] == {"strategy": "None"}
    assert manifest["spec"]["names"] == {
        "kind": "Thing",
        "listKind": "ThingList",
        "plural": "things",
        "singular": "thing",
        "shortNames": ["th"],
        "categories": ["quiver"],
    }


def test_versions_share_one_schema_and_the_first_is_stored() -> None:
    first, *others = crd_manifest(Thing)["spec"]["versions"]
    assert (first["name"], first["served"], first["storage"]) == ("v1", True, True)
    assert [(entry["name"], entry["served"], entry["storage"]) for entry in others] == [
        ("v1beta1", True, False),
        ("v1alpha1", False, False),
    ]
    assert others[0]["deprecationWarning"] == "use v1"
    assert all(entry["schema"] == first["schema"] for entry in others)


def test_columns_and_subresources_are_as_declared() -> None:
    version = crd_manifest(Thing)["spec"]["versions"][0]
    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    image, age = version["additionalPrinterColumns"]
    assert image == {
        "name": "Image",
        "type": "string",
        "jsonPath": ".spec.image",
        "description": "Which image.",
        "priority": 1,
    }
    assert age == {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def test_what_was_not_declared_is_not_there() -> None:
    manifest = crd_manifest(Bare)
    version = manifest["spec"]["versions"][0]
    assert manifest["metadata"]["name"] == "bares.test.quiver.dev"
    assert manifest["spec"]["scope"] == "Cluster"
    assert not {"shortNames", "categories"} & set(manifest["spec"]["names"])
    assert not {"subresources", "additionalPrinterColumns", "deprecated"} & set(version)
    assert "required" not in version["schema"]["openAPIV3Schema"]


def test_several_kinds_make_several_documents() -> None:
    text = to_yaml([Thing, Bare])
    assert list(yaml.safe_load_all(text)) == [crd_manifest(Thing), crd_manifest(Bare)]
    assert "&id" not in text


def test_a_class_without_a_declaration_is_refused() -> None:
    class Undeclared(Thing):
        pass

    with pytest.raises(CannotDeclare, match="Undeclared: it is no kind yet"):
        crd_manifest(Undeclared)


@pytest.mark.parametrize("versions", [{}, {"version": "v1", "versions": ["v2"]}])
def test_a_kind_has_one_version_or_several(versions: dict[str, Any]) -> None:
    with pytest.raises(CannotDeclare, match="write either `version=` or `versions=`"):
        resource(group="a.b", **versions)(Thing)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"columns": [Column("A", "string", ".spec.imag")]}, "column A: the path .spec.imag leads"),
        ({"scale": Scale(spec=".spec.size", status=".status.replicas")}, "there is no 'size'"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(options: dict[str, Any], sentence: str) -> None:
    class Lost(Resource):
        spec: Spec
        status: Status = Status()

    with pytest.raises(CannotDeclare, match=sentence):
        crd_manifest(resource(group="a.b", version="v1", **options)(Lost))


@pytest.mark.parametrize(
    "path", [".spec.config.any.thing", ".spec.ports[0].name", ".spec.limits.x"]
)
def test_a_path_into_the_open_is_taken(path: str) -> None:
    class Open(Resource):
        spec: Spec

    columns = [Column("A", "string", path)]
    assert crd_manifest(resource(group="a.b", version="v1", columns=columns)(Open))


REFERENCE = """\
## Thing

A thing that is kept running.

`test.quiver.dev/v1`, `test.quiver.dev/v1beta1`, `test.quiver.dev/v1alpha1`, namespaced, \
`kubectl get things` (short: `th`).

- Rule: the name is taken

### spec

| Field | Type | Default | Description | Constraints |
| --- | --- | --- | --- | --- |
| `spec` | object |  | What is wanted. | required |
| `spec.image` | string |  | Either a \\| or b. | required; length ≥ 1 |
| `spec.replicas` | integer | `2` |  | a multiple of 2; ≥ 0 |
| `spec.ports` | list of object |  |  | entries ≤ 8; unique by `name` |
| `spec.ports[].name` | string |  |  | required |
| `spec.ports[].number` | integer | `80` |  | ≥ 1; < 65536 |
| `spec.limits` | map of Quantity |  |  |  |
| `spec.zone` | string |  |  | zone stays |
| `spec.store` | object |  |  | exactly one of s3, gcs must be set |
| `spec.store.s3` | string |  |  |  |
| `spec.store.gcs` | string |  |  |  |
| `spec.config` | free-form object |  |  |  |

### status

| Field | Type | Default | Description | Constraints |
| --- | --- | --- | --- | --- |
| `status` | object |  | What is there. |  |
| `status.replicas` | integer |  |  |  |
| `status.selector` | string |  |  |  |
"""


def test_the_reference_says_what_the_schema_checks() -> None:
    assert reference_markdown(Thing) == REFERENCE


def raw(**spec: Any) -> bytes:
    metadata = {"name": "one", "namespace": "ns", "managedFields": [{}], "generation": 3}
    written = {"image": "a"} | spec
    return msgspec.json.encode({"kind": "Thing", "metadata": metadata, "spec": written, "new": 1})


def test_objects_are_read_with_their_defaults_and_without_what_is_unknown() -> None:
    thing = decode(Thing, raw(ports=[{"name": "http", "later": True}], unknown={"a": 1}))
    assert thing.metadata == ObjectMeta(name="one", namespace="ns", generation=3)
    assert thing.spec == Spec(image="a", ports=[Port(name="http", number=80)])
    assert thing.status == Status()


def test_what_is_written_has_no_nulls_and_no_defaults() -> None:
    spec = Spec(image="a", ports=[Port(name="http")])
    assert msgspec.to_builtins(spec) == {"image": "a", "ports": [{"name": "http"}]}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (raw(replicas="2"), r"^Thing ns/one: spec\.replicas: Expected `int`, got `str`$"),
        (raw(ports=[{}]), r"^Thing ns/one: spec\.ports\[0\]: .* missing required field `name`$"),
        (raw(limits={"cpu": []}), r"^Thing ns/one: spec\.limits\[\.\.\.\]: Expected"),
        (b'{"spec": {"image": "a"}}', r"^Thing without a name: .* required field `metadata`$"),
        (b"[]", r"^Thing without a name: Expected `object`, got `array`$"),
        (b"{", r"^Thing: not a JSON object: "),
    ],
)
def test_what_cannot_be_read_is_named_by_object_and_path(body: bytes, sentence: str) -> None:
    with pytest.raises(CannotDecode, match=sentence):
        decode(Thing, body)
