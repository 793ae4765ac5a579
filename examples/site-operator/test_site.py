"""The Site operator on a real API server: `pytest -p quiver.devcluster.fixtures`."""

from site_operator import SiteController

from quiver.testing import Client, Options, running, until

SITE = {"apiVersion": "example.com/v1", "kind": "Site", "spec": {"image": "web:1"}}


async def test_a_site_gets_a_service(api_client: Client, namespace: str) -> None:
    site = SITE | {"metadata": {"name": "hello", "namespace": namespace}}

    async def missing() -> str | None:
        await api_client.get("v1", "Service", "hello", namespace)
        return None

    async with running(api_client.config, [SiteController()], Options(namespaces=(namespace,))):
        await api_client.create(site)
        await until(missing, within=30)
