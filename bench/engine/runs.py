"""One contender on one fresh API server, from the cold start to everything after it."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import apicalls
from bench.apicalls import Calls
from bench.apiserver import fresh_api_server, server_cpu, server_quiet
from bench.engine.contenders import Contender
from bench.engine.likeness import Likeness, likeness
from bench.engine.measures import (
    Convergence,
    Place,
    calls_during,
    change_one,
    convergence,
    drift,
    healed,
    heals,
    view_of_deployments,
)
from bench.engine.sets import KIND, NAMESPACE, create_sets, name_of, prepare, write_plan
from bench.engine.watching import view_of
from bench.peers.children import GROUP_VERSION
from bench.processes import Usage
from bench.result import OUT
from bench.running import Program, running

PLAN = OUT / "writes.jsonl"
DRIFTS = 200
SAMPLE = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name_of(0)}-searcher"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A cold start, and what the children looked like after it."""

    convergence: Convergence
    likeness: Likeness


@dataclass(frozen=True, kw_only=True, slots=True)
class LongRun(Run):
    """A cold start, and the life of the operator after it."""

    empty: Usage
    steady: Calls
    change: Calls
    heals: list[float]
    restart: Calls
    restarted: Usage
    seconds_to_first_heal: float
    sample: bytes
    """One child as the server sends it."""


async def cold_start(contender: Contender, sets: int, leash: Path) -> Run:
    async with fresh_place(sets, leash) as place:
        await fill(place)
        before, cpu = await place.calls(), server_cpu(place.cluster)
        async with started(contender, place) as program:
            measured = await convergence(program, place, before, cpu)
        return Run(convergence=measured, likeness=await likeness(place.client, sets))


async def long_run(contender: Contender, sets: int, leash: Path, steady_seconds: float) -> LongRun:
    async with fresh_place(sets, leash) as place:
        async with started(contender, place) as program:
            empty = await program.quiet()
        await fill(place)
        before, cpu = await place.calls(), server_cpu(place.cluster)
        async with started(contender, place) as program:
            measured = await convergence(program, place, before, cpu)
            made = await likeness(place.client, sets)
            sample = await place.client.raw("GET", SAMPLE)
            steady = await calls_during(place, steady_seconds)
            change = await change_one(program, place, 0)
            healing = await heals(place, drifted_sets(sets))
        restart, restarted = await restart_in_peace(contender, place)
        return LongRun(
            convergence=measured,
            likeness=made,
            empty=empty,
            steady=steady,
            change=change,
            heals=healing,
            restart=restart,
            restarted=restarted,
            seconds_to_first_heal=await restart_to_a_drift(contender, place),
            sample=sample,
        )


async def restart_in_peace(contender: Contender, place: Place) -> tuple[Calls, Usage]:
    """Nothing happened while it was away."""
    before = await place.calls()
    async with started(contender, place) as program:
        usage = await program.quiet()
        return apicalls.between(before, await place.calls()), usage


async def restart_to_a_drift(contender: Contender, place: Place) -> float:
    """A child was changed while it was away: seconds from its start until that is undone."""
    name = f"{name_of(place.count - 1)}-coordinator"
    async with view_of_deployments(place) as deployments:
        generation = await drift(place, name)
        async with started(contender, place) as program:
            return await healed(deployments, name, generation) - program.started


def drifted_sets(sets: int) -> list[int]:
    """Spread over all sets, each at most once."""
    return list(range(0, sets, max(1, sets // DRIFTS)))[:DRIFTS]


def started(contender: Contender, place: Place) -> AbstractAsyncContextManager[Program]:
    command = contender.command(place.cluster.kubeconfig)
    return running(contender.name, command, contender.environ, OUT / "logs" / contender.log)


async def fill(place: Place) -> None:
    """All sets, and a server that has nothing else to do any more."""
    write_plan(PLAN, await create_sets(place.client, place.count))
    await server_quiet(place.cluster)


@asynccontextmanager
async def fresh_place(sets: int, leash: Path) -> AsyncIterator[Place]:
    async with fresh_api_server(leash) as cluster, cluster.client() as client:
        await prepare(client)
        async with view_of(client, GROUP_VERSION, KIND) as view:
            yield Place(cluster, client, view, sets)
