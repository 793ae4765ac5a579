"""CustomResourceDefinitions from msgspec Structs, the only source of what a kind is.

    class Searcher(Fields):
        image: Annotated[str, Meta(description="Where the program is.", min_length=1)]
        replicas: Annotated[int, Meta(ge=0, le=100)] = 1
        resources: ResourceRequirements = ResourceRequirements()

    class Status(Fields):
        conditions: Conditions = []
        replicas: int = 0

    @rules(Rule("self.searcher.replicas != 2", "two searchers cannot agree"))
    class Spec(Fields):
        searcher: Searcher
        zone: Annotated[str | None, Immutable("zone cannot be changed")] = None

    @resource(
        group="apps.example.com",
        version="v1",
        columns=[Column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"), AGE],
        scale=Scale(spec=".spec.searcher.replicas", status=".status.replicas"),
    )
    class Search(Resource):
        spec: Spec
        status: Status = Status()

`crd_manifest(Search)` is its CustomResourceDefinition, `reference_markdown(Search)` its page in
the documents, `decode(Search, raw)` an object of it. How types become schema: `schema.py`.
"""

from quiver.engine.crd.declare import (
    AGE,
    Column,
    Definition,
    Resource,
    Scale,
    Scope,
    Version,
    resource,
)
from quiver.engine.crd.decode import decode
from quiver.engine.crd.errors import CannotDeclare, CannotDecode
from quiver.engine.crd.fields import Fields
from quiver.engine.crd.manifest import crd_manifest, to_yaml
from quiver.engine.crd.metadata import ObjectMeta, OwnerReference
from quiver.engine.crd.reference import reference_markdown
from quiver.engine.crd.rules import AtLeastOne, AtMostOne, ExactlyOne, Immutable, Rule, rules
from quiver.engine.crd.schema import Atomic, ListMap, Nullable, schema_of

__all__ = [
    "AGE",
    "AtLeastOne",
    "AtMostOne",
    "Atomic",
    "CannotDeclare",
    "CannotDecode",
    "Column",
    "Definition",
    "ExactlyOne",
    "Fields",
    "Immutable",
    "ListMap",
    "Nullable",
    "ObjectMeta",
    "OwnerReference",
    "Resource",
    "Rule",
    "Scale",
    "Scope",
    "Version",
    "crd_manifest",
    "decode",
    "reference_markdown",
    "resource",
    "rules",
    "schema_of",
    "to_yaml",
]
