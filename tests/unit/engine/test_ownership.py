"""Ownership of fields, moved between managers."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.ownership import as_applied, moved

Object = dict[str, Any]

TREES: st.SearchStrategy[Object] = st.recursive(
    st.just({}),
    lambda inner: st.dictionaries(st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', "."]), inner),
    max_leaves=8,
)


def entry(manager: str, operation: str, fields: Object, **more: Any) -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    } | more


def paths(tree: Object, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = {above}
    for name, inner in tree.items():
        found |= paths(inner, (*above, name))
    return found


def test_what_was_created_becomes_applied() -> None:
    created = entry("quiver", "Update", {"f:spec": {"f:replicas": {}}})
    result = as_applied([created], "quiver")
    assert result == [created | {"operation": "Apply"}]


def test_all_updates_join_the_one_apply_entry() -> None:
    entries = [
        entry("quiver", "Update", {"f:spec": {"f:a": {}}}),
        entry("kubectl", "Update", {"f:spec": {"f:x": {}}}),
        entry("quiver", "Apply", {"f:spec": {"f:b": {}}}, time="2026-01-02T00:00:00Z"),
        entry("quiver", "Update", {"f:metadata": {}}),
    ]
    result = as_applied(entries, "quiver")
    assert result == [
        entry(
            "quiver",
            "Apply",
            {"f:spec": {"f:a": {}, "f:b": {}}, "f:metadata": {}},
            time="2026-01-02T00:00:00Z",
        ),
        entries[1],
    ]


def test_without_an_update_there_is_nothing_to_move() -> None:
    entries = [entry("quiver", "Apply", {}), entry("kubectl", "Update", {})]
    assert as_applied(entries, "quiver") is None
    assert as_applied([], "quiver") is None
    assert moved(entries, ["helm"], "quiver") is None


def test_the_status_stays_with_who_writes_it() -> None:
    status = entry("quiver", "Update", {"f:status": {}}, subresource="status")
    assert as_applied([status], "quiver") is None
    created = entry("quiver", "Update", {"f:spec": {}})
    assert as_applied([status, created], "quiver") == [created | {"operation": "Apply"}, status]


def test_fields_of_another_version_of_the_kind_stay() -> None:
    old = entry("quiver", "Update", {"f:spec": {"f:old": {}}}, apiVersion="apps/v1beta1")
    own = entry("quiver", "Apply", {"f:spec": {}})
    assert as_applied([old, own], "quiver") is None


def test_former_managers_give_what_they_applied_and_what_they_updated() -> None:
    entries = [
        entry("helm", "Update", {"f:spec": {"f:a": {}}}),
        entry("argocd", "Apply", {"f:spec": {"f:b": {}}}),
        entry("kube-controller-manager", "Update", {"f:spec": {"f:c": {}}}),
    ]
    result = moved(entries, {"helm", "argocd"}, "quiver")
    fields: Object = {"f:spec": {"f:a": {}, "f:b": {}}}
    assert result == [entry("quiver", "Apply", fields), entries[2]]


def test_moving_leaves_the_entries_it_was_given_alone() -> None:
    entries = [entry("quiver", "Apply", {"f:a": {}}), entry("helm", "Update", {"f:a": {"f:b": {}}})]
    moved(entries, ["helm"], "quiver")
    assert entries[0]["fieldsV1"] == {"f:a": {}}


@given(TREES, TREES, TREES)
def test_no_field_is_lost_and_none_is_invented(one: Object, two: Object, own: Object) -> None:
    entries = [
        entry("helm", "Update", one),
        entry("quiver", "Apply", own),
        entry("kubectl", "Update", two),
    ]
    result = moved(entries, ["helm", "kubectl"], "quiver")
    assert result is not None
    (only,) = result
    assert paths(only["fieldsV1"]) == paths(one) | paths(two) | paths(own)


@given(TREES, TREES)
def test_moving_twice_moves_nothing_more(one: Object, own: Object) -> None:
    entries = [entry("quiver", "Update", one), entry("quiver", "Apply", own)]
    result = as_applied(entries, "quiver")
    assert result is not None
    assert as_applied(result, "quiver") is None
