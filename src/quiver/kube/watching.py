"""Watching the objects of one kind."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from quiver.kube.calls import Calls, decoded, subject_of
from quiver.kube.errors import Unreachable
from quiver.kube.events import IDLE, RawEvent, WatchEvent, raw_events, watch_query
from quiver.kube.request import JSON

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class Watching(Calls):
    async def watch(
        self,
        api_version: str,
        kind: str,
        since: str = "",
        namespace: str | None = None,
        *,
        bookmarks: bool = False,
        initial_events: bool = False,
        labels: str = "",
        fields: str = "",
        idle: float = IDLE,
        timeout: int | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """As `watch_raw`, with the objects decoded."""
        events = self.watch_raw(
            api_version, kind, since, namespace, bookmarks=bookmarks,
            initial_events=initial_events, labels=labels, fields=fields,
            idle=idle, timeout=timeout,
        )  # fmt: skip
        async with aclosing(events):
            async for event in events:
                yield WatchEvent(event.type, decoded(event.object))

    async def watch_raw(
        self,
        api_version: str,
        kind: str,
        since: str = "",
        namespace: str | None = None,
        *,
        bookmarks: bool = False,
        initial_events: bool = False,
        labels: str = "",
        fields: str = "",
        idle: float = IDLE,
        timeout: int | None = None,
        metadata_only: bool = False,
    ) -> AsyncGenerator[RawEvent, None]:
        """Changes after version `since`, until the server ends the watch (after `timeout` seconds).

        With `initial_events` the objects that exist come first, as of `since` or newer, and a
        bookmark for which `ends_initial_events` holds ends them. `Gone` means: list again.
        """
        resource = await self.discovery.find(api_version, kind)
        subject = subject_of("watch", kind, namespace)
        request = self._request(
            "GET",
            resource.url(namespace, None),
            subject=subject,
            query=watch_query(
                since=since,
                initial_events=initial_events,
                labels=labels,
                fields=fields,
                timeout=timeout,
            ),
            accept=_METADATA if metadata_only else JSON,
            idle=idle,
        )
        try:
            async with self._transport.stream(request) as chunks:
                async for event in raw_events(chunks, bookmarks=bookmarks, subject=subject):
                    yield event
        except Unreachable as error:
            raise type(error)(f"the watch on {kind} broke off: {error}") from error
