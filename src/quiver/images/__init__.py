"""Images without Docker: name, pack, store, load and push them."""

from quiver.images.archive import Imported, import_archive
from quiver.images.backoff import Backoff
from quiver.images.busybox import busybox
from quiver.images.entries import Content, Directory, Entry, HostFile, Symlink, base_entries
from quiver.images.errors import (
    BadArchive,
    BadDocument,
    BadEntry,
    BadReference,
    Busy,
    CannotCollect,
    Corrupt,
    ImageError,
    Missing,
    NotFound,
    Refused,
    RegistryError,
    Unauthorized,
    Unreachable,
)
from quiver.images.interpreter import Interpreter
from quiver.images.layout import Layout
from quiver.images.oci import Descriptor, Index, Manifest, Platform, RunConfig
from quiver.images.pack import pack
from quiver.images.reference import Reference
from quiver.images.referrers import Artifact, ArtifactFile
from quiver.images.registry import Registry
from quiver.images.runtime import pack_operator

__all__ = [
    "Artifact",
    "ArtifactFile",
    "Backoff",
    "BadArchive",
    "BadDocument",
    "BadEntry",
    "BadReference",
    "Busy",
    "CannotCollect",
    "Content",
    "Corrupt",
    "Descriptor",
    "Directory",
    "Entry",
    "HostFile",
    "ImageError",
    "Imported",
    "Index",
    "Interpreter",
    "Layout",
    "Manifest",
    "Missing",
    "NotFound",
    "Platform",
    "Reference",
    "Refused",
    "Registry",
    "RegistryError",
    "RunConfig",
    "Symlink",
    "Unauthorized",
    "Unreachable",
    "base_entries",
    "busybox",
    "import_archive",
    "pack",
    "pack_operator",
]
