"""Plots of a run, as SVG with logarithmic axes: how far each goal is from its limit, cost by size, growth, and peers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.goals import GOALS, rows_of, verdict
from benchmarks.measure import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, FLOOR, MISSED, UNKNOWN, MET = "#1f6feb", "#8b949e", "#cf222e", "#9a6700", "#1a7f37"
SMALLEST_PART: Final = 0.01
"""What is better than a hundredth of its limit is drawn as that."""
GROWTH: Final = "growth by "


def draw(rows: Sequence[Row], folder: Path) -> list[str]:
    """Draw what the rows allow; return the names of the files. Nothing without matplotlib, which is in the extra `dev`."""
    drawn = []
    for name, picture in (("goals", _goals), ("sizes", _sizes), ("growth", _growth)):
        figure = _figures() and picture(rows)
        if figure:
            _save(figure, folder / f"{name}.svg")
            drawn.append(f"{name}.svg")
    return drawn


def draw_peers(seconds: Mapping[str, Mapping[str, float | None]], place: Path) -> bool:
    """Draw the median seconds of each call, by name of the call and of the peer; return whether that was possible."""
    if not _figures():
        return False
    from matplotlib import pyplot

    columns = 4
    known = [taken * 1000 for peers in seconds.values() for taken in peers.values() if taken is not None]
    figure, grid = pyplot.subplots(
        -(-len(seconds) // columns), columns, figsize=(12, 5.5), squeeze=False, sharex=True, sharey=True
    )
    for axes, (call, peers) in zip(grid.flat, seconds.items(), strict=False):
        for number, (name, taken) in enumerate(reversed(list(peers.items()))):
            if taken is not None:
                axes.barh(number, taken * 1000, color=OURS if name.startswith("filetools") else FLOOR, height=0.6)
        axes.set_yticks(range(len(peers)), list(reversed(list(peers))))
        axes.set(xscale="log", xlim=(min(known) / 2, max(known) * 2), title=call)
    for axes in grid[-1]:
        axes.set_xlabel("ms a call, median")
    _hide(grid.flat[len(seconds) :])
    _save(figure, place)
    return True


def _figures() -> bool:
    try:
        import matplotlib as mpl
    except ImportError:
        print("matplotlib is not installed: no plots (pip install 'agent-filetools[dev]')")
        return False
    mpl.use("svg")
    # Text as text, and nothing that differs from run to run but the figures.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "filetools", "font.size": 9, "axes.titlesize": 9})
    return True


def _goals(rows: Sequence[Row]) -> Figure | None:
    """One bar a goal: its worst value as a part of the limit; left of the line is good."""
    from matplotlib import pyplot

    worst = {goal: max(map(_part, found)) for goal in GOALS if (found := [r for r in rows_of(goal, rows) if r.limit])}
    if not worst:
        return None
    figure, axes = pyplot.subplots(figsize=(10, 0.24 * len(worst) + 1))
    colours = {"met": MET, "missed": MISSED}
    for number, (goal, part) in enumerate(reversed(worst.items())):
        width = max(part, SMALLEST_PART) - SMALLEST_PART / 2
        axes.barh(number, width, left=SMALLEST_PART / 2, color=colours.get(verdict(goal, rows), UNKNOWN), height=0.6)
    axes.set_yticks(range(len(worst)), [f"{goal}  {GOALS[goal].partition(':')[0]}" for goal in reversed(worst)])
    axes.set(xscale="log", xlim=(SMALLEST_PART / 2, max(2.0, *worst.values()) * 1.5))
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("worst row of the goal: value / limit (green met, red missed, brown: this run could not tell)")
    return figure


def _part(row: Row) -> float:
    assert row.limit
    if row.at_least:
        return row.limit / row.value if row.value else float("inf")
    return row.value / row.limit


def _sizes(rows: Sequence[Row]) -> Figure | None:
    """Seconds of a call by size of the file, ours beside the floor of the same run."""
    series = _series(rows, lambda name: not name.startswith(GROWTH))

    def line(axes: Axes, points: Sequence[Row]) -> None:
        at = [point.at or 0 for point in points]
        axes.plot(at, [(point.ours or 0) * 1e6 for point in points], "o-", color=OURS, label="filetools")
        axes.plot(at, [(point.floor or 0) * 1e6 for point in points], "s--", color=FLOOR, label=points[0].floor_name)

    return _grid(
        {name: {"": points} for name, points in series.items()}, lambda axes, _, points: line(axes, points), "bytes"
    )


def _growth(rows: Sequence[Row]) -> Figure | None:
    """Cost of a call as what does not concern it grows; flat is good."""
    grouped: dict[str, dict[str, Sequence[Row]]] = defaultdict(dict)
    for name, points in _series(rows, lambda name: name.startswith(GROWTH)).items():
        what, _, call = name.removeprefix(GROWTH).partition(": ")
        grouped[what][call] = points

    def line(axes: Axes, call: str, points: Sequence[Row]) -> None:
        axes.plot([point.at or 0 for point in points], [(point.ours or 0) * 1e6 for point in points], "o-", label=call)

    return _grid(grouped, line, "")


def _grid(
    plots: Mapping[str, Mapping[str, Sequence[Row]]], line: Callable[[Axes, str, Sequence[Row]], None], unit: str
) -> Figure | None:
    from matplotlib import pyplot

    if not plots:
        return None
    columns = math.ceil(math.sqrt(len(plots)))
    lines = -(-len(plots) // columns)
    figure, grid = pyplot.subplots(lines, columns, figsize=(4 * columns, 3 * lines), squeeze=False)
    for axes, (title, found) in zip(grid.flat, sorted(plots.items()), strict=False):
        for name, points in found.items():
            line(axes, name, points)
        axes.set(xscale="log", yscale="log", title=title, ylabel="µs a call, median", xlabel=unit)
        axes.legend(fontsize=6)
    _hide(grid.flat[len(plots) :])
    return figure


def _hide(unused: Any) -> None:
    for axes in unused:
        axes.set_visible(False)


def _series(rows: Sequence[Row], is_wanted: Callable[[str], bool]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.series and row.at is not None and is_wanted(row.series):
            found[row.series].append(row)
    for points in found.values():
        points.sort(key=lambda row: row.at or 0)
    return {name: points for name, points in found.items() if len(points) > 1}


def _save(figure: Figure, place: Path) -> None:
    from matplotlib import pyplot

    figure.tight_layout()
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    pyplot.close(figure)
    # The drawing library ends lines with blanks.
    text = "\n".join(part.rstrip() for part in place.read_text(encoding="utf-8").splitlines())
    place.write_text(text + "\n", encoding="utf-8")
