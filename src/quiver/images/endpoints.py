"""The endpoints of a registry (OCI distribution-spec 1.1), one method each."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec
from yarl import URL

from quiver.images.errors import BadReference, Corrupt, NotFound, RegistryError
from quiver.images.oci import INDEXES, MANIFESTS, Descriptor, describe, digest_of
from quiver.images.reference import is_digest, is_repository, is_tag
from quiver.images.transport import Answer, Request, Transport

_ACCEPTED = ", ".join((*MANIFESTS, *INDEXES))
_PAGE = 100

Page = TypeVar("Page")


class _Tags(msgspec.Struct):
    tags: list[str] | None = None


class _Catalog(msgspec.Struct):
    repositories: list[str] | None = None


class _Typed(msgspec.Struct, rename="camel"):
    media_type: str = ""


class Endpoints:
    """With a prefix, every repository is below it, unseen by the caller."""

    def __init__(self, transport: Transport, prefix: str) -> None:
        self._transport = transport
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def ping(self) -> None:
        """Raise unless a registry answers here."""
        try:
            await self._transport.repeated(Request("GET", self._url("/v2/")))
        except NotFound as error:
            raise RegistryError(f"There is no registry at {self._transport.base}.") from error

    async def tags(self, repository: str) -> list[str]:
        """All tags; `NotFound` where the registry does not know the repository."""
        url = self._at(repository, "tags/list").with_query(n=_PAGE)
        pages = [_decoded(page, _Tags).tags or [] async for page in self._pages(url)]
        return [tag for page in pages for tag in page]

    async def catalog(self) -> list[str]:
        """All repositories below the prefix."""
        url = self._url("/v2/_catalog").with_query(n=_PAGE)
        pages = [_decoded(page, _Catalog).repositories or [] async for page in self._pages(url)]
        names = (name for page in pages for name in page if name.startswith(self._prefix))
        return [name.removeprefix(self._prefix) for name in names]

    async def manifest(self, repository: str, reference: str) -> tuple[Descriptor, bytes]:
        """A manifest or index by its tag or digest, with its bytes as they were signed."""
        url = self._at(repository, f"manifests/{tag_or_digest(reference)}")
        answer = await self._transport.repeated(Request("GET", url, {"Accept": _ACCEPTED}))
        promised = reference if is_digest(reference) else _digest_header(answer)
        _require_digest(promised, answer.body, url)
        return describe(answer.body, _media_type(answer)), answer.body

    async def blob(self, repository: str, descriptor: Descriptor) -> bytes:
        """A small blob, checked against its digest."""
        url = self._at(repository, f"blobs/{tag_or_digest(descriptor.digest)}")
        answer = await self._transport.repeated(Request("GET", url, expects=descriptor.size))
        _require_digest(descriptor.digest, answer.body, url)
        return answer.body

    async def has_blob(self, repository: str, digest: str) -> bool:
        try:
            await self._transport.repeated(
                Request("HEAD", self._at(repository, f"blobs/{tag_or_digest(digest)}"))
            )
        except NotFound:
            return False
        return True

    async def put_blob(self, repository: str, digest: str, body: bytes | Path) -> None:
        """Upload unless it is there."""
        if not await self.has_blob(repository, digest):
            # As a whole: an upload cannot be resumed, but a blob may arrive twice.
            await self._transport.backoff.retried(lambda: self._upload(repository, digest, body))

    async def put_manifest(
        self, repository: str, reference: str, data: bytes, media_type: str
    ) -> Answer:
        url = self._at(repository, f"manifests/{tag_or_digest(reference)}")
        return await self._transport.repeated(
            Request("PUT", url, {"Content-Type": media_type}, data)
        )

    async def _upload(self, repository: str, digest: str, body: bytes | Path) -> None:
        start = Request("POST", self._at(repository, "blobs/uploads/"))
        answer = await self._transport.once(start)
        location = answer.headers.get("Location")
        if not location:
            raise RegistryError(f"{start} was answered without a place to upload to.")
        url = answer.url.join(URL(location)).update_query(digest=digest)
        kind = {"Content-Type": "application/octet-stream"}
        await self._transport.once(Request("PUT", url, kind, body))

    async def _pages(self, first: URL) -> AsyncIterator[Answer]:
        seen: set[URL] = set()
        url: URL | None = first
        while url and url not in seen:
            seen.add(url)
            answer = await self._transport.repeated(Request("GET", url))
            yield answer
            url = answer.next_page

    def _at(self, repository: str, rest: str) -> URL:
        name = self._prefix + repository
        if not is_repository(name):
            raise BadReference(f"{name!r} cannot be a repository; write it like `team/app`.")
        return self._url(f"/v2/{name}/{rest}")

    def _url(self, path: str) -> URL:
        return URL(f"{self._transport.base}{path}")


def _decoded(answer: Answer, kind: type[Page]) -> Page:
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegistryError(f"{answer.url} does not answer like a registry: {error}.") from error


def tag_or_digest(text: str) -> str:
    if not is_digest(text) and not is_tag(text):
        raise BadReference(f"{text!r} is neither a tag nor a digest such as sha256:<64 digits>.")
    return text


def _digest_header(answer: Answer) -> str:
    promised = answer.headers.get("Docker-Content-Digest", "")
    return promised if promised.startswith("sha256:") else digest_of(answer.body)


def _media_type(answer: Answer) -> str:
    header = answer.headers.get("Content-Type", "").partition(";")[0].strip()
    known = header in (*MANIFESTS, *INDEXES)
    return header if known else _decoded(answer, _Typed).media_type or header


def _require_digest(promised: str, body: bytes, url: URL) -> None:
    actual = digest_of(body)
    if promised != actual:
        raise Corrupt(f"{url} should be {promised}, but the bytes received are {actual}.")
