"""Typical mistakes of models, in our own names and in Claude Code's: done at once, or mended with what the error says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import dialect_named
from filetools.tools.registry import ToolRegistry
from tests.support.mistakes import MISTAKES, SETTINGS, Arguments, Mistake, plant, try_and_mend
from tests.support.people import ALICE
from tests.support.repaired import CLAUDE, DEFAULT, Repaired

Names = Literal["default", "claude-code"]
DONE: list[tuple[Names, Repaired]] = [*(("default", row) for row in DEFAULT), *(("claude-code", row) for row in CLAUDE)]


def named(value: object) -> str:
    return f"{value.tool}-{value.name}".replace(" ", "-") if isinstance(value, Mistake | Repaired) else str(value)


@asynccontextmanager
async def opened(names: Names, root: Path, **settings: object) -> AsyncIterator[tuple[FileToolsFacade, ToolRegistry]]:
    root.mkdir()
    plant(root)
    async with filetools.open(root, settings={**SETTINGS, **settings}) as files:
        agent = files.for_actor(ALICE)
        dialect = None if names == "default" else dialect_named(names)
        yield files, ToolRegistry(agent, require_version=True) if dialect is None else dialect.registry(agent)


@pytest.mark.parametrize("mistake", MISTAKES, ids=named)
async def test_a_mistake_is_mended_with_what_the_error_says(tmp_path: Path, mistake: Mistake) -> None:
    root = tmp_path / "project"
    async with opened("default", root, **mistake.settings) as (files, tools):

        async def show(tool: str, arguments: Arguments) -> tuple[bool, str]:
            envelope = await tools.call(tool, arguments)
            assert envelope["success"] or envelope["error_code"] == mistake.code
            return envelope["success"], tools.show(tool, envelope).text

        await try_and_mend(mistake, files, root, show)


@pytest.mark.parametrize(("names", "row"), DONE, ids=named)
async def test_a_mistake_with_one_meaning_is_done_and_told(tmp_path: Path, names: Names, row: Repaired) -> None:
    root = tmp_path / "project"
    async with opened(names, root) as (_, tools):
        before = (root / "src" / "app.py").read_text()
        envelope = await tools.call(row.tool, dict(row.arguments))
        seen = tools.show(row.tool, envelope)
        assert envelope["success"], seen.text
        told = "\n".join((seen.text, *seen.notes))
        assert row.told in told
        assert row.finds in told
    assert (root / row.path).read_text() == (before if row.leaves is None else row.leaves)
