"""The verdicts of `make bench`, and the page that it makes of its rows."""

from __future__ import annotations

import pytest

from benchmarks.measure import Row
from benchmarks.run import HERE, NAMES


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "verdict", "part"),
    [(2.0, 1.0, False, "missed", 2.0), (1.0, 1.0, False, "met", 1.0), (0.5, 1.0, True, "missed", 2.0),
     (0.0, 0.0, False, "met", 0.0), (1.0, 0.0, False, "missed", float("inf"))],
)  # fmt: skip
def test_a_row_is_met_up_to_its_limit(value: float, limit: float, at_least: bool, verdict: str, part: float) -> None:
    row = Row(goal=1, what="a", value=value, limit=limit, at_least=at_least)

    assert (row.verdict, row.part) == (verdict, part)


def test_make_bench_runs_every_benchmark() -> None:
    assert {f"bench_{name}.py" for name in NAMES} == {path.name for path in HERE.glob("bench_*.py")}
