"""The story of the benchmark: rounds, interleaved, then the numbers and the goals.

Rounds go A B C, A B C, so that a machine that is slower for a while is so for everybody; goals
that compare are on the median of the ratios within each round. In the last round each operator
lives on: steady state, a change, drifts, restarts.
"""

import argparse
import asyncio
from pathlib import Path

from bench.apiserver import leash
from bench.benchmark import Benchmark
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
from bench.result import OUT, Result
from quiver.devcluster.progress import Progress

EVERYBODY = (QUIVER, GO, BARE, KOPF)
# Slow, and no goal depends on it: measured in the last round only.
ONCE = frozenset({KOPF})


def options(parser: argparse.ArgumentParser) -> None:
    own = parser.add_argument_group("engine")
    own.add_argument("--sets", type=int, default=1000, metavar="N", help="default: 1000")
    own.add_argument("--rounds", type=int, default=3, metavar="N", help="default: 3")
    own.add_argument("--steady", type=float, default=60.0, metavar="S", help="seconds; default: 60")
    own.add_argument(
        "--who", default=",".join(EVERYBODY), metavar="A,B", help=f"of {', '.join(EVERYBODY)}"
    )


def run(options: argparse.Namespace) -> Result:
    progress = Progress()
    people = [contender(name, progress) for name in options.who.split(",")]
    for log in (OUT / "logs").glob("*.log"):
        log.unlink()
    with leash() as tied_to:
        measured = asyncio.run(measure(people, options, tied_to, progress))
    refuse_unlike_peers(measured)
    return Result("engine", rows(measured, options.sets), goals(measured, options.sets))


def contender(name: str, progress: Progress) -> Contender:
    match name:
        case "controller-runtime":
            return controller_runtime(progress)
        case "kopf":
            return kopf(progress)
        case "bare client":
            return bare_client(PLAN)
    return quiver()


async def measure(
    people: list[Contender], options: argparse.Namespace, tied_to: Path, progress: Progress
) -> Measured:
    measured: Measured = {person.name: [] for person in people}
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
) -> Run | LongRun:
    if lives_on:
        return await long_run(person, options.sets, tied_to, options.steady)
    return await cold_start(person, options.sets, tied_to)


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
