"""What the tests of an operator need, beside the pytest plugin `quiver.devcluster.fixtures`.

async def test_a_site_gets_its_deployment(api_client: Client, namespace: str) -> None:
    options = Options(namespaces=(namespace,))
    async with running(api_client.config, [SiteController()], options):
        ...
"""

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.waiting import until
from quiver.engine.crd import decode
from quiver.engine.operate import Options
from quiver.engine.running import running
from quiver.kube import Client, KubeConfig, NotFound, Object

__all__ = [
    "Client",
    "DevCluster",
    "KubeConfig",
    "NotFound",
    "Object",
    "Options",
    "decode",
    "running",
    "until",
]
