"""What is measured of one contender, one function for each question."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench import apicalls
from bench.apicalls import Call, Calls
from bench.apiserver import metrics, server_cpu
from bench.engine.sets import KIND, NAMESPACE, name_of
from bench.engine.watching import View, view_of
from bench.peers.children import GROUP_VERSION, ROLES
from bench.processes import Usage
from bench.running import Program
from quiver.devcluster.handle import DevCluster
from quiver.kube import Client

WITHIN = 300.0
DEPLOYMENT = ("apps/v1", "Deployment")
MORE_SEARCHERS = {"spec": {"searcher": {"replicas": 4}}}
DRIFTED_REPLICAS = 9
DRIFT = {"spec": {"replicas": DRIFTED_REPLICAS}}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a contender is measured."""

    cluster: DevCluster
    client: Client
    sets: View
    count: int

    async def calls(self) -> Calls:
        return apicalls.parsed(await metrics(self.client))


@dataclass(frozen=True, slots=True)
class Convergence:
    """Until all sets are observed, from the start of the process; what it used until quiet."""

    seconds: float
    usage: Usage
    server_cpu: float
    calls: Calls


async def convergence(program: Program, place: Place, before: Calls, cpu: float) -> Convergence:
    done = await place.sets.until(
        lambda view: len(view.observed) == place.count,
        within=WITHIN,
        what=f"the convergence of {place.count} sets by {program.name}",
    )
    usage = await program.quiet()
    calls = apicalls.between(before, await place.calls())
    spent = server_cpu(place.cluster) - cpu
    return Convergence(done - program.started, usage, spent, calls)


async def calls_during(place: Place, seconds: float) -> Calls:
    before = await place.calls()
    await asyncio.sleep(seconds)
    return apicalls.between(before, await place.calls())


async def change_one(program: Program, place: Place, number: int) -> Calls:
    """One more searcher in one set: what the operator called for it."""
    name = name_of(number)
    before = await place.calls()
    changed = await place.client.patch(GROUP_VERSION, KIND, name, MORE_SEARCHERS, NAMESPACE)
    generation = changed["metadata"]["generation"]
    await place.sets.until(
        lambda view: view.objects[name].status.observed_generation == generation,
        within=WITHIN,
        what=f"the reaction of {program.name} to a change of {name}",
    )
    await program.quiet()
    calls = apicalls.between(before, await place.calls())
    # The change itself.
    return calls - Counter({Call("PATCH", "vecodexsets", ""): 1})


async def heals(place: Place, numbers: Sequence[int]) -> list[float]:
    """Seconds from somebody's change of a child until it is undone, one child after the other."""
    async with view_of_deployments(place) as deployments:
        return [await heal(place, deployments, f"{name_of(it)}-writer") for it in numbers]


@asynccontextmanager
async def view_of_deployments(place: Place) -> AsyncIterator[View]:
    expected = place.count * len(ROLES)
    async with view_of(place.client, *DEPLOYMENT) as view:
        await view.until(
            lambda view: len(view.objects) == expected, within=WITHIN, what="the first listing"
        )
        yield view


async def heal(place: Place, deployments: View, name: str) -> float:
    started = time.monotonic()
    generation = await drift(place, name)
    return await healed(deployments, name, generation) - started


async def drift(place: Place, name: str) -> int:
    """Change a child behind the operator's back; the generation that this made."""
    changed = await place.client.patch(*DEPLOYMENT, name, DRIFT, NAMESPACE)
    return int(changed["metadata"]["generation"])


async def healed(deployments: View, name: str, drifted: int) -> float:
    """When the child was put right."""

    def is_healed(view: View) -> bool:
        seen = view.objects[name]
        return seen.metadata.generation > drifted and seen.spec.replicas != DRIFTED_REPLICAS

    return await deployments.until(is_healed, within=WITHIN, what=f"the healing of {name}")
