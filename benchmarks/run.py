"""`make bench`: run all benchmarks, print every row and a verdict on each goal, and write docs/performance.md.

Each benchmark is a process of its own that hands over its rows. All rows also go, as JSON, into benchmarks/results/.

Usage: python benchmarks/run.py [NAME …]    (such as "calls"; without names all, in under five minutes)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # started as a file, as make does

from benchmarks import measure, page, trees  # noqa: E402

RESULTS: Final = HERE / "results"
PAGE: Final = HERE.parent / "docs" / "performance.md"
NAMES: Final = ("work", "calls", "events", "programs", "texts", "sessions", "growth", "listing", "git")
"""The benchmarks in their order. The first one times nothing: the largest tree and journal are made beside it."""
DOSES: Final = {"calls": "7", "programs": "5"}
"""Smaller than the default, to keep the whole run under five minutes."""
MOST_FILES: Final = 100_000
MOST_RECORDS: Final = 1_000_000
LIMIT_SECONDS: Final = 240
"""For one benchmark."""
BUSY_SHARE: Final = 0.1
"""Part of the processors from which other programs disturb absolute times."""
LOOK_SECONDS: Final = 0.3


def main(wanted: list[str]) -> int:
    """Run the benchmarks; return 1 if one failed."""
    names = wanted or NAMES
    began, rows, failed = time.monotonic(), list[measure.Row](), list[str]()
    facts = {"on": f"{datetime.now(UTC):%Y-%m-%d}", **page.facts()}
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(measure.HEADING)
    with tempfile.TemporaryDirectory(prefix="bench-") as shared:
        made = {} if wanted else prepare(Path(shared))
        busy = share_of_others()
        for number, name in enumerate(names, 1):
            print(f"\n── {name}: {number} of {len(names)}, after {time.monotonic() - began:.0f} s", flush=True)
            found, is_done = run_one(name, Path(shared))
            failed += [] if is_done else [name]
            failed += [what for what, process in made.items() if process.wait()]
            made.clear()
            before, busy = busy, share_of_others()
            rows += [judged(row, is_busy=max(before, busy) > BUSY_SHARE) for row in found]
    facts["took"] = f"{time.monotonic() - began:.0f} s"
    print()
    for goal, what in page.GOALS.items():
        print(f"{goal:>3}  {page.verdict(goal, rows):<12}  {what}")
    print(f"\n{page.summary(rows)}, after {facts['took']}")
    for name in failed:
        print(f"FAILED: {name}")
    if not wanted:
        keep(rows, facts)
    return 1 if failed else 0


def prepare(shared: Path) -> dict[str, subprocess.Popen[bytes]]:
    """Begin to make what takes longest to make."""
    made = {}
    for kind, name, size in (("tree", "tree", MOST_FILES), ("journal", "records", MOST_RECORDS)):
        command = [sys.executable, "-m", "benchmarks.trees", kind, str(shared / f"{name}{size}"), str(size)]
        made[f"making the {kind}"] = subprocess.Popen(command, cwd=HERE.parent)
    return made


def run_one(name: str, shared: Path) -> tuple[list[measure.Row], bool]:
    """Run one benchmark; return its rows, and False if it failed."""
    place = shared / f"rows-{name}"
    place.touch()
    environment = {**os.environ, measure.ROWS_FILE: str(place), trees.SHARED: str(shared)}
    environment["FILETOOLS_CONFIG_DIR"] = str(shared / "configuration")  # roots of benchmarks are nobody's
    environment["PYTHONPATH"] = os.pathsep.join((str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])))
    command = [sys.executable, "-m", f"benchmarks.bench_{name}", *filter(None, [DOSES.get(name)])]
    os.sync()  # or the disk would write data of the last benchmark during this one
    try:
        is_done = not subprocess.run(
            command, env=environment, cwd=HERE.parent, timeout=LIMIT_SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        is_done = False
    return [measure.Row(**json.loads(each)) for each in place.read_text(encoding="utf-8").splitlines()], is_done


def share_of_others() -> float:
    """Return the part of the processors in use, 0 to 1, while no benchmark runs (Source: proc(5), /proc/stat)."""

    def ticks() -> tuple[int, int]:
        try:
            fields = Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0].split()[1:9]
        except OSError:
            return 0, 1
        counts = [int(each) for each in fields]
        return counts[3] + counts[4], sum(counts)  # idle and waiting for the disk

    before = ticks()
    time.sleep(LOOK_SECONDS)
    after = ticks()
    return 1 - (after[0] - before[0]) / max(1, after[1] - before[1])


def judged(row: measure.Row, *, is_busy: bool) -> measure.Row:
    """Return the row; a time or rate that was taken beside other busy programs becomes unknown."""
    return replace(row, is_known=False) if is_busy and row.unit in ("s", "1/s") else row


def keep(
    rows: Sequence[measure.Row], facts: Mapping[str, str], *, results: Path = RESULTS, shown_at: Path = PAGE
) -> None:
    """Write the rows, the plot and the page."""
    results.mkdir(parents=True, exist_ok=True)
    plain = {"run": facts, "rows": [{**asdict(row), "verdict": row.verdict} for row in rows]}
    (results / "rows.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    has_plot = page.draw(rows, shown_at.parent / page.PICTURE)
    shown_at.write_text(page.text(rows, facts, has_plot=has_plot), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
