"""When each component may change: searchers, then writers, then coordinators, one at a time.

A component is *pending* while its live template is not the desired one, and *rolling* from the
change of its template until all pods are replaced.

- What is not there is created at once: a new set has nothing that could break.
- What is neither pending nor rolling may be applied at any time: that heals drift, and changes
  the number of pods.
- A component that is pending while it rolls is applied at once: its roll-out is obsolete, and a
  revert must not wait for what it reverts.
- Otherwise the first pending component starts when no component rolls. The others are held: they
  keep the template they have, and follow the rest of the spec.
- While the rolling component fails, nothing starts: the roll-out is halted until it recovers or
  its spec changes.

A component that was never complete (its first pods cannot start) does not roll: there is nothing
old to protect, and its fix, or another component's, must not wait for it. So does one whose pods
fail later: that is no roll-out.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from quiver.engine.kstatus import State, progress
from quiver.vecodex.deployment import TEMPLATE
from quiver.vecodex.names import Role
from quiver.vecodex.plain import Object
from quiver.vecodex.pods import Trouble

ORDER = tuple(Role)

_REVISION = "deployment.kubernetes.io/revision"
_COMPLETE = "NewReplicaSetAvailable"
_NO_TROUBLE: Mapping[Role, Trouble] = {}


class Plan(NamedTuple):
    """What to do with each Deployment now."""

    objects: tuple[Object, ...]
    """All of them, to be applied: the held ones with the template they have."""
    starting: tuple[Role, ...] = ()
    """Whose pods are about to be replaced."""
    rolling: tuple[Role, ...] = ()
    """Whose pods are being replaced, as the live Deployments tell."""
    waiting: Mapping[Role, str] = {}
    """Which are held, and what for."""
    halted: str = ""
    """Why nothing starts until somebody acts; empty if the roll-out is not halted."""


def plan(
    wanted: Mapping[Role, Object],
    live: Mapping[Role, Object],
    *,
    troubles: Mapping[Role, Trouble] = _NO_TROUBLE,
    in_order: bool = True,
) -> Plan:
    pending = [role for role in ORDER if role in live and is_pending(wanted[role], live[role])]
    rolling = [role for role in ORDER if role in live and is_rolling(live[role])]
    starting = _starting(pending, rolling, live) if in_order else pending
    held = [role for role in pending if role not in starting]
    blocking = [role for role in rolling if role not in starting] or starting
    return Plan(
        objects=tuple(
            held_back(wanted[role], live[role]) if role in held else wanted[role] for role in ORDER
        ),
        starting=tuple(starting),
        rolling=tuple(rolling),
        waiting={role: _reason(role, blocking, starting, live) for role in held},
        halted=_halted(set(rolling) - set(starting), live, troubles) if in_order else "",
    )


def _starting(pending: list[Role], rolling: list[Role], live: Mapping[Role, Object]) -> list[Role]:
    # Not those whose last change nobody has looked at: that may have been their number only.
    obsolete = [role for role in pending if is_replacing(live[role])]
    return obsolete if rolling else pending[:1]


def is_pending(wanted: Object, live: Object) -> bool:
    """Whether the template that was applied last is another than the wanted one.

    A Deployment of the original operator has no digest. It counts as pending, and applying it
    replaces no pods if the template is the same.
    """
    return _digest(live) != _digest(wanted)


def is_rolling(live: Object) -> bool:
    """Whether old pods are being replaced by new ones, or may be about to."""
    return is_replacing(live) or not _is_observed(live)


def is_replacing(live: Object) -> bool:
    """Whether pods of two templates are there, as far as the Deployment's controller has told."""
    status = live.get("status") or {}
    if not _is_observed(live):
        return bool(status.get("replicas", 0) > status.get("updatedReplicas", 0))
    if _was_complete(status) or progress(live).state is State.CURRENT:
        return False
    return _annotations(live).get(_REVISION, "1") != "1"


def failure(live: Object) -> str:
    """Why a Deployment gave up, in its own words; empty if it did not."""
    status = live.get("status") or {}
    if blocked := _condition(status, "ReplicaFailure"):
        return f"its pods cannot be created: {blocked.get('message', blocked.get('reason', ''))}"
    found = progress(live)
    if found.state is not State.FAILED:
        return ""
    deadline = live["spec"].get("progressDeadlineSeconds", 600)
    ready, wanted = status.get("readyReplicas", 0), live["spec"].get("replicas", 1)
    return f"no progress within {deadline} s, {ready} of {wanted} pods are ready"


def held_back(wanted: Object, live: Object) -> Object:
    """The wanted Deployment with the template that it has."""
    metadata = dict(wanted["metadata"])
    mine = {key: text for key, text in metadata["annotations"].items() if key != TEMPLATE}
    kept = {TEMPLATE: _digest(live)} if _digest(live) else {}
    metadata["annotations"] = mine | kept
    if not metadata["annotations"]:
        del metadata["annotations"]
    spec = wanted["spec"] | {"template": _without_nulls(live["spec"]["template"])}
    return wanted | {"metadata": metadata, "spec": spec}


def _is_observed(live: Object) -> bool:
    """Of what nobody has looked at ever, there is nothing old that could be replaced."""
    observed = (live.get("status") or {}).get("observedGeneration", 0)
    return not observed or observed >= live["metadata"].get("generation", 0)


def _reason(
    held: Role, blocking: list[Role], starting: list[Role], live: Mapping[Role, Object]
) -> str:
    first = next((role for role in blocking if role is not held), None)
    if first is None:
        return "waiting until its last change was seen by the Deployment's controller"
    how_far = "its change is about to begin" if first in starting else _how_far(live[first])
    return f"waiting for {first}: {how_far}"


def _how_far(live: Object) -> str:
    if not _is_observed(live):
        return "its change is about to begin"
    updated = (live.get("status") or {}).get("updatedReplicas", 0)
    wanted = live["spec"].get("replicas", 1)
    if updated < wanted:
        return f"{updated} of {wanted} updated"
    return progress(live).message


def _halted(stuck: set[Role], live: Mapping[Role, Object], troubles: Mapping[Role, Trouble]) -> str:
    for role in ORDER:
        trouble = troubles.get(role)
        cause = trouble.message if trouble and trouble.is_fatal else ""
        if role in stuck and (cause := cause or failure(live[role])):
            return (
                f"the roll-out of {role} failed: {cause}. The other components stay as they are;"
                f" correct spec.{role}, or put back what it was"
            )
    return ""


def _was_complete(status: Object) -> bool:
    """Kept by the Deployment's controller from the end of a roll-out to the next one."""
    replaced = status.get("updatedReplicas", 0) == status.get("replicas", 0)
    return replaced and _condition(status, "Progressing").get("reason") == _COMPLETE


def _condition(status: Object, kind: str) -> Object:
    """A condition that holds, else nothing."""
    for entry in status.get("conditions") or []:
        if entry["type"] == kind and entry["status"] == "True":
            return dict(entry)
    return {}


def _digest(deployment: Object) -> str:
    return str(_annotations(deployment).get(TEMPLATE, ""))


def _annotations(deployment: Object) -> dict[str, str]:
    return dict(deployment["metadata"].get("annotations") or {})


def _without_nulls(value: Any) -> Any:
    """Servers write `creationTimestamp: null` into templates."""
    if isinstance(value, dict):
        return {key: _without_nulls(it) for key, it in value.items() if it is not None}
    return [_without_nulls(it) for it in value] if isinstance(value, list) else value
