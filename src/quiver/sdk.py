"""All that a team needs to write an operator of its own, under one roof.

    from quiver import sdk

    class SiteController(sdk.Controller[Site]): ...

`docs/write-an-operator.md` walks through one; `quiver.testing` has what its tests need. What is in
neither may change with any version.
"""

from msgspec import Meta

from quiver.engine.building import child
from quiver.engine.command import main
from quiver.engine.conditions import DEGRADED, PROGRESSING, READY, Condition
from quiver.engine.controller import Change, Controller, Object, Permission, Refusal, Watch
from quiver.engine.crd import (
    AGE,
    AtLeastOne,
    AtMostOne,
    Column,
    ExactlyOne,
    Fields,
    Immutable,
    ListMap,
    ObjectMeta,
    Resource,
    Rule,
    Scale,
    Scope,
    resource,
    rules,
)
from quiver.engine.crd.core import Conditions, Env, Probe, Quantity, ResourceRequirements
from quiver.engine.crd.status import IS_READY, WHY, Status
from quiver.engine.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    INGRESS,
    NAMESPACE,
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
from quiver.engine.readiness import not_ready, ready
from quiver.engine.turn import Turn

__all__ = [
    "AGE",
    "CONFIG_MAP",
    "DEGRADED",
    "DEPLOYMENT",
    "HORIZONTAL_POD_AUTOSCALER",
    "INGRESS",
    "IS_READY",
    "NAMESPACE",
    "NODE",
    "POD",
    "POD_DISRUPTION_BUDGET",
    "PROGRESSING",
    "READY",
    "SECRET",
    "SERVICE",
    "SERVICE_ACCOUNT",
    "STATEFUL_SET",
    "WHY",
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
    "Meta",
    "Object",
    "ObjectMeta",
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
    "Status",
    "Terminal",
    "Transient",
    "Turn",
    "Wait",
    "Watch",
    "by_label",
    "child",
    "kind_of",
    "main",
    "not_ready",
    "progress",
    "ready",
    "resource",
    "rules",
    "to_all",
]
