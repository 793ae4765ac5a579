"""`python -m bench [ONLY]`: run the benchmarks, print their tables, write bench/out/NAME.json."""

import argparse
import sys
from collections.abc import Iterator

from bench.benchmark import BenchError, Benchmark
from bench.registry import BENCHMARKS
from bench.result import Result, goals_table, table, write
from quiver.devcluster.errors import DevClusterError
from quiver.kube import KubeError


def main() -> int:
    options = parser().parse_args()
    chosen = [BENCHMARKS[options.only]] if options.only else list(BENCHMARKS.values())
    results: list[Result] = []
    told: list[str] = []
    try:
        results += [measured(benchmark, options) for benchmark in chosen]
    except* (BenchError, DevClusterError, KubeError) as group:
        told += sentences(group)
    for sentence in told:
        print(f"bench: {sentence}", file=sys.stderr)
    if told:
        return 2
    return 1 if options.strict and not all(result.met for result in results) else 0


def sentences(group: BaseExceptionGroup[Exception]) -> Iterator[str]:
    """Of the errors in a group, however deep they are."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from sentences(error)
        else:
            yield str(error)


def measured(benchmark: Benchmark, options: argparse.Namespace) -> Result:
    result = benchmark.run(options)
    path = write(result)
    print(f"\n{table(result)}\n\n{goals_table(result.goals)}\n\nwritten to {path}")
    return result


def parser() -> argparse.ArgumentParser:
    summaries = "\n".join(f"  {it.name:12}{it.summary}" for it in BENCHMARKS.values())
    root = argparse.ArgumentParser(
        prog="bench",
        description=f"Measures Quiver beside its peers.\n\nbenchmarks:\n{summaries}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("only", nargs="?", choices=BENCHMARKS, metavar="ONLY")
    root.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    for benchmark in BENCHMARKS.values():
        benchmark.options(root)
    return root


if __name__ == "__main__":
    sys.exit(main())
