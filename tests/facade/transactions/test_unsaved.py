"""Transactions beside people: unsaved text is met at the end of the block, merged where it can be, and never dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.editing.text_edits import TextEdit
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferResult
from tests.support.crashing import QUIET, grow
from tests.support.opened import refused

LINES = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    grow(tmp_path, {"a.txt": LINES.encode(), "b.txt": b"b\n"})
    async with filetools.open(tmp_path, settings=QUIET) as files:
        yield files.for_actor(Actor(kind="agent", id="alice", session="s"))


async def typed(agent: FileToolsFacade, text: str = "typed\n") -> tuple[FileToolsFacade, BufferResult]:
    """Have a person open a.txt and type something at its beginning."""
    person = agent.for_actor(Actor(kind="editor", id="ann", session="window"))
    opened = await person.buffers.open("a.txt")
    await person.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, text)])
    return person, opened


@pytest.mark.parametrize("change", ["delete", "cover", "write over"])
async def test_unsaved_text_is_neither_deleted_nor_covered(agent: FileToolsFacade, tmp_path: Path, change: str) -> None:
    await typed(agent, "line 0\nline 1 by ann\n")

    async def work() -> None:
        async with agent.transaction() as tx:
            await tx.write_file("b.txt", "new\n")
            if change == "delete":
                await tx.delete_file("a.txt")
            elif change == "cover":
                await tx.create_file("c.txt", "c")
                await tx.delete_file("c.txt")
                await tx.move_file("b.txt", "a.txt", overwrite=True)
            else:
                await tx.write_file("a.txt", b"\x00\x01")

    error = await refused("EDIT_CONFLICT", work())
    assert error.path == "a.txt"
    assert (tmp_path / "a.txt").read_text() == LINES
    assert (tmp_path / "b.txt").read_text() == "b\n"


async def test_an_on_conflict_of_one_s_own_is_refused_clearly(agent: FileToolsFacade) -> None:
    async with agent.transaction() as tx:
        error = await refused("INVALID_ARGUMENT", tx.write_file("a.txt", "x", on_conflict="allow"))
        assert "unsaved" in error.message


async def test_an_edit_goes_to_the_file_and_onto_the_unsaved_text(agent: FileToolsFacade, tmp_path: Path) -> None:
    person, opened = await typed(agent)
    async with agent.transaction() as tx:
        await tx.edit_file("a.txt", [Edit(old="line 9\n", new="line nine\n")])
        await tx.write_file("b.txt", "new\n")
    assert (tmp_path / "a.txt").read_text() == LINES.replace("line 9\n", "line nine\n")
    shown = await person.buffers.read(opened.handle)
    assert (shown.text, shown.dirty) == ("typed\n" + LINES.replace("line 9\n", "line nine\n"), True)
