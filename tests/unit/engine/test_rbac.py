"""Rights follow from declarations: all that is needed, nothing else, always in the same words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.controller import Controller
from quiver.engine.installing.grants import Grant, allowed, grants, policy_rules
from quiver.engine.installing.rbac import base_rights, editor_grants, rights_of, viewer_grants
from quiver.engine.installing.roles import Setting, operator_roles, people_roles
from quiver.engine.kinds import DEPLOYMENT
from quiver.engine.outcome import Outcome
from quiver.engine.webhooks import serving
from support.site import Site, SiteController, Zone, ZoneController

some_grants = st.frozensets(
    st.builds(
        Grant,
        group=st.sampled_from(["", "apps"]),
        resource=st.sampled_from(["a", "b", "b/status"]),
        verb=st.sampled_from(["get", "list", "create", "delete", "escalate"]),
        name=st.sampled_from(["", "x", "y"]),
    )
)


class Sleeper(Controller[Site]):
    """Declares nothing."""

    name = "sleeper"
    resource = Site

    async def reconcile(self, obj: Site, turn: Any) -> Outcome:
        raise NotImplementedError


def _verbs(rights: frozenset[Grant], resource: str) -> set[str]:
    return {grant.verb for grant in rights if grant.resource == resource}


def _covers(rights: frozenset[Grant], grant: Grant) -> bool:
    return grant in rights or grant._replace(name="") in rights


@given(some_grants)
def test_rules_allow_exactly_what_was_granted(rights: frozenset[Grant]) -> None:
    after = allowed(policy_rules(rights))
    assert after <= rights
    assert all(_covers(after, grant) for grant in rights)


@given(st.lists(some_grants), st.randoms())
def test_rules_do_not_depend_on_the_order_of_declarations(
    parts: list[frozenset[Grant]], chance: Any
) -> None:
    pieces = [grant for part in parts for grant in part]
    shuffled = pieces[:]
    chance.shuffle(shuffled)
    assert policy_rules(pieces) == policy_rules(shuffled)


@given(some_grants)
def test_no_two_rules_could_be_one(rights: frozenset[Grant]) -> None:
    rules = policy_rules(rights)
    shapes = [(rule["apiGroups"], rule["verbs"], rule.get("resourceNames")) for rule in rules]
    assert all(shapes.count(shape) == 1 for shape in shapes)


def test_a_right_on_all_objects_makes_those_on_single_ones_needless() -> None:
    both = grants("", ["pods"], ["get"]) | grants("", ["pods"], ["get"], ["a"])
    assert policy_rules(both) == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


def test_a_controller_that_declares_nothing_may_only_watch_report_and_tell() -> None:
    assert policy_rules(rights_of(Sleeper).watched) == [
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
        {
            "apiGroups": ["rbac.quiver.dev"],
            "resources": ["sites"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": ["rbac.quiver.dev"],
            "resources": ["sites/status"],
            "verbs": ["get", "update", "patch"],
        },
    ]
    assert not rights_of(Sleeper).own
    assert not rights_of(Sleeper).admission


@pytest.mark.parametrize(
    ("resource", "verbs"),
    [
        ("deployments", {"get", "list", "watch", "create", "patch", "delete"}),
        ("configmaps", {"get", "list", "watch", "delete"}),
        ("secrets", {"get", "list", "watch"}),
        ("sites", {"get", "list", "watch"}),
        ("sites/finalizers", {"update"}),
        ("pods/log", {"get"}),
        ("nodes", set()),
    ],
)
def test_rights_in_namespaces_follow_the_declaration(resource: str, verbs: set[str]) -> None:
    assert _verbs(rights_of(SiteController).watched, resource) == verbs


def test_kinds_without_a_namespace_are_granted_on_the_cluster() -> None:
    assert _verbs(rights_of(SiteController).cluster, "nodes") == {"get", "list", "watch"}
    assert Grant("storage.k8s.io", "storageclasses", "get", "fast") in (
        rights_of(SiteController).cluster
    )
    zone = rights_of(ZoneController)
    assert not zone.watched
    assert _verbs(zone.cluster, "events") == {"create", "patch"}


def test_only_a_finalizer_lets_a_controller_change_the_object_itself() -> None:
    assert _verbs(rights_of(ZoneController).cluster, "zones") >= {"update", "patch"}
    assert not _verbs(rights_of(SiteController).watched, "sites") & {"update", "patch"}


def test_a_kind_without_status_gives_no_right_on_it() -> None:
    assert "status" not in Zone.__struct_fields__
    assert not _verbs(rights_of(ZoneController).cluster, "zones/status")


def test_only_its_own_definition_is_named() -> None:
    rights = rights_of(SiteController)
    named = {grant.name for grant in rights.cluster | rights.install
             if grant.resource == "customresourcedefinitions"}  # fmt: skip
    assert named == {"sites.rbac.quiver.dev"}
    assert _verbs(rights.cluster, "customresourcedefinitions") == {"get", "list", "watch"}


def test_a_webhook_is_only_there_for_what_a_controller_overrides() -> None:
    rights = rights_of(SiteController, "ops")
    assert {grant.resource for grant in rights.admission} == {"validatingwebhookconfigurations"}
    assert not rights_of(ZoneController).admission
    assert not rights_of(ZoneController).certificate


def test_webhooks_and_their_certificate_go_by_the_names_that_the_server_of_them_uses() -> None:
    rights = rights_of(SiteController, "ops")
    assert {grant.name for grant in rights.admission} == {"quiver-ops"}
    named = {grant.name for grant in rights.certificate if grant.verb != "create"}
    assert named == {serving.SECRET_NAME}


def test_nothing_may_ever_be_deleted_by_the_collection_or_with_a_wildcard() -> None:
    everything = (base_rights() | rights_of(SiteController) | rights_of(ZoneController)).by_place()
    for grant in frozenset[Grant]().union(*everything.values()):
        assert grant.verb not in {"*", "deletecollection", "escalate", "bind", "impersonate"}
        assert "*" not in (grant.group, grant.resource)


def test_an_operator_of_some_namespaces_has_rights_only_there() -> None:
    roles = operator_roles([SiteController], Setting(namespace="ops", watched=("a", "ops")))
    on_cluster = [role for role in roles if role["kind"] == "ClusterRole"]
    resources = {it for role in on_cluster for rule in role["rules"] for it in rule["resources"]}
    assert DEPLOYMENT.plural not in resources
    places = [(role["metadata"]["namespace"], role["metadata"]["name"])
              for role in roles if role["kind"] == "Role"]  # fmt: skip
    assert sorted(places) == [
        ("a", "quiver-site"),
        ("ops", "quiver-own"),
        ("ops", "quiver-site"),
        ("ops", "quiver-site-own"),
    ]


def test_what_is_switched_off_needs_no_right() -> None:
    setting = Setting(installs_definitions=False, answers_webhooks=False)
    granted = frozenset[Grant]().union(
        *(allowed(role["rules"]) for role in operator_roles([SiteController], setting))
    )
    assert _verbs(granted, "customresourcedefinitions") == {"get", "list", "watch"}
    assert not _verbs(granted, "validatingwebhookconfigurations")
    assert "create" not in _verbs(granted, "secrets")


def test_people_edit_the_resource_and_not_its_status() -> None:
    assert {grant.resource for grant in editor_grants([SiteController])} == {"sites"}
    assert _verbs(viewer_grants([SiteController]), "sites") == {"get", "list", "watch"}
    editor, viewer = people_roles([SiteController])
    assert set(editor["metadata"]["labels"]) == {
        "rbac.authorization.k8s.io/aggregate-to-admin",
        "rbac.authorization.k8s.io/aggregate-to-edit",
    }
    assert set(viewer["metadata"]["labels"]) == {"rbac.authorization.k8s.io/aggregate-to-view"}
