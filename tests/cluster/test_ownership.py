"""Ownership of fields before the real API server: what goes when it is dropped, what stays."""

import copy
from typing import Any

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.engine.ownership import as_applied, moved
from quiver.kube import Client, KubeConfig, Object
from support.desired_samples import DEPLOYMENT


def deployment(namespace: str) -> Object:
    desired = copy.deepcopy(DEPLOYMENT.plain)
    desired["metadata"] = {"name": "web", "namespace": namespace, "labels": {"a": "1", "b": "2"}}
    return desired


def without_first_variable(desired: Object) -> Object:
    changed = copy.deepcopy(desired)
    del changed["spec"]["template"]["spec"]["containers"][0]["env"][0]
    del changed["metadata"]["labels"]["b"]
    return changed


def variables(obj: Object) -> list[str]:
    (container,) = obj["spec"]["template"]["spec"]["containers"]
    return [variable["name"] for variable in container["env"]]


async def write(client: Client, live: Object, entries: list[Object] | None) -> None:
    assert entries is not None
    metadata = live["metadata"]
    operations: list[dict[str, Any]] = [
        {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": metadata["resourceVersion"],
        },
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
    ]
    await client.json_patch(
        live["apiVersion"], live["kind"], metadata["name"], operations, metadata["namespace"]
    )


async def test_what_was_created_stays_when_it_is_dropped(
    api_client: Client, namespace: str
) -> None:
    desired = deployment(namespace)
    await api_client.create(desired)
    applied = await api_client.apply(without_first_variable(desired), force=True)
    assert variables(applied) == ["MODE", "LEVEL", "POD", "TOKEN"]
    assert applied["metadata"]["labels"] == {"a": "1", "b": "2"}


async def test_what_was_created_and_moved_goes_when_it_is_dropped(
    api_client: Client, namespace: str
) -> None:
    desired = deployment(namespace)
    live = await api_client.create(desired)
    await write(api_client, live, as_applied(live["metadata"]["managedFields"], "quiver"))
    applied = await api_client.apply(without_first_variable(desired), force=True)
    assert variables(applied) == ["LEVEL", "POD", "TOKEN"]
    assert applied["metadata"]["labels"] == {"a": "1"}
    assert as_applied(applied["metadata"]["managedFields"], "quiver") is None


async def test_moving_alone_changes_nothing_of_the_object(
    api_client: Client, namespace: str
) -> None:
    desired = deployment(namespace)
    live = await api_client.create(desired)
    await write(api_client, live, as_applied(live["metadata"]["managedFields"], "quiver"))
    applied = await api_client.apply(desired)
    assert applied["spec"] == live["spec"]
    assert applied["metadata"]["generation"] == live["metadata"]["generation"]


@pytest.mark.parametrize("is_applied", [False, True])
async def test_a_former_managers_fields_go_when_they_are_dropped_after_the_move(
    api_server: DevCluster, api_client: Client, namespace: str, is_applied: bool
) -> None:
    desired = deployment(namespace)
    config = KubeConfig.load(api_server.kubeconfig)
    async with Client(config, manager="helm") as helm:
        live = await (helm.apply(desired) if is_applied else helm.create(desired))
    await write(api_client, live, moved(live["metadata"]["managedFields"], ["helm"], "quiver"))
    # Not by force: nobody else owns anything any more.
    applied = await api_client.apply(without_first_variable(desired))
    assert variables(applied) == ["LEVEL", "POD", "TOKEN"]
    (entry,) = applied["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("quiver", "Apply")
