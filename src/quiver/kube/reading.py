"""Reading one object, listing many."""

from collections.abc import AsyncGenerator

import msgspec

from quiver.kube.calls import Calls, Object, Objects, decoded, subject_of
from quiver.kube.errors import Gone
from quiver.kube.paging import Page, page_from
from quiver.kube.request import JSON
from quiver.kube.selectors import selectors

PAGE_SIZE = 500

_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Reading(Calls):
    async def get(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
    ) -> Object:
        return decoded(
            await self.get_raw(api_version, kind, name, namespace, subresource=subresource)
        )

    async def get_raw(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
    ) -> bytes:
        """As `get`, for who keeps the bytes."""
        url, subject = await self._one("get", api_version, kind, name, namespace, subresource)
        return await self._exchange("GET", url, subject=subject, may_repeat=True)

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        page_size: int | None = None,
    ) -> Objects:
        listed = await self.list_with_version(
            api_version, kind, namespace, labels=labels, fields=fields, page_size=page_size
        )
        return listed[0]

    async def list_with_version(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        page_size: int | None = None,
    ) -> tuple[Objects, str]:
        """All objects, and the version from which a watch goes on without a gap."""
        found: Objects = []
        version = ""
        async for page in self.pages(
            api_version, kind, namespace, labels=labels, fields=fields, page_size=page_size
        ):
            if page.is_first:
                found.clear()
            found += [decoded(item) for item in page.items]
            version = page.metadata.resource_version
        return found, version

    async def pages(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        page_size: int | None = PAGE_SIZE,
        metadata_only: bool = False,
    ) -> AsyncGenerator[Page, None]:
        """All objects of one version, page by page, as bytes.

        When the server forgets the version between two pages, the list begins anew in one piece
        (see `Page.is_first`): a list from two versions would miss deletions.
        """
        resource = await self.discovery.find(api_version, kind)
        request = self._request(
            "GET",
            resource.url(namespace, None),
            subject=subject_of("list", kind, namespace),
            query=selectors(labels=labels, fields=fields),
            accept=_METADATA_LIST if metadata_only else JSON,
            may_repeat=True,
        )
        limit = {} if page_size is None else {"limit": str(page_size)}
        token = ""
        while True:
            query = {**request.query, **limit} | ({"continue": token} if token else {})
            try:
                body = await self._transport.exchange(msgspec.structs.replace(request, query=query))
            except Gone:
                if not token:
                    raise
                token, limit = "", {}
                continue
            page = page_from(body, is_first=not token)
            yield page
            token = page.metadata.continue_
            if not token:
                return
