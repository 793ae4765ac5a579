"""Lease objects: who holds one, changed only by compare-and-swap, judged only by our own clock.

A holder counts from the moment it sent its last renewal that succeeded, an observer from the
moment it saw the Lease change, which is later. The holder stops after `renew_deadline`, the
observer waits for `duration`, which is longer. So, as long as clocks run at the same rate, the
holder has stopped before anybody takes over; what the clocks show does not matter, and the times
in a Lease are for people only. A Lease fences nothing by itself: `Hold.valid_until` bounds every
request.
"""

import math
import socket
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from quiver.engine.kinds import LEASE
from quiver.kube import Client, NotFound, Object


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """In seconds. The defaults are those of client-go."""

    duration: float = 15.0
    """How long others wait after they last saw a Lease change."""
    renew_deadline: float = 10.0
    """How long its holder relies on a renewal."""
    retry: float = 2.0
    """How often the holder renews, and a candidate looks."""

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError(
                "A Lease needs 0 < retry < renew deadline < duration, so that its holder stops "
                f"before another takes over; these are {self.retry:g}, {self.renew_deadline:g} and "
                f"{self.duration:g} s"
            )

    @property
    def attempt(self) -> float:
        """The longest wait for one answer: one that hangs must leave time for another."""
        return self.renew_deadline / 2


@dataclass(frozen=True, slots=True)
class Lease:
    """One Lease as the server has it, or as it is to be written."""

    obj: Object

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"].get("uid", ""))

    @property
    def version(self) -> str:
        return str(self.obj["metadata"].get("resourceVersion", ""))

    @property
    def annotations(self) -> dict[str, str]:
        return self.obj["metadata"].get("annotations") or {}

    @property
    def spec(self) -> dict[str, Any]:
        return self.obj.get("spec") or {}

    @property
    def holder(self) -> str:
        return self.spec.get("holderIdentity") or ""

    @property
    def duration(self) -> float | None:
        seconds = self.spec.get("leaseDurationSeconds")
        return None if seconds is None else float(seconds)

    def held(self, by: str, *, at: datetime, duration: float) -> "Lease":
        """Taken or renewed. A change of holder is a transition, the first one is not."""
        stamp = _micro_time(at)
        taken: Object = {}
        if self.holder != by:
            was_held = "acquireTime" in self.spec
            transitions = (self.spec.get("leaseTransitions") or 0) + was_held
            taken = {"holderIdentity": by, "acquireTime": stamp, "leaseTransitions": transitions}
        kept = {"renewTime": stamp, "leaseDurationSeconds": math.ceil(duration)}
        return self._with(spec=self.spec | taken | kept)

    def released(self, *, at: datetime) -> "Lease":
        """Nobody's, for a successor to take at once."""
        free = {"renewTime": _micro_time(at), "leaseDurationSeconds": 1}
        spec = {name: value for name, value in self.spec.items() if name != "holderIdentity"}
        return self._with(spec=spec | free)

    def annotated(self, annotations: Mapping[str, str]) -> "Lease":
        return self._with(metadata={"annotations": {**self.annotations, **annotations}})

    def labelled(self, labels: Mapping[str, str]) -> "Lease":
        present = self.obj["metadata"].get("labels") or {}
        return self._with(metadata={"labels": {**present, **labels}})

    def _with(self, *, spec: Object | None = None, metadata: Object | None = None) -> "Lease":
        changed = {"spec": spec if spec is not None else self.spec}
        whole = self.obj["metadata"] | (metadata or {})
        return replace(self, obj=self.obj | changed | {"metadata": whole})


def new_lease(name: str, namespace: str) -> Lease:
    return Lease(
        {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {},
        }
    )


class Sighting(NamedTuple):
    """When a Lease was last seen to change."""

    version: str
    """Empty where the Lease is gone."""
    since: float
    duration: float

    @property
    def until(self) -> float:
        return self.since + self.duration

    def again(self, version: str, *, at: float, duration: float | None = None) -> "Sighting":
        """The same if nothing changed, however often it is looked at."""
        if version == self.version:
            return self
        return Sighting(version, at, self.duration if duration is None else duration)


class Hold:
    """Until when a Lease is surely ours. Once over, it is over for ever."""

    __slots__ = ("_renew_deadline", "valid_until")

    def __init__(self, *, sent: float, renew_deadline: float) -> None:
        self.valid_until = sent + renew_deadline
        self._renew_deadline = renew_deadline

    def is_valid(self, at: float) -> bool:
        return at < self.valid_until

    def renewed(self, *, sent: float, at: float) -> None:
        """A renewal sent at `sent` was answered at `at`: too late, and it changes nothing.

        Whoever asked in between was told that the Lease is lost, and acted upon it.
        """
        if self.is_valid(at):
            self.valid_until = sent + self._renew_deadline

    def end(self) -> None:
        self.valid_until = -math.inf


class Leases:
    """The Leases of one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.namespace = namespace
        self._client = client

    def within(self, deadline: float) -> "Leases":
        """The same, with this deadline for each request."""
        return Leases(self._client.within(deadline), self.namespace)

    async def read(self, name: str) -> Lease | None:
        try:
            return Lease(
                await self._client.get(LEASE.api_version, LEASE.name, name, self.namespace)
            )
        except NotFound:
            return None

    async def create(self, lease: Lease) -> Lease:
        return Lease(await self._client.create(lease.obj))

    async def swap(self, lease: Lease) -> Lease:
        """Write it, unless somebody has changed it since it was read: that is a `Conflict`."""
        return Lease(await self._client.replace(lease.obj))

    async def delete(self, name: str, *, version: str | None = None) -> None:
        await self._client.delete(
            LEASE.api_version, LEASE.name, name, self.namespace, missing_ok=True, version=version
        )

    async def list(self, labels: str) -> tuple[list[Lease], str]:
        """As they are now: the server asks its store, not what it remembers."""
        found, version = await self._client.list_with_version(
            LEASE.api_version, LEASE.name, self.namespace, labels=labels
        )
        # The items of a list do not say what they are, and could not be written back.
        named = {"apiVersion": LEASE.api_version, "kind": LEASE.name}
        return [Lease(named | obj) for obj in found], version

    async def watch(
        self, labels: str, since: str, *, idle: float
    ) -> AsyncGenerator[tuple[str, Lease], None]:
        events = self._client.watch(
            LEASE.api_version, LEASE.name, since, self.namespace, labels=labels, idle=idle
        )
        async with aclosing(events):
            async for event in events:
                yield event.type, Lease(event.object)


def own_identity() -> str:
    """As client-go names holders: where it runs, and which run it is."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def wall_clock() -> datetime:
    return datetime.now(UTC)


def _micro_time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
