"""Images under their public names, packed from this project's own binaries.

A manifest from the real world then runs unchanged: the name in it is found in the local registry.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from quiver import __version__
from quiver.devcluster import catalog
from quiver.devcluster.configs import PAUSE_IMAGE
from quiver.devcluster.standins import (
    ROLES,
    VECODEX_APP,
    VERSIONS,
    pack_vecodex,
    vecodex_image,
)
from quiver.images import (
    Descriptor,
    HostFile,
    Reference,
    RunConfig,
    busybox,
    pack,
    pack_operator,
)

Packer = Callable[[Path, dict[str, Path]], Descriptor]

BUSYBOX = "docker.io/library/busybox:1.36"
COREDNS = f"registry.k8s.io/coredns/coredns:v{catalog.COREDNS}"
METRICS_SERVER = f"registry.k8s.io/metrics-server/metrics-server:v{catalog.METRICS_SERVER}"
TRAEFIK = f"docker.io/library/traefik:v{catalog.TRAEFIK}"
VERSITYGW = f"docker.io/versity/versitygw:v{catalog.VERSITYGW}"
OPERATOR = f"ghcr.io/quiver-dev/quiver:{__version__}"

ADDONS = (PAUSE_IMAGE, COREDNS, METRICS_SERVER, TRAEFIK)

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Process 1 of every pod: it waits, ends when told to, and reaps what is left to it.
_PAUSE = "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait $!; done"


class KnownImage(msgspec.Struct, frozen=True):
    """How one image is made: the binaries it takes, and the function that packs them."""

    binaries: tuple[str, ...]
    packer: Packer


def weaviate_image(version: str) -> str:
    return f"cr.weaviate.io/semitechnologies/weaviate:{version}"


def known_images() -> dict[str, KnownImage]:
    images = {
        PAUSE_IMAGE: _shell(entrypoint=("/bin/sh", "-c", _PAUSE)),
        BUSYBOX: _shell(cmd=("sh",)),
        COREDNS: _program("coredns"),
        METRICS_SERVER: _program("metrics-server", user="65532"),
        TRAEFIK: _program("traefik"),
        VERSITYGW: _program("versitygw"),
        OPERATOR: KnownImage((), lambda into, _: pack_operator(into)),
    }
    vecodex = {
        **{vecodex_image(role): _vecodex(role=role) for role in ROLES},
        **{f"{VECODEX_APP}:{version}": _vecodex(version=version) for version in VERSIONS},
    }
    weaviate = {weaviate_image(it): _weaviate(f"weaviate-{it}") for it in catalog.WEAVIATE}
    return images | vecodex | weaviate


def known(name: str) -> tuple[Reference, KnownImage] | None:
    reference = Reference.parse(name)
    image = known_images().get(str(reference))
    return (reference, image) if image else None


def _program(binary: str, *, user: str = "") -> KnownImage:
    """One static binary that is its image's entrypoint."""

    def packer(into: Path, binaries: dict[str, Path]) -> Descriptor:
        program = HostFile(f"/{binary}", binaries[binary], mode=0o755)
        config = RunConfig(entrypoint=(f"/{binary}",), env=(_PATH,), user=user)
        return pack(into, files=[program], config=config)

    return KnownImage((binary,), packer)


def _shell(*, entrypoint: tuple[str, ...] = (), cmd: tuple[str, ...] = ()) -> KnownImage:
    config = RunConfig(entrypoint=entrypoint, cmd=cmd, env=(_PATH,))
    return KnownImage((), lambda into, _: pack(into, files=busybox(), config=config))


def _vecodex(*, role: str = "", version: str = "latest") -> KnownImage:
    return KnownImage((), lambda into, _: pack_vecodex(into, role=role, version=version))


def _weaviate(binary: str) -> KnownImage:
    """As published: the server, its default arguments, and a shell to look around with."""
    cmd = ("--host", "0.0.0.0", "--port", "8080", "--scheme", "http")  # noqa: S104
    config = RunConfig(entrypoint=("/bin/weaviate",), cmd=cmd, env=(_PATH,))

    def packer(into: Path, binaries: dict[str, Path]) -> Descriptor:
        program = HostFile("/bin/weaviate", binaries[binary], mode=0o755)
        return pack(into, below=[busybox()], files=[program], config=config)

    return KnownImage((binary,), packer)
