"""The part that every kind's status has."""

from quiver.engine.crd.core import Conditions
from quiver.engine.crd.declare import Column
from quiver.engine.crd.fields import Fields


class Status(Fields):
    """How far it is."""

    observed_generation: int = 0
    conditions: Conditions = []


IS_READY = Column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status")
WHY = Column("Why", "string", ".status.conditions[?(@.type=='Ready')].message", priority=1)
