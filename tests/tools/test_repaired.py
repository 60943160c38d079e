"""Mistakes with one meaning, in the default set and in Claude Code's: done at once, and the answer says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import filetools
from filetools.models.records import Actor
from filetools.tools.dialects import dialect_named
from filetools.tools.registry import ToolRegistry
from tests.support.mistakes import MISTAKES, SETTINGS, plant
from tests.support.repaired import CLAUDE, DEFAULT, Repaired

ROWS = [("default", row) for row in DEFAULT] + [("claude-code", row) for row in CLAUDE]


@pytest.mark.parametrize(("names", "row"), ROWS, ids=[f"{names}-{row.tool}-{row.name}" for names, row in ROWS])
async def test_a_mistake_with_one_meaning_is_done_and_told(tmp_path: Path, names: str, row: Repaired) -> None:
    root = tmp_path / "project"
    root.mkdir()
    plant(root)
    before = (root / "src" / "app.py").read_text()
    async with filetools.open(root, settings=SETTINGS) as files:
        agent = files.for_actor(Actor(kind="agent", id="alice", session="s"))
        tools = ToolRegistry(agent) if names == "default" else dialect_named(names).registry(agent)
        envelope = await tools.call(row.tool, dict(row.arguments))
        seen = tools.show(row.tool, envelope)
        assert envelope["success"], seen.text
        assert row.told in "\n".join((seen.text, *seen.notes))
    assert (root / row.path).read_text() == (before if row.leaves is None else row.leaves)


def test_there_are_enough_mistakes_of_both_sets() -> None:
    assert len(MISTAKES) + len(DEFAULT) + len(CLAUDE) >= 120
