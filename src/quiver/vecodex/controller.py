"""The story of one VecodexSet: look, plan the roll-out, make the children so, report."""

from typing import ClassVar

import msgspec

from quiver.engine.controller import Controller, Permission, Refusal, Watch
from quiver.engine.kinds import (
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    INGRESS,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    SERVICE,
)
from quiver.engine.mapping import to_all
from quiver.engine.outcome import Outcome, Requeue
from quiver.engine.turn import Turn
from quiver.vecodex import validation
from quiver.vecodex.api import Rollout, VecodexSet
from quiver.vecodex.desired import Observed, desired_deployments, desired_others, observed
from quiver.vecodex.gpu import Devices, Node, asks_for_devices, devices
from quiver.vecodex.names import Role, selector_text
from quiver.vecodex.plain import Object
from quiver.vecodex.pods import Pod, Trouble, troubles
from quiver.vecodex.rollout import Plan, plan
from quiver.vecodex.status import status_of

LOOK_AT_PODS_EVERY = 10.0
SOON = 0.5
SAFETY = 60.0

Vecodex = Turn[VecodexSet]


class VecodexController(Controller[VecodexSet]):
    name = "vecodex"
    resource = VecodexSet
    owns = (DEPLOYMENT, SERVICE, INGRESS, HORIZONTAL_POD_AUTOSCALER, POD_DISRUPTION_BUDGET)
    watches: ClassVar = (Watch(kind=NODE, maps=to_all, only=Node),)
    # Pods are listed only while a component has some that do not run: watching all pods of a
    # cluster would cost more than the rest of this operator.
    permissions: ClassVar = (Permission(resources=(POD.plural,), verbs=("list",)),)
    # The original operator's binary.
    succeeds = ("manager",)

    def validate(self, new: VecodexSet, old: VecodexSet | None) -> list[Refusal]:
        return validation.validate(new, old)

    async def reconcile(self, vecodex: VecodexSet, turn: Vecodex) -> Outcome:
        before = self._observed(vecodex, turn)
        stuck = [
            role for role, live in before.deployments.items() if has_pods_that_do_not_run(live)
        ]
        found = await self._troubles(vecodex, stuck, turn)
        wanted = plan(
            desired_deployments(vecodex),
            before.deployments,
            troubles=found,
            in_order=(vecodex.spec.rollout or Rollout()).strategy == "Ordered",
        )
        outcome: Outcome = None
        if not vecodex.spec.paused:
            outcome = await turn.ensure([*wanted.objects, *desired_others(vecodex, before)])
        after = self._observed(vecodex, turn) if turn.has_written else before
        status = status_of(
            vecodex, wanted, after.deployments, devices=self._devices(vecodex, turn), troubles=found
        )
        turn.report(status)
        return outcome or look_at_pods_again(stuck) or go_on(wanted, has_written=turn.has_written)

    def _observed(self, vecodex: VecodexSet, turn: Vecodex) -> Observed:
        return observed(vecodex, deployments=turn.owned(DEPLOYMENT), services=turn.owned(SERVICE))

    def _devices(self, vecodex: VecodexSet, turn: Vecodex) -> Devices | None:
        if not asks_for_devices(vecodex):
            return None
        return devices(vecodex, turn.every(NODE, Node))

    async def _troubles(
        self, vecodex: VecodexSet, stuck: list[Role], turn: Vecodex
    ) -> dict[Role, Trouble]:
        pods: list[Pod] = []
        metadata = vecodex.metadata
        for role in stuck:
            labels = selector_text(metadata.name, role)
            found = await turn.client.list(
                POD.api_version, POD.name, metadata.namespace, labels=labels
            )
            pods += msgspec.convert(found, list[Pod])
        return troubles(metadata.name, pods)


def has_pods_that_do_not_run(live: Object) -> bool:
    """As the Deployment's own controller tells; where none is at work there are no pods."""
    status = live.get("status") or {}
    is_current = status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
    return bool(is_current and status.get("unavailableReplicas", 0))


def go_on(plan: Plan, *, has_written: bool) -> Outcome:
    """A component that is held is looked at again, also if what it waits for says nothing.

    A Deployment whose template did not change may be done at once, and our own write is no news.
    """
    if not plan.waiting or plan.halted:
        return None
    return Requeue(SOON if has_written else SAFETY, "; ".join(dict.fromkeys(plan.waiting.values())))


def look_at_pods_again(stuck: list[Role]) -> Outcome:
    if not stuck:
        return None
    return Requeue(LOOK_AT_PODS_EVERY, f"pods of {', '.join(stuck)} do not run yet")
