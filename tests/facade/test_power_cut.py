"""After a power cut, unsynced files may be old, empty, truncated or full of zeros."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import filetools
from filetools.app.doctor import examine
from filetools.content.version import version_of
from filetools.errors import DiskFullError
from tests.support.crashing import QUIET, Action, CrashingOpening, Tree, count_calls, die_at, grow, snapshot
from tests.support.faulty import Plan
from tests.support.inside import heads_below
from tests.support.opened import until_watched

LONG = "line of text\n" * 100
SECTOR = 512
OLD = b"".join(b"old %06d\n" % number for number in range(400))
NEW = b"".join(b"new %06d\n" % number for number in range(500))
"""Different everywhere, of different lengths, several pages long."""


def restart_machine(root: Path) -> None:
    """Make the journal believe that it was last open before a reboot, and that nothing was synced."""
    with sqlite3.connect(root / ".filetools/state/journal.db") as database:
        # The leader's first round syncs what is applied; on a slow machine it comes after the write.
        database.execute("UPDATE records SET synced = 0")
        database.execute("UPDATE meta SET value = 'another' WHERE name = 'boot'")
    database.close()


def killed_after(root: Path, action: Action) -> None:
    """Act, acknowledge and die; nothing was synced by then."""

    assert die_at(root, action, Plan.record())


def written_and_killed(root: Path, path: str) -> None:
    killed_after(root, lambda files: files.write_file(path, LONG))


def reopened(root: Path) -> Tree:
    """Simulate a reboot, open the root, and return the tree; nothing may count as foreign."""
    restart_machine(root)

    async def main() -> None:
        async with filetools.open(root, settings=QUIET) as files:
            assert (await files.status())["unrestored"] == []
            records = (await files.changes()).records
            assert [record.path for record in records if record.actor.kind == "external"] == []
            for path, version in heads_below(files._parts.journal, ""):
                assert (await files.read_file(path)).version == version, path

    asyncio.run(main())
    return snapshot(root)


async def opened_text(root: Path, path: str) -> tuple[str, list[str]]:
    async with filetools.open(root, settings=QUIET) as files:
        content = (await files.read_file(path)).content
        actors: list[str] = [record.actor.kind for record in (await files.changes()).records]
    return content, actors


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A change before a power cut, and what the power cut left."""

    act: Action
    damage: Callable[[Path], object]
    before: Tree = field(default_factory=dict)
    unapplied: str = ""
    """Operation that was recorded but not acknowledged: only such a one may be lost from the tree."""
    wanted: Tree | None = None
    """The expected tree; by default the tree before the power cut."""


def left(path: str, content: bytes) -> Callable[[Path], object]:
    return lambda root: (root / path).write_bytes(content)


def lose(*names: str) -> Callable[[Path], object]:
    def lost(root: Path) -> None:
        for name in names:
            shutil.rmtree(root / name)

    return lost


def lose_trash(root: Path) -> None:
    shutil.rmtree(root / ".filetools/state/trash")


async def write_twice(files: filetools.FileToolsFacade) -> None:
    await files.write_file("a.txt", OLD)
    await files.write_file("a.txt", NEW)


async def write_and_delete(files: filetools.FileToolsFacade) -> None:
    await files.write_file("a.txt", OLD)
    await files.delete_file("a.txt")


async def make_folders(files: filetools.FileToolsFacade) -> None:
    await files.create_directory("empty/inner")
    await files.write_file("d/e/a.txt", NEW)


async def make_and_move_folder(files: filetools.FileToolsFacade) -> None:
    await make_folders(files)
    await files.move_file("d", "f/g")


async def move_folder_and_write(files: filetools.FileToolsFacade) -> None:
    await make_and_move_folder(files)
    await files.write_file("f/g/e/b.txt", OLD)


async def make_and_delete_folder(files: filetools.FileToolsFacade) -> None:
    await make_folders(files)
    await files.delete_directory("d", recursive=True)


async def delete_and_make_again(files: filetools.FileToolsFacade) -> None:
    await files.write_file("d/a.txt", OLD)
    await files.delete_directory("d", recursive=True)
    await files.write_file("d/b.txt", NEW)
    await files.create_directory("gone")
    await files.delete_directory("gone")


async def take_the_name_of_a_deleted_one(files: filetools.FileToolsFacade) -> None:
    await files.create_directory("d")
    await files.delete_directory("d")
    await files.move_file("was/there", "d")


