"""CRDs at the start of the operator, on a real API server, with the rights that it will have."""

import copy
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quiver.engine.controller import Controller
from quiver.engine.crd import Fields, Resource, crd_manifest, resource
from quiver.engine.installing.definitions import (
    Off,
    On,
    Waiting,
    definition,
    settle,
    until_established,
)
from quiver.engine.installing.leftovers import leftovers
from quiver.engine.installing.rbac import AnyController
from quiver.engine.installing.roles import Setting, operator_roles
from quiver.engine.outcome import Outcome
from quiver.kube import Client, Forbidden, Impersonation, NotFound, Object
from support.rights import took_effect

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


class Spec(Fields):
    size: int = 1


class Status(Fields):
    size: int = 0


def _controller() -> AnyController:
    """A controller of a kind that nobody has seen before."""

    @resource(group=f"t{uuid.uuid4().hex[:8]}.quiver.dev", version="v1", short_names=["fr"])
    class Fresh(Resource):
        spec: Spec = Spec()
        status: Status = Status()

    class FreshController(Controller[Fresh]):
        name = "fresh"
        resource = Fresh

        async def reconcile(self, obj: Fresh, turn: Any) -> Outcome:
            raise NotImplementedError

    return FreshController


def _name(controller: AnyController) -> str:
    return str(controller.resource.definition.name)


async def _stored(client: Client, controller: AnyController) -> Object:
    return await client.get(*CRD, _name(controller))


async def _install_other(
    client: Client, controller: AnyController, *, scope: str = "Namespaced"
) -> Object:
    """The vendor's definition of the same kind: other schema, and not marked as ours."""
    other = copy.deepcopy(crd_manifest(controller.resource))
    del other["metadata"]["labels"]
    other["spec"]["scope"] = scope
    schema = other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await client.apply(other, manager="vendor")
    assert await until_established(client, _name(controller)) == On()
    return await _stored(client, controller)


@pytest.fixture
async def operator(api_client: Client) -> AsyncIterator[tuple[Client, AnyController]]:
    """A client with exactly the rights that follow from one controller's declaration."""
    controller = _controller()
    user = f"operator-{uuid.uuid4().hex[:8]}"
    (role,) = [it for it in operator_roles([controller], Setting()) if it["kind"] == "ClusterRole"]
    await api_client.create(role | {"metadata": {"name": user}})
    await api_client.create(_binding(user))
    await took_effect(api_client, user, "default")
    yield api_client.impersonating(Impersonation(user=user)), controller
    await api_client.delete("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", user)
    await api_client.delete("rbac.authorization.k8s.io/v1", "ClusterRole", user)


def _binding(user: str) -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


async def test_a_missing_definition_is_installed_with_rights_on_that_name_alone(
    operator: tuple[Client, AnyController],
) -> None:
    client, controller = operator
    assert await settle(client, [controller], install=True) == {"fresh": On()}
    kind = controller.resource.definition
    assert await client.list(kind.api_version, kind.kind) == []
    with pytest.raises(Forbidden):
        await client.apply(definition(_controller().resource))
    with pytest.raises(Forbidden):
        await client.create(definition(_controller().resource))
    with pytest.raises(Forbidden):
        await client.list(*CRD)


async def test_a_second_start_writes_nothing(operator: tuple[Client, AnyController]) -> None:
    client, controller = operator
    await settle(client, [controller], install=True)
    before = await _stored(client, controller)
    assert await settle(client, [controller], install=True) == {"fresh": On()}
    assert (await _stored(client, controller))["metadata"] == before["metadata"]


async def test_an_older_definition_of_ours_is_changed_and_loses_what_is_gone(
    operator: tuple[Client, AnyController],
) -> None:
    client, controller = operator
    older = definition(controller.resource, version="0.0.1")
    older["spec"]["names"]["shortNames"] = ["fr", "old"]
    older["metadata"]["annotations"]["team"] = "search"
    await client.apply(older, manager="quiver")
    assert await settle(client, [controller], install=True) == {"fresh": On()}
    after = await _stored(client, controller)
    assert after["spec"] == definition(controller.resource)["spec"]
    assert after["metadata"]["annotations"]["team"] == "search"


