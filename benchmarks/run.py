"""`make bench`: run the benchmarks of all goals, print every row, and write docs/performance.md with its plots.

Each benchmark is a process of its own that hands over its rows (`measure.publish`). The rows also go, as JSON, into
benchmarks/results/.

Usage: python benchmarks/run.py [NAME …]    (such as "facade"; without names all goals, in under 5 minutes)
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # run as a file, as make does

from benchmarks import bench_growth, goals, machine, measure, page, plots, trees  # noqa: E402

RESULTS: Final = HERE / "results"
PAGE: Final = HERE.parent / "docs" / "performance.md"
DOSES: Final[dict[str, tuple[str, ...]]] = {
    "counts": (),
    "facade": ("7",),
    "locks": ("1",),
    "events": (),
    "foreign": (),
    "mcp": ("5",),
    "descriptors": ("3",),
    "history": ("3",),
    "discovery": ("10",),
    "git": (),
    "windows": (),
    "grep": (),
    "growth": (),
    "listing": (),
    "opening": (),
    "checkpoints": (),
}
"""The benchmarks of goals, in the order in which they run, and what keeps the whole under five minutes.

The first counts and takes no times: beside it the largest tree and the largest journal are made.
"""
MOST: Final = {"files": 100_000, "records": 1_000_000}
LIMIT_SECONDS: Final = 240
"""For one of them."""


def main(wanted: list[str]) -> int:
    """Run what is wanted; return 1 if a benchmark failed."""
    names = wanted or list(DOSES)
    facts, began = {"on": f"{datetime.now(UTC):%Y-%m-%d}", **machine.facts()}, time.monotonic()
    rows: list[measure.Row] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as shared:
        made = {} if wanted else prepare(Path(shared))
        for number, name in enumerate(names, 1):
            before = time.monotonic()
            print(f"\n── {name}: {number} of {len(names)}, after {before - began:.0f} s", flush=True)
            found, is_done = run_one(name, Path(shared))
            rows += found
            if not is_done:
                failed.append(name)
            failed += [name for name, each in made.items() if each.wait()]
            made.clear()
            print(f"   took {time.monotonic() - before:.0f} s", flush=True)
    facts["other programs"] = f"{machine.share_of_others():.0%} of the processors"
    facts["took"] = f"{time.monotonic() - began:.0f} s"
    print_table(rows)
    for name in failed:
        print(f"FAILED: {name}")
    if not wanted:
        keep(rows, facts)
    return 1 if failed else 0


def prepare(shared: Path) -> dict[str, subprocess.Popen[bytes]]:
    """Begin to make what takes longest to make."""
    tree, root = trees.shared_tree(shared, MOST["files"]), bench_growth.prepared_root(MOST["records"], shared)
    commands = {
        "making the tree": [sys.executable, "-m", "benchmarks.trees", str(tree), str(MOST["files"])],
        "filling the journal": bench_growth.filled(root, MOST["records"]),
    }
    return {name: subprocess.Popen(command, cwd=HERE.parent) for name, command in commands.items()}


def run_one(name: str, shared: Path) -> tuple[list[measure.Row], bool]:
    """Run one benchmark; return its rows, and whether it came to its end."""
    place = shared / f"rows-{name}"
    place.touch()
    environment = {
        **os.environ,
        measure.ROWS_FILE: str(place),
        machine.ROOT_VARIABLE: str(os.getpid()),
        trees.SHARED_VARIABLE: str(shared),
        "PYTHONPATH": os.pathsep.join((str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")]))),
    }
    command = [sys.executable, "-m", f"benchmarks.bench_{name}", *DOSES.get(name, ())]
    os.sync()  # what the one before has written is not written beside this one
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
    """Print every row, in the order of the goals, and what is to be said of each goal."""
    print(f"\n{measure.HEADING}")
    for row in page.in_order(rows):
        print(measure.line(row))
    print()
    for goal, words in goals.GOALS.items():
        print(f"{goal:>3}  {goals.verdict(goal, rows):<12}  {words}")
    print(f"\n{goals.summary(rows)}")


def keep(rows: list[measure.Row], facts: Mapping[str, str], *, results: Path = RESULTS, shown_at: Path = PAGE) -> None:
    """Write rows, plots and the page; what `make bench-peers` has put on the page stays there."""
    results.mkdir(parents=True, exist_ok=True)
    plain = {"run": facts, "rows": [{**dataclasses.asdict(row), "is_met": row.is_met} for row in rows]}
    (results / "rows.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    pictures = shown_at.parent / page.PICTURES
    drawn = [*plots.draw(rows, pictures), *(each.name for each in pictures.glob("peers.svg"))]
    before = shown_at.read_text(encoding="utf-8") if shown_at.exists() else ""
    shown_at.write_text(page.text(rows, facts, drawn, page.made_by_peers(before)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
