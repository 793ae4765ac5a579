"""Warnings of the server reach whoever wants them, and what a conflict says is understood."""

import json

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from quiver.kube.errors import ApplyConflict, FieldConflict, error_from
from quiver.kube.warning import warnings_in


@pytest.mark.parametrize(
    ("headers", "texts"),
    [
        ([], []),
        (['299 - "it is old"'], ["it is old"]),
        (['299 - "unknown field \\"spec.x\\""'], ['unknown field "spec.x"']),
        (['299 - "a, b", 299 - "c"', '299 kube "d"'], ["a, b", "c", "d"]),
        (["nonsense"], []),
    ],
)
def test_the_text_of_each_warning_is_taken_out(headers: list[str], texts: list[str]) -> None:
    all_headers = CIMultiDict([("Warning", header) for header in headers])
    assert list(warnings_in(CIMultiDictProxy(all_headers))) == texts


def _conflict(message: str) -> ApplyConflict:
    cause = {"reason": "FieldManagerConflict", "message": message, "field": ".spec.replicas"}
    body = {"reason": "Conflict", "message": "no", "details": {"causes": [cause]}}
    error = error_from(409, json.dumps(body).encode(), subject="apply X y")
    assert isinstance(error, ApplyConflict)
    return error


@pytest.mark.parametrize(
    ("message", "manager"),
    [
        ('conflict with "kubectl" using apps/v1', "kubectl"),
        ('conflict with "kubectl-edit" using v1 at 2026-01-01T00:00:00Z', "kubectl-edit"),
        ('conflict with "hpa" with subresource "scale" using apps/v1', "hpa"),
        ("something else", "unknown"),
    ],
)
def test_the_other_manager_is_read_from_the_cause(message: str, manager: str) -> None:
    assert _conflict(message).fields == (FieldConflict(manager, ".spec.replicas"),)
