"""Power cuts under live clients, on a disk that loses what was not synced: nothing acknowledged is lost or torn.

A failure prints its seed: `python -m tests.support.power_cuts --seed SEED --cuts 20 --kind KIND` repeats such power cuts, as
far as timing allows.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.support.dose import dose
from tests.support.forked import forked

FAULTS = {"lost", "torn", "not undone", "adopted", "astray", "left", "refused"}
pytestmark = [
    pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no /dev/fuse to make a disk of"),
    pytest.mark.timeout(7200),
]


def cuts(kind: str, count: int, *options: str, seed: int) -> list[dict[str, Any]]:
    arguments = ["--kind", kind, "--seed", str(seed), "--cuts", str(count), *options]
    with forked("tests.support.power_cuts", *arguments) as machine:
        results = list(machine.rest())
        if machine.wait() == 77:
            pytest.skip("mounting is not permitted here")
        assert (machine.returncode, len(results)) == (0, count)
    return results


@pytest.mark.parametrize(("kind", "count"), [("once", 2), ("again", 1), ("full", 1)])
def test_nothing_acknowledged_is_lost_torn_or_taken_for_a_strangers(kind: str, count: int) -> None:
    found = [result for result in cuts(kind, dose(count), seed=1000) if FAULTS & result.keys()]
    assert not found, json.dumps(found, indent=1)


@pytest.mark.parametrize(
    ("bug", "told"),
    [
        ("no sync of folders above", {"lost", "adopted"}),
        ("the journal is not synced", {"lost", "torn", "adopted"}),
        ("large contents are not synced", {"lost", "torn", "adopted"}),
        ("moved folders are not synced", {"lost", "torn", "not undone"}),
        ("torn files are saves", {"torn", "adopted"}),
    ][: min(5, dose(2))],
)
def test_a_planted_bug_is_found(bug: str, told: set[str]) -> None:
    for seed in range(1, 200, 4):
        if any(told & result.keys() for result in cuts("once", 4, "--bug", bug, seed=seed)):
            return
    pytest.fail("nothing was lost in 200 cuts")
