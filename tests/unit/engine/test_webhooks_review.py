"""Admission reviews, from bytes to bytes."""

import base64
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from quiver.engine.controller import Controller, Object, Refusal
from quiver.engine.crd import Fields, Resource, resource
from quiver.engine.outcome import Outcome
from quiver.engine.webhooks.endpoints import Endpoint, Verb, endpoints_of
from quiver.engine.webhooks.review import BadReview, reviewed, value_at


class ParkSpec(Fields):
    trees: int = 0
    name: str = ""


@resource(group="towns.example.com", version="v1")
class Park(Resource):
    spec: ParkSpec


Default = Callable[[Object], Object | None]


class ParkController(Controller[Park]):
    name = "park"
    resource = Park

    def __init__(self, default: Default = lambda _: None) -> None:
        self._default = default

    async def reconcile(self, obj: Park, turn: Any) -> Outcome:
        raise NotImplementedError

    def validate(self, new: Park, old: Park | None) -> Iterable[Refusal]:
        if new.spec.trees < 1:
            yield Refusal("spec.trees", "a park has trees")
        if new.spec.name == "nowhere":
            yield Refusal("", "it has to be somewhere")
        if old and old.spec.trees > new.spec.trees:
            yield Refusal("spec.trees", f"there were {old.spec.trees} before")

    def default(self, obj: Object) -> Object | None:
        return self._default(obj)


class Silent(Controller[Park]):
    name = "silent"
    resource = Park

    async def reconcile(self, obj: Park, turn: Any) -> Outcome:
        raise NotImplementedError


def park(metadata: Object | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "towns.example.com/v1",
        "kind": "Park",
        "metadata": {"name": "green", "namespace": "town"} | (metadata or {}),
        "spec": spec,
    }


def review(new: Any, old: Any = None) -> bytes:
    operation = "CREATE" if old is None else "UPDATE"
    request = {"uid": "u-1", "operation": operation, "object": new, "oldObject": old}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return msgspec.json.encode(body)


def answer(verb: Verb, body: bytes, default: Default = lambda _: None) -> Object:
    raw = reviewed(Endpoint(verb, ParkController(default)), body)
    answered = msgspec.json.decode(raw)
    assert answered["apiVersion"] == "admission.k8s.io/v1"
    assert answered["kind"] == "AdmissionReview"
    assert answered["response"].pop("uid") == "u-1"
    response: Object = answered["response"]
    return response


def validated(new: Any, old: Any = None) -> Object:
    return answer(Verb.VALIDATE, review(new, old))


def test_a_good_object_is_allowed() -> None:
    assert validated(park(trees=1)) == {"allowed": True}


def test_every_refusal_is_in_the_message_and_among_the_causes() -> None:
    status = validated(park(trees=0, name="nowhere"))["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == "spec.trees: a park has trees; it has to be somewhere"
    assert [(it["field"], it["message"]) for it in status["details"]["causes"]] == [
        ("spec.trees", "a park has trees"),
        ("", "it has to be somewhere"),
    ]


def test_an_object_that_does_not_fit_its_type_is_denied_with_the_reason() -> None:
    denied = validated(park(trees="many"))
    assert denied["allowed"] is False
    assert denied["status"]["message"] == "Park town/green: spec.trees: Expected `int`, got `str`"


def test_an_update_is_judged_beside_the_old_object() -> None:
    denied = validated(park(trees=2), park(trees=3))
    assert denied["status"]["message"] == "spec.trees: there were 3 before"


def test_what_was_wrong_before_and_is_not_touched_is_no_reason_to_refuse() -> None:
    assert validated(park({"labels": {"a": "b"}}, trees=0), park(trees=0)) == {"allowed": True}
    assert validated(park(trees=0, name="x"), park(trees=0)) == {"allowed": True}
    nowhere = park({"labels": {"a": "b"}}, trees=1, name="nowhere")
    assert validated(nowhere, park(trees=1, name="nowhere")) == {"allowed": True}


def test_what_was_wrong_before_and_is_changed_is_judged() -> None:
    denied = validated(park(trees=-1), park(trees=0))
    assert "spec.trees: a park has trees" in denied["status"]["message"]
    denied = validated(park(trees=2, name="nowhere"), park(trees=1, name="nowhere"))
    assert denied["status"]["message"] == "it has to be somewhere"


def test_what_becomes_wrong_is_refused_though_its_field_is_untouched() -> None:
    denied = validated(park(trees=1, name="nowhere"), park(trees=1))
    assert denied["status"]["message"] == "it has to be somewhere"


def test_a_broken_stored_object_can_be_repaired_with_a_warning() -> None:
    answered = validated(park(trees=1), park(trees="many"))
    assert answered["allowed"] is True
    [warning] = answered["warnings"]
    assert "spec.trees: Expected `int`, got `str`" in warning


@pytest.mark.parametrize("verb", Verb)
def test_an_object_that_is_being_deleted_is_left_alone(verb: Verb) -> None:
    going = park({"deletionTimestamp": "2026-01-01T00:00:00Z"}, trees="many")
    assert answer(verb, review(going, park(trees=1)), default=lambda _: {}) == {"allowed": True}


def mutated(obj: Object, default: Default) -> Object:
    return answer(Verb.MUTATE, review(obj), default)


def patch_in(response: Object) -> Any:
    assert response["patchType"] == "JSONPatch"
    return msgspec.json.decode(base64.b64decode(response["patch"]))


def plant(obj: Object) -> Object:
    obj["spec"]["trees"] = 5
    return obj


def test_a_default_becomes_a_patch_of_just_that() -> None:
    received = park(unknown={"kept": [1]})
    assert patch_in(mutated(received, plant)) == [{"op": "add", "path": "/spec/trees", "value": 5}]


def test_without_a_change_there_is_no_patch() -> None:
    assert mutated(park(trees=5), plant) == {"allowed": True}
    assert mutated(park(), lambda _: None) == {"allowed": True}


def test_a_default_that_returns_no_object_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"ParkController: default\(\) must return an object"):
        mutated(park(), lambda _: [])  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is no AdmissionReview"),
        (b"[]", "the body is no AdmissionReview"),
        (b'{"kind": "Pod", "apiVersion": "v1"}', "and is Pod of v1"),
        (b"{}", "and is nothing of no version"),
        (
            b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
            "has no request with a uid",
        ),
        (review(None), "the request carries no object"),
    ],
)
def test_what_cannot_be_answered_is_a_bad_review(body: bytes, sentence: str) -> None:
    with pytest.raises(BadReview, match=sentence):
        reviewed(Endpoint(Verb.VALIDATE, ParkController()), body)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec.ports[1].name", "b"),
        ("spec.ports.0.name", "a"),
        ("spec.ports[7].name", [{"name": "a"}, {"name": "b"}]),
        ("spec.missing.deeper", {"ports": [{"name": "a"}, {"name": "b"}]}),
    ],
)
def test_a_field_is_found_by_its_path(field: str, value: Any) -> None:
    document = {"spec": {"ports": [{"name": "a"}, {"name": "b"}]}}
    assert value_at(document, field) == value


def test_only_what_a_controller_overrides_is_asked() -> None:
    assert endpoints_of([Silent()]) == ()
    paths = [endpoint.path for endpoint in endpoints_of([ParkController(), Silent()])]
    assert paths == ["/validate/parks.towns.example.com", "/mutate/parks.towns.example.com"]


def test_two_controllers_cannot_validate_the_same_kind() -> None:
    with pytest.raises(ValueError, match="'park' and 'park' both validate parks"):
        endpoints_of([ParkController(), ParkController()])
