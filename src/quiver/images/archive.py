"""Images from a tar file: what `docker save` writes, or an OCI layout, plain or compressed.

Nothing is extracted by its name in the archive: every blob goes into the layout under its
digest, so no archive can write elsewhere.
"""

import posixpath
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from quiver.images.errors import BadArchive, BadReference, ImageError
from quiver.images.layout import FULL_NAME, TAG_NAME, Layout
from quiver.images.oci import (
    CONFIG,
    INDEXES,
    LAYER,
    MANIFEST,
    Descriptor,
    Index,
    Manifest,
    RootFs,
    decode,
    encode,
    host_platform,
)
from quiver.images.reference import Reference

_CHUNK = 1024 * 1024
_MAX_DOCUMENT = 16 * 1024 * 1024
_COMPRESSIONS = {b"\x1f\x8b": "+gzip", b"\x28\xb5\x2f\xfd": "+zstd"}


class Imported(NamedTuple):
    """An image that is now in the layout. One without a name is kept, but not listed there."""

    image: Descriptor
    reference: Reference | None


class _Saved(msgspec.Struct, rename="pascal"):
    """One image in the `manifest.json` of `docker save`."""

    config: str
    layers: list[str]
    repo_tags: list[str] | None = None


class _SavedConfig(msgspec.Struct):
    rootfs: RootFs


def import_archive(archive: Path, into: Path) -> list[Imported]:
    """Copy every image of the archive into the layout and list it there under its names."""
    try:
        with tarfile.open(archive) as tar:
            found = list(_Archive(archive, tar, Layout.at(into)).images())
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise BadArchive(f"{archive} cannot be read as a tar archive: {error}.") from error
    if not found:
        raise BadArchive(f"{archive} holds no image.")
    return found


