from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade
from tests.support.people import ALICE


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    """An agent's workspace with two files."""
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "docs/b.txt").write_text("b")
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False}) as opened:
        yield opened.for_actor(ALICE)


@pytest.fixture
def events(files: FileToolsFacade) -> list[Event]:
    """The events of calls and their progress, as they come."""
    told: list[Event] = []
    files.bus.subscribe("agent:*", told.append)
    files.bus.subscribe("tool:*", told.append)
    return told
