"""After a restart of the machine files that were not synced yet may be old, empty, cut short or full of zeros."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import filetools
from tests.support.crashing import QUIET, die_at
from tests.support.faulty import Plan

LONG = "line of text\n" * 100


def damage_none(place: Path) -> None:
    """The file made it to the disk."""


def damage_old(place: Path) -> None:
    place.write_text("old\n")


def damage_empty(place: Path) -> None:
    place.write_bytes(b"")


def damage_cut(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:500] + bytes(200))


def damage_zeros(place: Path) -> None:
    place.write_bytes(bytes(len(LONG)))


def damage_gone(place: Path) -> None:
    place.unlink()


def restart_machine(root: Path) -> None:
    """Make the journal believe that it was last open before a restart, and that nothing had been synced by then."""
    with sqlite3.connect(root / ".filetools/journal.db") as database:
        # The keeper's first round syncs what is applied; on a slow machine it comes after the write.
        database.execute("UPDATE records SET synced = 0")
        database.execute("UPDATE meta SET value = 'another' WHERE name = 'restored_boot'")
    database.close()


def written_and_killed(root: Path, path: str) -> None:
    async def action(files: filetools.FileToolsFacade) -> None:
        await files.write_file(path, LONG)
        await asyncio.get_running_loop().run_in_executor(None, files._parts.journal.marks.flush)

    assert die_at(root, action, Plan.record())


async def opened_text(root: Path, path: str) -> tuple[str, list[str]]:
    async with filetools.open(root, settings=QUIET) as files:
        content = (await files.read_file(path)).content
        actors: list[str] = [record.actor.kind for record in (await files.changes()).records]
    return content, actors


@pytest.mark.parametrize("damage", [damage_none, damage_old, damage_empty, damage_cut, damage_zeros])
def test_what_a_power_cut_leaves_of_a_replaced_file_is_restored(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    written_and_killed(tmp_path, "a.txt")
    damage(tmp_path / "a.txt")
    restart_machine(tmp_path)
    assert asyncio.run(opened_text(tmp_path, "a.txt")) == (LONG, ["agent"])


@pytest.mark.parametrize("damage", [damage_none, damage_empty, damage_cut, damage_zeros, damage_gone])
def test_what_a_power_cut_leaves_of_a_new_file_is_restored(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    written_and_killed(tmp_path, "new/a.txt")
    damage(tmp_path / "new/a.txt")
    restart_machine(tmp_path)
    content, actors = asyncio.run(opened_text(tmp_path, "new/a.txt"))
    assert (content, set(actors)) == (LONG, {"agent"})


def test_a_foreign_save_after_the_restart_stays_and_is_journaled(tmp_path: Path) -> None:
    written_and_killed(tmp_path, "a.txt")
    (tmp_path / "a.txt").write_text("somebody's own text\n")
    restart_machine(tmp_path)
    content, actors = asyncio.run(opened_text(tmp_path, "a.txt"))
    assert content == "somebody's own text\n"
    assert actors == ["agent", "external"]


def test_without_a_restart_an_older_text_is_somebodys_choice(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    written_and_killed(tmp_path, "a.txt")
    asyncio.run(opened_text(tmp_path, "a.txt"))
    damage_old(tmp_path / "a.txt")
    assert asyncio.run(opened_text(tmp_path, "a.txt"))[0] == "old\n"
