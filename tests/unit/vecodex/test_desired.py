"""The children of any set."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from quiver.engine.crd import decode
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.deployment import TEMPLATE
from quiver.vecodex.desired import (
    NOTHING,
    Observed,
    desired,
    desired_deployments,
    desired_others,
    observed,
)
from quiver.vecodex.names import LABEL_LENGTH, Role
from support.vecodex import (
    EXAMPLES,
    SAMPLE,
    SPECS,
    a_manifest,
    a_set,
    manifest_from,
    sets,
    vecodex_from,
)

Object = dict[str, Any]

few = settings(max_examples=40, deadline=None)

KEPT_EMPTY = ("emptyDir", "a", "b")  # What people write freely may be an empty map.


def child(objects: list[Object], kind: str, name: str) -> Object:
    return next(it for it in objects if (it["kind"], it["metadata"]["name"]) == (kind, name))


def container(vecodex: VecodexSet, role: Role) -> Object:
    deployment = desired_deployments(vecodex)[role]
    found: Object = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def empties(value: Any, path: str = "") -> Iterator[str]:
    if value is None or value in ([], {}):
        yield path
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from empties(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for entry in value:
            yield from empties(entry, f"{path}[]")


@few
@given(sets())
def test_the_same_set_has_the_same_children(vecodex: VecodexSet) -> None:
    again = decode(VecodexSet, msgspec.json.encode(vecodex))
    assert again == vecodex
    assert msgspec.json.encode(desired(again)) == msgspec.json.encode(desired(vecodex))


@few
@given(sets())
def test_names_and_labels_of_children_fit(vecodex: VecodexSet) -> None:
    for child in desired(vecodex):
        assert len(child["metadata"]["name"]) <= LABEL_LENGTH
        assert all(len(text) <= LABEL_LENGTH for text in child["metadata"]["labels"].values())
        assert child["metadata"]["namespace"] == vecodex.metadata.namespace


@few
@given(sets())
def test_no_child_has_anything_empty(vecodex: VecodexSet) -> None:
    for child in desired(vecodex):
        for path in empties(child):
            assert path.rpartition(".")[2] in KEPT_EMPTY, f"{child['kind']}{path}"


@few
@given(sets())
def test_no_two_children_are_the_same_object(vecodex: VecodexSet) -> None:
    keys = [(it["kind"], it["metadata"]["name"]) for it in desired(vecodex)]
    assert len(set(keys)) == len(keys)


@few
@given(SPECS, SPECS)
def test_selectors_stay_whatever_the_spec_becomes(before: Object, after: Object) -> None:
    old, new = (desired(vecodex_from(a_manifest() | {"spec": spec})) for spec in (before, after))
    for kind in ("Deployment", "Service"):
        selectors = [
            [it["spec"]["selector"] for it in objects if it["kind"] == kind]
            for objects in (old, new)
        ]
        assert selectors[0] == selectors[1]


@few
@given(sets())
def test_every_selector_selects_the_pods_of_its_deployment(vecodex: VecodexSet) -> None:
    for deployment in desired_deployments(vecodex).values():
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_set_of_the_documents_has_the_original_operators_pods() -> None:
    vecodex = vecodex_from(manifest_from(SAMPLE))
    writer = desired_deployments(vecodex)[Role.WRITER]
    assert writer["metadata"]["name"] == "search-cluster-writer"
    assert writer["spec"]["selector"] == {"matchLabels": {"app": "search-cluster-writer"}}
    assert writer["spec"]["template"] == {
        "metadata": {"labels": {"app": "search-cluster-writer"}},
        "spec": {
            "containers": [
                {
                    "name": "writer",
                    "image": "vecodex-writer-image:latest",
                    "resources": {
                        "requests": {"cpu": "125m", "memory": "128Mi"},
                        "limits": {"cpu": "125m", "memory": "128Mi", "nvidia.com/gpu": "1"},
                    },
                }
            ]
        },
    }


def test_the_set_of_the_documents_has_a_service_for_each_component_and_an_ingress() -> None:
    vecodex = vecodex_from(manifest_from(SAMPLE))
    names = {(it["kind"], it["metadata"]["name"]) for it in desired(vecodex)}
    assert names == {
        *(("Deployment", f"search-cluster-{role}") for role in Role),
        *(("Service", f"search-cluster-{role}") for role in Role),
        ("Ingress", "search-cluster-ingress"),
    }


def test_the_ingress_is_the_original_operators() -> None:
    vecodex = vecodex_from(manifest_from(SAMPLE))
    ingress = child(desired(vecodex), "Ingress", "search-cluster-ingress")
    service = {"name": "search-cluster-coordinator", "port": {"number": 80}}
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": service}}
    assert ingress["spec"] == {
        "rules": [{"host": "search.vecodex.link", "http": {"paths": [path]}}]
    }


def test_a_set_without_an_ingress_has_none() -> None:
    assert "Ingress" not in {it["kind"] for it in desired(a_set())}


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        ({}, [{"hosts": ["a.example.com"]}]),
        ({"secretName": "cert"}, [{"hosts": ["a.example.com"], "secretName": "cert"}]),
    ],
)
def test_tls_needs_no_secret(tls: Object, expected: list[Object]) -> None:
    route = {"host": "a.example.com", "tls": tls, "className": "nginx"}
    ingress = child(desired(a_set(ingress=route)), "Ingress", "one-ingress")
    assert ingress["spec"]["tls"] == expected
    assert ingress["spec"]["ingressClassName"] == "nginx"


def test_the_ingress_leads_to_the_port_it_names() -> None:
    ports = [{"name": "grpc", "port": 50051}, {"name": "http", "port": 8080}]
    vecodex = a_set(coordinator={"ports": ports}, ingress={"host": "a.b", "port": "http"})
    ingress = child(desired(vecodex), "Ingress", "one-ingress")
    paths = ingress["spec"]["rules"][0]["http"]["paths"]
    assert paths[0]["backend"]["service"]["port"] == {"number": 8080}


def test_without_ports_the_service_leads_to_where_vecodex_listens() -> None:
    service = child(desired(a_set()), "Service", "one-searcher")
    assert service["spec"]["ports"] == [
        {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 44400}
    ]


def test_a_declared_port_is_reached_by_its_name() -> None:
    ports = [{"name": "grpc", "port": 80, "containerPort": 9000}]
    vecodex = a_set(searcher={"ports": ports})
    service = child(desired(vecodex), "Service", "one-searcher")
    assert service["spec"]["ports"][0]["targetPort"] == "grpc"
    assert container(vecodex, Role.SEARCHER)["ports"] == [
        {"name": "grpc", "containerPort": 9000, "protocol": "TCP"}
    ]


def test_declaring_the_port_that_is_used_already_cuts_no_pod_off() -> None:
    before = desired_others(a_set())
    live = observed(
        a_set(), deployments=[], services=[it for it in before if "ports" in it["spec"]]
    )
    ports = [{"name": "http", "port": 80, "containerPort": 44400}]
    now = desired_others(a_set(searcher={"ports": ports}), live)
    assert child(now, "Service", "one-searcher")["spec"]["ports"][0]["targetPort"] == 44400


def test_moving_a_declared_port_reaches_old_and_new_pods_where_they_listen() -> None:
    def with_port(number: int, seen: Observed = NOTHING) -> Object:
        ports = [{"name": "http", "port": 80, "containerPort": number}]
        return child(
            desired_others(a_set(searcher={"ports": ports}), seen), "Service", "one-searcher"
        )

    before = with_port(8080)
    live = observed(a_set(), deployments=[], services=[before])
    assert with_port(9090, live)["spec"]["ports"][0]["targetPort"] == "http"


def test_an_empty_variable_is_one_without_a_value() -> None:
    vecodex = a_set(writer={"env": [{"name": "A", "value": ""}, {"name": "B", "value": "b"}]})
    assert container(vecodex, Role.WRITER)["env"] == [{"name": "A"}, {"name": "B", "value": "b"}]


def test_spread_means_the_components_own_pods_unless_told_otherwise() -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    other = spread | {"labelSelector": {"matchLabels": {"a": ""}}}
    vecodex = a_set(searcher={"topologySpreadConstraints": [spread, other]})
    template = desired_deployments(vecodex)[Role.SEARCHER]["spec"]["template"]
    selectors = [it["labelSelector"] for it in template["spec"]["topologySpreadConstraints"]]
    assert selectors == [{"matchLabels": {"app": "one-searcher"}}, {"matchLabels": {"a": ""}}]


def test_pods_with_a_device_end_before_their_successor_starts() -> None:
    vecodex = a_set(writer={"resources": {"limits": {"nvidia.com/gpu": 1}}})
    deployments = desired_deployments(vecodex)
    strategies = {role: it["spec"]["strategy"] for role, it in deployments.items()}
    assert strategies[Role.WRITER]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert strategies[Role.SEARCHER]["rollingUpdate"] == {
        "maxSurge": "25%",
        "maxUnavailable": "25%",
    }


@pytest.mark.parametrize(
    ("replicas", "expected"), [(0, 0), (1, 3), (3, 3), (5, 5), (9, 9), (10, 9)]
)
def test_searchers_stay_within_the_autoscalers_bounds_except_for_none(
    replicas: int, expected: int
) -> None:
    bounds = {"minReplicas": 3, "maxReplicas": 9}
    vecodex = a_set(searcher={"replicas": replicas, "autoscaling": bounds})
    assert desired_deployments(vecodex)[Role.SEARCHER]["spec"]["replicas"] == expected


def test_the_autoscaler_drives_the_set_not_the_deployment() -> None:
    vecodex = a_set(searcher={"autoscaling": {"maxReplicas": 9}})
    autoscaler = child(desired(vecodex), "HorizontalPodAutoscaler", "one-searcher")
    assert autoscaler["spec"]["scaleTargetRef"] == {
        "apiVersion": "apps.vecodex.link/v1alpha1",
        "kind": "VecodexSet",
        "name": "one",
    }
    target = {"type": "Utilization", "averageUtilization": 80}
    assert autoscaler["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    ]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        ({}, {"maxUnavailable": 1}),
        ({"maxUnavailable": 0}, {"maxUnavailable": 0}),
        ({"minAvailable": "50%"}, {"minAvailable": "50%"}),
    ],
)
def test_a_disruption_budget_lets_one_pod_go_unless_told_otherwise(
    budget: Object, expected: Object
) -> None:
    vecodex = a_set(searcher={"podDisruptionBudget": budget})
    found = child(desired(vecodex), "PodDisruptionBudget", "one-searcher")
    bounds = {k: v for k, v in found["spec"].items() if k in ("minAvailable", "maxUnavailable")}
    assert bounds == expected


def test_the_templates_digest_tells_templates_apart_and_nothing_else() -> None:
    def digests(**searcher: Any) -> str:
        deployment = desired_deployments(a_set(searcher=searcher))[Role.SEARCHER]
        return str(deployment["metadata"]["annotations"][TEMPLATE])

    assert digests() == digests(replicas=7) == digests(minReadySeconds=5)
    assert digests() != digests(image="searcher:2")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_set_with_children(path: Path) -> None:
    assert len(desired(vecodex_from(manifest_from(path)))) >= 6
