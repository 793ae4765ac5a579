"""A registry as Quiver uses it: push images, attach artifacts to them, list what is attached."""

import asyncio
import ssl
from collections.abc import Iterable

from quiver.images.backoff import Backoff
from quiver.images.endpoints import Endpoints, tag_or_digest
from quiver.images.errors import BadReference, NotFound
from quiver.images.layout import Layout
from quiver.images.oci import (
    INDEX,
    INDEXES,
    MANIFEST,
    Descriptor,
    Index,
    Manifest,
    decode,
    describe,
    digest_of,
    encode,
)
from quiver.images.reference import Reference
from quiver.images.referrers import (
    EMPTY_CONFIG,
    NO_REFERRERS,
    Artifact,
    as_referrer,
    fallback_tag,
    of_type,
    referrers_in,
    with_referrer,
)
from quiver.images.transport import Transport


class Registry(Endpoints):
    """Images of other registries are kept under their host, as `Reference.mirrored_repository`."""

    def __init__(
        self,
        base: str,
        *,
        prefix: str = "",
        deadline: float = 30.0,
        backoff: Backoff | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        transport = Transport(base, deadline=deadline, backoff=backoff or Backoff(), tls=tls)
        super().__init__(transport, prefix)
        self._fallback = asyncio.Lock()

    async def push(
        self, layout: Layout, reference: Reference, *, image: Descriptor | None = None
    ) -> Descriptor:
        """Push what the layout has under this name, or the given image, under this name."""
        image = image or layout.resolve(reference)
        if reference.digest not in {"", image.digest}:
            raise BadReference(f"{reference} cannot name the image {image.digest}.")
        await self.push_image(layout, image, reference.mirrored_repository, reference.tag)
        return image

    async def push_image(
        self, layout: Layout, image: Descriptor, repository: str, tag: str = ""
    ) -> None:
        """Push an image or an index with all its images; what is there is not sent again."""
        data = layout.read(image)
        if image.media_type in INDEXES:
            for child in decode(data, Index, f"index {image.digest}").manifests:
                await self.push_image(layout, child, repository)
        else:
            manifest = decode(data, Manifest, f"manifest {image.digest}")
            await self._push_blobs(layout, manifest.blobs, repository)
        await self.put_manifest(repository, tag or image.digest, data, image.media_type)

    async def referrers(
        self, repository: str, digest: str, *, artifact_type: str = ""
    ) -> list[Descriptor]:
        """What is attached to the image, all of it or that of one type."""
        try:
            found = await self._listed_referrers(repository, digest)
        except NotFound:
            found = (await self._fallback_referrers(repository, digest)).manifests
        return of_type(found, artifact_type)

    async def attach(self, repository: str, subject: Descriptor, artifact: Artifact) -> Descriptor:
        """Push an artifact that refers to the subject, so that `referrers` finds it."""
        manifest = artifact.manifest(subject)
        data = encode(manifest)
        for body in (EMPTY_CONFIG, *(file.data for file in artifact.files)):
            await self.put_blob(repository, digest_of(body), body)
        answer = await self.put_manifest(repository, digest_of(data), data, MANIFEST)
        referrer = as_referrer(manifest, describe(data, MANIFEST))
        if "OCI-Subject" not in answer.headers:
            await self._add_to_fallback(repository, subject.digest, referrer)
        return referrer

    async def _push_blobs(
        self, layout: Layout, blobs: Iterable[Descriptor], repository: str
    ) -> None:
        for blob in blobs:
            if not blob.urls:
                await self.put_blob(repository, blob.digest, layout.existing(blob.digest))

    async def _listed_referrers(self, repository: str, digest: str) -> tuple[Descriptor, ...]:
        url = self._at(repository, f"referrers/{tag_or_digest(digest)}")
        what = f"the list of referrers at {url}"
        pages = [decode(page.body, Index, what) async for page in self._pages(url)]
        return tuple(one for page in pages for one in page.manifests)

    async def _fallback_referrers(self, repository: str, digest: str) -> Index:
        tag = fallback_tag(digest)
        try:
            found, data = await self.manifest(repository, tag)
        except NotFound:
            return NO_REFERRERS
        return referrers_in(found, data, f"{repository}:{tag}")

    async def _add_to_fallback(self, repository: str, digest: str, referrer: Descriptor) -> None:
        # Read, change, write: without the lock two attachments would lose one of them.
        async with self._fallback:
            before = await self._fallback_referrers(repository, digest)
            after = with_referrer(before, referrer)
            if after is not before:
                await self.put_manifest(repository, fallback_tag(digest), encode(after), INDEX)
