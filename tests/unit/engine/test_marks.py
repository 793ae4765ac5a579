"""What is remembered on a child."""

from typing import Any

import pytest

from quiver.engine.compare import APPLIED
from quiver.engine.marks import Mark, found_on, mark_of, marked, outline_digest, with_outline
from quiver.kube import Object


def deployment(**changes: Any) -> Object:
    container = {"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}]} | changes
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
    }


def test_a_mark_survives_the_way_over_the_object() -> None:
    desired = deployment()
    created = with_outline(mark_of(desired), desired)
    for mark in (mark_of(desired), created):
        assert found_on(marked(desired, mark)["metadata"]["annotations"]) == mark


def test_an_object_that_was_never_ours_has_none() -> None:
    assert found_on({}) is None
    assert found_on({"other": "x"}) is None


def test_the_mark_does_not_change_what_it_marks() -> None:
    desired = deployment()
    again = marked(desired, mark_of(desired))
    assert APPLIED not in desired["metadata"].get("annotations", {})
    assert mark_of(again) == mark_of(desired)


@pytest.mark.parametrize(
    "changed",
    [deployment(image="web:2"), deployment(env=[{"name": "A", "value": "2"}])],
)
def test_other_values_leave_the_outline(changed: Object) -> None:
    assert outline_digest(changed) == outline_digest(deployment())
    assert mark_of(changed) != mark_of(deployment())


@pytest.mark.parametrize(
    "changed",
    [
        deployment(env=[]),
        deployment(env=[{"name": "B", "value": "1"}]),
        deployment(env=[{"name": "A", "valueFrom": {}}]),
        deployment(command=["run"]),
        deployment(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]),
    ],
)
def test_a_field_more_or_less_is_another_outline(changed: Object) -> None:
    assert outline_digest(changed) != outline_digest(deployment())


def test_the_number_is_that_of_the_digest_alone() -> None:
    assert Mark("0f", "aa").number == Mark("0f").number == 15
