"""What becomes of a definition on the server, and of the controller that needs it."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.installing.definitions import definition
from quiver.engine.installing.standing import Act, Object, Off, On, Verdict, Waiting, changed, judge
from support.site import Site

NAME = "sites.rbac.quiver.dev"
VERSION = "0.2.0"


def _ours() -> Object:
    return definition(Site, version=VERSION)


def _found(*, version: str = VERSION, replicas: str = "integer", **metadata: Any) -> Object:
    """A definition as the server has it; ours, unless labels say otherwise."""
    found = copy.deepcopy(definition(Site, version=version))
    found["metadata"] |= {"resourceVersion": "7", "uid": "u"} | metadata
    spec = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["replicas"]["type"] = replicas
    found["status"] = {"storedVersions": ["v1"]}
    return found


def _judged(found: Object | None, *, install: bool = True, take_over: bool = False) -> Verdict:
    return judge(found, _ours(), controller="site", install=install, take_over=take_over)


FOREIGN: dict[str, Any] = {
    "labels": {"app.kubernetes.io/managed-by": "Helm"},
    "annotations": {},
    "managedFields": [
        {"manager": "helm", "operation": "Update"},
        {"manager": "kube-apiserver", "operation": "Update", "subresource": "status"},
    ],
}


def test_a_missing_one_is_created() -> None:
    assert _judged(None) == Verdict(Act.CREATE, On())


def test_a_missing_one_that_we_may_not_create_is_waited_for() -> None:
    verdict = _judged(None, install=False)
    assert verdict.act is Act.NOTHING
    assert isinstance(verdict.standing, Waiting)
    assert f"`quiver crds {NAME} | kubectl apply --server-side -f -`" in verdict.standing.why


def test_one_that_is_as_it_should_be_is_not_touched() -> None:
    assert _judged(_found()) == Verdict(Act.NOTHING, On())


def test_ours_of_an_older_quiver_is_changed() -> None:
    assert _judged(_found(version="0.1.0", replicas="string")) == Verdict(Act.CHANGE, On())
    assert _judged(_found(version="0.1.0")) == Verdict(Act.CHANGE, On())


def test_ours_that_somebody_changed_is_brought_back() -> None:
    assert _judged(_found(replicas="string")) == Verdict(Act.CHANGE, On())


def test_somebody_else_s_is_left_alone_and_the_controller_stays_off() -> None:
    verdict = _judged(_found(replicas="string", **FOREIGN))
    assert verdict == Verdict(
        Act.NOTHING,
        Off(
            f"CustomResourceDefinition {NAME} was installed by somebody else "
            "(field managers: helm): it is left alone and the controller site stays off; "
            f"run with --take-over-crds={NAME} to replace it with Quiver's"
        ),
    )


def test_somebody_else_s_is_replaced_when_told_to() -> None:
    found = _found(replicas="string", **FOREIGN)
    assert _judged(found, take_over=True) == Verdict(Act.CHANGE, On())
    assert _judged(found, take_over=True, install=False) == Verdict(Act.CHANGE, On())


def test_somebody_else_s_copy_of_ours_is_used_and_only_marked_when_told_to() -> None:
    assert _judged(_found(**FOREIGN)) == Verdict(Act.NOTHING, On())
    assert _judged(_found(**FOREIGN), take_over=True) == Verdict(Act.CHANGE, On())


def test_one_that_is_being_deleted_is_waited_for() -> None:
    verdict = _judged(_found(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert verdict.act is Act.NOTHING
    assert isinstance(verdict.standing, Waiting)


@pytest.mark.parametrize("newer", ["0.2.1", "0.10.0", "1.0.0-rc.1", "v0.3.0"])
def test_one_of_a_newer_quiver_is_used_as_it_is(newer: str) -> None:
    verdict = _judged(_found(version=newer, replicas="string"))
    assert verdict.act is Act.NOTHING
    assert isinstance(verdict.standing, On)
    assert f"Quiver {newer}" in verdict.standing.note


@pytest.mark.parametrize("older", ["0.1.9", "0.2.0.dev1", "0.2.0-rc.1", "", "unknown"])
def test_versions_are_compared_by_number_and_come_after_their_candidates(older: str) -> None:
    assert _judged(_found(version=older, replicas="string")).act is Act.CHANGE


def test_one_of_a_newer_quiver_without_our_version_turns_the_controller_off() -> None:
    found = _found(version="0.3.0")
    found["spec"]["versions"][0]["name"] = "v2"
    verdict = _judged(found)
    assert verdict.act is Act.NOTHING
    assert isinstance(verdict.standing, Off)
    assert "does not serve v1" in verdict.standing.why


@pytest.mark.parametrize("take_over", [True, False])
def test_a_version_in_which_objects_are_stored_is_never_dropped(take_over: bool) -> None:
    found = _found(version="0.1.0", replicas="string", **(FOREIGN if take_over else {}))
    found["spec"]["versions"][0]["name"] = "v1alpha1"
    found["status"] = {"storedVersions": ["v1alpha1"]}
    verdict = _judged(found, take_over=take_over)
    assert verdict.act is Act.NOTHING
    assert isinstance(verdict.standing, Off)
    assert "v1alpha1" in verdict.standing.why


def test_without_the_right_to_change_it_a_different_one_of_ours_is_used() -> None:
    verdict = _judged(_found(version="0.1.0", replicas="string"), install=False)
    assert verdict.act is Act.NOTHING
    assert isinstance(verdict.standing, On)
    assert verdict.standing.note


definitions = st.builds(
    _found,
    version=st.sampled_from(["", "0.1.0", VERSION, "0.3.0"]),
    replicas=st.sampled_from(["integer", "string"]),
    labels=st.sampled_from([{}, {"app.kubernetes.io/managed-by": "quiver"}, FOREIGN["labels"]]),
)


@given(definitions)
def test_nothing_is_written_unless_we_may(found: Object) -> None:
    assert _judged(found, install=False).act is Act.NOTHING
    ours = found["metadata"]["labels"].get("app.kubernetes.io/managed-by") == "quiver"
    assert ours or _judged(found).act is Act.NOTHING


@given(definitions, st.booleans())
def test_after_the_act_there_is_nothing_left_to_do(found: Object, take_over: bool) -> None:
    if _judged(found, take_over=take_over).act is Act.CHANGE:
        after = changed(found, _ours()) | {"status": found["status"]}
        assert _judged(after, take_over=take_over) == Verdict(Act.NOTHING, On())


def test_what_others_noted_stays_and_the_version_guards_the_write() -> None:
    found = _found(version="0.1.0", annotations={"team": "search"}, labels={"tier": "1"})
    metadata = changed(found, _ours())["metadata"]
    assert metadata["annotations"]["team"] == "search"
    assert metadata["labels"] == {"tier": "1", "app.kubernetes.io/managed-by": "quiver"}
    assert metadata["resourceVersion"] == "7"
    assert "managedFields" not in metadata
