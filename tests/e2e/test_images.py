"""Images: pushed to the local registry, pulled by containerd, under public names."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from quiver import __version__
from quiver.devcluster import imagestore
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.known_images import OPERATOR
from quiver.images import Content, Layout, Reference, RunConfig, busybox, pack
from support.pods import busybox_pod

Kubectl = Callable[..., str]


def run_to_end(kubectl: Kubectl, pod: dict[str, object]) -> str:
    name = pod["metadata"]["name"]  # type: ignore[index]
    kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    kubectl("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    return kubectl("logs", str(name))


async def test_an_image_pushed_to_the_registry_is_pulled_by_containerd(
    cluster: DevCluster, cluster_namespace: str, kubectl: Kubectl, tmp_path: Path
) -> None:
    # A name nobody else uses, on a host that is not among the mirrored ones from the start.
    name = f"images.example.org/team/greeter:{cluster_namespace}"
    greeting = f"hello from {cluster_namespace}"
    image = pack(
        tmp_path,
        files=[*busybox(), Content("/greeting", greeting.encode())],
        config=RunConfig(cmd=("/bin/cat", "/greeting")),
    )
    reference = Reference.parse(name)
    async with imagestore.registry_of(cluster.network) as registry:
        await registry.push(Layout.at(tmp_path), reference, image=image)
    imagestore.mirror_host(cluster.home, cluster.network, reference)

    pod = busybox_pod("greeter", "", container={"image": name, "command": None})
    assert run_to_end(kubectl, pod) == greeting

    events = kubectl("get", "events", "-o", "jsonpath={range .items[*]}{.message}{'\\n'}{end}")
    assert f'Successfully pulled image "{name}"' in events
    running = kubectl("get", "pod/greeter", "-o", "jsonpath={.status.containerStatuses[0].imageID}")
    assert image.digest in running


def test_an_archive_of_docker_save_is_loaded_under_its_name(
    cluster: DevCluster, cluster_namespace: str, kubectl: Kubectl, tmp_path: Path
) -> None:
    name = f"docker.io/library/saved:{cluster_namespace}"
    archive = docker_archive(tmp_path, name)
    loaded = subprocess.run(
        [sys.executable, "-m", "quiver", "dev", "load-image", "--name", cluster.name, str(archive)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert loaded.stdout.split() == [name]
    pod = busybox_pod(
        "saved", "", container={"image": f"saved:{cluster_namespace}", "command": None}
    )
    assert run_to_end(kubectl, pod) == "saved\n"

    listed = subprocess.run(
        [sys.executable, "-m", "quiver", "dev", "images", "--name", cluster.name],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert name in listed.stdout.split()


async def test_the_operators_own_image_runs_as_a_pod(cluster: DevCluster, kubectl: Kubectl) -> None:
    await cluster.load_images([OPERATOR])
    pod = busybox_pod(
        "operator", "", container={"image": OPERATOR, "command": None, "args": ["--version"]}
    )
    assert run_to_end(kubectl, pod) == f"quiver {__version__}\n"


def docker_archive(folder: Path, name: str) -> Path:
    """What `docker save` writes, of a one-layer image made of busybox."""
    program = subprocess.run(["which", "busybox"], capture_output=True, text=True, check=True)
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(Path(program.stdout.strip()).resolve(), "bin/busybox")
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Cmd": ["/bin/busybox", "echo", "saved"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]}]
    members = {
        "config.json": json.dumps(config).encode(),
        f"{digest}/layer.tar": layer.getvalue(),
        "manifest.json": json.dumps(manifest).encode(),
    }
    archive = folder / "saved.tar"
    with tarfile.open(archive, "w") as tar:
        for path, data in members.items():
            header = tarfile.TarInfo(path)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
    return archive


@pytest.mark.parametrize("source", ["no-such-image:1", "/no/such/archive.tar"])
def test_an_image_that_cannot_be_had_is_refused_with_what_can(
    cluster: DevCluster, source: str
) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "quiver", "dev", "load-image", "--name", cluster.name, source],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert source in refused.stderr
