"""The CustomResourceDefinition as Kubernetes reads it."""

from collections.abc import Iterable
from typing import Any

import yaml

from quiver.engine.crd.declare import Column, Definition, Resource, Scale, Version, definition_of
from quiver.engine.crd.errors import CannotDeclare
from quiver.engine.crd.schema import Schema, schema_of

Manifest = dict[str, Any]

# Without it, `helm uninstall` would delete the CRD, and with it every resource of the kind.
KEEP = {"helm.sh/resource-policy": "keep"}
OURS = {"app.kubernetes.io/managed-by": "quiver"}


def crd_manifest(cls: type[Resource]) -> Manifest:
    """Always the same bytes for the same type. All versions have the same schema."""
    definition = definition_of(cls)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition.name, "labels": dict(OURS), "annotations": dict(KEEP)},
        "spec": {
            "group": definition.group,
            "names": _names(definition),
            "scope": str(definition.scope),
            "conversion": {"strategy": "None"},
            "versions": [
                _version(cls, version, is_stored=version is definition.versions[0])
                for version in definition.versions
            ],
        },
    }


def to_yaml(types: Iterable[type[Resource]]) -> str:
    return as_yaml(crd_manifest(cls) for cls in types)


def as_yaml(documents: Iterable[Manifest]) -> str:
    return yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100,
        explicit_start=True,
    )  # fmt: skip


def _names(definition: Definition) -> Manifest:
    names: Manifest = {
        "kind": definition.kind,
        "listKind": f"{definition.kind}List",
        "plural": definition.plural,
        "singular": definition.kind.lower(),
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    return names


def _version(cls: type[Resource], version: Version, *, is_stored: bool) -> Manifest:
    definition = definition_of(cls)
    schema = schema_of(cls)
    entry: Manifest = {"name": version.name, "served": version.served, "storage": is_stored}
    if version.deprecated:
        entry |= {"deprecated": True, "deprecationWarning": version.deprecated}
    entry["schema"] = {"openAPIV3Schema": schema}
    if subresources := _subresources(definition.scale, schema, definition.kind):
        entry["subresources"] = subresources
    if definition.columns:
        columns = [_column(column, schema, definition.kind) for column in definition.columns]
        entry["additionalPrinterColumns"] = columns
    return entry


def _subresources(scale: Scale | None, schema: Schema, kind: str) -> Manifest:
    subresources: Manifest = {"status": {}} if "status" in schema["properties"] else {}
    if scale:
        paths = {
            "specReplicasPath": scale.spec,
            "statusReplicasPath": scale.status,
            "labelSelectorPath": scale.selector,
        }
        subresources["scale"] = {key: path for key, path in paths.items() if path}
        for path in subresources["scale"].values():
            _refuse_unknown(path, schema, f"{kind}: scale")
    return subresources


def _column(column: Column, schema: Schema, kind: str) -> Manifest:
    _refuse_unknown(column.path, schema, f"{kind}: column {column.name}")
    entry: Manifest = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.description:
        entry["description"] = column.description
    if column.priority:
        entry["priority"] = column.priority
    return entry


def _refuse_unknown(path: str, schema: Schema, place: str) -> None:
    """The API server takes any path, and shows nothing for one that leads nowhere."""
    plain = path.split("[")[0].removeprefix(".")
    if plain.startswith("metadata") or "\\" in plain:
        return
    for step in plain.split("."):
        if "properties" not in schema:
            return
        if step not in schema["properties"]:
            raise CannotDeclare(place, f"the path {path} leads nowhere: there is no {step!r}")
        schema = schema["properties"][step]


class _Dumper(yaml.SafeDumper):
    """Readable YAML: no aliases, lists indented, paragraphs as blocks."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
