from collections import Counter

import pytest
from bench.apicalls import Call
from bench.engine.cached import Cached, copy_of, measure
from bench.engine.measures import Convergence
from bench.engine.report import goals, percentile_99, ratio, rows, seconds
from bench.engine.runs import LongRun, Run, drifted_sets
from bench.processes import Usage

WRITES = Counter({Call("POST", "deployments", ""): 700, Call("PUT", "vecodexsets", "status"): 100})
USAGE = Usage(1.0, 50_000_000, 60_000_000)
DEPLOYMENT = (
    b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"b","uid":"c",'
    b'"resourceVersion":"1","managedFields":[{}],"ownerReferences":[{"name":"d","uid":"e",'
    b'"kind":"VecodexSet","apiVersion":"v1","controller":true}]},"spec":{}}'
)


def run(taken: float) -> Run:
    return Run(convergence=Convergence(taken, USAGE, 5.0, WRITES), likeness={})


def long_run(taken: float) -> LongRun:
    return LongRun(
        convergence=Convergence(taken, USAGE, 5.0, WRITES),
        likeness={},
        empty=USAGE,
        steady=Counter(),
        change=Counter({Call("PUT", "vecodexsets", "status"): 1}),
        heals=[0.01, 0.02],
        restart=Counter(),
        restarted=USAGE,
        seconds_to_first_heal=1.0,
        sample=DEPLOYMENT,
    )


def test_a_slow_moment_of_the_machine_does_not_decide_a_comparison() -> None:
    quick, slow_for_both, quick_again = (1.0, 2.0), (9.0, 18.0), (1.0, 2.0)
    rounds = [quick, slow_for_both, quick_again]
    mine, theirs = ([run(pair[side]) for pair in rounds] for side in (0, 1))
    assert ratio(mine, theirs, seconds) == 0.5


def test_goals_that_compare_are_only_set_beside_those_who_ran() -> None:
    alone = [goal.what for goal in goals({"quiver": [long_run(1.0)]}, 100, None)]
    assert not any("Go" in what or "bare" in what for what in alone)
    measured: dict[str, list[Run]] = {
        "quiver": [long_run(1.0)],
        "controller-runtime": [run(2.0)],
        "bare client": [run(1)],
    }
    beside = {goal.what: goal for goal in goals(measured, 100, None)}
    assert beside["time / Go's time ≤ 1"].value == 0.5
    assert beside["CPU per set / Go's < 1"].ok is False


def test_a_cached_object_may_be_300_bytes_larger_than_it_was_sent() -> None:
    def goal_for(memory: float) -> bool:
        return goals({}, 100, Cached(sent=2000, json=1000, memory=memory, microseconds=1))[-1].ok

    assert goal_for(2300)
    assert not goal_for(2301)


def test_rows_of_one_metric_stand_together() -> None:
    measured = {"quiver": [long_run(1.0)], "controller-runtime": [long_run(2.0)]}
    metrics = [row.metric for row in rows(measured, 100, None)]
    assert len(metrics) == 2 * len(set(metrics))
    assert metrics[::2] == metrics[1::2]


def test_the_99th_percentile_lies_near_the_top() -> None:
    assert percentile_99([float(it) for it in range(1, 101)]) == pytest.approx(99.01)


@pytest.mark.parametrize("sets", [1, 50, 200, 1000])
def test_no_set_is_drifted_twice(sets: int) -> None:
    chosen = drifted_sets(sets)
    assert len(set(chosen)) == len(chosen) == min(sets, 200)
    assert max(chosen) < sets


def test_copies_of_an_object_are_told_apart_by_the_cache() -> None:
    assert copy_of(DEPLOYMENT, 1) != copy_of(DEPLOYMENT, 2)
    measured = measure(DEPLOYMENT, 10)
    assert measured.sent > measured.json > 0
