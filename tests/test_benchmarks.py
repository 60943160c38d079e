"""What `make bench` says of a figure, of a goal, and of a run."""

from __future__ import annotations

import pytest

from benchmarks.goals import GOALS, summary, verdict
from benchmarks.measure import Row, Unit


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
