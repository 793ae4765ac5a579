"""Custom resources whose schema is known."""

import copy
from typing import Any

import pytest

from quiver.engine.compare import custom_structure, difference
from support.custom_samples import MERGER, SCHEMA

STRUCTURE = custom_structure(SCHEMA)


def merger(**spec: Any) -> dict[str, Any]:
    obj = copy.deepcopy(MERGER.plain)
    return obj | {"spec": obj["spec"] | spec}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"pick": {"x": "1", "more": "2"}}, "spec.pick.more"),
        ({"parts": [{"name": "a", "mode": "fast"}]}, "spec.parts"),
        (
            {"parts": [{"name": "a", "more": {"deep": 5}}, MERGER.plain["spec"]["parts"][1]]},
            "spec.parts[0].more",
        ),
        ({"hosts": [{"name": "one", "port": 82}]}, "spec.hosts[name=one]"),
        ({"zones": ["b", "a"]}, "spec.zones[b]"),
        ({"labels": {"x": "1"}}, "spec.labels.z"),
        ({"note": None}, "spec.note"),
        ({"free": {"a": {"b": [1]}}}, "spec.free.a.b"),
        ({"free": {"a": {"b": [True, 1]}}}, "spec.free.a.b[0]"),
    ],
)
def test_what_the_schema_forbids_others_is_a_difference(spec: dict[str, Any], path: str) -> None:
    assert difference(merger(), merger(**spec), structure=STRUCTURE) == path


@pytest.mark.parametrize(
    "spec",
    [
        {"labels": {"x": "1", "z": "", "theirs": "2"}},
        {"zones": ["theirs", "a", "theirs too", "b"]},
        {"unknown": 1},
        {
            "parts": [
                {"name": "a", "mode": "safe", "more": {"deep": 1}},
                {"name": "b", "mode": "fast", "more": {"deep": 2}},
            ]
        },
        {
            "hosts": [
                {"name": "one", "port": 80, "weight": 1},
                {"name": "theirs", "port": 80},
                {"name": "one", "port": 81},
                {"name": "two", "port": 80},
            ]
        },
    ],
)
def test_what_the_schema_fills_in_or_leaves_to_others_is_none(spec: dict[str, Any]) -> None:
    assert difference(merger(), merger(**spec), structure=STRUCTURE) is None


def test_what_is_empty_is_stored_and_so_it_is_missed_when_it_is_gone() -> None:
    live = merger()
    for name, empty in {"note": "", "zones": [], "labels": {}, "enabled": False}.items():
        desired = merger(**{name: empty})
        del live["spec"][name]
        assert difference(desired | {"spec": {name: empty}}, live, structure=STRUCTURE) == (
            f"spec.{name}"
        )
