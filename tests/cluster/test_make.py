"""The habits of kubebuilder's users: `make install deploy undeploy`, as they type them."""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quiver.devcluster.binaries import Binaries
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.progress import Progress
from quiver.kube import Client

ROOT = Path(__file__).parents[2]


def make(server: DevCluster, *arguments: str) -> str:
    kubectl = Binaries.default(Progress()).ensure(["kubectl"])["kubectl"]
    done = subprocess.run(
        ["make", "--no-print-directory", f"KUBECTL={kubectl}", *arguments],
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
async def client(own_api_server: DevCluster) -> AsyncIterator[Client]:
    async with own_api_server.client() as client:
        yield client


async def test_install_deploy_and_undeploy(own_api_server: DevCluster, client: Client) -> None:
    make(own_api_server, "install")
    make(own_api_server, "deploy", "IMG=registry.example.com/quiver:7")
    [found] = await client.list("apps/v1", "Deployment", "quiver-system")
    [container] = found["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/quiver:7"
    removed = make(own_api_server, "undeploy")
    assert "customresourcedefinition" not in removed
    assert await client.list("apps/v1", "Deployment", "quiver-system") == []
    name = "vecodexsets.apps.vecodex.link"
    await client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)


def test_images_are_built_and_pushed_by_the_tool_of_your_choice(own_api_server: DevCluster) -> None:
    built = make(own_api_server, "docker-build", "docker-push", "IMG=a/b:1", "CONTAINER_TOOL=echo")
    assert "build -t a/b:1 ." in built
    assert "push a/b:1" in built
