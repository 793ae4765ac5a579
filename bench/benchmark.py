"""A benchmark as `python -m bench` knows it. To add one, declare it and list it in `registry.py`.

    BENCHMARK = Benchmark(name="render", summary="Helm charts rendered", run=run)

`run` gets the parsed command line and returns a `Result`; `options` may add arguments of its own.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from bench.result import Result


def no_options(_: argparse.ArgumentParser) -> None:
    """For a benchmark that needs none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    name: str
    summary: str
    run: Callable[[argparse.Namespace], Result]
    options: Callable[[argparse.ArgumentParser], None] = no_options


class BenchError(Exception):
    """A benchmark could not be measured, and this is the sentence that says why."""
