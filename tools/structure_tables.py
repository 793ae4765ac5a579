"""Write the tables by which `quiver.engine.compare` knows the API server's types.

    python tools/structure_tables.py                      # boots an API server, writes the tables
    python tools/structure_tables.py --check KUBECONFIG   # are they what that server says?

The server's OpenAPI says how lists and maps merge, and what is a quantity. It does not say where a
Go type is a pointer, so where `false` is something else than nothing: that is read from the sources
of the pinned Kubernetes (only when writing; a check takes it from the tables as they are).
"""

import argparse
import asyncio
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from quiver.devcluster.down import down
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.progress import Progress
from quiver.devcluster.spec import Spec
from quiver.devcluster.up import up
from quiver.kube import Client, KubeConfig, KubeError

Object: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, dict[str, Object]]
Pointers: TypeAlias = set[tuple[str, str]]

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "src" / "quiver" / "engine" / "compare" / "tables"
UPSTREAM = ROOT / "upstream" / "kubernetes"

META = "meta.k8s.io/v1"
API_VERSIONS = {
    "v1": "io.k8s.api.core.v1",
    "admissionregistration.k8s.io/v1": "io.k8s.api.admissionregistration.v1",
    "apiextensions.k8s.io/v1": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "apps/v1": "io.k8s.api.apps.v1",
    "autoscaling/v1": "io.k8s.api.autoscaling.v1",
    "autoscaling/v2": "io.k8s.api.autoscaling.v2",
    "batch/v1": "io.k8s.api.batch.v1",
    "coordination.k8s.io/v1": "io.k8s.api.coordination.v1",
    "discovery.k8s.io/v1": "io.k8s.api.discovery.v1",
    "events.k8s.io/v1": "io.k8s.api.events.v1",
    "networking.k8s.io/v1": "io.k8s.api.networking.v1",
    "node.k8s.io/v1": "io.k8s.api.node.v1",
    "policy/v1": "io.k8s.api.policy.v1",
    "rbac.authorization.k8s.io/v1": "io.k8s.api.rbac.v1",
    "scheduling.k8s.io/v1": "io.k8s.api.scheduling.v1",
    "storage.k8s.io/v1": "io.k8s.api.storage.v1",
}
PACKAGES = {package: version for version, package in API_VERSIONS.items()} | {
    "io.k8s.apimachinery.pkg.apis.meta.v1": META
}
MODULES = {
    "io.k8s.api.": "k8s.io/api",
    "io.k8s.apimachinery.": "k8s.io/apimachinery",
    "io.k8s.apiextensions-apiserver.": "k8s.io/apiextensions-apiserver",
}

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
# These are a schema or something plain, which OpenAPI cannot say.
OR_PLAIN = {SCHEMA + "OrArray", SCHEMA + "OrBool", SCHEMA + "OrStringArray"}

