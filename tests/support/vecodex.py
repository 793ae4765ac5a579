"""Sets to test with: the one of the documents, examples, and any that people could write."""

from pathlib import Path
from typing import Any

import msgspec
import yaml
from hypothesis import strategies as st

from quiver.engine.crd import decode
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.names import LONGEST_NAME

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "config/samples/apps_v1alpha1_vecodexset.yaml"
EXAMPLES = sorted((ROOT / "examples/vecodex").glob("*.yaml"))

Object = dict[str, Any]


def manifest_from(path: Path, namespace: str = "default") -> Object:
    manifest: Object = yaml.safe_load(path.read_text())
    manifest["metadata"]["namespace"] = namespace
    return manifest


def vecodex_from(manifest: Object) -> VecodexSet:
    return decode(VecodexSet, msgspec.json.encode(manifest))


def a_manifest(name: str = "one", **spec: Any) -> Object:
    """A small set; `searcher={...}` and so on add to a component."""
    components = {
        role: {"image": f"{role}:1"} | spec.pop(role, {})
        for role in ("coordinator", "writer", "searcher")
    }
    return {
        "apiVersion": "apps.vecodex.link/v1alpha1",
        "kind": "VecodexSet",
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": components | spec,
    }


def a_set(name: str = "one", **spec: Any) -> VecodexSet:
    return vecodex_from(a_manifest(name, **spec))


def _maps(keys: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.dictionaries(st.sampled_from(keys), values, max_size=3)


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=fields)


WORDS = st.text("abcxyz-.", max_size=5)
AMOUNTS = _maps(
    ["cpu", "memory", "nvidia.com/gpu", "amd.com/gpu"],
    st.sampled_from([0, 1, 2, "1", "500m", "1Gi", "2"]),
)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["http", "grpc", "x"]), "port": st.integers(1, 65535)},
        optional={"containerPort": st.integers(1, 65535), "appProtocol": WORDS},
    ),
    max_size=3,
    unique_by=lambda port: port["name"],
)
PROBES = st.sampled_from(
    [{"tcpSocket": {"port": 1}}, {"exec": {"command": []}}, {"httpGet": {"port": "http"}}]
)
FREE = st.sampled_from([{}, {"a": None}, {"a": [], "b": {"c": []}}, {"runAsUser": 0}])
ENV = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("ABC")}, optional={"value": WORDS}),
    max_size=3,
    unique_by=lambda entry: entry["name"],
)
COMPONENT: dict[str, st.SearchStrategy[Any]] = {
    "replicas": st.integers(0, 20),
    "command": st.lists(WORDS, max_size=2),
    "args": st.lists(WORDS, max_size=2),
    "resources": _some(requests=AMOUNTS, limits=AMOUNTS),
    "ports": PORTS,
    "env": ENV,
    "livenessProbe": PROBES,
    "readinessProbe": PROBES,
    "podDisruptionBudget": st.sampled_from([{}, {"minAvailable": 0}, {"maxUnavailable": "50%"}]),
    "topologySpreadConstraints": st.lists(
        st.just({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}),
        max_size=1,
    ),
    "updateStrategy": st.sampled_from([{}, {"type": "Recreate"}, {"maxSurge": 0}]),
    "nodeSelector": _maps(["a", "b"], WORDS),
    "tolerations": st.lists(
        st.fixed_dictionaries({"operator": st.just("Exists")}, optional={"key": WORDS}), max_size=2
    ),
    "affinity": FREE,
    "securityContext": FREE,
    "podSecurityContext": FREE,
    "podLabels": _maps(["team", "tier"], WORDS),
    "podAnnotations": _maps(["team", "tier"], WORDS),
    "imagePullSecrets": st.lists(st.just({"name": "registry"}), max_size=1),
    "volumes": st.lists(st.just({"name": "scratch", "emptyDir": {}}), max_size=1),
}
AUTOSCALING = st.fixed_dictionaries(
    {"maxReplicas": st.integers(5, 9)},
    optional={
        "minReplicas": st.integers(1, 5),
        "targetCPUUtilizationPercentage": st.integers(1, 100),
        "behavior": FREE,
    },
)
INGRESS = st.fixed_dictionaries(
    {"host": st.just("a.example.com")},
    optional={
        "className": st.just("nginx"),
        "tls": st.sampled_from([{}, {"secretName": "cert"}]),
        "annotations": _maps(["a", "b"], WORDS),
    },
)
NAMES = st.from_regex(rf"[a-z][a-z0-9-]{{0,{LONGEST_NAME - 2}}}[a-z0-9]", fullmatch=True)


def _components(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    required = {"image": st.sampled_from(["app:1", "app:2", "registry:5000/app@sha256:0"])}
    return st.fixed_dictionaries(required, optional=COMPONENT | more)


SPECS = st.fixed_dictionaries(
    {
        "coordinator": _components(),
        "writer": _components(),
        "searcher": _components(autoscaling=AUTOSCALING),
    },
    optional={
        "ingress": INGRESS,
        "rollout": _some(progressDeadlineSeconds=st.integers(1, 900)),
        "paused": st.booleans(),
    },
)


@st.composite
def sets(draw: st.DrawFn) -> VecodexSet:
    manifest = a_manifest(draw(NAMES)) | {"spec": draw(SPECS)}
    return vecodex_from(manifest)
