"""One attempt to reconcile one object: what is read, what is run, what is told afterwards.

An attempt never raises, except when the process ends: how it ended is its `Decision`.
"""

import asyncio
import logging
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic

import msgspec

from quiver.engine.cache import Cache, Informer, Who
from quiver.engine.children import Parent
from quiver.engine.conditions import DEGRADED, Condition, transitions
from quiver.engine.controller import Controller, R
from quiver.engine.crd import CannotDecode, decode
from quiver.engine.identity import identity_of, replaced
from quiver.engine.kinds import Key, Kind, kind_of
from quiver.engine.leading.leadership import Leadership
from quiver.engine.observe import logs
from quiver.engine.observe.metrics import Metrics
from quiver.engine.observe.reconcilemetrics import Ending, ending_of
from quiver.engine.observe.tracing import Tracing
from quiver.engine.outcome import Decision, Outcome, Terminal, Transient, Wait, next_attempt
from quiver.engine.recording.events import EventType, Recorder, Regarding
from quiver.engine.reporting import is_same, stamped, with_failure, with_waiting
from quiver.engine.turn import Turn
from quiver.kube import Client, Conflict, KubeError, NotFound

log = logging.getLogger(__name__)

_RECONCILE = "Reconcile"
SILENT_FAILURES = 2
"""So many failures in a row that may pass by themselves are retried before the status tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What all controllers of a process share."""

    client: Client
    cache: Cache
    leadership: Leadership
    metrics: Metrics
    tracing: Tracing
    recorder: Recorder
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    jitter: Callable[[], float] = random.random


class TimedOut(Transient, TimeoutError):
    """The reconcile took longer than its controller allows."""


@dataclass(slots=True)
class _Case(Generic[R]):
    """What is known of the object at hand; empty until it was read."""

    key: Key
    raw: bytes = b""
    obj: R | None = None
    turn: Turn[R] | None = None


