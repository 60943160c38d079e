"""What `make bench` says of a figure, of a goal, and of a run."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.bench_counts import BEGIN as BEGIN_MARK
from benchmarks.bench_counts import END as END_MARK
from benchmarks.bench_counts import calls_between
from benchmarks.goals import GOALS, REASONS, summary, verdict
from benchmarks.measure import Row, Unit
from benchmarks.page import BEGIN, END, NO_REASON, PICTURES
from benchmarks.plots import draw_peers
from benchmarks.run import DOSES, HERE, PAGE, keep, row_from


@pytest.mark.parametrize("value", [0.5, 2.0], ids=["good", "bad"])
@pytest.mark.parametrize("unit", ["s", "1/s"])
def test_an_absolute_figure_beside_other_busy_programs_is_neither_met_nor_missed(unit: Unit, value: float) -> None:
    assert Row(goal="1", name="a", value=value, unit=unit, limit=1.0, is_busy=True).is_met is None


@pytest.mark.parametrize("unit", ["x", "count", "bytes"])
@pytest.mark.parametrize("is_busy", [True, False])
def test_a_ratio_and_a_count_are_judged_on_any_machine(unit: Unit, is_busy: bool) -> None:
    assert Row(goal="1", name="a", value=2.0, unit=unit, limit=1.0, is_busy=is_busy).is_met is False
    assert Row(goal="1", name="a", value=1.0, unit=unit, limit=1.0, is_busy=is_busy).is_met is True


def test_a_figure_that_a_run_could_not_take_is_neither_met_nor_missed() -> None:
    assert Row(goal="1", name="a", value=0.0, limit=1.0, is_settled=False, is_busy=False).is_met is None


def judged(*values: float, goal: str = "1", is_settled: bool = True) -> list[Row]:
    return [Row(goal=goal, name="a", value=each, limit=1.0, is_settled=is_settled, is_busy=False) for each in values]


def test_a_goal_is_met_only_when_all_its_rows_are() -> None:
    informing = Row(goal="1", name="no limit", value=100.0, is_busy=False)
    unknown = judged(0.5, is_settled=False)

    assert verdict(1, [*judged(0.5, 1.0), informing, *judged(2.0, goal="2")]) == "met"
    assert verdict(1, [*judged(0.5, 2.0), *unknown]) == "missed"
    assert verdict(1, [*judged(0.5), *unknown]) == "cannot tell"
    assert verdict(1, [informing]) == "not measured"


def test_the_summary_counts_goals_and_not_rows() -> None:
    rows = [*judged(0.5, 0.5), *judged(0.5, 2.0, goal="2"), *judged(0.5, goal="3", is_settled=False)]

    assert summary(rows) == f"Of {len(GOALS)} goals: 1 met, 1 missed, 1 cannot tell, 23 not measured"


FACTS = {"on": "2026-01-02", "cores": "2"}
ROWS = [
    Row(goal="1", name="read 1 KB / raw", value=7.0, limit=6.0, ours=7e-5, ours_p99=9e-5, floor=1e-5, is_busy=False,
        series="read, raw", at=1024),
    Row(goal="1", name="read 64 KB | raw", value=3.0, limit=6.0, ours=3e-4, floor=1e-4, is_busy=False,
        series="read, raw", at=65536),
    Row(goal="14", name="burst told", value=2000.0, unit="1/s", limit=15000.0, at_least=True, is_busy=False),
    Row(goal="5", name="syncs", value=0.0, unit="count", limit=0.0, is_busy=False),
    Row(goal="-", name="write, 1,000 records", value=1e-3, unit="s", ours=1e-3, is_busy=False,
        series="growth by records: write", at=1000),
    Row(goal="24", name="write, 10,000 records / 1,000", value=1.1, limit=1.5, ours=1.1e-3, floor=1e-3, is_busy=False,
        series="growth by records: write", at=10000),
]  # fmt: skip


def tables(page: str) -> list[list[str]]:
    """Return the lines of each table."""
    found = [
        "\n".join(block) for is_table, block in groupby(page.splitlines(), lambda line: line[:1] == "|") if is_table
    ]
    return [each.split("\n") for each in found]


def assert_well_formed(page: str, folder: Path) -> None:
    for table in tables(page):
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in table}
        assert len(cells) == 1, table[0]
        assert set(table[1]) <= set("| -:"), table[0]
    for goal in GOALS:
        assert f"\n### Goal {goal}\n" in page
        assert f"[{goal}](#goal-{goal})" in page
    assert all((folder / place).is_file() for place in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page))
    assert not re.search(r"(?<!\w)/(tmp|home|root|work)/", page)


def test_a_run_becomes_a_page_with_a_verdict_and_a_reason_for_each_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REASONS, 1, "It validates.")
    monkeypatch.delitem(REASONS, 14, raising=False)
    shown_at = tmp_path / "docs" / "performance.md"
    shown_at.parent.mkdir()
    shown_at.write_text(f"Old.\n{BEGIN}\nWhat the peers did.\n\n{END}Old.\n")

    keep(ROWS, FACTS, results=tmp_path / "results", shown_at=shown_at)

    page = shown_at.read_text()
    assert_well_formed(page, shown_at.parent)
    assert "One run: on 2026-01-02, cores 2." in page
    assert f"**{summary(ROWS)}.**" in page
    assert "| [1](#goal-1) | Reading 1 KB, hot: at most 6 x raw | **missed** |" in page
    assert "| read 1 KB / raw | 70 µs | 90 µs | 10 µs | 7.00 x | ≤ 6.00 x | **not met** |\n" in page
    assert "| **not met** |\n| read 64 KB \\| raw |" in page
    assert page.count("It validates.") == 1
    assert page.count(NO_REASON) == 1  # that of goal 14
    assert "What the peers did." in page
    assert "Old." not in page


def test_a_run_keeps_its_rows_and_a_plot_of_each_kind(tmp_path: Path) -> None:
    keep(ROWS, FACTS, results=tmp_path / "results", shown_at=tmp_path / "performance.md")

    kept = json.loads((tmp_path / "results" / "rows.json").read_text())
    assert kept["run"] == FACTS
    assert [row_from(each) for each in kept["rows"]] == ROWS
    assert [each["is_met"] for each in kept["rows"]] == [row.is_met for row in ROWS]
    plots = sorted((tmp_path / PICTURES).iterdir())
    assert [each.name for each in plots] == ["goals.svg", "growth.svg", "sizes.svg"]
    assert all(ElementTree.parse(each).getroot().tag.endswith("svg") for each in plots)


def test_a_run_without_any_row_still_makes_a_page(tmp_path: Path) -> None:
    keep([], {}, results=tmp_path / "results", shown_at=tmp_path / "performance.md")

    assert_well_formed((tmp_path / "performance.md").read_text(), tmp_path)


def test_times_of_peers_are_drawn_also_where_one_has_no_such_call(tmp_path: Path) -> None:
    assert draw_peers(
        {"read": {"ours": 0.001, "theirs": 0.002}, "grep": {"ours": 0.1, "theirs": None}}, tmp_path / "a.svg"
    )
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")


def test_the_page_in_the_documents_is_one_of_these() -> None:
    assert_well_formed(PAGE.read_text(), PAGE.parent)


def test_every_benchmark_that_make_bench_runs_is_there() -> None:
    assert {f"bench_{name}.py" for name in DOSES} <= {path.name for path in HERE.glob("bench_*.py")}


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

    assert calls_between(trace, BEGIN_MARK, END_MARK) == {"openat2": 1, "futex": 1, "close": 1}
