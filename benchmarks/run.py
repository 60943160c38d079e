"""`make bench`: run every benchmark, print one table, keep the rows and plots, and write docs/performance.md from them.

Each benchmark is a process of its own that hands over its rows (`measure.publish`). Rows, as JSON, and plots, as SVG, go
into benchmarks/results/.

Usage: python benchmarks/run.py [NAME …]    (such as "facade"; by default all of them, in under 5 minutes)
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # run as a file, as make does

from benchmarks import goals, machine, measure, page, plots  # noqa: E402

RESULTS: Final = HERE / "results"
PAGE: Final = HERE.parent / "docs" / "performance.md"
DOSES: Final[dict[str, tuple[str, ...]]] = {
    "facade": ("7",),
    "journal": ("60", "100000"),
    "locks": ("1",),
    "page": ("3", "3"),
    "stores": ("60",),
}
"""Arguments that keep the whole under five minutes; run alone, a benchmark takes the larger dose of its own."""
LIMIT_SECONDS: Final = 240


def main(wanted: list[str]) -> int:
    """Run what is wanted; return 1 if a benchmark failed."""
    names = wanted or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    facts, began = machine.facts(), time.monotonic()
    rows: list[measure.Row] = []
    failed: list[str] = []
    for name in names:
        print(f"\n── {name}", flush=True)
        found, is_done = run_one(name)
        rows += found
        if not is_done:
            failed.append(name)
    facts["other programs"] = f"{machine.share_of_others():.0%} of the processors"
    facts["took"] = f"{time.monotonic() - began:.0f} s"
    print_table(rows)
    for name in failed:
        print(f"FAILED: {name}")
    if not wanted:
        keep(rows, facts)
    return 1 if failed else 0


def run_one(name: str) -> tuple[list[measure.Row], bool]:
    """Run one benchmark; return its rows, and whether it came to its end."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "rows"
        place.touch()
        environment = {
            **os.environ,
            measure.ROWS_FILE: str(place),
            machine.ROOT_VARIABLE: str(os.getpid()),
            "PYTHONPATH": os.pathsep.join((str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")]))),
        }
        command = [sys.executable, "-m", f"benchmarks.bench_{name}", *DOSES.get(name, ())]
        try:
            ended = subprocess.run(command, env=environment, cwd=HERE.parent, timeout=LIMIT_SECONDS, check=False)
            is_done = ended.returncode == 0
        except subprocess.TimeoutExpired:
            is_done = False
        return [row_from(json.loads(text)) for text in place.read_text(encoding="utf-8").splitlines()], is_done


def row_from(plain: dict[str, Any]) -> measure.Row:
    """Return a row from its JSON form."""
    names = {field.name for field in dataclasses.fields(measure.Row)}
    return measure.Row(**{name: value for name, value in plain.items() if name in names})


def print_table(rows: list[measure.Row]) -> None:
    """Print every row with a goal, in the order of the goals."""
    print(f"\n{measure.HEADING}")
    for row in page.in_order(rows):
        print(measure.line(row))
    print(f"\n{goals.summary(rows)}")


def keep(rows: list[measure.Row], facts: dict[str, str]) -> None:
    """Write rows, plots and the page."""
    RESULTS.mkdir(exist_ok=True)
    plain = {"machine": facts, "rows": [{**dataclasses.asdict(row), "is_met": row.is_met} for row in rows]}
    (RESULTS / "rows.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    drawn = plots.draw(rows, RESULTS)
    PAGE.write_text(page.text(rows, facts, drawn), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
