"""What a letter costs in an open document: as much beside many open documents as beside few."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

import filetools
from filetools import Actor, TextEdit
from filetools.facade.facade import FileToolsFacade
from filetools.journal.readers import Arguments, Readers
from filetools.journal.sqlite import SqliteJournal
from tests.support.crashing import QUIET
from tests.support.journals import watched

FEW: Final = 2
MANY: Final = 60
LETTERS: Final = 10
ANN: Final = Actor(kind="editor", id="ann", session="window")


async def type_letters(files: FileToolsFacade, handle: str, version: int) -> None:
    for number in range(version, version + LETTERS):
        await files.for_actor(ANN).buffers.change(handle, buffer_version=number, edits=[TextEdit(0, 0, "x")])


async def open_documents(files: FileToolsFacade, documents: int) -> str:
    """Open so many, type into the first one, and return its handle."""
    opened = [await files.for_actor(ANN).buffers.open(f"{number}.txt") for number in range(documents)]
    await type_letters(files, opened[0].handle, 1)
    return opened[0].handle


async def read_rows_and_steps(root: Path, documents: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return how many rows are read from the journal for some letters, and the steps that SQLite takes, in tens."""
    root.mkdir()
    rows = 0
    read = Readers.rows

    def counted(readers: Readers, query: str, arguments: Arguments = ()) -> list[Any]:
        nonlocal rows
        found = read(readers, query, arguments)
        rows += len(found)
        return found

    async with filetools.open(root, settings=QUIET) as files:
        handle = await open_documents(files, documents)
        await asyncio.sleep(0.2)
        journal = files._parts.journal
        assert isinstance(journal, SqliteJournal)
        with monkeypatch.context() as patch, watched(journal) as (_, steps):
            patch.setattr(Readers, "rows", counted)
            await type_letters(files, handle, 1 + LETTERS)
            return rows, steps[0]


async def test_a_letter_reads_its_own_document_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = await read_rows_and_steps(tmp_path / "few", FEW, monkeypatch)
    many = await read_rows_and_steps(tmp_path / "many", MANY, monkeypatch)
    assert many[0] <= few[0] + LETTERS, (few, many)
    assert many[1] <= few[1] * 1.3 + 20, (few, many)
