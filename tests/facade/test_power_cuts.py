"""Power cuts under live clients, on a disk that forgets what was not synced: nothing acknowledged is lost or torn.

A dose is 4 cuts; `FILETOOLS_DOSE=10` makes 200. A failure prints its seed:
`python -m tests.support.power_cuts --seed SEED --cuts 20 --kind KIND` tries such cuts again, as far as the timing allows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOSE = int(os.environ.get("FILETOOLS_DOSE", "1"))
PARTS = max(1, DOSE // 2)
FAULTS = {"lost", "torn", "not undone", "adopted", "astray", "left", "refused"}
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no /dev/fuse to make a disk of")


def cuts(kind: str, count: int, *options: str, seed: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.support.power_cuts", "--kind", kind]
    command += ["--seed", str(seed), "--cuts", str(count)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, cwd=ROOT, timeout=600)
    if "no power can be cut here" in done.stderr:
        pytest.skip("mounting is not permitted here")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def faults(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [result for result in results if FAULTS & result.keys()]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("kind", "count"), [("once", 2), ("again", 1), ("full", 1)])
def test_nothing_acknowledged_is_lost_torn_or_taken_for_a_strangers(kind: str, count: int, part: int) -> None:
    results = cuts(kind, count if DOSE == 1 else 10 * count, seed=1000 + 100 * part)
    found = faults(results)
    assert not found, json.dumps(found, indent=1)
    assert len(results) >= count


@pytest.mark.skipif(DOSE == 1, reason="takes a minute")
@pytest.mark.parametrize(
    ("bug", "told"),
    [
        ("no sync of folders above", {"lost", "adopted"}),
        ("the journal is not synced", {"lost", "torn", "adopted"}),
        pytest.param(
            "marked without a sync",
            {"lost", "torn", "adopted"},
            marks=pytest.mark.skipif(DOSE < 100, reason="takes hundreds of cuts, since folders are synced at once"),
        ),
        ("segments are not synced", {"lost", "torn", "adopted"}),
        ("names of segments are not synced", {"lost", "torn", "adopted"}),
        ("moved folders are not synced", {"lost", "torn", "not undone"}),
        ("torn files are saves", {"torn", "adopted"}),
    ],
)
def test_a_planted_bug_is_found(bug: str, told: set[str]) -> None:
    for seed in range(1, 6 * DOSE, 4):
        if any(told & result.keys() for result in cuts("once", 4, "--bug", bug, seed=seed)):
            return
    pytest.fail(f"nothing was lost in {6 * DOSE} cuts")