# What only the server sets, whatever somebody applies.
SERVER_SETS = {
    f"{META}#ObjectMeta": {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
}

# What the server fills in (`SetDefaults_…` in its sources; OpenAPI has only a few of them). It
# matters inside atomic lists and maps, where anything more than desired is a difference, and
# where something desired is empty.
DEFAULTS: dict[str, Object] = {
    "v1#Container": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    "v1#ConfigMapVolumeSource": {"defaultMode": 420},
    "v1#DownwardAPIVolumeSource": {"defaultMode": 420},
    "v1#EndpointPort": {"protocol": "TCP"},
    "v1#HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "v1#HostPathVolumeSource": {"type": ""},
    "v1#ObjectFieldSelector": {"apiVersion": "v1"},
    "v1#PersistentVolumeClaim": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
    "v1#PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "v1#PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    },
    "v1#Probe": {
        "failureThreshold": 3,
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    },
    "v1#ProjectedVolumeSource": {"defaultMode": 420},
    "v1#Secret": {"type": "Opaque"},
    "v1#SecretVolumeSource": {"defaultMode": 420},
    "v1#ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "v1#ServiceSpec": {"sessionAffinity": "None", "type": "ClusterIP"},
    "admissionregistration.k8s.io/v1#MatchResources": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    },
    "admissionregistration.k8s.io/v1#NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.k8s.io/v1#RuleWithOperations": {"scope": "*"},
    "apps/v1#DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps/v1#DeploymentSpec": {
        "progressDeadlineSeconds": 600,
        "replicas": 1,
        "revisionHistoryLimit": 10,
    },
    "apps/v1#DeploymentStrategy": {"type": "RollingUpdate"},
    "apps/v1#StatefulSetSpec": {
        "podManagementPolicy": "OrderedReady",
        "replicas": 1,
        "revisionHistoryLimit": 10,
    },
    "apps/v1#StatefulSetUpdateStrategy": {"type": "RollingUpdate"},
    "autoscaling/v2#HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "batch/v1#PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "discovery.k8s.io/v1#EndpointPort": {"name": "", "protocol": "TCP"},
    "networking.k8s.io/v1#NetworkPolicyPort": {"protocol": "TCP"},
    "rbac.authorization.k8s.io/v1#RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    "rbac.authorization.k8s.io/v1#Subject": {"apiGroup": "rbac.authorization.k8s.io"},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", metavar="KUBECONFIG", type=Path)
    kubeconfig = parser.parse_args().check
    try:
        return check(kubeconfig) if kubeconfig else write()
    except (DevClusterError, KubeError) as error:
        print(f"structure_tables: {error}", file=sys.stderr)
        return 1


def write() -> int:
    progress = Progress()
    home = up(Spec(name="structure-tables", node=False), progress)
    try:
        schemas = asyncio.run(fetched_schemas(home.kubeconfig))
    finally:
        down(home, progress)
    tables = tables_from(schemas, pointers_in_sources(list(schemas)))
    for api_version, definitions in tables.items():
        file_of(api_version).write_text(as_text(definitions))
    return 0


def check(kubeconfig: Path) -> int:
    committed = {version: file_of(version).read_text() for version in [META, *API_VERSIONS]}
    tables = {version: msgspec.json.decode(text) for version, text in committed.items()}
    schemas = asyncio.run(fetched_schemas(kubeconfig))
    said = tables_from(schemas, pointers_in_tables(schemas, tables))
    stale = [version for version, text in committed.items() if as_text(said[version]) != text]
    if stale:
        print(
            f"The tables of {', '.join(stale)} are not what the server says:"
            " run python tools/structure_tables.py",
            file=sys.stderr,
        )
    return 1 if stale else 0


def file_of(api_version: str) -> Path:
    return TABLES / (api_version.replace("/", "_") + ".json")


def as_text(definitions: dict[str, Object]) -> str:
    """One definition per line, so that a change can be read."""
    encoder = msgspec.json.Encoder(order="sorted")
    lines = [
        f"{encoder.encode(name).decode()}: {encoder.encode(fields).decode()}"
        for name, fields in sorted(definitions.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def unknown_defaults(schemas: dict[str, Object]) -> list[str]:
    """Fields of `DEFAULTS` that no definition has."""
    known = {label(name): schema.get("properties", {}) for name, schema in schemas.items()}
    return [
        f"{definition}.{field}"
        for definition, fields in DEFAULTS.items()
        for field in fields
        if field not in known.get(definition, {})
    ]


async def fetched_schemas(kubeconfig: Path) -> dict[str, Object]:
    schemas: dict[str, Object] = {}
    async with Client(KubeConfig.load(kubeconfig)) as client:
        for version in API_VERSIONS:
            path = f"apis/{version}" if "/" in version else f"api/{version}"
            document = await client.json("GET", f"/openapi/v3/{path}")
            schemas |= document["components"]["schemas"]
    return schemas


def tables_from(schemas: dict[str, Object], pointers: Pointers) -> Tables:
    """All definitions that a stored kind reaches, by API version and name."""
    if unknown := unknown_defaults(schemas):
        raise DevClusterError(f"DEFAULTS has fields that the server has not: {', '.join(unknown)}")
    tables: Tables = {version: {} for version in [META, *API_VERSIONS]}
    waiting = [name for name, schema in schemas.items() if is_stored_kind(name, schema)]
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        version, _, short = label(name).partition("#")
        tables[version][short] = fields_of(name, schemas, pointers)
        found = {ref for ref in references(name, schemas) if ref not in seen}
        seen |= found
        waiting += found
    return tables


def is_stored_kind(name: str, schema: Object) -> bool:
    properties = schema.get("properties", {})
    return name.rpartition(".")[0] in PACKAGES and (
        reference_in(properties.get("metadata", {})) == OBJECT_META
        and "x-kubernetes-group-version-kind" in schema
    )


def references(name: str, schemas: dict[str, Object]) -> Iterator[str]:
    """The structs in a definition's fields."""
    for field, schema in schemas[name]["properties"].items():
        if set_by_server(name, field, schemas):
            continue
        while inner := schema.get("items") or schema.get("additionalProperties"):
            schema = inner  # noqa: PLW2901
        target = struct_behind(schema, schemas)
        if target:
            yield target


def fields_of(name: str, schemas: dict[str, Object], pointers: Pointers) -> Object:
    """How each field is compared; what is compared plainly is left out."""
    fields: Object = {}
    for field, schema in schemas[name]["properties"].items():
        if set_by_server(name, field, schemas):
            fields[field] = {"scalar": "server"}
            continue
        by_value = (name, field) not in pointers
        kind = kind_of(schema, schemas, by_value=by_value)
        default = DEFAULTS.get(label(name), {}).get(field, own_default(schema))
        if default is not None:
            kind = (kind or {"scalar": "plain"}) | {"default": default}
        if kind is not None:
            fields[field] = kind
    return fields


def set_by_server(name: str, field: str, schemas: dict[str, Object]) -> bool:
    if field == "status" and is_stored_kind(name, schemas[name]):
        return True
    return field in SERVER_SETS.get(label(name), ())


def own_default(schema: Object) -> Any:
    """A default that OpenAPI tells; empty ones only say that the type is no pointer."""
    return schema.get("default") or None


def kind_of(schema: Object, schemas: dict[str, Object], *, by_value: bool) -> Object | None:
    match schema.get("type"):
        case "array":
            return list_kind(schema, schemas)
        case "object" if "additionalProperties" in schema:
            return map_kind(schema, schemas)
    if target := struct_behind(schema, schemas):
        return struct_kind(target, schema, schemas)
    return scalar_kind(schema, schemas, by_value=by_value)


def map_kind(schema: Object, schemas: dict[str, Object]) -> Object:
    element = kind_of(schema["additionalProperties"], schemas, by_value=True)
    if element and element.get("scalar") == "quantity":
        element = element | {"scalar": "resource"}
    return {"map": element} | atomic(schema)


def list_kind(schema: Object, schemas: dict[str, Object]) -> Object:
    element = kind_of(schema["items"], schemas, by_value=True)
    match schema.get("x-kubernetes-list-type"):
        case "map":
            return {"list": element, "keys": keys_of(schema, schemas)}
        case "set":
            return {"set": element}
        case None if schema.get("x-kubernetes-patch-strategy", "").startswith("merge"):
            return merged_list_kind(schema, element, schemas)
    return {"list": element}


def merged_list_kind(schema: Object, element: Object | None, schemas: dict[str, Object]) -> Object:
    """Server-side apply falls back to the older markers of the strategic merge patch."""
    if key := schema.get("x-kubernetes-patch-merge-key"):
        return {
            "list": element,
            "keys": keys_of(schema | {"x-kubernetes-list-map-keys": [key]}, schemas),
        }
    return {"set": element}


def keys_of(schema: Object, schemas: dict[str, Object]) -> Object:
    """The keys of a list, with what the server takes where one is not given."""
    properties = schemas[reference_in(schema["items"])]["properties"]
    keys = schema["x-kubernetes-list-map-keys"]
    return {key: own_default(properties[key]) for key in keys}


def struct_kind(target: str, schema: Object, schemas: dict[str, Object]) -> Object:
    kind: Object = {"struct": label(target)}
    if "default" in schema:
        kind["value"] = True
    return kind | atomic(schemas[target] | schema)


def atomic(schema: Object) -> Object:
    return {"atomic": True} if schema.get("x-kubernetes-map-type") == "atomic" else {}


def scalar_kind(schema: Object, schemas: dict[str, Object], *, by_value: bool) -> Object | None:
    target = reference_in(schema)
    resolved = schemas.get(target, schema)
    kind = "plain"
    if target == QUANTITY:
        kind = "quantity"
    elif resolved.get("format") == "byte":
        return {"scalar": "bytes", "zero": True}
    elif resolved.get("format") == "date-time":
        return {"scalar": "time"}
    elif resolved.get("type") == "object":
        return {"map": None, "atomic": True}
    elif target != INT_OR_STRING and not resolved.get("type"):
        return None
    zero = {"zero": True} if by_value else {}
    return None if kind == "plain" and not zero else {"scalar": kind} | zero


def struct_behind(schema: Object, schemas: dict[str, Object]) -> str:
    target = reference_in(schema)
    if target in OR_PLAIN:
        return SCHEMA
    return target if "properties" in schemas.get(target, {}) else ""


def reference_in(schema: Object) -> str:
    found = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf", ())), "")
    return str(found).rpartition("/")[2]


def label(name: str) -> str:
    package, _, short = name.rpartition(".")
    return f"{PACKAGES[package]}#{short}" if package in PACKAGES else name


def pointers_in_tables(schemas: dict[str, Object], tables: Mapping[str, Any]) -> Pointers:
    """What the sources said when the tables were written."""
    pointers = set()
    for name, schema in schemas.items():
        version, _, short = label(name).partition("#")
        fields = tables.get(version, {}).get(short, {})
        for field in schema.get("properties", {}):
            if not fields.get(field, {}).get("zero"):
                pointers.add((name, field))
    return pointers


def pointers_in_sources(names: Iterable[str]) -> Pointers:
    """The fields whose Go type is a pointer, of all definitions."""
    folders = {path: module_folder(path) for path in MODULES.values()}
    pointers: Pointers = set()
    for package in {name.rpartition(".")[0] for name in names} & set(PACKAGES):
        folder = source_folder(package, folders)
        text = "\n".join(file.read_text() for file in sorted(folder.glob("types*.go")))
        for struct, field in pointer_fields(text):
            pointers.add((f"{package}.{struct}", field))
    return pointers


def module_folder(module: str) -> Path:
    command = ["go", "mod", "download", "-json", module]
    done = subprocess.run(command, cwd=UPSTREAM, check=True, capture_output=True)
    return Path(msgspec.json.decode(done.stdout)["Dir"])


def source_folder(package: str, folders: Mapping[str, Path]) -> Path:
    prefix = next(prefix for prefix in MODULES if package.startswith(prefix))
    return folders[MODULES[prefix]] / package.removeprefix(prefix).replace(".", "/")


_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\t\w+\s+(\S+)\s+`[^`]*json:\"(\w+)", re.MULTILINE)
_INLINE = re.compile(r"^\t(?:\w+\s+)?(\w+)\s+`json:\",inline\"", re.MULTILINE)


def pointer_fields(text: str) -> Iterator[tuple[str, str]]:
    bodies = dict(_STRUCT.findall(text))
    for struct in bodies:
        for body in with_inlined(struct, bodies):
            for go_type, field in _FIELD.findall(body):
                if go_type.startswith("*"):
                    yield struct, field


def with_inlined(struct: str, bodies: Mapping[str, str]) -> Iterator[str]:
    body = bodies.get(struct, "")
    yield body
    for inner in _INLINE.findall(body):
        yield from with_inlined(inner, bodies)


if __name__ == "__main__":
    sys.exit(main())
