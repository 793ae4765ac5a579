"""An Event as the API server wants it: names that are valid, texts that are short enough."""

import re
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from quiver.kube import Object

EventType = Literal["Normal", "Warning"]

NOTE_LIMIT = 1024
REASON_LIMIT = 128
"""Also the limit of actions and instances; all limits are in bytes of UTF-8."""

_NAME_LIMIT = 253
_ELLIPSIS = "…"
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class Regarding(NamedTuple):
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""

    @property
    def events_namespace(self) -> str:
        """Where its Events are: those of cluster-scoped objects are in `default`."""
        return self.namespace or "default"

    def reference(self) -> Object:
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
        }
        return {name: value for name, value in fields.items() if value}


def regarding(obj: Object) -> Regarding:
    """The reference to an object as the server answers it."""
    metadata = obj["metadata"]
    return Regarding(
        obj["apiVersion"],
        obj["kind"],
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("resourceVersion", ""),
    )


def event_name(about: Regarding, at: datetime, number: int) -> str:
    """`<object>.<nanoseconds>`, as client-go names them; `number` tells apart one instant's."""
    microseconds = int(at.timestamp()) * 1_000_000 + at.microsecond
    stamp = f".{microseconds * 1000 + number % 1000:x}"
    # Names of some kinds (`system:node`) are none for an Event.
    name = next((n for n in (about.name, about.uid) if _SUBDOMAIN.fullmatch(n)), "event")
    return name[: _NAME_LIMIT - len(stamp)].rstrip(".-") + stamp


def cut(text: str, limit: int) -> str:
    """At most so many bytes, cut between characters; what UTF-8 cannot say becomes `?`."""
    raw = text.encode(errors="replace")
    if len(raw) <= limit:
        return raw.decode()
    return raw[: limit - len(_ELLIPSIS.encode())].decode(errors="ignore") + _ELLIPSIS


def micro_time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
