"""Agents, editors, shell programs, undo and restore at once: one picture of the tree for all, and the first tree comes back.

A failure prints its seed, all deeds and the feed. `make long` runs 30 of the first kind and 10 of each other one, `make soak`
300 and 100.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dose import dose
from tests.support.storms.running import run_storm

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(dose(1) < 10, reason="longer checks: make long runs them"),
    pytest.mark.timeout(7200),
]


@pytest.mark.parametrize("lot", range(3))
async def test_all_pictures_are_one_and_the_first_tree_comes_back(lot: int, tmp_path: Path) -> None:
    for seed in range(lot, dose(3), 3):
        faults = await run_storm(tmp_path, seed)
        assert not faults, "\n".join(faults)


async def test_what_nobody_has_seen_before_is_never_taken_away(tmp_path: Path) -> None:
    for seed in range(dose(1)):
        faults = await run_storm(tmp_path, 1000 + seed, is_known=False)
        assert not faults, "\n".join(faults)


async def test_several_processes_have_one_picture(tmp_path: Path) -> None:
    for seed in range(dose(1)):
        faults = await run_storm(tmp_path, 2000 + seed, workers=2)
        assert not faults, "\n".join(faults)


@pytest.mark.parametrize("is_known", [True, False])
async def test_where_nobody_watches_one_look_makes_all_pictures_one(is_known: bool, tmp_path: Path) -> None:
    for seed in range(dose(1)):
        faults = await run_storm(tmp_path, 3000 + seed, is_known=is_known, watch=False)
        assert not faults, "\n".join(faults)
