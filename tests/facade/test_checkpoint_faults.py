"""Checkpoints that fail at each of their transactions: no named checkpoint is left, and kept rows do no harm."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import DiskFullError
from filetools.facade.facade import FileToolsFacade
from filetools.journal.storage import contents
from tests.support.crashing import die_at
from tests.support.faulty import EXIT_CODE, Plan
from tests.support.journals import rebooted
from tests.support.opened import outcome_of, refused
from tests.support.storms.pictures import Picture, on_disk

ALONE: dict[str, Any] = {
    "watch": False, "durability": "relaxed", "sync_after_seconds": 3600.0, "snapshot_max_file_bytes": 300_000,
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "SLICE_BYTES", len("text 1\n" * 2))


def grow(root: Path) -> Picture:
    (root / "d/empty").mkdir(parents=True)
    for number in range(5):
        (root / f"d/{number}.txt").write_text(f"text {number}\n")
    (root / "large.bin").write_bytes(b"large" * 40_000)
    return on_disk(root)


def spoil(root: Path) -> None:
    shutil.rmtree(root / "d")
    (root / "large.bin").write_text("small")


def at_writes(files: FileToolsFacade, deed: Callable[[int], None]) -> None:
    """Call something before each later write transaction of the journal, with its number from 1."""
    database: Any = files._parts.journal._database
    numbers, write = count(1), database.write

    def wrapped(*arguments: Any, **options: Any) -> Any:
        deed(next(numbers))
        return write(*arguments, **options)

    database.write = wrapped


async def writes_of_a_checkpoint(root: Path) -> int:
    seen: list[int] = []
    async with filetools.open(root, settings=ALONE) as files:
        at_writes(files, seen.append)
        await files.checkpoint("model")
        return len(seen)


def killed_at(root: Path, number: int) -> bool:
    """Make a checkpoint in a process that dies before one of its transactions; True if it reported success."""

    def die(at: int) -> None:
        if at == number:
            os._exit(EXIT_CODE)

    async def act(files: FileToolsFacade) -> None:
        at_writes(files, die)
        await files.checkpoint("x")

    return die_at(root, act, Plan.record(), settings=ALONE)


async def assert_whole(files: FileToolsFacade, root: Path, first: Picture, name: str) -> None:
    """Fail unless a checkpoint has the whole tree, and every row belongs to a checkpoint."""
    spoil(root)
    await files.restore(name)
    assert on_disk(root) == first
    database: Any = files._parts.journal._database
    needless = (
        "SELECT key FROM snapshot_rows WHERE NOT EXISTS"
        " (SELECT 1 FROM checkpoints WHERE snapshot BETWEEN first AND coalesce(last, snapshot))"
    )
    assert database.rows(needless) == []


def test_whenever_it_is_killed_nothing_is_named_and_the_next_one_is_whole(tmp_path: Path) -> None:
    grow(tmp_path / "model")
    writes = asyncio.run(writes_of_a_checkpoint(tmp_path / "model"))
    assert writes > 4
    named: list[bool] = []
    # Background work writes, too, so the number of writes varies between runs.
    for number in range(1, writes + 100, 3):
        root = tmp_path / str(number)
        first = grow(root)
        is_told = killed_at(root, number)

        async def look_and_go_on(root: Path, is_told: bool, first: Picture) -> bool:
            async with filetools.open(root, settings=ALONE) as files:
                is_named = [one.name for one in (await files.checkpoints()).checkpoints] == ["x"]
                assert is_named or not is_told
                if not is_named:
                    await refused("INVALID_ARGUMENT", files.restore("x"))
                    await files.checkpoint("x")
                await assert_whole(files, root, first, "x")
                return is_named

        named.append(asyncio.run(look_and_go_on(root, is_told, first)))
        shutil.rmtree(root)
        if any(named):
            break
    assert set(named) == {False, True}


async def test_on_a_full_disk_nothing_is_named_and_there_is_room_again_later(tmp_path: Path) -> None:
    grow(tmp_path / "model")
    writes = await writes_of_a_checkpoint(tmp_path / "model")
    outcomes: list[tuple[str, list[str]]] = []
    for number in range(1, writes + 1, 2):
        root = tmp_path / str(number)
        first = grow(root)
        room: list[str] = []

        def fill(at: int, number: int = number, room: list[str] = room) -> None:
            if not room and at >= number:
                raise DiskFullError("journal.db")

        async with filetools.open(root, settings=ALONE) as files:
            at_writes(files, fill)
            outcome = await outcome_of(files.checkpoint("x"))
            room.append("made")
            outcomes.append((outcome, [one.name for one in (await files.checkpoints()).checkpoints]))
            if outcome != "done":
                await files.checkpoint("x")
            await assert_whole(files, root, first, "x")
    # If one of the transactions is a background task's, the checkpoint succeeds.
    refusals = outcomes.count(("DISK_FULL", []))
    assert refusals > 2
    assert refusals + outcomes.count(("done", ["x"])) == len(outcomes)


async def test_bytes_are_safe_from_retention_before_the_checkpoint_has_its_name(tmp_path: Path) -> None:
    first = grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        journal: Any = files._parts.journal
        busy: list[int] = []

        def tidy(_: int) -> None:
            if not busy:
                busy.append(1)
                journal.retention.collect(retention_bytes=0, retention_records=0)
                busy.clear()

        at_writes(files, tidy)
        await files.checkpoint("x")
        await assert_whole(files, tmp_path, first, "x")


@pytest.mark.parametrize("text", ["small", "large " * 40_000], ids=["a row", "a file of its own"])
async def test_a_partial_restore_leaves_out_a_file_whose_kept_bytes_are_damaged(tmp_path: Path, text: str) -> None:
    async with filetools.open(tmp_path, settings=ALONE) as files:
        for name in "abc":
            await files.write_file(f"{name}.txt", f"{name} {text}")
        await files.checkpoint("before")
        for name in "abc":
            await files.write_file(f"{name}.txt", "newer")
        version = (await files.versions("b.txt")).versions[-1].version
        spoil_content(tmp_path, version.removeprefix("sha256:"))
        await refused("EDIT_CONFLICT", files.restore("before"))
        assert [(tmp_path / f"{name}.txt").read_text() for name in "abc"] == ["newer"] * 3
        restored = await files.restore("before", partial=True)
    assert {change.path: change.outcome for change in restored.changes} == {
        "a.txt": "undone", "b.txt": "conflict", "c.txt": "undone"
    }  # fmt: skip
    texts = [(tmp_path / f"{name}.txt").read_text() for name in "abc"]
    assert texts == [f"a {text}", "newer", f"c {text}"]


async def test_a_checkpoint_after_a_power_cut_keeps_bytes_again_that_it_took(tmp_path: Path) -> None:
    text = grow(tmp_path)["large.bin"]
    state = tmp_path / ".filetools/state"
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
    for blob in (state / "blobs").iterdir():
        blob.unlink()
    rebooted(state)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("after")
        (tmp_path / "large.bin").unlink()
        await files.restore("after")
    assert on_disk(tmp_path)["large.bin"] == text


def spoil_content(root: Path, digest: str) -> None:
    """Flip a bit of a content in the journal."""
    blob = root / ".filetools/state/blobs" / digest
    if blob.exists():
        content = bytearray(blob.read_bytes())
        content[1000] ^= 1
        blob.write_bytes(content)
        return
    with closing(sqlite3.connect(root / ".filetools/state/journal.db")) as database, database:
        query = "SELECT bytes FROM contents WHERE hash = ?"
        (row,) = database.execute(query, (bytes.fromhex(digest),)).fetchone()
        changed = row[:-1] + bytes((row[-1] ^ 1,))
        database.execute("UPDATE contents SET bytes = ? WHERE hash = ?", (changed, bytes.fromhex(digest)))
