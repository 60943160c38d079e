"""Agents, editors, shell programs, undo and restore at once: all see the same tree, and the first tree is restored.

A failure prints its seed, all actions and the feed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.dose import dose
from tests.support.storms import running
from tests.support.storms.running import run_storm

KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"workers": 2},
    {"is_known": False},  # unknown files are never removed
    {"watch": False},  # after one look all agree
    {"watch": False, "is_known": False},
)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", range(len(KINDS)))
async def test_all_see_the_same_tree_and_the_first_tree_is_restored(kind: int, tmp_path: Path) -> None:
    for seed in range(dose(1)):
        faults = await run_storm(tmp_path, 1000 * kind + seed, **KINDS[kind])
        assert not faults, "\n".join(faults)


async def test_a_mirror_that_differs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(storm: running.Storm) -> None:
        (storm.mirror / "more.txt").write_text("more\n")
        monkeypatch.setattr(running, "REST_SECONDS", 0.1)

    faults = await run_storm(tmp_path, 0, at_rest=spoil)
    assert any(fault.startswith("mirror at more.txt") for fault in faults)
