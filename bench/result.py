"""What a benchmark hands back, as a table for people and as JSON for programs."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

OUT = Path(__file__).parent / "out"


class Row(msgspec.Struct, frozen=True):
    who: str
    metric: str
    value: float
    unit: str


class Goal(msgspec.Struct, frozen=True):
    what: str
    value: float
    limit: float
    ok: bool


class Result(msgspec.Struct, frozen=True):
    name: str
    rows: list[Row]
    goals: list[Goal]

    @property
    def met(self) -> bool:
        return all(goal.ok for goal in self.goals)


def at_most(what: str, value: float, limit: float) -> Goal:
    return Goal(f"{what} ≤ {shown(limit)}", value, limit, value <= limit)


def below(what: str, value: float, limit: float) -> Goal:
    return Goal(f"{what} < {shown(limit)}", value, limit, value < limit)


def write(result: Result, folder: Path = OUT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    return path


def table(result: Result) -> str:
    """Metrics down, contenders across; a blank where somebody was not measured."""
    people = list(dict.fromkeys(row.who for row in result.rows))
    metrics = list(dict.fromkeys((row.metric, row.unit) for row in result.rows))
    cells = {(row.who, row.metric, row.unit): shown(row.value) for row in result.rows}
    lines = [[result.name, "", *people]]
    for metric, unit in metrics:
        lines.append([metric, unit, *(cells.get((who, metric, unit), "") for who in people)])
    return aligned(lines, left=2)


def goals_table(goals: Sequence[Goal]) -> str:
    lines = [["goal", "", "measured"]]
    lines += [[goal.what, "ok" if goal.ok else "MISSED", shown(goal.value)] for goal in goals]
    return aligned(lines, left=2)


def aligned(lines: Sequence[Sequence[str]], *, left: int) -> str:
    """Columns as wide as their widest cell; the first `left` of them flush left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths, left) for line in lines)


def shown(value: float) -> str:
    """Three figures are all that a measurement on a shared machine is worth."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _line(cells: Iterable[str], widths: Sequence[int], left: int) -> str:
    placed = [
        cell.ljust(width) if column < left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(placed).rstrip()