class _Archive:
    def __init__(self, path: Path, tar: tarfile.TarFile, layout: Layout) -> None:
        self._path = path
        self._tar = tar
        self._layout = layout
        self._members = {posixpath.normpath(member.name): member for member in tar}

    def images(self) -> Iterator[Imported]:
        # Docker 25 and later write both; only the OCI one keeps the digests of the registry.
        if "index.json" in self._members:
            yield from self._oci_images()
        elif "manifest.json" in self._members:
            yield from self._saved_images()
        else:
            raise self._bad("it has neither index.json nor manifest.json; `docker save` writes one")

    def _oci_images(self) -> Iterator[Imported]:
        index = decode(self._document("index.json"), Index, f"index.json in {self._path}")
        self._copy_blobs()
        for descriptor in index.manifests:
            yield self._named(self._whole(descriptor), _oci_name(descriptor))

    def _copy_blobs(self) -> None:
        for name, member in self._members.items():
            folder, _, digits = name.rpartition("/")
            if folder == "blobs/sha256" and not self._layout.has(f"sha256:{digits}"):
                self._copy(member, expected=f"sha256:{digits}")

    def _whole(self, descriptor: Descriptor) -> Descriptor:
        """The image, or of an index with gaps the part for this machine."""
        if descriptor.media_type not in INDEXES:
            return self._whole_manifest(descriptor)
        index = decode(self._blob(descriptor), Index, f"index {descriptor.digest}")
        if all(self._layout.has(child.digest) for child in index.manifests):
            for child in index.manifests:
                self._whole(child)
            return descriptor
        return self._whole(self._for_this_machine(index))

    def _for_this_machine(self, index: Index) -> Descriptor:
        # `docker save` keeps the index of all platforms beside the blobs of one.
        here = host_platform()
        for child in index.manifests:
            wanted = child.platform and child.platform.architecture == here.architecture
            if wanted and self._layout.has(child.digest):
                return child
        raise self._bad(f"it has no image for {here.os}/{here.architecture}")

    def _whole_manifest(self, descriptor: Descriptor) -> Descriptor:
        manifest = decode(self._blob(descriptor), Manifest, f"manifest {descriptor.digest}")
        for blob in manifest.blobs:
            if not blob.urls and not self._layout.has(blob.digest):
                raise self._bad(f"it lacks the blob {blob.digest}; save the image again")
        return descriptor

    def _saved_images(self) -> Iterator[Imported]:
        for saved in self._saved():
            image = self._saved_image(saved)
            for name in saved.repo_tags or [""]:
                yield self._named(image, name)

    def _saved(self) -> list[_Saved]:
        try:
            return msgspec.json.decode(self._document("manifest.json"), type=list[_Saved])
        except msgspec.DecodeError as error:
            raise self._bad(f"its manifest.json is not that of `docker save`: {error}") from error

    def _saved_image(self, saved: _Saved) -> Descriptor:
        config = self._document(saved.config)
        layers = tuple(self._copy(self._member(layer)) for layer in saved.layers)
        self._check_layers(decode(config, _SavedConfig, f"config {saved.config}"), layers)
        manifest = Manifest(
            schema_version=2,
            media_type=MANIFEST,
            config=self._layout.add(config, CONFIG),
            layers=layers,
        )
        return self._layout.add(encode(manifest), MANIFEST)

    def _check_layers(self, config: _SavedConfig, layers: tuple[Descriptor, ...]) -> None:
        promised = config.rootfs.diff_ids
        if len(promised) != len(layers):
            raise self._bad(f"an image has {len(layers)} layers where {len(promised)} are promised")
        for diff_id, layer in zip(promised, layers, strict=True):
            if layer.media_type == LAYER and layer.digest != diff_id:
                raise self._bad(f"the layer {diff_id} is damaged; save the image again")

    def _named(self, image: Descriptor, name: str) -> Imported:
        reference = _reference(name)
        if reference:
            self._layout.name(image, reference)
        return Imported(image, reference)

    def _copy(self, member: tarfile.TarInfo, expected: str = "") -> Descriptor:
        with self._open(member) as source, self._layout.new_blob(expected) as blob:
            start = source.read(4)
            blob.write(start)
            shutil.copyfileobj(source, blob, _CHUNK)
        return blob.descriptor(_layer_type(start))

    def _blob(self, descriptor: Descriptor) -> bytes:
        if not self._layout.has(descriptor.digest):
            raise self._bad(f"it lacks the blob {descriptor.digest}; save the image again")
        return self._layout.read(descriptor)

    def _document(self, name: str) -> bytes:
        member = self._member(name)
        if member.size > _MAX_DOCUMENT:
            raise self._bad(f"{name} is too large to be a JSON document")
        with self._open(member) as file:
            return file.read()

    def _member(self, name: str) -> tarfile.TarInfo:
        member = self._members.get(posixpath.normpath(name))
        if member is None:
            raise self._bad(f"it lacks {name}, which it refers to; save the image again")
        return member

    def _open(self, member: tarfile.TarInfo) -> IO[bytes]:
        try:
            file = self._tar.extractfile(member)
        except KeyError as error:
            raise self._bad(f"{member.name} links to a file that is not there") from error
        if file is None:
            raise self._bad(f"{member.name} is not a file")
        return file

    def _bad(self, why: str) -> ImageError:
        return BadArchive(f"{self._path} is not an image archive Quiver can load: {why}.")


def _layer_type(start: bytes) -> str:
    suffixes = (suffix for magic, suffix in _COMPRESSIONS.items() if start.startswith(magic))
    return LAYER + next(suffixes, "")


def _oci_name(descriptor: Descriptor) -> str:
    full = descriptor.annotations.get(FULL_NAME, "")
    short = descriptor.annotations.get(TAG_NAME, "")
    # A bare word is a tag; it does not say of which repository.
    return full or (short if "/" in short or ":" in short else "")


def _reference(name: str) -> Reference | None:
    try:
        return Reference.parse(name) if name else None
    except BadReference:
        return None
