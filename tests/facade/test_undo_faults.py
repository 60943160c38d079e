"""An undo that fails midway changes nothing and does not count as an undo; mirrors follow one that succeeds."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from functools import partial
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.errors import DiskFullError
from tests.support import inside
from tests.support.crashing import QUIET, Tree, grow, snapshot
from tests.support.mirror_worlds import QUICK, caught_up
from tests.support.opened import Once, ScriptedOpening, assert_at_rest, failing, outcome_of, recorded, refused, version

ALICE = Actor(kind="agent", id="alice", session="s1")
BEFORE: Tree = {"a.txt": b"a\n", "d": None, "d/e.txt": b"deep\n", "d/s": None, "d/s/f.txt": b"f\n", "z.txt": b"z\n"}


def save(place: Path, text: str) -> None:
    place.write_text(text)


def full_disk() -> DiskFullError:
    return DiskFullError("z.txt")


@pytest.mark.parametrize("method", ["Prepared.exchange", "Trashed.restore", "move", "remove_empty_directory"])
async def test_an_undo_that_fails_while_it_is_made_real_goes_back_and_can_be_repeated(
    tmp_path: Path, method: str
) -> None:
    grow(tmp_path, BEFORE)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        await alice.write_file("z.txt", "changed\n")
        await alice.move_file("a.txt", "n/m/a.txt")
        await alice.delete_directory("d", recursive=True)
    after = snapshot(tmp_path)
    hook = Once(method, failing(full_disk))
    async with ScriptedOpening(tmp_path, before=hook) as files:
        alice = files.for_actor(ALICE)
        told_before = await recorded(files)
        await refused("DISK_FULL", alice.undo(since=1))
        assert snapshot(tmp_path) == after
        assert await recorded(files) == told_before
        await assert_at_rest(files, tmp_path)
        await alice.undo(since=1)
        assert snapshot(tmp_path) == BEFORE
        await assert_at_rest(files, tmp_path)
        await alice.redo()
        assert snapshot(tmp_path) == after


async def test_folders_left_by_a_failed_undo_do_not_make_it_count(tmp_path: Path) -> None:
    grow(tmp_path, BEFORE)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        await alice.write_file("n/m/new.txt", "n\n")
        await alice.delete_file("n/m/new.txt")
    (tmp_path / "n" / "m").rmdir()
    (tmp_path / "n").rmdir()
    async with ScriptedOpening(tmp_path, before=Once("Prepared.exchange", failing(full_disk))) as files:
        alice = files.for_actor(ALICE)
        await refused("DISK_FULL", alice.undo())
        assert (await alice.redo()).changes == []
        result = await alice.undo()
        assert [(change.operation, change.outcome) for change in result.changes] == [("delete", "undone")]
        assert (tmp_path / "n" / "m" / "new.txt").read_text() == "n\n"


@pytest.mark.parametrize("method", ["remove", "Prepared.exchange"])
async def test_a_restore_in_two_transactions_that_is_cancelled_in_one_is_finished(tmp_path: Path, method: str) -> None:
    grow(tmp_path, {"x": b"file\n"})
    async with filetools.open(tmp_path, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        await alice.read_file("x")
        await alice.checkpoint("before")
        await alice.delete_file("x")
        await alice.write_file("x/a.txt", "in a folder\n")

    def cancel() -> None:
        loop.call_soon_threadsafe(restoring.cancel)
        time.sleep(0.1)

    loop, hook = asyncio.get_running_loop(), Once(method, cancel)
    async with ScriptedOpening(tmp_path, before=hook) as files:
        restoring = asyncio.ensure_future(files.for_actor(ALICE).restore("before"))
        with pytest.raises(asyncio.CancelledError):
            await restoring
        assert snapshot(tmp_path) == {"x": b"file\n"}
        await assert_at_rest(files, tmp_path)


@pytest.mark.parametrize("policy", ["eventual", "strict"])
async def test_a_mirror_follows_undo_redo_and_folders_out_of_the_trash(tmp_path: Path, policy: str) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    grow(root, BEFORE)
    async with filetools.open(root, mirror=mirror, mirror_policy=policy, settings=QUICK) as files:  # type: ignore[arg-type]
        alice = files.for_actor(ALICE)
        await files.sync_all()
        await alice.edit_file("a.txt", [Edit(old="a", new="A")])
        await alice.move_file("z.txt", "y/z.txt")  # which nobody has recorded yet
        assert policy == "eventual" or snapshot(root) == snapshot(mirror)
        await alice.delete_directory("d", recursive=True)
        after = snapshot(root)
        await caught_up(files)
        assert snapshot(mirror) == after
        await alice.undo(since=1)
        await caught_up(files)
        assert snapshot(root) == snapshot(mirror) == BEFORE
        await alice.redo()
        await caught_up(files)
        assert snapshot(root) == snapshot(mirror) == after


@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("method", ["stat", "read"])
async def test_what_another_program_saves_while_an_undo_is_worked_out_stands(
    tmp_path: Path, method: str, at: int
) -> None:
    place = tmp_path / "a.txt"
    place.write_text("one\ntwo\nthree\nfour\nfive\n")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.for_actor(ALICE).edit_file("a.txt", [Edit(old="two", new="TWO")])

    foreign = "one\nTWO\nthree\nfour\nFIVE and more\n"
    hook = Once(method, partial(save, place, foreign), at=at, path="a.txt")
    async with ScriptedOpening(tmp_path, before=hook) as files:
        await files.for_actor(ALICE).undo()
        found = place.read_text()
        if "FIVE" not in found and hook._left <= 0:
            assert version(foreign) in [entry.version for entry in (await files.versions("a.txt")).versions]
        # Saved after the undo, it is kept as saved.
        assert found == foreign or found.startswith("one\ntwo\nthree\nfour\n")


async def test_a_change_by_another_agent_after_the_plan_is_merged_and_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_text("one\ntwo\nthree\nfour\nfive\n")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        alice, bob = files.for_actor(ALICE), files.for_actor(Actor(kind="agent", id="bob"))
        await alice.edit_file("a.txt", [Edit(old="two", new="TWO")])
        async with inside.at_work(files, "a.txt"):
            undo = asyncio.create_task(alice.undo())
            write = asyncio.create_task(bob.edit_file("a.txt", [Edit(old="five", new="FIVE")]))
            await asyncio.wait([undo, write], timeout=0.2)  # both are waiting for the lock now, in either order
        await asyncio.gather(undo, write)
        assert place.read_text() == "one\ntwo\nthree\nfour\nFIVE\n"


@pytest.mark.parametrize("at", range(1, 6))
async def test_a_file_that_moves_while_an_undo_is_worked_out_is_taken_back_where_it_went(
    tmp_path: Path, at: int
) -> None:
    def move() -> None:
        async def main() -> None:
            async with filetools.open(tmp_path, settings=QUIET) as other:
                await other.move_file("x.txt", "y.txt")

        asyncio.run(main())

    async with filetools.open(tmp_path, settings=QUIET) as files, files.for_actor(ALICE).transaction() as tx:
        await tx.write_file("x.txt", "x")
        await tx.write_file("z.txt", "z")
    async with ScriptedOpening(tmp_path, before=Once("stat", move, at=at)) as files:
        await files.for_actor(ALICE).undo()
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("inside", [("a.txt",), ()])
async def test_a_trash_that_is_emptied_while_an_undo_is_worked_out_is_told(
    tmp_path: Path, inside: tuple[str, ...], at: int
) -> None:
    hook = Once("trashed", lambda: shutil.rmtree(tmp_path / ".filetools/state/trash"), at=at)
    async with ScriptedOpening(tmp_path, before=hook) as files:
        await files.create_directory("folder")
        for name in inside:
            await files.write_file(f"folder/{name}", "text")
        await files.delete_directory("folder", recursive=True)
        outcome = await outcome_of(files.undo())
        assert hook._left <= 0
        assert outcome in ("done", "CHANGED_MEANWHILE", "EDIT_CONFLICT", "FILE_NOT_FOUND")
        assert (tmp_path / "folder").exists() == (outcome == "done")


ODD = (b"\xff.txt", b"back\\slash", b"\xfe/inner.txt", b"\xfe/\xfd", b"C:")


def grow_odd(root: Path) -> dict[bytes, bytes]:
    """Create names in the folder `d` that no call can address; returns all of its files."""
    folder = os.fsencode(root / "d")
    os.mkdir(os.path.join(folder, b"\xfe"))
    for name in ODD:
        with open(os.path.join(folder, name), "xb") as file:
            file.write(b"of " + name)
    return files_below(root)


def files_below(root: Path) -> dict[bytes, bytes]:
    """Return the files below the folder `d`, by the bytes of their names."""
    found: dict[bytes, bytes] = {}
    for where, _, names in os.walk(os.fsencode(root / "d")):
        for name in names:
            with open(os.path.join(where, name), "rb") as file:
                found[os.path.relpath(os.path.join(where, name), os.fsencode(root))] = file.read()
    return found


@pytest.mark.parametrize("deletes_in_transaction", [False, True])
async def test_a_folder_comes_back_with_the_names_in_it_that_no_call_can_write(
    tmp_path: Path, deletes_in_transaction: bool
) -> None:
    grow(tmp_path, BEFORE)
    wanted = grow_odd(tmp_path)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        await files.checkpoint("start")
        if deletes_in_transaction:
            async with alice.transaction() as transaction:
                await transaction.delete_directory("d", recursive=True)
        else:
            await alice.delete_directory("d", recursive=True)
        for _ in range(2):
            await alice.undo()
            assert files_below(tmp_path) == wanted
            await alice.redo()
            assert not (tmp_path / "d").exists()
        for _ in range(2):
            await files.restore("start")
            assert files_below(tmp_path) == wanted
            await alice.delete_directory("d", recursive=True)
            await alice.undo()
        await alice.redo()
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.for_actor(ALICE).undo()
        assert files_below(tmp_path) == wanted
        await assert_at_rest(files, tmp_path)


async def test_what_cannot_come_back_out_of_the_trash_by_its_name_is_a_conflict_that_is_told(tmp_path: Path) -> None:
    grow(tmp_path, BEFORE)
    wanted = grow_odd(tmp_path)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        await alice.write_file("d/e.txt", "changed\n")
        await alice.delete_directory("d", recursive=True)
        error = await refused("EDIT_CONFLICT", alice.undo(since=1))
        assert json.dumps(error.details, ensure_ascii=False).encode()
        await alice.undo()
        await alice.undo()
        assert files_below(tmp_path) == wanted
