"""Metadata is read from an object's bytes without the rest."""

import gc
import json
from datetime import UTC, datetime

import msgspec
import pytest

from quiver.kube import Condition, metadata_of

OWNER = {"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "u1"}
METADATA = {
    "name": "a",
    "namespace": "mine",
    "uid": "u2",
    "resourceVersion": "17",
    "generation": 3,
    "labels": {"app": "web"},
    "annotations": {"note": "größer"},
    "ownerReferences": [OWNER, OWNER | {"name": "boss", "controller": True}],
    "finalizers": ["f"],
    "creationTimestamp": "2026-01-02T03:04:05Z",
    "managedFields": [{"manager": "somebody"}],
}


def raw(**metadata: object) -> bytes:
    return json.dumps({"spec": {"deep": [{}]}, "metadata": METADATA | metadata}).encode()


def test_the_metadata_is_what_the_object_says() -> None:
    meta = metadata_of(raw())
    assert (meta.name, meta.namespace, meta.uid) == ("a", "mine", "u2")
    assert (meta.resource_version, meta.generation) == ("17", 3)
    assert (meta.labels, meta.annotations) == ({"app": "web"}, {"note": "größer"})
    assert meta.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert meta.finalizers == ("f",)


def test_the_controller_is_the_owner_that_says_so() -> None:
    boss = metadata_of(raw()).controller
    assert boss is not None
    assert boss.name == "boss"
    assert metadata_of(raw(ownerReferences=[OWNER])).controller is None


@pytest.mark.parametrize(("when", "expected"), [(None, False), ("2026-01-02T03:04:05Z", True)])
def test_an_object_with_a_deletion_time_is_terminating(when: str | None, expected: bool) -> None:
    assert metadata_of(raw(deletionTimestamp=when)).is_terminating is expected


def test_an_object_needs_no_more_than_some_metadata() -> None:
    assert metadata_of(b'{"metadata": {}}').name == ""
    assert metadata_of(msgspec.Raw(b'{"metadata": {"name": "b"}}')).name == "b"


def test_what_is_decoded_is_no_work_for_the_garbage_collector() -> None:
    meta = metadata_of(raw())
    assert not gc.is_tracked(meta)
    assert not any(gc.is_tracked(owner) for owner in meta.owner_references)


def test_metadata_and_conditions_are_written_as_they_are_read() -> None:
    written = msgspec.json.decode(msgspec.json.encode(metadata_of(raw())))
    assert written["ownerReferences"][1]["controller"] is True
    assert written["resourceVersion"] == "17"
    condition = msgspec.convert({"type": "Ready", "status": "True"}, Condition)
    assert condition.is_true