async def test_a_newer_definition_of_ours_is_used_as_it_is(
    operator: tuple[Client, AnyController],
) -> None:
    client, controller = operator
    newer = definition(controller.resource, version="99.0.0")
    newer["spec"]["names"]["shortNames"] = ["fr", "new"]
    await client.apply(newer)
    standing = (await settle(client, [controller], install=True))["fresh"]
    assert isinstance(standing, On)
    assert "Quiver 99.0.0" in standing.note
    assert (await _stored(client, controller))["spec"]["names"]["shortNames"] == ["fr", "new"]


async def test_somebody_else_s_definition_is_left_alone_until_we_are_told_to_take_it(
    api_client: Client, operator: tuple[Client, AnyController]
) -> None:
    client, controller = operator
    before = await _install_other(api_client, controller)
    standing = (await settle(client, [controller], install=True))["fresh"]
    assert isinstance(standing, Off)
    assert "(field managers: vendor)" in standing.why
    assert await _stored(client, controller) == before
    told = frozenset({_name(controller)})
    assert await settle(client, [controller], install=True, take_over=told) == {"fresh": On()}
    assert (await _stored(client, controller))["spec"] == crd_manifest(controller.resource)["spec"]


async def test_a_missing_definition_that_may_not_be_installed_is_waited_for(
    api_client: Client, operator: tuple[Client, AnyController]
) -> None:
    client, controller = operator
    standing = (await settle(client, [controller], install=False))["fresh"]
    assert isinstance(standing, Waiting)
    with pytest.raises(NotFound):
        await _stored(client, controller)
    await api_client.apply(definition(controller.resource))
    assert await until_established(client, _name(controller)) == On()
    assert await settle(client, [controller], install=False) == {"fresh": On()}


async def test_without_any_right_the_controller_waits_until_the_kind_is_served(
    api_client: Client,
) -> None:
    nobody = api_client.impersonating(
        Impersonation(user="nobody", groups=("system:authenticated",))
    )
    controller = _controller()
    standing = (await settle(nobody, [controller], install=True))["fresh"]
    assert isinstance(standing, Waiting)
    assert "lacks the right" in standing.why
    await settle(api_client, [controller], install=True)
    assert isinstance((await settle(nobody, [controller], install=True))["fresh"], On)


async def test_a_definition_that_the_server_refuses_only_turns_its_controller_off(
    api_client: Client,
) -> None:
    other, refused = _controller(), _controller()
    other.name = "other"
    await _install_other(api_client, refused, scope="Cluster")
    told = frozenset({_name(refused)})
    standings = await settle(api_client, [refused, other], install=True, take_over=told)
    assert isinstance(standings["fresh"], Off)
    assert "immutable" in standings["fresh"].why
    assert standings["other"] == On()


async def test_what_an_uninstalled_operator_would_leave_is_told_by_name(
    api_client: Client, namespace: str
) -> None:
    controller = _controller()
    assert await leftovers(api_client, [controller]) == []
    await settle(api_client, [controller], install=True)
    assert await leftovers(api_client, [controller]) == []
    kind = controller.resource.definition
    for number in range(5):
        metadata = {"name": f"it-{number}", "namespace": namespace}
        await api_client.create(
            {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        )
    names = ", ".join(f"{namespace}/it-{number}" for number in range(3))
    said = [f"there are 5 of Fresh.{kind.group}: {names} and 2 more"]
    assert await leftovers(api_client, [controller]) == said
    assert await leftovers(api_client, [controller], [namespace]) == said
    assert await leftovers(api_client, [controller], ["another"]) == []
