"""How children are written: no more than needed, and what is dropped goes."""

from quiver.devcluster.handle import DevCluster
from quiver.engine.installing.definitions import settle
from quiver.kube import Client, Object
from quiver.kube.faults import Faults
from quiver.vecodex.controller import VecodexController
from support.operating import API, KIND, children, converged, eventually, operating, vecodex, writes

WRITER = "Deployment/search-writer"


def writer(**more: object) -> Object:
    return {"image": "example.com/writer:1", **more}


async def container_of(client: Client, namespace: str) -> Object:
    found = (await children(client, namespace))[WRITER]
    return dict(found["spec"]["template"]["spec"]["containers"][0])


async def test_another_value_costs_one_write_and_a_dropped_field_goes(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    await settle(api_client, [VecodexController], install=True)
    seen = Faults()
    with_env = writer(env=[{"name": "A", "value": "1"}])
    async with operating(api_server.kubeconfig, namespace, seen):
        await api_client.create(vecodex(namespace, writer=with_env))
        await converged(api_client, namespace)

        seen.seen.clear()
        await api_client.apply(
            vecodex(namespace, writer=with_env | {"image": "example.com/writer:2"}), force=True
        )
        await eventually(lambda: _has_image(api_client, namespace, ":2"), "the new image")
        await converged(api_client, namespace)
        sent = [(it.method, it.path.rpartition("/")[2]) for it in writes(seen.seen)]
        assert sent == [("PATCH", "search-writer"), ("PUT", "status")]
        assert not [
            it for it in seen.seen if it.path.endswith("/search-writer") and it.method == "GET"
        ]

        without = {"spec": {"writer": {"image": "example.com/writer:3", "env": None}}}
        await api_client.patch(API, KIND, "search", without, namespace)
        await eventually(lambda: _has_image(api_client, namespace, ":3"), "the third image")
        await converged(api_client, namespace)
    assert "env" not in await container_of(api_client, namespace)


async def _has_image(client: Client, namespace: str, tag: str) -> bool:
    return str((await container_of(client, namespace))["image"]).endswith(tag)


async def test_drift_is_healed_with_one_write(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    await settle(api_client, [VecodexController], install=True)
    seen = Faults()
    async with operating(api_server.kubeconfig, namespace, seen):
        await api_client.create(vecodex(namespace))
        await converged(api_client, namespace)
        seen.seen.clear()
        drift = {"spec": {"replicas": 5}}
        await api_client.patch("apps/v1", "Deployment", "search-writer", drift, namespace)

        async def is_healed() -> bool:
            found = (await children(api_client, namespace))[WRITER]
            return bool(found["spec"]["replicas"] == 1)

        await eventually(is_healed, "one replica again")
    assert [it.method for it in writes(seen.seen)] == ["PATCH"]
