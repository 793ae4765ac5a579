"""What several tests on the real node need."""

import asyncio
from collections.abc import Callable

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.known_images import BUSYBOX
from support.installed import install

Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(cluster: DevCluster, cluster_namespace: str) -> Kubectl:
    """kubectl in this test's own namespace."""

    def run(*arguments: str, stdin: str | None = None) -> str:
        return cluster.kubectl("--namespace", cluster_namespace, *arguments, stdin=stdin)

    return run


@pytest.fixture(scope="session")
def busybox_image(cluster: DevCluster) -> str:
    asyncio.run(cluster.load_images([BUSYBOX]))
    return BUSYBOX


@pytest.fixture(scope="session")
def operator(cluster: DevCluster) -> None:
    """The operator, installed from its chart and running as a pod."""
    asyncio.run(install(cluster))
