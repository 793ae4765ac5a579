"""The story of the benchmark: rounds, interleaved, then the numbers and the goals.

Rounds go A B C, A B C, so that a machine that is slower for a while is so for everybody; goals
that compare are on the median of the ratios within each round. In the last round each operator
lives on: steady state, a change, drifts, restarts.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.apiserver import leash
from bench.benchmark import Benchmark
from bench.engine.cached import OBJECTS, Cached
from bench.engine.contenders import (
    BARE,
    GO,
    KOPF,
    QUIVER,
    Contender,
    bare_client,
    controller_runtime,
    kopf,
    quiver,
)
from bench.engine.likeness import refuse_unlike
from bench.engine.report import Measured, goals, rows
from bench.engine.runs import PLAN, LongRun, Run, cold_start, long_run
from bench.programs import ROOT
from bench.result import OUT, Result
from quiver.devcluster.progress import Progress

EVERYBODY: dict[str, Callable[[Progress], Contender]] = {
    QUIVER: lambda _: quiver(),
    GO: controller_runtime,
    BARE: lambda _: bare_client(PLAN),
    KOPF: kopf,
}
# Slow, and no goal depends on it: measured in the last round only.
ONCE = frozenset({KOPF})
# Seconds of steady state for those who have no goal in it.
PEERS_STEADY = 15.0


def options(parser: argparse.ArgumentParser) -> None:
    own = parser.add_argument_group("engine")
    own.add_argument("--sets", type=int, default=1000, metavar="N", help="default: 1000")
    own.add_argument("--rounds", type=int, default=3, metavar="N", help="default: 3")
    own.add_argument("--steady", type=float, default=60.0, metavar="S", help="seconds; default: 60")
    own.add_argument(
        "--who", action="append", choices=EVERYBODY, help="may be repeated; default: everybody"
    )


def run(options: argparse.Namespace) -> Result:
    progress = Progress()
    people = [EVERYBODY[name](progress) for name in options.who or EVERYBODY]
    for log in (OUT / "logs").glob("*.log"):
        log.unlink()
    with leash() as tied_to:
        measured = asyncio.run(measure(people, options, tied_to, progress))
    refuse_unlike_peers(measured)
    cached = cache_size(measured, progress)
    return Result(
        "engine", rows(measured, options.sets, cached), goals(measured, options.sets, cached)
    )


async def measure(
    people: list[Contender], options: argparse.Namespace, tied_to: Path, progress: Progress
) -> Measured:
    measured: dict[str, list[Run]] = {person.name: [] for person in people}
    for round_ in range(1, options.rounds + 1):
        is_last = round_ == options.rounds
        for person in people:
            if is_last or person.name not in ONCE:
                with progress.step(f"round {round_} of {options.rounds}: {person.name}"):
                    lives_on = is_last and person.name != BARE
                    measured[person.name].append(
                        await one_run(person, options, tied_to, lives_on=lives_on)
                    )
    return measured


async def one_run(
    person: Contender, options: argparse.Namespace, tied_to: Path, *, lives_on: bool
) -> Run:
    if lives_on:
        at_most = options.steady if person.name == QUIVER else PEERS_STEADY
        return await long_run(person, options.sets, tied_to, min(options.steady, at_most))
    return await cold_start(person, options.sets, tied_to)


def cache_size(measured: Measured, progress: Progress) -> Cached | None:
    """Of Quiver's cache, filled with copies of a child that Quiver made; None without Quiver."""
    for run in measured.get(QUIVER, []):
        if isinstance(run, LongRun):
            with progress.step(f"caching {OBJECTS:,} objects", "10 s"):
                done = subprocess.run(
                    [sys.executable, "-m", "bench.engine.cached"],
                    input=run.sample, cwd=ROOT, stdout=subprocess.PIPE, check=True,
                )  # fmt: skip
            return msgspec.json.decode(done.stdout, type=Cached)
    return None


def refuse_unlike_peers(measured: Measured) -> None:
    (first, runs), *others = measured.items()
    for other, theirs in others:
        refuse_unlike(first, runs[-1].likeness, other, theirs[-1].likeness)


BENCHMARK = Benchmark(
    name="engine",
    summary="VecodexSets converged, kept and healed, beside controller-runtime and kopf",
    run=run,
    options=options,
)
