"""AdmissionReviews (`admission.k8s.io/v1`): from the request's bytes to the answer's. Pure.

Nothing is read or written on the way, so a dry run is answered as everything else is. Two kinds of
updates are never refused, because refusing them would lock an object that is already stored:
those of an object that is being deleted (its finalizers have to go), and those that leave alone
what is wrong with it (otherwise nobody could label or repair what an older rule let in).
"""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from quiver.engine.controller import Controller, Refusal
from quiver.engine.crd import CannotDecode, Resource, decode
from quiver.engine.webhooks.endpoints import Endpoint, Verb
from quiver.engine.webhooks.json_patch import patch_between

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
NULL = msgspec.Raw(b"null")
MAPPINGS_ONLY = "default() must return an object or None, and this is neither"


class BadReview(Exception):
    """This is no AdmissionReview that can be answered; the sentence says why."""


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    operation: str = ""
    object: msgspec.Raw = NULL
    old_object: msgspec.Raw = NULL


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


class _Deletable(msgspec.Struct, rename="camel"):
    deletion_timestamp: str | None = None


class _Stored(msgspec.Struct):
    metadata: _Deletable


_reviews = msgspec.json.Decoder(_Review)
_stored = msgspec.json.Decoder(_Stored)


def reviewed(endpoint: Endpoint, body: bytes) -> bytes:
    """The answer to one review; `BadReview` if there is nothing to answer."""
    request = _request_in(body)
    if _is_going_away(request.object):
        answer: dict[str, Any] = {"allowed": True}
    elif endpoint.verb is Verb.VALIDATE:
        answer = _validated(endpoint.controller, request)
    else:
        answer = _mutated(endpoint.controller, request)
    review = {
        "apiVersion": API_VERSION, "kind": KIND, "response": {"uid": request.uid} | answer,
    }  # fmt: skip
    return msgspec.json.encode(review)


def _request_in(body: bytes) -> _Request:
    try:
        review = _reviews.decode(body)
    except msgspec.DecodeError as error:
        raise BadReview(f"the body is no {KIND}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        found = f"{review.kind or 'nothing'} of {review.api_version or 'no version'}"
        raise BadReview(f"the body has to be an {KIND} of {API_VERSION}, and is {found}")
    if review.request is None or not review.request.uid:
        raise BadReview(f"the {KIND} has no request with a uid")
    if review.request.object == NULL:
        raise BadReview(f"the request carries no object; {review.request.operation} is not asked")
    return review.request


def _is_going_away(raw: msgspec.Raw) -> bool:
    try:
        return _stored.decode(raw).metadata.deletion_timestamp is not None
    except msgspec.DecodeError:
        return False


def _validated(controller: Controller[Any], request: _Request) -> dict[str, Any]:
    try:
        new = decode(controller.resource, bytes(request.object))
    except CannotDecode as error:
        return _denied([Refusal("", str(error))], controller)
    old, warnings = _old_object(controller, request)
    refusals = list(controller.validate(new, old))
    if refusals and old is not None:
        refusals = list(_newly_refused(controller, refusals, old, request))
    answer = _denied(refusals, controller) if refusals else {"allowed": True}
    return answer | ({"warnings": warnings} if warnings else {})


def _old_object(
    controller: Controller[Any], request: _Request
) -> tuple[Resource | None, list[str]]:
    """What was stored. If it does not fit its type any more, it must still be possible to fix."""
    if request.old_object == NULL:
        return None, []
    try:
        return decode(controller.resource, bytes(request.old_object)), []
    except CannotDecode as error:
        return None, [f"what must not change was not checked, the stored one is broken: {error}"]


def _newly_refused(
    controller: Controller[Any], refusals: list[Refusal], old: Resource, request: _Request
) -> Iterator[Refusal]:
    known = set(controller.validate(old, old))
    before, after = map(msgspec.json.decode, (request.old_object, request.object))
    for refusal in refusals:
        untouched = _judged(before, refusal.field) == _judged(after, refusal.field)
        if not (refusal in known and untouched):
            yield refusal


def _judged(document: dict[str, Any], field: str) -> Any:
    if field:
        return value_at(document, field)
    return {name: document[name] for name in document.keys() - {"metadata", "status"}}


def value_at(document: Any, field: str) -> Any:
    """The value of `spec.ports[0].name`; of a path that leads nowhere, the last on the way."""
    for name in field.replace("[", ".").replace("]", "").split("."):
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return document
    return document


def _denied(refusals: Iterable[Refusal], controller: Controller[Any]) -> dict[str, Any]:
    sentences = [f"{it.field}: {it.message}" if it.field else it.message for it in refusals]
    definition = controller.resource.definition
    status = {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "; ".join(sentences),
        "details": {
            "group": definition.group,
            "kind": definition.kind,
            "causes": [_cause(refusal) for refusal in refusals],
        },
    }
    return {"allowed": False, "status": status}


def _cause(refusal: Refusal) -> dict[str, str]:
    return {"reason": "FieldValueInvalid", "message": refusal.message, "field": refusal.field}


def _mutated(controller: Controller[Any], request: _Request) -> dict[str, Any]:
    # Decoded twice: `default` may change in place what it is given.
    received = msgspec.json.decode(request.object)
    wanted = controller.default(msgspec.json.decode(request.object))
    if wanted is None:
        return {"allowed": True}
    if not isinstance(wanted, dict):
        raise TypeError(f"{type(controller).__name__}: {MAPPINGS_ONLY}")
    patch = patch_between(received, wanted)
    if not patch:
        return {"allowed": True}
    encoded = base64.b64encode(msgspec.json.encode(patch)).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}
