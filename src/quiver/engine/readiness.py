"""Whether a resource is ready, as its children tell."""

from collections.abc import Iterable
from typing import Any

from quiver.engine.conditions import READY, Condition
from quiver.engine.kstatus import State, progress

Object = dict[str, Any]

ALL_READY = "AllReady"
NOT_READY = "NotReady"
CHILD_FAILED = "ChildFailed"


def ready(children: Iterable[Object]) -> Condition:
    """`Ready`: true once every child is as its own spec says, and else what is missing."""
    found = [(_name(child), progress(child)) for child in children]
    lacking = [(name, it) for name, it in found if it.state is not State.CURRENT]
    if not lacking:
        return Condition(
            type=READY, status="True", reason=ALL_READY, message="everything is as the spec says"
        )
    failed = any(it.state is State.FAILED for _, it in lacking)
    told = "; ".join(f"{name}: {it.message}" for name, it in lacking)
    return not_ready(CHILD_FAILED if failed else NOT_READY, told)


def not_ready(reason: str, message: str) -> Condition:
    """`Ready`, which it is not: why, in one word and in a sentence that can be acted on."""
    return Condition(type=READY, status="False", reason=reason, message=message)


def _name(child: Object) -> str:
    return f"{child['kind']} {child['metadata']['name']}"
