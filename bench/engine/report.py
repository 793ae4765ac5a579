"""From what was measured to rows and goals. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median, quantiles

from bench import apicalls
from bench.engine.cached import OBJECTS, Cached
from bench.engine.contenders import BARE, GO, QUIVER
from bench.engine.runs import LongRun, Run
from bench.peers.children import CHILDREN
from bench.result import Goal, Row, at_most, below

MEGABYTE = 1_000_000
BEYOND_JSON = 300

Measured = Mapping[str, Sequence[Run]]


def rows(measured: Measured, sets: int, cached: Cached | None) -> list[Row]:
    found = [row for who, runs in measured.items() for row in _rows_of(who, runs, sets)]
    found += _caching(cached) if cached else []
    # Metrics in the order in which they were first told, whoever told them.
    order = list(dict.fromkeys(row.metric for row in found))
    return sorted(found, key=lambda row: order.index(row.metric))


def _rows_of(who: str, runs: Sequence[Run], sets: int) -> Iterator[Row]:
    yield from _converging(who, runs, sets)
    for run in runs:
        if isinstance(run, LongRun):
            yield from _living(who, run, sets)


def _converging(who: str, runs: Sequence[Run], sets: int) -> Iterator[Row]:
    def middle(value: Callable[[Run], float]) -> float:
        return median(value(run) for run in runs)

    yield Row(who, f"convergence of {sets:,} sets", middle(seconds), "s")
    yield Row(who, "convergence: slowest round", max(map(seconds, runs)), "s")
    yield Row(who, "operator CPU per set", 1000 * middle(cpu) / sets, "ms")
    yield Row(who, "API server CPU per set", 1000 * middle(server_cpu) / sets, "ms")
    yield Row(who, "RSS at its highest", middle(peak) / MEGABYTE, "MB")
    yield Row(who, "RSS when quiet", middle(settled) / MEGABYTE, "MB")
    for call, count in apicalls.ordered(runs[-1].convergence.calls):
        yield Row(who, f"calls: {call}", count, "")


def _living(who: str, run: LongRun, sets: int) -> Iterator[Row]:
    objects = sets * (CHILDREN + 1)
    grown = run.restarted.memory - run.empty.memory
    spent = run.restarted.cpu - run.empty.cpu
    yield Row(who, "steady state: writes", apicalls.writes(run.steady), "")
    yield Row(who, "steady state: events", apicalls.events(run.steady), "")
    yield Row(who, "steady state: reads", apicalls.reads(run.steady), "")
    yield Row(who, "one set changed: writes", apicalls.writes(run.change), "")
    yield Row(who, "one set changed: events", apicalls.events(run.change), "")
    yield Row(who, "one set changed: reads", apicalls.reads(run.change), "")
    yield Row(who, "drift healed: p50", 1000 * median(run.heals), "ms")
    yield Row(who, "drift healed: p99", 1000 * percentile_99(run.heals), "ms")
    yield Row(who, "restart: writes", apicalls.writes(run.restart), "")
    yield Row(who, "restart: reads", apicalls.reads(run.restart), "")
    yield Row(who, "restart to the first heal", run.seconds_to_first_heal, "s")
    yield Row(who, "RSS without sets", run.empty.memory / MEGABYTE, "MB")
    yield Row(who, "memory per 1,000 watched", 1000 * grown / objects / MEGABYTE, "MB")
    yield Row(who, "CPU per 1,000 watched, once", 1000 * 1000 * spent / objects, "ms")


def _caching(cached: Cached) -> Iterator[Row]:
    yield Row(QUIVER, f"{OBJECTS:,} cached: memory for each", cached.memory, "B")
    yield Row(QUIVER, f"{OBJECTS:,} cached: JSON of each", cached.json, "B")
    yield Row(QUIVER, f"{OBJECTS:,} cached: JSON as sent", cached.sent, "B")
    yield Row(QUIVER, f"{OBJECTS:,} cached: CPU for each", cached.microseconds, "µs")


def goals(measured: Measured, sets: int, cached: Cached | None) -> list[Goal]:
    found = [*_beside_peers(measured), *_of_quiver_alone(measured, sets)]
    if cached:
        # As it is sent: dropping `managedFields` is part of how the cache saves memory.
        beyond = cached.memory - cached.sent
        found.append(
            at_most("bytes of a cached object beyond its JSON as sent", beyond, BEYOND_JSON)
        )
    return found


def _beside_peers(measured: Measured) -> Iterator[Goal]:
    mine = measured.get(QUIVER)
    if mine and (go := measured.get(GO)):
        yield at_most("time / Go's time", ratio(mine, go, seconds), 1.0)
        yield below("CPU per set / Go's", ratio(mine, go, cpu), 1.0)
        yield below("peak RSS / Go's", ratio(mine, go, peak), 1.0)
        yield below("quiet RSS / Go's", ratio(mine, go, settled), 1.0)
    if mine and (bare := measured.get(BARE)):
        yield at_most("time / bare client's time", ratio(mine, bare, seconds), 1.15)


def _of_quiver_alone(measured: Measured, sets: int) -> Iterator[Goal]:
    for run in measured.get(QUIVER, []):
        if isinstance(run, LongRun):
            made = apicalls.writes(run.convergence.calls)
            yield at_most("writes for one new set", made / sets, CHILDREN + 1)
            yield at_most("writes in steady state", apicalls.writes(run.steady), 0)
            yield at_most("reads in steady state", apicalls.reads(run.steady), 0)
            # One Deployment and the status.
            yield at_most("writes for one changed set", apicalls.writes(run.change), 2)
            yield at_most("writes of a restart", apicalls.writes(run.restart), 0)
            yield at_most("seconds from restart to heal", run.seconds_to_first_heal, 5)


def ratio(mine: Sequence[Run], theirs: Sequence[Run], of: Callable[[Run], float]) -> float:
    """The median of the ratios within each round."""
    return median(of(a) / of(b) for a, b in zip(mine, theirs, strict=True))


def percentile_99(values: list[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[98]


def seconds(run: Run) -> float:
    return run.convergence.seconds


def cpu(run: Run) -> float:
    return run.convergence.usage.cpu


def server_cpu(run: Run) -> float:
    return run.convergence.server_cpu


def peak(run: Run) -> float:
    return run.convergence.usage.peak


def settled(run: Run) -> float:
    return run.convergence.usage.memory
