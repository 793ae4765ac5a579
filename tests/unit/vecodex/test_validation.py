"""What the schema cannot say."""

from typing import Any

import pytest

from quiver.vecodex.names import LONGEST_NAME
from quiver.vecodex.validation import validate
from support.vecodex import EXAMPLES, SAMPLE, a_set, manifest_from, vecodex_from

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize("path", [SAMPLE, *EXAMPLES], ids=lambda path: path.stem)
def test_what_the_documents_show_is_valid(path: Any) -> None:
    assert validate(vecodex_from(manifest_from(path))) == []


@pytest.mark.parametrize(
    ("spec", "field", "says"),
    [
        (
            {"writer": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}},
            "spec.writer.resources.requests.cpu",
            "2 is above its limit 1: lower it, or raise limits.cpu",
        ),
        (
            {"writer": {"resources": {"requests": {GPU: 1}, "limits": {GPU: 2}}}},
            f"spec.writer.resources.requests.{GPU}",
            "leave it out",
        ),
        (
            {"writer": {"resources": {"limits": {GPU: "500m"}}}},
            f"spec.writer.resources.limits.{GPU}",
            "write a whole one",
        ),
        (
            {"writer": {"resources": {"limits": {"cpu": "-1"}}}},
            "spec.writer.resources.limits.cpu",
            "write 0 or more",
        ),
        (
            {"writer": {"resources": {"limits": {"cpu": "one"}}}},
            "spec.writer.resources.limits.cpu",
            "'one' is not a quantity",
        ),
        (
            {"ingress": {"host": "a.b", "port": "grpc"}},
            "spec.ingress.port",
            "the coordinator has no port 'grpc': write one of http",
        ),
        (
            {"searcher": {"readinessProbe": {"httpGet": {"port": "web"}}}},
            "spec.searcher.readinessProbe.httpGet.port",
            "add it to spec.searcher.ports",
        ),
        (
            {"searcher": {"livenessProbe": {}}},
            "spec.searcher.livenessProbe",
            "exactly one of exec, httpGet, tcpSocket and grpc",
        ),
        (
            {"searcher": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2} |
                                    {"containerPort": 1}]}},
            "spec.searcher.ports[1].containerPort",
            "1/TCP is the port of 'a' already",
        ),
        (
            {"searcher": {"updateStrategy": {"maxSurge": 0, "maxUnavailable": "0%"}}},
            "spec.searcher.updateStrategy",
            "raise one",
        ),
        (
            {"searcher": {"minReadySeconds": 600}},
            "spec.searcher.minReadySeconds",
            "below the roll-out's deadline of 600 s",
        ),
        (
            {"searcher": {"podLabels": {"app": "x"}}},
            "spec.searcher.podLabels",
            "leave it out",
        ),
        (
            {"searcher": {"resources": {}, "autoscaling": {"maxReplicas": 3}}},
            "spec.searcher.autoscaling",
            "write spec.searcher.resources.requests.cpu",
        ),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field_and_what_to_do(
    spec: dict[str, Any], field: str, says: str
) -> None:
    [refusal] = validate(a_set(**spec))
    assert refusal.field == field
    assert says in refusal.message


@pytest.mark.parametrize("name", ["x" * (LONGEST_NAME + 1), "1a", "a.b"])
def test_a_name_from_before_the_schema_refused_it_is_told(name: str) -> None:
    [refusal] = validate(a_set(name))
    assert refusal.field == "metadata.name"


def test_equal_requests_and_limits_of_a_device_are_fine() -> None:
    assert validate(a_set(writer={"resources": {"requests": {GPU: "1"}, "limits": {GPU: 1}}})) == []
