"""The peers do the same work as Quiver, or the comparison says nothing."""

import msgspec
from bench.engine.likeness import contents
from bench.engine.sets import vecodex_set, writes_of
from bench.peers.children import CHILDREN, Object, children

from quiver.vecodex.api import VecodexSet
from quiver.vecodex.desired import desired

NOW = "2026-01-01T00:00:00Z"


def stored_set() -> Object:
    made = vecodex_set(7)
    made["metadata"] |= {"uid": "11111111-1111-1111-1111-111111111111", "generation": 1}
    return made


def test_the_peers_make_the_children_that_quiver_makes() -> None:
    ours = {
        (it["kind"], it["metadata"]["name"]): (it["metadata"]["labels"], it["spec"])
        for it in desired(msgspec.convert(stored_set(), VecodexSet))
    }
    theirs = {
        (it["kind"], it["metadata"]["name"]): (it["metadata"]["labels"], it["spec"])
        for _, it in children(stored_set())
    }
    assert theirs == ours
    assert len(theirs) == CHILDREN


def test_every_child_is_controlled_by_its_set() -> None:
    for _, child in children(stored_set()):
        assert contents(child)["owners"] == [("VecodexSet", "set-00007")]


def test_the_bare_client_writes_each_child_once_and_then_the_status() -> None:
    methods = [(method, path) for method, path, _ in writes_of(stored_set(), NOW)]
    assert [method for method, _ in methods] == ["POST"] * CHILDREN + ["PUT"]
    assert methods[-1][1].endswith("/vecodexsets/set-00007/status")


def test_the_status_that_the_peers_write_fits_quivers_type() -> None:
    *_, (_, _, reported) = writes_of(stored_set(), NOW)
    status = msgspec.convert(reported["status"], VecodexSet.__annotations__["status"])
    assert status.observed_generation == 1
