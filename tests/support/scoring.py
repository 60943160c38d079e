"""How many of the tables' mistakes are repaired or answered in one call: the figures of the documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import filetools
from filetools.models.records import Actor
from filetools.tools.dialects import dialect_named
from filetools.tools.registry import ToolRegistry
from tests.support.claude_mistakes import CLAUDE_MISTAKES
from tests.support.mistakes import MISTAKES, SETTINGS, Arguments, Mistake, plant, try_and_mend
from tests.support.repaired import CLAUDE, DEFAULT, Repaired

Names = Literal["default", "claude-code"]
TABLES: Final[dict[Names, list[Mistake | Repaired]]] = {
    "default": [*MISTAKES, *DEFAULT],
    "claude-code": [*CLAUDE_MISTAKES, *CLAUDE],
}


@dataclass(frozen=True, slots=True)
class Score:
    """What became of the rows of one table."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Rows that need no second guess, of all, from 0 to 1."""
        return 1 - len(self.failed) / (self.counts.total() + len(self.failed))

    def row(self, names: str) -> str:
        """Return the row of the documents' table."""
        rows = self.counts.total() + len(self.failed)
        told = (names, rows, self.counts["repaired"], self.counts["answered"], f"{self.share:.1%}")
        return f"| {' | '.join(map(str, told))} |"


async def score_of(names: Names, place: Path) -> Score:
    """Return what becomes of each mistake of a table, each in a tree of its own below a folder."""
    score = Score()
    for number, row in enumerate(TABLES[names]):
        root = place / str(number) / "project"
        root.mkdir(parents=True)
        plant(root)
        try:
            if isinstance(row, Mistake):
                await answer(names, row, root)
            else:
                await repair(names, row, root)
        except (AssertionError, IndexError, ValueError) as error:
            score.failed.append(f"{row.tool}, {row.name}: {str(error)[:300]}")
        else:
            score.counts["answered" if isinstance(row, Mistake) else "repaired"] += 1
    return score


async def answer(names: Names, row: Mistake, root: Path) -> None:
    """Make a mistake that must be refused, and the call that follows from what is said; fail if that does not succeed."""
    async with filetools.open(root, settings={**SETTINGS, **row.settings}) as files:
        tools = _tools(names, files)

        async def show(tool: str, arguments: Arguments) -> tuple[bool, str]:
            envelope = await tools.call(tool, arguments)
            assert envelope["success"] or envelope["error_code"] == row.code
            return envelope["success"], tools.show(tool, envelope).text

        await try_and_mend(row, files, root, show)


async def repair(names: Names, row: Repaired, root: Path) -> None:
    """Make a mistake that must be done as it is meant; fail if the file is another one then, or the answer says nothing."""
    before = (root / "src" / "app.py").read_text()
    async with filetools.open(root, settings=SETTINGS) as files:
        tools = _tools(names, files)
        envelope = await tools.call(row.tool, dict(row.arguments))
        seen = tools.show(row.tool, envelope)
        assert envelope["success"], seen.text
        told = "\n".join((seen.text, *seen.notes))
        assert row.told in told, told
        assert row.finds in told, told
    assert (root / row.path).read_text() == (before if row.leaves is None else row.leaves)


def _tools(names: Names, files: filetools.FileToolsFacade) -> ToolRegistry:
    agent = files.for_actor(Actor(kind="agent", id="alice", session="s"))
    return ToolRegistry(agent, require_version=True) if names == "default" else dialect_named(names).registry(agent)
