"""After a restart of the machine files that were not synced yet may be old, empty, cut short or full of zeros."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import filetools
from filetools.app.health import examine
from filetools.content.version import version_of
from filetools.errors import DiskFullError
from filetools.sync.recovery import is_left_by_power_cut
from tests.support.crashing import QUIET, Action, CrashingOpening, Tree, count_calls, die_at, snapshot
from tests.support.faulty import Plan
from tests.support.opened import until_watched

LONG = "line of text\n" * 100


SECTOR = 512
OLD = b"".join(b"old %06d\n" % number for number in range(400))
NEW = b"".join(b"new %06d\n" % number for number in range(500))
"""Equal nowhere, of different lengths, several pages long."""


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
    with sqlite3.connect(root / ".filetools/state/journal.db") as database:
        # The keeper's first round syncs what is applied; on a slow machine it comes after the write.
        database.execute("UPDATE records SET synced = 0")
        database.execute("UPDATE meta SET value = 'another' WHERE name = 'restored_boot'")
    database.close()


def killed_after(root: Path, action: Action) -> None:
    """Act, acknowledge and die; nothing was synced by then."""

    async def act(files: filetools.FileToolsFacade) -> None:
        await action(files)
        await asyncio.get_running_loop().run_in_executor(None, files._parts.journal.marks.flush)

    assert die_at(root, act, Plan.record())


def written_and_killed(root: Path, path: str) -> None:
    killed_after(root, lambda files: files.write_file(path, LONG))


def reopened(root: Path) -> Tree:
    """Restart the machine, open the root, and return what stands there; nothing of it may count as foreign."""
    restart_machine(root)

    async def main() -> None:
        async with filetools.open(root, settings=QUIET) as files:
            assert (await files.status())["unrestored"] == []
            records = (await files.changes()).records
            assert [record.path for record in records if record.actor.kind == "external"] == []
            for path, version in files._parts.journal.heads_below(""):
                assert (await files.read_file(path)).version == version, path

    asyncio.run(main())
    return snapshot(root)


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


def put_back_hole(place: Path) -> None:
    place.write_bytes(NEW[: 2 * SECTOR] + bytes(SECTOR) + NEW[3 * SECTOR :])


def put_back_old_beginning(place: Path) -> None:
    place.write_bytes(OLD[: 3 * SECTOR])


def put_back_mixture(place: Path) -> None:
    place.write_bytes(NEW[:SECTOR] + OLD[SECTOR : 2 * SECTOR] + bytes(SECTOR) + OLD[3 * SECTOR :])


def put_back_unfinished_sector(place: Path) -> None:
    place.write_bytes(NEW[: 2 * SECTOR + 100] + bytes(3 * SECTOR))


async def write_twice(files: filetools.FileToolsFacade) -> None:
    await files.write_file("a.txt", OLD)
    await files.write_file("a.txt", NEW)


@pytest.mark.parametrize(
    "damage", [put_back_hole, put_back_old_beginning, put_back_mixture, put_back_unfinished_sector]
)
def test_sectors_in_any_order_are_no_save_and_are_kept(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    killed_after(tmp_path, write_twice)
    damage(tmp_path / "a.txt")
    found = (tmp_path / "a.txt").read_bytes()
    assert reopened(tmp_path) == {"a.txt": NEW}

    async def newest() -> tuple[str, bool]:
        async with filetools.open(tmp_path, settings=QUIET) as files:
            entry = (await files.versions("a.txt")).versions[0]
            return entry.version, entry.kept

    assert asyncio.run(newest()) == (version_of(found), True)


@pytest.mark.parametrize("left", [b"", OLD[:700], bytes(4096), OLD[:SECTOR] + bytes(SECTOR) + OLD[2 * SECTOR :]])
def test_what_is_left_where_a_deletion_was_acknowledged_goes(tmp_path: Path, left: bytes) -> None:
    async def write_and_delete(files: filetools.FileToolsFacade) -> None:
        await files.write_file("a.txt", OLD)
        await files.delete_file("a.txt")

    killed_after(tmp_path, write_and_delete)
    (tmp_path / "a.txt").write_bytes(left)
    assert reopened(tmp_path) == {}


def test_one_foreign_byte_makes_it_a_save() -> None:
    torn = bytearray(NEW[:SECTOR] + bytes(SECTOR) + NEW[2 * SECTOR :])
    assert is_left_by_power_cut(bytes(torn), [OLD, NEW])
    torn[SECTOR + 3] = 1
    assert not is_left_by_power_cut(bytes(torn), [OLD, NEW])
    assert not is_left_by_power_cut(NEW + b"more", [OLD, NEW])


def lose(root: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(root / name)


async def make_folders(files: filetools.FileToolsFacade) -> None:
    await files.create_directory("empty/inner")
    await files.write_file("d/e/a.txt", NEW)


def test_lost_names_of_new_folders_are_restored_with_all_that_was_in_them(tmp_path: Path) -> None:
    killed_after(tmp_path, make_folders)
    whole = snapshot(tmp_path)
    lose(tmp_path, "empty", "d")
    assert reopened(tmp_path) == whole


async def move_folder(files: filetools.FileToolsFacade) -> None:
    await make_folders(files)
    await files.move_file("d", "f/g")
    await files.write_file("f/g/e/b.txt", OLD)


def test_a_moved_folder_that_was_lost_is_restored_where_it_went(tmp_path: Path) -> None:
    killed_after(tmp_path, move_folder)
    whole = snapshot(tmp_path)
    lose(tmp_path, "f", "empty")
    assert reopened(tmp_path) == whole


async def make_and_move_folder(files: filetools.FileToolsFacade) -> None:
    await make_folders(files)
    await files.move_file("d", "f/g")


def forget_applied(root: Path, operation: str) -> None:
    """Have a change be one that was recorded, but not acknowledged: only such a one can be undone in the tree."""
    with sqlite3.connect(root / ".filetools/state/journal.db") as database:
        database.execute("UPDATE records SET state = 'pending' WHERE operation = ?", (operation,))
    database.close()


@pytest.mark.parametrize("is_new_name_taken", [False, True])
def test_a_move_of_a_folder_that_was_lost_is_made_again(tmp_path: Path, is_new_name_taken: bool) -> None:
    killed_after(tmp_path, make_and_move_folder)
    forget_applied(tmp_path, "move_directory")
    whole = snapshot(tmp_path)
    (tmp_path / "f/g").rename(tmp_path / "d")
    (tmp_path / "d/e/a.txt").write_bytes(NEW[:SECTOR])
    lose(tmp_path, "f")
    if is_new_name_taken:
        (tmp_path / "f").mkdir()
        (tmp_path / "f/g").mkdir()  # made in vain, and its removal was lost
    assert reopened(tmp_path) == whole


def test_a_deletion_of_a_folder_that_was_lost_is_made_again(tmp_path: Path) -> None:
    async def act(files: filetools.FileToolsFacade) -> None:
        await make_folders(files)
        await files.delete_directory("d", recursive=True)

    killed_after(tmp_path, act)
    forget_applied(tmp_path, "delete_directory")
    whole = snapshot(tmp_path)
    (trash,) = (tmp_path / ".filetools/state/trash").iterdir()
    trash.rename(tmp_path / "d")
    assert reopened(tmp_path) == whole


def test_folders_that_are_deleted_moved_and_brought_back_are_synced_before_that_is_acknowledged(tmp_path: Path) -> None:
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "f").mkdir()
    names = {"move", "remove", "remove_empty_directory", "restore", "Displaced.sync", "sync"}

    async def act(files: filetools.FileToolsFacade) -> None:
        await files.delete_directory("d", recursive=True)
        await files.undo()
        await files.move_file("d/e", "f/g")
        await files.delete_directory("f/g")

    calls = count_calls(tmp_path, act).calls
    synced_after: dict[tuple[str, str], list[tuple[str, str]]] = {}
    latest: list[tuple[str, str]] = []
    for call in calls:
        if call.store != "primary" or call.method not in names:
            continue
        if "sync" not in call.method:
            latest = synced_after[call.method, call.path] = []
        else:
            latest.append((call.method, call.path))  # the keeper may sync other folders meanwhile
    wanted = {
        ("remove", "d"): [("Displaced.sync", "d"), ("sync", "")],
        ("restore", "d"): [("sync", "")],
        ("move", "d/e"): [("sync", "f"), ("sync", "d")],
        ("remove_empty_directory", "f/g"): [("sync", "f")],
    }
    assert synced_after.keys() == wanted.keys()
    assert all(set(wanted[step]) <= set(synced_after[step]) for step in wanted)


async def delete_and_make_again(files: filetools.FileToolsFacade) -> None:
    await files.write_file("d/a.txt", OLD)
    await files.delete_directory("d", recursive=True)
    await files.write_file("d/b.txt", NEW)
    await files.create_directory("gone")
    await files.delete_directory("gone")


def test_a_folder_that_was_deleted_and_made_again_is_the_new_one(tmp_path: Path) -> None:
    killed_after(tmp_path, delete_and_make_again)
    assert reopened(tmp_path) == {"d": None, "d/b.txt": NEW}


def test_a_folder_that_took_the_name_of_an_empty_deleted_one_keeps_what_nobody_has_recorded(tmp_path: Path) -> None:
    (tmp_path / "was/there").mkdir(parents=True)
    (tmp_path / "was/there/before").write_text("unseen\n")

    async def act(files: filetools.FileToolsFacade) -> None:
        await files.create_directory("d")
        await files.delete_directory("d")
        await files.move_file("was/there", "d")

    killed_after(tmp_path, act)
    assert reopened(tmp_path) == {"was": None, "d": None, "d/before": b"unseen\n"}


async def move_away_and_make_folder_of_that_name(files: filetools.FileToolsFacade) -> None:
    await files.write_file("a", NEW)
    await files.move_file("a", "b")
    await files.write_file("a/c", OLD)
    await files.delete_directory("a", recursive=True)


def test_a_file_whose_name_a_deleted_folder_took_later_is_not_left_there(tmp_path: Path) -> None:
    killed_after(tmp_path, move_away_and_make_folder_of_that_name)
    (tmp_path / "b").unlink()
    (tmp_path / "a").write_bytes(NEW[:SECTOR])
    shutil.rmtree(tmp_path / ".filetools/state/trash")
    assert reopened(tmp_path) == {"b": NEW}


def test_a_folder_that_was_deleted_before_the_cut_stays_deleted(tmp_path: Path) -> None:
    async def act(files: filetools.FileToolsFacade) -> None:
        await make_folders(files)
        await files.delete_directory("d", recursive=True)

    killed_after(tmp_path, act)
    whole = snapshot(tmp_path)
    (trash,) = (tmp_path / ".filetools/state/trash").iterdir()
    shutil.rmtree(trash)
    assert reopened(tmp_path) == whole


def test_what_cannot_be_restored_is_told_and_tried_again_until_it_is(tmp_path: Path) -> None:
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


def test_a_power_cut_while_restoring_leaves_the_rest_to_the_next_opening(tmp_path: Path) -> None:
    async def write_some(files: filetools.FileToolsFacade) -> None:
        for name in "abc":
            await files.write_file(f"{name}.txt", LONG)

    killed_after(tmp_path, write_some)
    for name in "abc":
        (tmp_path / f"{name}.txt").write_bytes(b"")
    restart_machine(tmp_path)

    async def nothing(files: filetools.FileToolsFacade) -> None:
        raise AssertionError("it dies before")

    assert not die_at(tmp_path, nothing, Plan.die(5, exits=True))
    assert sum((tmp_path / f"{name}.txt").read_text() == LONG for name in "abc") < 3
    assert reopened(tmp_path) == {f"{name}.txt": LONG.encode() for name in "abc"}


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
