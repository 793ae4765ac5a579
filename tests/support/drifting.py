"""Objects on a real server that drift and are wanted otherwise, and what should follow.

What is true is what a forced dry-run apply would change. The rule must never miss that; where it
wants an apply that changes nothing, it is needless.
"""

import copy
from collections import Counter
from random import Random
from typing import Any, NamedTuple

from quiver.engine.compare import APPLIED, difference, digest, stamped
from quiver.engine.compare.scalars import Node
from quiver.kube import ApiError, Client
from quiver.kube.quantity import parse_quantity
from support.desired_samples import Object, Sample
from support.mutation import QUANTITIES, mutated

CHANGED_BY_NOBODY = {"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"}


class Case(NamedTuple):
    desired: Object
    live: Object
    answer: Object
    mutations: tuple[str, ...]
    structure: Node | None

    def __str__(self) -> str:
        before = difference(self.desired, self.live, structure=self.structure)
        after = difference(self.desired, self.answer, structure=self.structure)
        how = " and ".join(self.mutations)
        return f"{self.verdict}: {self.desired['kind']} after {how}: {before}, then {after}"

    @property
    def changes(self) -> bool:
        keeps_empty = self.structure is not None
        answer, live = (_bare(one, keeps_empty=keeps_empty) for one in (self.answer, self.live))
        return bool(answer != live)

    @property
    def says_otherwise(self) -> bool:
        """Is it wanted otherwise than it was applied?"""
        applied: str = self.live["metadata"].get("annotations", {}).get(APPLIED)
        return applied != digest(self.desired)

    @property
    def verdict(self) -> str:
        found = difference(self.desired, self.live, structure=self.structure) is not None
        if self.changes:
            if found:
                return "found"
            return "found by digest" if self.says_otherwise else "missed"
        if found:
            return "needless"
        return "needless by digest" if self.says_otherwise else "rested"

    @property
    def settles(self) -> bool:
        """Is nothing left to do after the apply?"""
        return difference(self.desired, self.answer, structure=self.structure) is None


class Drifting:
    """One object of a kind, through several rounds of change."""

    def __init__(
        self,
        us: Client,
        them: Client,
        sample: Sample,
        namespace: str,
        seed: int,
        *,
        structure: Node | None = None,
    ) -> None:
        self._us = us
        self._structure = structure
        self._them = them
        self._random = Random(seed)
        self._rich = sample.rich
        self._desired = copy.deepcopy(sample.plain)
        self._desired["metadata"] |= {"namespace": namespace, "name": f"it-{seed}"}
        self._live: Object = {}
        self.tally: Counter[str] = Counter()
        self.cases: list[Case] = []

    async def run(self, rounds: int) -> None:
        self._live = await self._us.apply(stamped(self._desired), force=True)
        for _ in range(rounds):
            try:
                await self._round()
            except ApiError:
                self.tally["rejected"] += 1

    async def _round(self) -> None:
        desired, how = self._desired, list[str]()
        if self._random.random() < 0.4:
            desired, mutation = mutated(desired, self._rich, self._random)
            how.append(f"our {mutation}")
        if not how or self._random.random() < 0.5:
            how.append(f"their {await self._drift()}")
        wanted = stamped(desired)
        answer = await self._us.apply(wanted, force=True, dry_run=True)
        case = Case(desired, self._live, answer, tuple(how), self._structure)
        self._count(case)
        if case.settles:
            self._live = await self._us.apply(wanted, force=True)
            self._desired = desired

    async def _drift(self) -> str:
        drifted, how = mutated(_without_metadata(self._live), self._rich, self._random)
        drifted["metadata"] = drifted.get("metadata", {}) | _identity(self._live)
        self._live = await self._them.replace(drifted)
        return how

    def _count(self, case: Case) -> None:
        verdict = case.verdict
        self.tally[verdict] += 1
        self.tally["unsettled"] += not case.settles
        if verdict in ("missed", "needless") or not case.settles:
            self.cases.append(case)


def _identity(live: Object) -> Object:
    metadata = live["metadata"]
    return {name: metadata[name] for name in ("name", "namespace", "resourceVersion", "uid")}


def _without_metadata(live: Object) -> Object:
    """What others may change."""
    shown = {"labels", "annotations", "finalizers", "ownerReferences"}
    metadata = {name: value for name, value in live["metadata"].items() if name in shown}
    rest = {name: value for name, value in live.items() if name != "status"}
    return rest | {"metadata": metadata}


def _bare(obj: Object, *, keeps_empty: bool) -> Any:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in CHANGED_BY_NOBODY}
    annotations = metadata.pop("annotations", {})
    metadata["annotations"] = {k: v for k, v in annotations.items() if k != APPLIED}
    # Of its own types the server shows null or an empty list, as it happens.
    nothing: tuple[Any, ...] = () if keeps_empty else (None, [])
    return _in_one_spelling(obj | {"metadata": metadata}, nothing)


def _in_one_spelling(value: Any, nothing: tuple[Any, ...]) -> Any:
    match value:
        case bool():
            return str(value)  # To Python, 1 is True.
        case dict():
            return {
                name: parse_quantity(inner)
                if name in QUANTITIES
                else _in_one_spelling(inner, nothing)
                for name, inner in value.items()
                if inner not in nothing
            }
        case list():
            return [_in_one_spelling(item, nothing) for item in value]
    return value