class Attempt(Generic[R]):
    def __init__(
        self,
        controller: Controller[R],
        informers: Mapping[Kind, Informer],
        around: Surroundings,
        *,
        by: Who,
    ) -> None:
        self._controller = controller
        self._kind = kind_of(controller.resource)
        self._informers = informers
        self._primary = informers[self._kind]
        self._around = around
        self._by = by
        self._clock = asyncio.get_running_loop().time
        self._limits: dict[Key, asyncio.Timeout] = {}
        self._metrics = around.metrics.controller(controller.name, workers=controller.workers)

    async def __call__(self, key: Key, *, failures: int) -> Decision:
        identifier = uuid.uuid4().hex[:12]
        begun = self._clock()
        self._metrics.started()
        ending: Ending | None = None
        try:
            with (
                logs.bound(
                    controller=self._controller.name,
                    kind=self._kind.name,
                    key=key,
                    reconcile_id=identifier,
                ),
                self._around.tracing.reconcile(
                    controller=self._controller.name, key=key, reconcile_id=identifier
                ) as span,
            ):
                decision, ending = await self._decide(_Case(key), failures)
                span.ended(ending)
        finally:
            if ending is None:
                self._metrics.abandoned()
            else:
                self._metrics.ended(ending, self._clock() - begun)
        return decision

    def cut_off(self, key: Key) -> None:
        """End the attempt at this key now: it is not ours any more."""
        if limit := self._limits.get(key):
            limit.reschedule(self._clock())

    async def _decide(self, case: _Case[R], failures: int) -> tuple[Decision, Ending]:
        ended = await self._ended(case)
        decision = next_attempt(ended)
        self._log(ended, decision)
        try:
            await self._tell(case, ended, decision, failures)
        except KubeError as error:
            # The status could not be written: the next attempt finds it out of date.
            self._primary.doubt(case.key)
            log.debug("status: %s", error)
            if not decision.failed:
                failure = Transient(f"the status could not be written: {error}")
                return next_attempt(failure), Ending.ERROR
        return decision, ending_of(ended)

    async def _ended(self, case: _Case[R]) -> Outcome | Exception:
        seconds = self._controller.timeout
        try:
            async with asyncio.timeout(seconds) as limit:
                self._limits[case.key] = limit
                return await self._reconcile(case)
        except TimeoutError as error:
            if limit.expired():
                return TimedOut(f"the reconcile took longer than {seconds:g} s and was ended")
            return error
        except Exception as error:  # The last place where an error can be told to anyone.
            return error
        finally:
            self._limits.pop(case.key, None)

    async def _reconcile(self, case: _Case[R]) -> Outcome:
        await self._primary.settle_doubt(case.key)
        raw = self._primary.store.get(case.key)
        if raw is None:
            return None
        self._take(case, raw)
        assert case.obj is not None
        assert case.turn is not None
        if case.obj.metadata.deletion_timestamp is not None:
            return await self._let_go(case)
        await self._hold(case)
        self._refuse_invalid(case.obj)
        return await self._controller.reconcile(case.obj, case.turn)

    def _take(self, case: _Case[R], raw: bytes) -> None:
        case.raw = raw
        try:
            case.obj = decode(self._controller.resource, raw)
        except CannotDecode as error:
            # Without the object there is no status to tell it in.
            self._record(raw, "Warning", "CannotDecode", str(error))
            raise Terminal(str(error)) from error
        case.turn = Turn(
            self._controller,
            self._around.client,
            self._informers,
            Parent(self._kind, case.key, case.obj.metadata.uid),
            by=self._by,
            event=lambda severity, reason, message: self._record(raw, severity, reason, message),
        )

    def _refuse_invalid(self, obj: R) -> None:
        refusals = list(self._controller.validate(obj, None))
        if refusals:
            raise Terminal("; ".join(f"{it.field}: {it.message}" for it in refusals))

    async def _hold(self, case: _Case[R]) -> None:
        """The finalizer is there before anything is done that it has to undo."""
        name = self._controller.finalizer
        assert case.obj is not None
        if name and name not in case.obj.metadata.finalizers:
            await self._set_finalizers(case, [*case.obj.metadata.finalizers, name])

    async def _let_go(self, case: _Case[R]) -> Outcome:
        name = self._controller.finalizer
        assert case.obj is not None
        assert case.turn is not None
        finalizers = case.obj.metadata.finalizers
        if not name or name not in finalizers:
            return None
        outcome = await self._controller.finalize(case.obj, case.turn)
        if outcome is None:
            case.turn.reported = None
            await self._set_finalizers(case, [it for it in finalizers if it != name])
        return outcome

    async def _set_finalizers(self, case: _Case[R], finalizers: list[str]) -> None:
        assert case.obj is not None
        metadata = case.obj.metadata
        # With the version it is a compare-and-swap: nobody else's finalizer is lost.
        changed = {"finalizers": finalizers, "resourceVersion": metadata.resource_version}
        try:
            answer = await self._around.client.patch(
                self._kind.api_version, self._kind.name, metadata.name,
                {"metadata": changed}, metadata.namespace or None,
            )  # fmt: skip
        except (Conflict, NotFound) as error:
            self._primary.doubt(case.key)
            raise Transient(f"the object changed meanwhile: {error}") from error
        raw = msgspec.json.encode(answer)
        self._primary.written(raw, by=self._by)
        if finalizers:
            self._take(case, raw)

    async def _tell(
        self, case: _Case[R], ended: Outcome | Exception, decision: Decision, failures: int
    ) -> None:
        if case.obj is None:
            return
        before: Any = case.obj.status  # type: ignore[attr-defined]
        reported = case.turn.reported if case.turn else None
        generation, at = case.obj.metadata.generation, self._around.now()
        if decision.failed:
            if not decision.is_told_at_once and failures < SILENT_FAILURES:
                return
            status = with_failure(before, decision, generation=generation, at=at)
        elif reported is not None:
            told = with_waiting(reported, ended) if isinstance(ended, Wait) else reported
            status = stamped(before, told, generation=generation, at=at)
        elif isinstance(ended, Wait):
            status = stamped(before, with_waiting(before, ended), generation=generation, at=at)
        else:
            return
        await self._write_status(case, before, status)

    async def _write_status(self, case: _Case[R], before: Any, status: Any) -> None:
        if is_same(before, status):
            return
        body = replaced(case.raw, "status", status)
        request = self._around.client.replace_raw(body, subresource="status")
        await self._primary.write(case.key, request, by=self._by)
        for old, now in transitions(before.conditions, status.conditions):
            severity = severity_of(now)
            # The first status of a new object is no transition, unless something is wrong.
            if old is not None or severity == "Warning":
                self._record(case.raw, severity, now.reason, f"{now.type}: {now.message}")

    def _record(self, raw: bytes, severity: EventType, reason: str, message: str) -> None:
        identity = identity_of(raw)
        self._around.recorder.record(
            Regarding(
                self._kind.api_version, self._kind.name, identity.namespace, identity.name,
                identity.uid, identity.resource_version,
            ),
            severity, reason, message, _RECONCILE,
        )  # fmt: skip

    def _log(self, ended: Outcome | Exception, decision: Decision) -> None:
        if not decision.failed:
            if decision.message:
                log.debug("%s", decision.message)
        elif ending_of(ended) is Ending.UNEXPECTED:
            log.error("%s", decision.message, exc_info=ended)  # type: ignore[arg-type]
        else:
            log.warning("%s", decision.message)


def severity_of(condition: Condition) -> EventType:
    """Degraded is bad when true, the others when they are not."""
    bad = condition.type == DEGRADED and condition.status == "True"
    return "Warning" if bad else "Normal"
