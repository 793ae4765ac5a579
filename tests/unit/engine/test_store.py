"""The store against a server that is only a list of versions."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.kinds import CONFIG_MAP, Key
from quiver.engine.store import Store

NAMES = ("a", "b", "c")


def raw(name: str, version: int, **more: Any) -> bytes:
    metadata = {"namespace": "n", "name": name, "resourceVersion": str(version), **more}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def owned(name: str, version: int, uid: str) -> bytes:
    owner = {"uid": uid, "kind": "Site", "name": "s", "apiVersion": "x/v1", "controller": True}
    return raw(name, version, ownerReferences=[owner])


def key(name: str) -> Key:
    return Key("n", name)


def test_managed_fields_are_not_kept() -> None:
    store = Store(CONFIG_MAP)
    store.observed(raw("a", 1, managedFields=[{"manager": "x"}]))
    assert store.get(key("a")) == raw("a", 1)


def test_items_of_a_list_get_their_kind() -> None:
    store = Store(CONFIG_MAP)
    store.observed(
        b'{"metadata":{"name":"a","namespace":"n","resourceVersion":"1"},"data":{"x":"1"}}'
    )
    held = msgspec.json.decode(store.get(key("a")) or b"")
    assert (held["apiVersion"], held["kind"], held["data"]) == ("v1", "ConfigMap", {"x": "1"})


def test_an_echo_of_our_own_write_is_no_news() -> None:
    store = Store(CONFIG_MAP)
    assert store.written(raw("a", 5)) is not None
    assert store.observed(raw("a", 5)) is None


def test_what_is_older_than_held_is_dropped() -> None:
    store = Store(CONFIG_MAP)
    store.written(raw("a", 5))
    assert store.observed(raw("a", 4)) is None
    assert store.removed(key("a"), 4) is None
    assert store.get(key("a")) == raw("a", 5)


def test_an_answer_that_comes_after_the_deletion_does_not_bring_the_object_back() -> None:
    store = Store(CONFIG_MAP)
    store.observed(raw("a", 5))
    store.removed(key("a"), 6)
    store.progressed("", 6)
    assert store.written(raw("a", 5)) is None
    assert key("a") not in store


def test_while_a_list_is_incomplete_absence_proves_nothing() -> None:
    store = Store(CONFIG_MAP)
    store.progressed("", 9)
    store.restarted("")
    assert store.written(raw("a", 5)) is not None


def test_children_are_found_by_their_owner_until_they_change_hands() -> None:
    store = Store(CONFIG_MAP)
    store.observed(owned("a", 1, "u1"))
    store.observed(owned("b", 2, "u1"))
    store.observed(owned("b", 3, "u2"))
    assert store.owned_by("u1") == [key("a")]
    assert store.owned_by("u2") == [key("b")]
    store.removed(key("a"), 4)
    assert store.owned_by("u1") == []


def test_an_index_that_comes_later_knows_what_was_there() -> None:
    store = Store(CONFIG_MAP)
    store.observed(raw("a", 1, labels={"tier": "x"}))
    store.add_index("tier", lambda it: [msgspec.json.decode(it)["metadata"]["labels"]["tier"]])
    store.observed(raw("b", 2, labels={"tier": "x"}))
    store.observed(raw("a", 3, labels={"tier": "y"}))
    assert store.indexed("tier", "x") == [key("b")]
    assert store.indexed("tier", "y") == [key("a")]


@given(st.data())
def test_whatever_order_answers_come_in_the_store_ends_as_the_server(data: st.DataObject) -> None:
    """A history of writes and deletions; our writes' answers overtake the watch or lag behind."""
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=12))
    truth: dict[str, int] = {}
    history: list[tuple[str, str, int]] = []
    for version, name in enumerate(names, 1):
        deleted = name in truth and data.draw(st.booleans())
        history.append(("DELETED" if deleted else "SET", name, version))
        if deleted:
            del truth[name]
        else:
            truth[name] = version
    store = Store(CONFIG_MAP)
    store.progressed("", 0)
    answers = [entry for entry in history if entry[0] == "SET" and data.draw(st.booleans())]
    late = list(history)
    while late or answers:
        if answers and (not late or data.draw(st.booleans())):
            _, name, version = answers.pop(data.draw(st.integers(0, len(answers) - 1)))
            store.written(raw(name, version))
            continue
        what, name, version = late.pop(0)
        if what == "SET":
            store.observed(raw(name, version))
        else:
            store.removed(key(name), version)
        store.progressed("", version)
    held = store.keys()
    assert {it.name: int(_version(store.get(it))) for it in held} == truth
    assert store.bytes == sum(map(len, store.values()))


def _version(held: bytes | None) -> str:
    assert held is not None
    return str(msgspec.json.decode(held)["metadata"]["resourceVersion"])
