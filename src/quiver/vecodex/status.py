"""From what was wanted and what is there to the status, in words that people can act on."""

from collections.abc import Iterator, Mapping

from quiver.engine.conditions import DEGRADED, PROGRESSING, READY, Condition
from quiver.engine.kstatus import State, progress
from quiver.vecodex.api import ComponentStatus, Phase, Status, VecodexSet
from quiver.vecodex.deployment import wanted_replicas
from quiver.vecodex.gpu import Devices
from quiver.vecodex.names import Role, selector_text
from quiver.vecodex.network import endpoint
from quiver.vecodex.plain import Object
from quiver.vecodex.pods import Trouble
from quiver.vecodex.rollout import Plan, failure

GPU_AVAILABLE = "GPUAvailable"

_NO_TROUBLE: Mapping[Role, Trouble] = {}
_SHOWN = tuple(reversed(Role))


def status_of(
    vecodex: VecodexSet,
    plan: Plan,
    live: Mapping[Role, Object],
    *,
    devices: Devices | None = None,
    troubles: Mapping[Role, Trouble] = _NO_TROUBLE,
) -> Status:
    """`live` are the Deployments after the plan was applied."""
    lacks = {role: lack for role in _SHOWN if (lack := _lack(role, plan, live, troubles))}
    if vecodex.spec.paused:
        lacks |= dict.fromkeys(plan.starting, "its change waits until spec.paused is false")
    failed = dict(_failed(live, troubles))
    conditions = [
        _ready(vecodex, lacks, devices),
        _progressing(vecodex, plan, lacks, failed),
        _degraded(plan, failed, devices),
        *_gpu_available(devices),
    ]
    return Status(
        phase=_phase(vecodex, plan, conditions),
        conditions=conditions,
        selector=selector_text(vecodex.metadata.name, Role.SEARCHER),
        endpoint=endpoint(vecodex),
        coordinator=_component(vecodex, Role.COORDINATOR, live.get(Role.COORDINATOR)),
        writer=_component(vecodex, Role.WRITER, live.get(Role.WRITER)),
        searcher=_component(vecodex, Role.SEARCHER, live.get(Role.SEARCHER)),
    )


def _component(vecodex: VecodexSet, role: Role, live: Object | None) -> ComponentStatus:
    wanted = wanted_replicas(vecodex.spec.component(role))
    status = (live or {}).get("status") or {}
    ready = status.get("readyReplicas", 0)
    return ComponentStatus(
        summary=f"{ready}/{wanted}",
        desired=wanted,
        replicas=status.get("replicas", 0),
        ready=ready,
        updated=status.get("updatedReplicas", 0),
        image=_image(live),
    )


def _image(live: Object | None) -> str:
    containers = live["spec"]["template"]["spec"]["containers"] if live else []
    return str(containers[0]["image"]) if containers else ""


def _lack(
    role: Role, plan: Plan, live: Mapping[Role, Object], troubles: Mapping[Role, Trouble]
) -> str:
    """What a component still lacks; empty if it is as the spec says."""
    if role in plan.waiting:
        return plan.waiting[role]
    deployment = live.get(role)
    if deployment is None:
        return "it is about to be created"
    found = progress(deployment)
    if found.state is State.CURRENT:
        return ""
    trouble = troubles.get(role)
    return f"{found.message}, {trouble.message}" if trouble else found.message


def _failed(
    live: Mapping[Role, Object], troubles: Mapping[Role, Trouble]
) -> Iterator[tuple[Role, str]]:
    for role in _SHOWN:
        trouble = troubles.get(role)
        if trouble and trouble.is_fatal:
            yield role, trouble.message
        elif role in live and (why := failure(live[role])):
            yield role, why


def _ready(vecodex: VecodexSet, lacks: Mapping[Role, str], devices: Devices | None) -> Condition:
    if not lacks:
        counts = [f"{wanted_replicas(vecodex.spec.component(role))} {role}" for role in _SHOWN]
        return _condition(READY, True, "AllReady", f"all pods are ready: {', '.join(counts)}")
    if devices and not devices.offered:
        return _condition(READY, False, "NoDevice", f"{_told(lacks)}; {devices.message}")
    return _condition(READY, False, "NotReady", _told(lacks))


def _progressing(
    vecodex: VecodexSet, plan: Plan, lacks: Mapping[Role, str], failed: Mapping[Role, str]
) -> Condition:
    if vecodex.spec.paused:
        told = "nothing is changed while spec.paused is true"
        return _condition(PROGRESSING, False, "Paused", told)
    if plan.halted:
        return _condition(PROGRESSING, False, "Halted", plan.halted)
    moving = {role: lack for role, lack in lacks.items() if role not in failed}
    if moving:
        reason = "RollingOut" if plan.starting or plan.rolling else "Waiting"
        return _condition(PROGRESSING, True, reason, _told(moving))
    if failed:
        return _condition(PROGRESSING, False, "Failed", _told(failed))
    return _condition(PROGRESSING, False, "Complete", "everything is as the spec says")


def _degraded(plan: Plan, failed: Mapping[Role, str], devices: Devices | None) -> Condition:
    if plan.halted:
        return _condition(DEGRADED, True, "RolloutHalted", plan.halted)
    if failed:
        return _condition(DEGRADED, True, "ComponentFailed", _told(failed))
    if devices and not devices.offered:
        return _condition(DEGRADED, True, "NoDevice", devices.message)
    return _condition(DEGRADED, False, "AsExpected", "nothing failed")


def _gpu_available(devices: Devices | None) -> list[Condition]:
    if devices is None:
        return []
    reason = "Offered" if devices.offered else "NotOffered"
    return [_condition(GPU_AVAILABLE, devices.offered, reason, devices.message)]


def _phase(vecodex: VecodexSet, plan: Plan, conditions: list[Condition]) -> Phase:
    holds = {condition.type: condition.status == "True" for condition in conditions}
    if vecodex.spec.paused:
        return "Paused"
    if plan.halted:
        return "Halted"
    if holds[DEGRADED]:
        return "Degraded"
    return "Ready" if holds[READY] else "Progressing"


def _told(lacks: Mapping[Role, str]) -> str:
    return "; ".join(f"{role}: {lack}" for role, lack in lacks.items())


def _condition(kind: str, holds: bool, reason: str, message: str) -> Condition:
    return Condition(type=kind, status="True" if holds else "False", reason=reason, message=message)
