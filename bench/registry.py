"""All benchmarks, in the order in which they run."""

from bench.benchmark import Benchmark
from bench.engine.story import BENCHMARK as ENGINE

BENCHMARKS: dict[str, Benchmark] = {benchmark.name: benchmark for benchmark in (ENGINE,)}