async def move_away_and_make_folder_of_that_name(files: filetools.FileToolsFacade) -> None:
    await files.write_file("a", NEW)
    await files.move_file("a", "b")
    await files.write_file("a/c", OLD)
    await files.delete_directory("a", recursive=True)


def lose_move(root: Path, *, is_new_name_taken: bool) -> None:
    (root / "f/g").rename(root / "d")
    (root / "d/e/a.txt").write_bytes(NEW[:SECTOR])
    shutil.rmtree(root / "f")
    if is_new_name_taken:
        (root / "f/g").mkdir(parents=True)  # made by a failed try, and its removal was lost


def bring_back_deleted(root: Path) -> None:
    (trash,) = (root / ".filetools/state/trash").iterdir()
    trash.rename(root / "d")


def lose_the_file_for_a_part_of_it(root: Path) -> None:
    (root / "b").unlink()
    (root / "a").write_bytes(NEW[:SECTOR])
    lose_trash(root)


CUTS: dict[str, Cut] = {
    "nothing is lost": Cut(act=write_twice, damage=lambda _: None),
    "the old bytes": Cut(act=write_twice, damage=left("a.txt", OLD)),
    "no bytes": Cut(act=write_twice, damage=left("a.txt", b"")),
    "zeros": Cut(act=write_twice, damage=left("a.txt", bytes(len(NEW)))),
    "a hole": Cut(act=write_twice, damage=left("a.txt", NEW[: 2 * SECTOR] + bytes(SECTOR) + NEW[3 * SECTOR :])),
    "the old beginning": Cut(act=write_twice, damage=left("a.txt", OLD[: 3 * SECTOR])),
    "a mixture": Cut(act=write_twice, damage=left(
        "a.txt", NEW[:SECTOR] + OLD[SECTOR : 2 * SECTOR] + bytes(SECTOR) + OLD[3 * SECTOR :]
    )),
    "an unfinished sector": Cut(act=write_twice, damage=left("a.txt", NEW[: 2 * SECTOR + 100] + bytes(3 * SECTOR))),
    "a new file is gone": Cut(act=make_folders, damage=lambda root: (root / "d/e/a.txt").unlink()),
    "a deleted file is empty": Cut(act=write_and_delete, damage=left("a.txt", b"")),
    "a part of a deleted file": Cut(act=write_and_delete, damage=left("a.txt", OLD[:700])),
    "zeros in a deleted file": Cut(act=write_and_delete, damage=left(
        "a.txt", OLD[:SECTOR] + bytes(SECTOR) + OLD[2 * SECTOR :]
    )),
    "new folders are gone": Cut(act=make_folders, damage=lose("empty", "d")),
    "a moved folder is gone": Cut(act=move_folder_and_write, damage=lose("f", "empty")),
    "a move is undone": Cut(
        act=make_and_move_folder, unapplied="move_directory",
        damage=lambda root: lose_move(root, is_new_name_taken=False),
    ),
    "a move is undone, and its new name taken": Cut(
        act=make_and_move_folder, unapplied="move_directory",
        damage=lambda root: lose_move(root, is_new_name_taken=True),
    ),
    "a deletion is undone": Cut(
        act=make_and_delete_folder, unapplied="delete_directory", damage=bring_back_deleted,
    ),
    "the trash is gone": Cut(act=make_and_delete_folder, damage=lose_trash),
    "a folder deleted and made again": Cut(
        act=delete_and_make_again, damage=lambda _: None, wanted={"d": None, "d/b.txt": NEW}
    ),
    "a folder under the name of a deleted one": Cut(
        act=take_the_name_of_a_deleted_one, before={"was/there/before": b"unseen\n"}, damage=lambda _: None,
        wanted={"was": None, "d": None, "d/before": b"unseen\n"},
    ),
    "a file whose name a deleted folder took": Cut(
        act=move_away_and_make_folder_of_that_name, damage=lose_the_file_for_a_part_of_it, wanted={"b": NEW}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
def test_what_a_power_cut_leaves_becomes_what_was_acknowledged(tmp_path: Path, name: str) -> None:
    cut = CUTS[name]
    grow(tmp_path, cut.before)
    killed_after(tmp_path, cut.act)
    if cut.unapplied:
        with sqlite3.connect(tmp_path / ".filetools/state/journal.db") as database:
            database.execute("UPDATE records SET state = 'pending' WHERE operation = ?", (cut.unapplied,))
        database.close()
    whole = snapshot(tmp_path)
    cut.damage(tmp_path)
    assert reopened(tmp_path) == (whole if cut.wanted is None else cut.wanted)


async def test_sectors_that_are_not_a_save_are_kept(tmp_path: Path) -> None:
    await asyncio.to_thread(killed_after, tmp_path, write_twice)
    torn = NEW[: 2 * SECTOR] + bytes(SECTOR) + NEW[3 * SECTOR :]
    (tmp_path / "a.txt").write_bytes(torn)
    restart_machine(tmp_path)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        entry = (await files.versions("a.txt")).versions[0]
        assert (entry.version, entry.kept) == (version_of(torn), True)


def test_a_foreign_save_after_the_restart_stays_and_is_journaled(tmp_path: Path) -> None:
    written_and_killed(tmp_path, "a.txt")
    (tmp_path / "a.txt").write_text("somebody's own text\n")
    restart_machine(tmp_path)
    assert asyncio.run(opened_text(tmp_path, "a.txt")) == ("somebody's own text\n", ["agent", "external"])


def test_without_a_reboot_an_older_text_counts_as_a_foreign_save(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    written_and_killed(tmp_path, "a.txt")
    asyncio.run(opened_text(tmp_path, "a.txt"))
    (tmp_path / "a.txt").write_text("old\n")
    assert asyncio.run(opened_text(tmp_path, "a.txt"))[0] == "old\n"


def test_a_failed_recovery_is_reported_and_retried_until_it_succeeds(tmp_path: Path) -> None:
    written_and_killed(tmp_path, "a.txt")
    (tmp_path / "a.txt").write_bytes(b"")
    restart_machine(tmp_path)

    async def failing() -> list[str]:
        plan = Plan.fail(1, DiskFullError, is_lasting=True)
        async with CrashingOpening(tmp_path, plan) as files:
            with pytest.raises(DiskFullError):
                await files.append_file("a.txt", "more")
            unrestored: list[str] = (await files.status())["unrestored"]
            plan.faults = ()
        return unrestored

    assert asyncio.run(failing()) == ["a.txt"]
    report = examine(tmp_path).journal
    assert report is not None
    assert report.unrestored == 1
    assert asyncio.run(opened_text(tmp_path, "a.txt")) == (LONG, ["agent"])
    report = examine(tmp_path).journal
    assert report is not None
    assert report.unrestored == 0


def test_a_restore_that_failed_at_opening_is_made_while_the_root_is_open(tmp_path: Path) -> None:
    written_and_killed(tmp_path, "a.txt")
    (tmp_path / "a.txt").write_bytes(b"")
    restart_machine(tmp_path)

    async def main() -> None:
        async with CrashingOpening(
            tmp_path, Plan.fail(1, DiskFullError), settings={"sync_after_seconds": 0.01}
        ) as files:
            for _ in range(6000):
                if not (await files.status())["unrestored"]:
                    break
                await asyncio.sleep(0.01)
            assert (await files.read_file("a.txt")).content == LONG

    asyncio.run(main())


async def test_a_move_of_a_folder_by_another_program_is_synced_before_it_is_recorded(tmp_path: Path) -> None:
    plan = Plan.record()
    async with CrashingOpening(tmp_path, plan, settings={"watch": True}) as files:
        await files.write_file("d/a.txt", NEW)
        await until_watched(files, tmp_path)
        heard = asyncio.Event()
        files.on("directory:renamed", lambda _: heard.set())
        before = len(plan.calls)
        (tmp_path / "d").rename(tmp_path / "e")
        await asyncio.wait_for(heard.wait(), 60)
    calls = [(call.method, call.path) for call in plan.calls[before:]]
    assert ("sync", "") in calls[: calls.index(("Journal.commit", "e"))]


def test_what_is_in_a_deleted_folder_is_synced_before_it_goes_and_comes_back_whole(tmp_path: Path) -> None:
    async def act(files: filetools.FileToolsFacade) -> None:
        await files.write_file("d/a.txt", NEW)
        await files.delete_directory("d", recursive=True)

    calls = [(call.method, call.path) for call in count_calls(tmp_path, act).calls]
    assert ("sync", "d/a.txt") in calls[: calls.index(("remove", "d"))]
