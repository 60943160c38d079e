"""Mistakes through the registry: what a model reads of the error is enough to mend the call."""

from __future__ import annotations

from pathlib import Path

import pytest

import filetools
from filetools.models.records import Actor
from filetools.tools.registry import ToolRegistry
from tests.support.mistakes import MISTAKES, SETTINGS, Arguments, Mistake, plant, try_and_mend


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
async def test_a_mistake_is_mended_with_what_the_error_says(tmp_path: Path, mistake: Mistake) -> None:
    root = tmp_path / "project"
    root.mkdir()
    plant(root)
    async with filetools.open(root, settings={**SETTINGS, **mistake.settings}) as files:
        agent = files.for_actor(Actor(kind="agent", id="alice", session="s"))
        tools = ToolRegistry(agent, require_version=True)

        async def show(tool: str, arguments: Arguments) -> tuple[bool, str]:
            envelope = await tools.call(tool, arguments)
            assert envelope["success"] or envelope["error_code"] == mistake.code
            return envelope["success"], tools.show(tool, envelope).text

        await try_and_mend(mistake, files, root, show)


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) >= 70
    assert len({mistake.code for mistake in MISTAKES}) >= 20
