"""All that a team needs to write an operator of its own, under one roof.

    from quiver.sdk import Controller, Fields, Outcome, Resource, Turn, main, resource

`docs/write-an-operator.md` walks through one. What is not here may change with any version.
"""

from quiver.engine.conditions import DEGRADED, PROGRESSING, READY, Condition
from quiver.engine.controller import Change, Controller, Permission, Refusal, Watch
from quiver.engine.crd import (
    AGE,
    AtLeastOne,
    AtMostOne,
    Column,
    ExactlyOne,
    Fields,
    Immutable,
    ListMap,
    Resource,
    Rule,
    Scale,
    Scope,
    resource,
    rules,
)
from quiver.engine.crd.core import Conditions, Env, Probe, Quantity, ResourceRequirements
from quiver.engine.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    INGRESS,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    Key,
    Kind,
    kind_of,
)
from quiver.engine.kstatus import Progress, State, progress
from quiver.engine.mapping import by_label, to_all
from quiver.engine.outcome import Outcome, Requeue, Terminal, Transient, Wait
from quiver.engine.turn import Turn

__all__ = [
    "AGE",
    "CONFIG_MAP",
    "DEGRADED",
    "DEPLOYMENT",
    "HORIZONTAL_POD_AUTOSCALER",
    "INGRESS",
    "NODE",
    "POD",
    "POD_DISRUPTION_BUDGET",
    "PROGRESSING",
    "READY",
    "SECRET",
    "SERVICE",
    "SERVICE_ACCOUNT",
    "STATEFUL_SET",
    "AtLeastOne",
    "AtMostOne",
    "Change",
    "Column",
    "Condition",
    "Conditions",
    "Controller",
    "Env",
    "ExactlyOne",
    "Fields",
    "Immutable",
    "Key",
    "Kind",
    "ListMap",
    "Outcome",
    "Permission",
    "Probe",
    "Progress",
    "Quantity",
    "Refusal",
    "Requeue",
    "Resource",
    "ResourceRequirements",
    "Rule",
    "Scale",
    "Scope",
    "State",
    "Terminal",
    "Transient",
    "Turn",
    "Wait",
    "Watch",
    "by_label",
    "kind_of",
    "progress",
    "resource",
    "rules",
    "to_all",
]
