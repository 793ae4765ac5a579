from pathlib import Path

import msgspec
import pytest
from bench.result import Goal, Result, Row, at_most, below, goals_table, shown, table, write

RESULT = Result(
    "sample",
    [Row("a", "time", 1.5, "s"), Row("b", "time", 12.25, "s"), Row("b", "calls", 8000, "")],
    [at_most("time / b's", 0.125, 1.0)],
)


def test_a_table_has_a_column_for_everybody_and_blanks_where_nobody_measured() -> None:
    assert table(RESULT).splitlines() == [
        "sample       a      b",
        "time    s  1.5   12.2",
        "calls           8,000",
    ]


def test_a_missed_goal_is_seen_at_a_glance() -> None:
    assert "MISSED" in goals_table([at_most("writes", 1, 0)])
    assert "MISSED" not in goals_table(RESULT.goals)


@pytest.mark.parametrize(("value", "ok"), [(0.9, True), (1.0, False)])
def test_a_limit_that_must_be_undercut_is_not_met_by_reaching_it(value: float, ok: bool) -> None:
    assert below("CPU", value, 1.0).ok is ok
    assert at_most("CPU", value, 1.0).ok


def test_the_json_has_the_form_that_other_programs_read(tmp_path: Path) -> None:
    path = write(RESULT, tmp_path / "out")
    assert path.name == "sample.json"
    read = msgspec.json.decode(path.read_bytes())
    assert read["rows"][0] == {"who": "a", "metric": "time", "value": 1.5, "unit": "s"}
    assert read["goals"] == [{"what": "time / b's ≤ 1", "value": 0.125, "limit": 1.0, "ok": True}]


def test_a_result_is_met_only_if_every_goal_is() -> None:
    assert RESULT.met
    assert not Result("x", [], [*RESULT.goals, Goal("y", 2, 1, ok=False)]).met


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (3, "3"), (0.01234, "0.0123"), (1234.5, "1,234"), (99.95, "100")]
)
def test_numbers_are_shown_with_three_figures(value: float, text: str) -> None:
    assert shown(value) == text
