"""To whom a change matters."""

from typing import Any

import msgspec
import pytest

from quiver.engine.controller import Change
from quiver.engine.identity import OWNER, OWNER_KEY
from quiver.engine.kinds import CONFIG_MAP, Key, Kind
from quiver.engine.mapping import any_of, by_label, is_more_than_status, to_all, to_owner

SITE = Kind("example.com/v1", "Site", "sites")


def change(before: dict[str, Any] | None = None, **after: Any) -> Change:
    def encoded(metadata: dict[str, Any], **more: Any) -> bytes:
        named = {"name": "child", "namespace": "n", "resourceVersion": "1"} | metadata
        return msgspec.json.encode({"metadata": named, **more})

    old = None if before is None else encoded(before)
    return Change(CONFIG_MAP, Key("n", "child"), old, encoded(after.pop("metadata", {}), **after))


def owner(**fields: Any) -> dict[str, Any]:
    usual = {"apiVersion": "example.com/v1", "kind": "Site", "name": "web", "uid": "u"}
    return {"ownerReferences": [usual | {"controller": True} | fields]}


def test_a_child_leads_to_its_controlling_owner() -> None:
    assert list(to_owner(SITE)(change(metadata=owner())) or ()) == [Key("n", "web")]


@pytest.mark.parametrize(
    "other",
    [owner(controller=False), owner(kind="Page"), owner(apiVersion="other.com/v1"), {}],
)
def test_an_object_of_somebody_else_leads_nowhere(other: dict[str, Any]) -> None:
    assert list(to_owner(SITE)(change(metadata=other)) or ()) == []


def test_another_version_of_the_owners_kind_is_the_same_kind() -> None:
    found = to_owner(SITE)(change(metadata=owner(apiVersion="example.com/v2")))
    assert list(found or ()) == [Key("n", "web")]


def test_where_no_owner_reference_can_be_the_inventory_leads_to_the_owner() -> None:
    inventory = {
        "labels": {OWNER: "u"},
        "annotations": {OWNER_KEY: "Site.example.com elsewhere/web"},
    }
    found = to_owner(SITE)(change(metadata=inventory))
    assert list(found or ()) == [Key("elsewhere", "web")]


def test_a_label_names_an_object_beside_it() -> None:
    maps = by_label("site")
    assert list(maps(change(metadata={"labels": {"site": "web"}})) or ()) == [Key("n", "web")]
    assert list(maps(change()) or ()) == []


def test_some_changes_matter_to_all() -> None:
    assert to_all(change()) is None  # type: ignore[func-returns-value]


def test_a_status_alone_is_not_worth_a_look() -> None:
    assert not is_more_than_status(change({"generation": 1}, metadata={"generation": 1}, status={}))


@pytest.mark.parametrize(
    "after",
    [
        {"generation": 2},
        {"generation": 1, "labels": {"a": "b"}},
        {"generation": 1, "annotations": {"a": "b"}},
        {"generation": 1, "finalizers": ["x"]},
        {"generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"generation": 1, "uid": "another"},
    ],
)
def test_anything_else_is(after: dict[str, Any]) -> None:
    assert is_more_than_status(change({"generation": 1}, metadata=after))


def test_one_reason_is_enough() -> None:
    assert any_of(lambda _: False, lambda _: True)(change())
    assert not any_of(lambda _: False)(change())
