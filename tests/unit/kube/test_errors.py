"""Answers of an API server become errors that a caller can tell apart."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    ServerTimeout,
    TooManyRequests,
    Unauthorized,
    error_from,
)


def _status(**fields: object) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure"} | fields).encode()


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", ApiError),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ApiError),
        (503, "ServiceUnavailable", ApiError),
        (504, "Timeout", ServerTimeout),
    ],
)
def test_a_status_becomes_the_error_of_its_code(
    code: int, reason: str, kind: type[ApiError]
) -> None:
    error = error_from(code, _status(code=code, reason=reason, message="it is so"))
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (code, reason, "it is so")
    assert str(error) == f"{code} {reason}: it is so"


def test_the_code_of_the_answer_counts_more_than_the_code_in_its_body() -> None:
    assert type(error_from(404, _status(code=409, reason="Conflict"))) is NotFound


def test_an_error_inside_a_watch_has_its_code_in_the_body_only() -> None:
    assert type(error_from(0, _status(code=410, reason="Expired"))) is Gone
    assert type(error_from(200, _status(code=410, reason="Expired"))) is Gone


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"", b"[]", b'{"message": 5}'])
def test_a_body_that_is_no_status_is_quoted(body: bytes) -> None:
    error = error_from(502, body)
    assert (error.status, error.reason, error.message) == (502, "Unknown", body.decode())


def test_a_long_page_is_quoted_only_from_its_start() -> None:
    assert error_from(502, b"x" * 10_000).message == "x" * 500


@settings(deadline=None)
@given(st.integers(min_value=400, max_value=599), st.binary(max_size=200))
def test_any_answer_becomes_an_error_with_its_status(status: int, body: bytes) -> None:
    error = error_from(status, body)
    assert isinstance(error, KubeError)
    assert error.status == status
