"""The documents of an image (OCI image-spec 1.1), as far as Quiver writes and reads them."""

import hashlib
import platform
from typing import TypeVar

import msgspec

from quiver.images.errors import BadDocument

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
EMPTY = "application/vnd.oci.empty.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"

MANIFESTS = (MANIFEST, DOCKER_MANIFEST)
INDEXES = (INDEX, DOCKER_INDEX)

_GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


class Platform(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    architecture: str
    os: str
    variant: str = ""


class Descriptor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Points at bytes: what they are, how many, and their digest."""

    media_type: str
    digest: str
    size: int
    urls: tuple[str, ...] = ()
    annotations: dict[str, str] = {}
    data: str = ""
    artifact_type: str = ""
    platform: Platform | None = None


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="pascal"):
    """How a container of the image starts. `env` holds `NAME=value`."""

    user: str = ""
    exposed_ports: dict[str, dict[str, str]] = {}
    env: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    volumes: dict[str, dict[str, str]] = {}
    working_dir: str = ""
    labels: dict[str, str] = {}
    stop_signal: str = ""


class RootFs(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    diff_ids: tuple[str, ...]


class ImageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """No creation time and no history: the same files must give the same digest."""

    architecture: str
    os: str
    config: RunConfig
    rootfs: RootFs


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    schema_version: int
    media_type: str = ""
    artifact_type: str = ""
    config: Descriptor
    layers: tuple[Descriptor, ...]
    subject: Descriptor | None = None
    annotations: dict[str, str] = {}

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        return (self.config, *self.layers)


class Index(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    schema_version: int
    media_type: str = ""
    manifests: tuple[Descriptor, ...]
    annotations: dict[str, str] = {}


Document = TypeVar("Document", bound=msgspec.Struct)


def encode(document: msgspec.Struct) -> bytes:
    """The same document always gives the same bytes, so that its digest can name it."""
    return msgspec.json.encode(document, order="deterministic")


def decode(data: bytes, kind: type[Document], what: str) -> Document:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadDocument(f"{what} is not a valid OCI {kind.__name__.lower()}: {error}.") from error


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def describe(data: bytes, media_type: str) -> Descriptor:
    return Descriptor(media_type=media_type, digest=digest_of(data), size=len(data))


def host_platform() -> Platform:
    """This machine in Go's words, as images use them."""
    machine = platform.machine()
    return Platform(architecture=_GO_NAMES.get(machine, machine), os="linux")
