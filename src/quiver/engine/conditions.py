"""Conditions as people and tools read them: one per type, with the time of its last change.

A condition's time moves only when its status does, so that "Ready since" means what it says.
Every condition carries the generation it was decided for.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

import msgspec

Status = Literal["True", "False", "Unknown"]

READY = "Ready"
PROGRESSING = "Progressing"
DEGRADED = "Degraded"


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    type: str
    status: Status
    reason: str
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str = ""


def merged(
    before: Sequence[Condition], now: Iterable[Condition], *, generation: int, at: datetime
) -> list[Condition]:
    """The conditions to write: each new one, with the old one's time if its status stayed.

    Types that are not decided any more are dropped; the order is the order of the decisions.
    """
    known = {condition.type: condition for condition in before}
    stamp = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    result: dict[str, Condition] = {}
    for condition in now:
        old = known.get(condition.type)
        since = old.last_transition_time if old and old.status == condition.status else ""
        result[condition.type] = msgspec.structs.replace(
            condition, observed_generation=generation, last_transition_time=since or stamp
        )
    return list(result.values())


def transitions(
    before: Sequence[Condition], now: Iterable[Condition]
) -> list[tuple[Condition | None, Condition]]:
    """What deserves an Event: each condition whose status or reason is another than before."""
    known = {condition.type: condition for condition in before}
    pairs = [(known.get(condition.type), condition) for condition in now]
    return [(old, new) for old, new in pairs if not old or _essence(old) != _essence(new)]


def _essence(condition: Condition) -> tuple[str, str]:
    return condition.status, condition.reason
