"""The verdicts of `make bench`, and the page that it makes of its rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.bench_work import BEGIN, END, calls_between
from benchmarks.measure import Row, Unit
from benchmarks.page import GOALS, summary, verdict
from benchmarks.run import HERE, NAMES, judged, keep


@pytest.mark.parametrize(("unit", "verdict"), [("s", "unknown"), ("1/s", "unknown"), ("x", "met"), ("bytes", "met")])
def test_only_absolute_times_and_rates_are_unknown_on_a_busy_machine(unit: Unit, verdict: str) -> None:
    row = Row(goal=1, what="a", value=1.0, unit=unit, limit=1.0)

    assert judged(row, is_busy=True).verdict == verdict
    assert judged(row, is_busy=False).verdict == "met"


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "verdict", "part"),
    [(2.0, 1.0, False, "missed", 2.0), (1.0, 1.0, False, "met", 1.0), (0.5, 1.0, True, "missed", 2.0),
     (0.0, 0.0, False, "met", 0.0), (1.0, 0.0, False, "missed", float("inf"))],
)  # fmt: skip
def test_a_row_is_met_up_to_its_limit(value: float, limit: float, at_least: bool, verdict: str, part: float) -> None:
    row = Row(goal=1, what="a", value=value, limit=limit, at_least=at_least)

    assert (row.verdict, row.part) == (verdict, part)


def rows(*values: float, goal: int = 1) -> list[Row]:
    return [Row(goal=goal, what="a", value=each, limit=1.0) for each in values]


def test_a_goal_is_met_only_if_all_its_rows_are() -> None:
    unknown = [replace(each, is_known=False) for each in rows(0.5)]

    assert verdict(1, [*rows(0.5, 1.0), *rows(2.0, goal=2)]) == "met"
    assert verdict(1, [*rows(0.5, 2.0), *unknown]) == "missed"
    assert verdict(1, [*rows(0.5), *unknown]) == "unknown"
    assert verdict(1, rows(0.5, goal=2)) == "not measured"


def test_the_summary_counts_goals_and_not_rows() -> None:
    found = [*rows(0.5, 0.5), *rows(0.5, 2.0, goal=2)]

    assert summary(found) == f"Of {len(GOALS)} goals: 1 met, 1 missed, {len(GOALS) - 2} not measured"


def test_a_run_becomes_a_page_with_the_worst_case_of_each_claim(tmp_path: Path) -> None:
    found = [
        Row(goal=14, what="files reported", value=2000.0, unit="1/s", limit=15000.0, at_least=True),
        Row(goal=1, what="read | raw", case="1 KB", value=7.0, limit=6.0, ours=7e-5, p99=9e-5, floor=1e-5),
        Row(goal=1, what="read | raw", case="64 KB", value=3.0, limit=6.0, ours=3e-4, floor=1e-4),
    ]

    keep(found, {"on": "2026-01-02", "cores": "2"}, results=tmp_path / "results", shown_at=tmp_path / "performance.md")

    page = (tmp_path / "performance.md").read_text()
    assert "One run: on 2026-01-02, cores 2." in page
    assert [line for line in page.splitlines() if line.startswith("|")][2:] == [
        "| 1 | read \\| raw: 1 KB | 70 µs | 10 µs | 7.00 | ≤6 | **missed** |",
        "| 14 | files reported | 2,000/s |  |  | ≥15,000/s | **missed** |",
    ]
    (plot,) = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)
    assert ElementTree.parse(tmp_path / plot).getroot().tag.endswith("svg")
    kept = json.loads((tmp_path / "results" / "rows.json").read_text())
    assert [each["verdict"] for each in kept["rows"]] == ["missed", "missed", "met"]


def test_make_bench_runs_every_benchmark() -> None:
    assert {f"bench_{name}.py" for name in NAMES} == {path.name for path in HERE.glob("bench_*.py")}


def test_calls_between_two_marks_of_a_trace_are_counted_once_each() -> None:
    trace = """\
7  read(3, "x", 1) = 1
7  write(5, "begin marked", 12) = 12
7  openat2(4, "a", {}, 24) = 6
8  futex(0x1, FUTEX_WAIT <unfinished ...>
7  close(6) = 0
8  <... futex resumed>) = 0
7  write(5, "end marked", 10) = 10
7  close(5) = 0
"""

    assert calls_between(trace, BEGIN, END) == {"openat2": 1, "futex": 1, "close": 1}
