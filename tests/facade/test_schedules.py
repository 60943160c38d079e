"""Random schedules of agents, people and programs: nothing is lost, nothing unsaved is saved, editors converge.

A failure prints its seed and all actions. Each bug that this test plants in the product must be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from filetools.changes import runner
from filetools.changes.deciding import files as decisions
from filetools.changes.decision import PutDecision
from filetools.changes.parts import Parts
from filetools.changes.steps import files
from filetools.changes.steps.files import PutFile
from filetools.models.records import Actor
from tests.support.dose import dose
from tests.support.schedules.running import run_at_once, run_in_order

IN_ORDER = dose(30)
AT_ONCE = dose(15)
LOTS = 3
"""Number of tests that a dose is divided into, so that none takes long."""


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("lot", range(LOTS))
async def test_nothing_is_lost_in_order(lot: int, tmp_path: Path) -> None:
    for seed in range(lot, IN_ORDER, LOTS):
        faults = await run_in_order(tmp_path, seed)
        assert not faults, "\n".join(faults)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("lot", range(LOTS))
async def test_nothing_is_lost_at_once(lot: int, tmp_path: Path) -> None:
    for seed in range(lot, AT_ONCE, LOTS):
        faults = await run_at_once(tmp_path, seed)
        assert not faults, "\n".join(faults)


async def first_fault(folder: Path, *, likely: int = 0) -> str | None:
    """Return the first fault within the default dose, without its history; a schedule likely to have it comes first."""
    for seed in sorted(range(150), key=lambda seed: seed != likely):
        faults = await run_in_order(folder, seed)
        if faults:
            return faults[1]
    return None


async def test_a_merged_text_that_counts_as_seen_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def record_merged(parts: Parts, actor: Actor, steps: Sequence[PutFile]) -> None:
        for step in steps:
            if isinstance(step, PutFile):
                parts.tracker.record_seen(
                    actor, step.seen.key, step.decision.facts.version, content=step.decision.content
                )

    monkeypatch.setattr(runner, "record_steps", record_merged)
    fault = await first_fault(tmp_path, likely=82)
    assert fault is not None
    assert fault.startswith("lost")


async def test_an_agent_that_ignores_documents_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_is(_parts: Parts, _seen: object, decision: PutDecision) -> PutDecision:
        return decision

    monkeypatch.setattr(files, "with_document", as_is)
    monkeypatch.setattr(decisions, "unsaved_text", lambda _parts, _seen: None)
    fault = await first_fault(tmp_path)
    assert fault is not None


async def test_displaced_bytes_that_are_thrown_away_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> tuple[()]:
        return ()

    monkeypatch.setattr(PutFile, "surprises", none)
    fault = await first_fault(tmp_path, likely=59)
    assert fault is not None
    assert fault.startswith("lost")
