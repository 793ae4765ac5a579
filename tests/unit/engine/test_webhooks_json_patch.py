"""JSON patches between documents."""

import copy
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.webhooks.json_patch import Operation, patch_between

leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1", 1.0, 0.0])
names = st.sampled_from(["a", "b", "a/b", "~", "~1", "0", "", "-", "é"])
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5),
    max_leaves=20,
)


def applied(document: Any, patch: list[Operation]) -> Any:
    """RFC 6902, written from its text: add, remove and replace."""
    holder = {"root": copy.deepcopy(document)}
    for operation in patch:
        path: str = operation["path"]
        assert path == "" or path.startswith("/")
        parts = path.split("/")[1:]
        *way, last = ["root", *(part.replace("~1", "/").replace("~0", "~") for part in parts)]
        target: Any = holder
        for part in way:
            target = target[int(part)] if isinstance(target, list) else target[part]
        change(target, last, operation)
    return holder["root"]


def change(target: Any, last: str, operation: Operation) -> None:
    match operation["op"], target:
        case "add", list():
            assert int(last) <= len(target)
            target.insert(int(last), operation["value"])
        case "remove", list():
            del target[int(last)]
        case "replace", list():
            target[int(last)] = operation["value"]
        case "add", dict():
            target[last] = operation["value"]
        case "remove", dict():
            del target[last]
        case "replace", dict():
            assert last in target
            target[last] = operation["value"]


def encoded(document: Any) -> bytes:
    return msgspec.json.encode(document, order="sorted")


@given(documents, documents)
def test_applying_the_patch_gives_the_target(before: Any, after: Any) -> None:
    patch = patch_between(before, after)
    assert encoded(applied(before, patch)) == encoded(after)


@given(documents, documents)
def test_the_patch_is_empty_only_between_equals(before: Any, after: Any) -> None:
    assert (patch_between(before, after) == []) == (encoded(before) == encoded(after))


@given(documents, documents)
def test_neither_document_is_changed(before: Any, after: Any) -> None:
    copies = copy.deepcopy((before, after))
    patch_between(before, after)
    assert (encoded(before), encoded(after)) == tuple(map(encoded, copies))


@given(st.lists(documents, max_size=6), documents, st.integers(0, 6))
def test_one_more_item_is_one_operation(items: list[Any], item: Any, place: int) -> None:
    longer = [*items[:place], item, *items[place:]]
    assert [it["op"] for it in patch_between(items, longer)] == ["add"]
    assert [it["op"] for it in patch_between(longer, items)] == ["remove"]


def test_only_what_differs_is_mentioned() -> None:
    before = {"spec": {"a": 1, "b": {"c": [1, 2], "unknown": True}}, "kind": "X"}
    after = {"spec": {"a": 1, "b": {"c": [1, 3], "unknown": True}, "d/e": None}, "kind": "X"}
    assert patch_between(before, after) == [
        {"op": "replace", "path": "/spec/b/c/1", "value": 3},
        {"op": "add", "path": "/spec/d~1e", "value": None},
    ]


def test_true_and_one_are_not_the_same() -> None:
    assert patch_between({"a": [True]}, {"a": [1]}) == [
        {"op": "replace", "path": "/a/0", "value": 1}
    ]
