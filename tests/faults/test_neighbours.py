"""What the operator does when others touch the same objects, or the namespace says no."""

from quiver.devcluster.handle import DevCluster
from quiver.kube import Client, Object
from quiver.kube.faults import Faults
from support.operating import (
    children,
    condition,
    converged,
    eventually,
    operating,
    read,
    vecodex,
    writes,
)


async def degraded_says(client: Client, namespace: str, words: str) -> bool:
    found = condition(await read(client, namespace), "Degraded")
    return found["status"] == "True" and words in found["message"]


async def test_a_field_that_another_manager_took_is_taken_back(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    async with operating(api_server.kubeconfig, namespace):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
        theirs = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "search-searcher", "namespace": namespace},
            "spec": {"replicas": 7},
        }
        await api_client.apply(theirs, manager="somebody", force=True)

        async def is_healed() -> bool:
            found = await children(api_client, namespace)
            return bool(found["Deployment/search-searcher"]["spec"]["replicas"] == 1)

        await eventually(is_healed, "the number of replicas is ours again")


async def test_what_others_add_beside_our_fields_stays(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    seen = Faults()
    async with operating(api_server.kubeconfig, namespace, seen):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
        note = {"metadata": {"annotations": {"team.example.com/note": "ours"}}}
        await api_client.patch("v1", "Service", "search-writer", note, namespace)
        await api_client.create(vecodex(namespace, "second"))
        await eventually(lambda: _has(api_client, namespace, "second-ingress"), "the second set")
    service = await api_client.get("v1", "Service", "search-writer", namespace)
    assert service["metadata"]["annotations"]["team.example.com/note"] == "ours"
    assert not [it for it in writes(seen.seen) if it.path.endswith("/services/search-writer")]


async def _has(client: Client, namespace: str, name: str) -> bool:
    return f"Ingress/{name}" in await children(client, namespace)


async def test_somebody_elses_object_is_left_alone_and_told_until_it_is_gone(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    theirs: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "search-writer", "namespace": namespace},
        "spec": {"ports": [{"port": 1234}], "selector": {"app": "theirs"}},
    }
    before = await api_client.create(theirs)
    async with operating(api_server.kubeconfig, namespace):
        await api_client.create(vecodex(namespace))
        await eventually(
            lambda: degraded_says(api_client, namespace, "Service"), "the condition names it"
        )
        after = await api_client.get("v1", "Service", "search-writer", namespace)
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        await api_client.delete("v1", "Service", "search-writer", namespace)
        await converged(api_client, namespace, within=60)


async def test_children_that_are_deleted_while_they_are_made_are_made_again(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    async with operating(api_server.kubeconfig, namespace):
        await api_client.create(vecodex(namespace))
        for _ in range(30):
            for child in await children(api_client, namespace):
                kind, _, name = child.partition("/")
                api = {"Deployment": "apps/v1", "Service": "v1"}.get(kind, "networking.k8s.io/v1")
                await api_client.delete(api, kind, name, namespace, missing_ok=True)
        await converged(api_client, namespace)

        async def is_complete() -> bool:
            return len(await children(api_client, namespace)) == 7

        await eventually(is_complete, "all children are there")


async def test_a_quota_is_told_and_what_did_not_fit_comes_when_it_is_raised(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    quota: Object = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": namespace},
        "spec": {"hard": {"count/services": "1"}},
    }
    await api_client.create(quota)
    await _set_quota(api_client, namespace, hard="1", used="0")
    async with operating(api_server.kubeconfig, namespace):
        await api_client.create(vecodex(namespace))
        await eventually(
            lambda: degraded_says(api_client, namespace, "quota"), "the condition says quota"
        )
        raised = {"spec": {"hard": {"count/services": "10"}}}
        await api_client.patch("v1", "ResourceQuota", "small", raised, namespace)
        await _set_quota(api_client, namespace, hard="10", used="1")
        await converged(api_client, namespace, within=60)


async def _set_quota(client: Client, namespace: str, *, hard: str, used: str) -> None:
    """What kube-controller-manager would do, which this server has none of."""
    status = {"hard": {"count/services": hard}, "used": {"count/services": used}}
    await client.patch(
        "v1", "ResourceQuota", "small", {"status": status}, namespace, subresource="status"
    )


async def test_nothing_is_made_in_a_namespace_that_ends(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    async with operating(api_server.kubeconfig, namespace):
        await api_client.create(vecodex(namespace, "first"))
        await eventually(lambda: _has(api_client, namespace, "first-ingress"), "the first set")
        # No controller empties it here, so it stays as it is at the beginning of its end.
        await api_client.delete("v1", "Namespace", namespace)
        await api_client.delete("v1", "Service", "first-writer", namespace)

        async def is_told() -> bool:
            found = condition(await read(api_client, namespace, "first"), "Progressing")
            return "being deleted" in found["message"]

        await eventually(is_told, "a condition that says that the namespace ends")
        assert "Service/first-writer" not in await children(api_client, namespace)
