"""What refers to an image: signatures, attestations, bills of materials (OCI 1.1).

A registry that does not list referrers itself leaves it to its clients: they keep an index
under a tag made of the subject's digest.
"""

import re

import msgspec

from quiver.images.errors import BadDocument
from quiver.images.oci import (
    EMPTY,
    INDEX,
    INDEXES,
    MANIFEST,
    Descriptor,
    Index,
    Manifest,
    decode,
    describe,
)

EMPTY_CONFIG = b"{}"
NO_REFERRERS = Index(schema_version=2, media_type=INDEX, manifests=())

_MAX_ALGORITHM = 32
_MAX_ENCODED = 64


class ArtifactFile(msgspec.Struct, frozen=True, kw_only=True):
    media_type: str
    data: bytes
    annotations: dict[str, str] = {}

    @property
    def descriptor(self) -> Descriptor:
        plain = describe(self.data, self.media_type)
        return msgspec.structs.replace(plain, annotations=self.annotations)


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """Something said about an image: a type, and at least one small file."""

    artifact_type: str
    files: tuple[ArtifactFile, ...]
    annotations: dict[str, str] = {}

    def manifest(self, subject: Descriptor) -> Manifest:
        return Manifest(
            schema_version=2,
            media_type=MANIFEST,
            artifact_type=self.artifact_type,
            config=describe(EMPTY_CONFIG, EMPTY),
            layers=tuple(file.descriptor for file in self.files),
            subject=_plain(subject),
            annotations=self.annotations,
        )


def fallback_tag(digest: str) -> str:
    algorithm, _, encoded = digest.partition(":")
    return _as_tag(algorithm)[:_MAX_ALGORITHM] + "-" + _as_tag(encoded)[:_MAX_ENCODED]


def referrers_in(found: Descriptor, data: bytes, where: str) -> Index:
    """The index under a fallback tag; anything else there must not be overwritten."""
    if found.media_type not in INDEXES:
        raise BadDocument(f"{where} should be an index of referrers but is {found.media_type}.")
    return decode(data, Index, where)


def with_referrer(index: Index, referrer: Descriptor) -> Index:
    if any(known.digest == referrer.digest for known in index.manifests):
        return index
    return msgspec.structs.replace(index, manifests=(*index.manifests, referrer))


def as_referrer(manifest: Manifest, described: Descriptor) -> Descriptor:
    """The entry of an artifact in the index of its subject."""
    kind = manifest.artifact_type or manifest.config.media_type
    return msgspec.structs.replace(described, artifact_type=kind, annotations=manifest.annotations)


def of_type(referrers: tuple[Descriptor, ...], artifact_type: str) -> list[Descriptor]:
    return [one for one in referrers if artifact_type in {"", one.artifact_type}]


def _plain(subject: Descriptor) -> Descriptor:
    return Descriptor(media_type=subject.media_type, digest=subject.digest, size=subject.size)


def _as_tag(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text)
