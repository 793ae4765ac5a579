"""Puts images into a cluster's registry, where its container runtime pulls them from."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from quiver.devcluster import configs
from quiver.devcluster.binaries import Binaries
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import Home
from quiver.devcluster.known_images import KnownImage, known, known_images
from quiver.devcluster.network import Network
from quiver.devcluster.progress import Progress
from quiver.images import Layout, NotFound, Reference, Registry, import_archive


def registry_of(network: Network) -> Registry:
    return Registry(f"http://{network.node_ip}:{configs.REGISTRY_PORT}")


def load(home: Home, network: Network, source: str, progress: Progress) -> list[str]:
    """Load an archive's images, or the known image of that name. Returns the names."""
    if Path(source).is_file():
        return asyncio.run(load_archive(home, network, Path(source)))
    asyncio.run(load_known(home, network, [source], progress))
    return [str(Reference.parse(source))]


async def load_known(
    home: Home, network: Network, names: Iterable[str], progress: Progress
) -> None:
    found = [packable(name) for name in names]
    needed = [binary for _, image in found for binary in image.binaries]
    binaries = Binaries.default(progress).ensure(needed)
    with tempfile.TemporaryDirectory(dir=home.path, prefix="packing-") as folder:
        async with registry_of(network) as registry:
            for reference, image in found:
                descriptor = await asyncio.to_thread(image.packer, Path(folder), binaries)
                await registry.push(Layout.at(Path(folder)), reference, image=descriptor)
                mirror_host(home, network, reference)


def packable(name: str) -> tuple[Reference, KnownImage]:
    if found := known(name):
        return found
    raise DevClusterError(
        f"{name!r} is neither an archive nor an image that can be packed here: give the path of a"
        f" tar from `docker save`, or one of {', '.join(known_images())}"
    )


async def load_archive(home: Home, network: Network, archive: Path) -> list[str]:
    with tempfile.TemporaryDirectory(dir=home.path, prefix="packing-") as folder:
        imported = await asyncio.to_thread(import_archive, archive, Path(folder))
        images = {name: image for image, name in imported if name}
        async with registry_of(network) as registry:
            for name, image in images.items():
                await registry.push(Layout.at(Path(folder)), name, image=image)
                mirror_host(home, network, name)
    if not images:
        raise DevClusterError(
            f"the images in {archive} have no names: save them by name, as in `docker save app:1`"
        )
    return [str(name) for name in images]


async def stored(network: Network) -> list[str]:
    """The images in the registry by their public names."""
    async with registry_of(network) as registry:
        repositories = await registry.catalog()
        tags = {repository: await _tags(registry, repository) for repository in repositories}
    return [f"{repository}:{tag}" for repository, all_ in tags.items() for tag in all_]


async def _tags(registry: Registry, repository: str) -> list[str]:
    try:
        tags = await registry.tags(repository)
    except NotFound:  # Pushed by digest only; the registry lists it all the same.
        return []
    return [tag for tag in tags if not tag.startswith("sha256-")]


def mirror_host(home: Home, network: Network, reference: Reference) -> None:
    """From now on the runtime looks for this host's images here first; it reads this each time."""
    folder = home.config / "registries" / reference.host
    if not folder.exists():
        fresh = Path(tempfile.mkdtemp(dir=home.config))
        prefix = reference.mirrored_repository.removesuffix(f"/{reference.repository}")
        hosts = configs.registry_hosts(reference.host, network, prefix=prefix)
        (fresh / "hosts.toml").write_text(hosts)
        shutil.move(fresh, folder)
