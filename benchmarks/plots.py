"""Plots of a run, as SVG with logarithmic axes: how far each goal is from its limit, and cost by size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measure import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS, FLOOR, MISSED, UNKNOWN = "#1f6feb", "#8b949e", "#cf222e", "#9a6700"
MET: Final = "#1a7f37"
LONGEST_NAME: Final = 74


def draw(rows: Sequence[Row], folder: Path) -> list[str]:
    """Draw what the rows allow; return the names of the files. Nothing without matplotlib, which is in the dev extra."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("matplotlib is not installed: no plots (pip install 'agent-filetools[dev]')")
        return []
    mpl.use("svg")
    # Text as text, and nothing that differs from run to run but the figures.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "filetools", "font.size": 9})
    drawn = []
    for name, picture in (("goals", _goals), ("sizes", _sizes), ("growth", _growth)):
        file = f"{name}.svg"
        if picture(rows, folder / file):
            drawn.append(file)
    return drawn


def _goals(rows: Sequence[Row], place: Path) -> bool:
    """One bar a goal: the value as a part of its limit; left of the line is good."""
    from matplotlib import pyplot

    shown = [row for row in rows if row.limit and row.value]
    if not shown:
        return False
    shown.sort(key=_order, reverse=True)
    parts = [row.limit / row.value if row.at_least else row.value / row.limit for row in shown if row.limit]
    colours = [{True: MET, False: MISSED, None: UNKNOWN}[row.is_met] for row in shown]
    figure, axes = pyplot.subplots(figsize=(10, 0.24 * len(shown) + 1))
    axes.barh(range(len(shown)), [part - 0.001 for part in parts], left=0.001, color=colours, height=0.6)
    axes.set_yticks(range(len(shown)), [f"{row.goal}  {row.name.strip()[:LONGEST_NAME]}" for row in shown])
    axes.set_xscale("log")
    axes.set_xlim(min(0.01, *parts) / 1.5, max(2.0, *parts) * 1.5)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("value / limit (green met, red not met, brown: this run could not tell)")
    _save(figure, place)
    pyplot.close(figure)
    return True


def _sizes(rows: Sequence[Row], place: Path) -> bool:
    """Seconds of a call by size of the file, ours beside the floor of the same run."""
    from matplotlib import pyplot

    series = _series(rows, lambda name: not name.startswith("growth"))
    if not series:
        return False
    figure, grid = pyplot.subplots(2, -(-len(series) // 2), figsize=(3.2 * -(-len(series) // 2), 5.6), squeeze=False)
    for axes, (name, points) in zip(grid.flat, sorted(series.items()), strict=False):
        at = [point.at or 0 for point in points]
        axes.plot(at, [(point.ours or 0) * 1e6 for point in points], "o-", color=OURS, label="filetools")
        axes.plot(at, [(point.floor or 0) * 1e6 for point in points], "s--", color=FLOOR, label=points[0].floor_name)
        axes.set(xscale="log", yscale="log", title=name, xlabel="bytes", ylabel="µs a call, median")
        axes.legend(fontsize=7)
    for axes in list(grid.flat)[len(series) :]:
        axes.set_visible(False)
    _save(figure, place)
    pyplot.close(figure)
    return True


def _growth(rows: Sequence[Row], place: Path) -> bool:
    """Cost of a call as files and journal grow; flat is good."""
    from matplotlib import pyplot

    series = _series(rows, lambda name: name.startswith("growth"))
    if not series:
        return False
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, points in sorted(series.items()):
        label = name.removeprefix("growth: ")
        axes.plot([point.at or 0 for point in points], [(point.ours or 0) * 1e6 for point in points], "o-", label=label)
    axes.set(xscale="log", yscale="log", xlabel="files, and journal records", ylabel="µs a call, median")
    axes.legend(fontsize=8)
    _save(figure, place)
    pyplot.close(figure)
    return True


def _series(rows: Sequence[Row], is_wanted: Callable[[str], bool]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.series and row.at is not None and is_wanted(row.series):
            found[row.series].append(row)
    for points in found.values():
        points.sort(key=lambda row: row.at or 0)
    return {name: points for name, points in found.items() if len(points) > 1}


def _order(row: Row) -> tuple[int, str]:
    return (int(row.goal) if row.goal.isdigit() else 1000, row.name)


def _save(figure: Figure, place: Path) -> None:
    figure.tight_layout()
    figure.savefig(place, format="svg", metadata={"Date": None})
    # The drawing library ends lines with blanks.
    text = "\n".join(part.rstrip() for part in place.read_text(encoding="utf-8").splitlines())
    place.write_text(text + "\n", encoding="utf-8")
