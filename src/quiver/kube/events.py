"""The events of a watch, whole or with the object left as bytes."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import msgspec

from quiver.kube.errors import error_from
from quiver.kube.lines import lines
from quiver.kube.selectors import selectors

BOOKMARK = "BOOKMARK"
# The server sends bookmarks about once a minute; silence beyond that is a dead connection.
IDLE = 150.0

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(NamedTuple):
    type: str
    object: dict[str, Any]


class RawEvent(NamedTuple):
    """`object` is the object's JSON."""

    type: str
    object: bytes


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _Annotations(msgspec.Struct, gc=False):
    annotations: dict[str, str] = {}


class _Annotated(msgspec.Struct, gc=False):
    metadata: _Annotations


_event = msgspec.json.Decoder(_Event)
_annotated = msgspec.json.Decoder(_Annotated)


async def raw_events(
    chunks: AsyncIterator[bytes], *, bookmarks: bool, subject: str
) -> AsyncIterator[RawEvent]:
    """An error inside the stream is raised as the same error would be outside of it."""
    async for line in lines(chunks):
        event = _event.decode(line)
        if event.type == "ERROR":
            raise error_from(0, bytes(event.object), subject=subject)
        if bookmarks or event.type != BOOKMARK:
            yield RawEvent(event.type, bytes(event.object))


def ends_initial_events(event: RawEvent) -> bool:
    """Whether this bookmark says that all objects that existed at the start were sent."""
    if event.type != BOOKMARK:
        return False
    return _annotated.decode(event.object).metadata.annotations.get(_INITIAL_EVENTS_END) == "true"


def watch_query(
    *, since: str, initial_events: bool, labels: str, fields: str, timeout: int | None
) -> dict[str, str]:
    query = {"watch": "true", "resourceVersion": since, "allowWatchBookmarks": "true"}
    if initial_events:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    if timeout is not None:
        query["timeoutSeconds"] = str(timeout)
    return query | selectors(labels=labels, fields=fields)
