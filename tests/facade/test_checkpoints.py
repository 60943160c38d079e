"""Checkpoints and restores: foreign changes are included, unknown files are listed, and a restore can be undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import filetools
from filetools import Actor, Edit
from filetools.changes.foreign import ForeignChanges
from filetools.facade.background.background_tasks import tidy_trash
from filetools.facade.facade import FileToolsFacade
from filetools.journal.records import Change
from filetools.models.records import EXTERNAL, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.tree.observer import WholeLook
from tests.support.crashing import QUIET, Tree, snapshot
from tests.support.inside import parts
from tests.support.opened import assert_at_rest, refused, version

ALICE = Actor(kind="agent", id="alice", session="s1")
ANN = Actor(kind="editor", id="ann")
ACTOR = ANN
BEFORE: Tree = {"a.txt": b"one\ntwo\nthree\n", "d": None, "d/e.txt": b"deep\n"}


def forget_snapshots(files: FileToolsFacade) -> None:
    """Leave of all checkpoints what damage may leave: names with numbers."""
    database: Any = files._parts.journal.checkpoints
    database._database.write(lambda connection: connection.execute("DELETE FROM snapshot_rows"))


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
async def test_a_checkpoint_needs_a_name(files: FileToolsFacade, name: str) -> None:
    await refused("INVALID_ARGUMENT", files.checkpoint(name))
    assert (await files.checkpoints()).checkpoints == []


async def test_a_name_is_given_once_unless_it_may_be_moved(files: FileToolsFacade) -> None:
    first = await files.checkpoint("start")
    await files.write_file("a.txt", "x\n")
    error = await refused("INVALID_ARGUMENT", files.checkpoint("start"))
    assert "already" in error.message
    moved = await files.checkpoint("start", replace=True)
    assert moved.number > first.number
    assert (await files.checkpoints()).checkpoints == [moved]


async def test_a_checkpoint_that_does_not_exist_is_neither_restored_nor_deleted(files: FileToolsFacade) -> None:
    await files.checkpoint("start")
    error = await refused("INVALID_ARGUMENT", files.restore("strat"))
    assert "known are start" in error.message
    await refused("INVALID_ARGUMENT", files.delete_checkpoint("strat"))
    await files.delete_checkpoint("start")
    await refused("INVALID_ARGUMENT", files.restore("start"))


async def test_restoring_takes_back_the_changes_of_all_and_is_undoable(files: FileToolsFacade, root: Path) -> None:
    alice = files.for_actor(ALICE)
    await alice.edit_file("a.txt", [Edit(old="one", new="1")])
    then = snapshot(root)
    await files.checkpoint("start")
    await alice.write_file("new/n.txt", "n")
    await files.edit_file("a.txt", [Edit(old="two", new="2")])
    (root / "a.txt").write_text("1\n2\nthree\nforeign\n")
    await alice.edit_file("a.txt", [Edit(old="three", new="3")])
    await alice.move_file("d", "t")
    await alice.delete_directory("t", recursive=True)
    after = snapshot(root)
    preview = await files.restore("start", dry_run=True)
    assert (snapshot(root), preview.dry_run, preview.conflicts) == (after, True, [])
    done = await files.restore("start")
    assert snapshot(root) == then
    assert {change.actor["kind"] for change in done.changes} == {"agent", "editor", "external"}
    await assert_at_rest(files, root)
    await files.redo()
    assert snapshot(root) == after
    await files.restore("start")
    assert snapshot(root) == then


async def test_undone_changes_stay_undone_by_a_restore(files: FileToolsFacade, root: Path) -> None:
    await files.checkpoint("start")
    await files.write_file("a.txt", "x\n")
    await files.undo()
    await files.write_file("d/e.txt", "y\n")
    await files.restore("start")
    assert snapshot(root) == BEFORE


@pytest.mark.parametrize("path", ["", "a.txt"])
async def test_an_undo_after_a_restore_takes_back_an_older_change(
    files: FileToolsFacade, root: Path, path: str
) -> None:
    await files.write_file("a.txt", "older\n")
    await files.write_file("b.txt", "b\n")
    await files.checkpoint("start")
    await files.write_file("a.txt", "newer\n")
    assert [change.number for change in (await files.restore("start", path)).changes] == [4]
    await files.undo()
    assert ((root / "a.txt").read_text(), (root / "b.txt").exists()) == ("older\n", False)


async def test_redo_of_a_restore_gives_back_what_an_undo_had_made(files: FileToolsFacade, root: Path) -> None:
    def bob(call: str) -> FileToolsFacade:
        return files.for_actor(Actor(kind="agent", id="bob", session="s", call=call))

    await files.checkpoint("start")
    await bob("c1").write_file("n.txt", "one\ntwo\n")
    await bob("c2").edit_file("n.txt", [Edit(old="two", new="TWO")])
    await bob("c3").move_file("n.txt", "m.txt")
    await bob("c4").undo(call="c2")
    await bob("c5").delete_directory("d", recursive=True)
    await bob("c6").undo(call="c5")
    await bob("c6").redo()
    before = snapshot(root)
    for _ in range(2):
        await files.restore("start")
        assert snapshot(root) == BEFORE
        await files.redo()
        assert snapshot(root) == before


async def test_a_first_checkpoint_reads_each_file_once(files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch) -> None:
    found, real = list[str](), parts(files).store.read

    def counted(path: WorkspacePath, *, limit: int) -> Any:
        found.append(path)
        return real(path, limit=limit)

    monkeypatch.setattr(parts(files).store, "read", counted)
    await files.checkpoint("start")
    assert sorted(found) == ["a.txt", "d/e.txt"]


async def test_what_nobody_knows_is_listed_and_stays(files: FileToolsFacade, root: Path) -> None:
    made = await files.checkpoint("start")
    content = b"foreign\n"
    (root / "a.txt").write_bytes(content)
    change = Change(
        operation=Operation.MODIFY, path="a.txt", key="a.txt", before_unknown=True, after=version(content),
        content=content, size=len(content), mode=0o644, applied=True, external=True,
    )  # fmt: skip
    files._parts.journal.commit([change], EXTERNAL)
    await files.write_file("d/e.txt", "y\n")
    result = await files.undo(since=made.number + 1, actor="*")
    assert [(one.path, one.outcome) for one in result.changes] == [("d/e.txt", "undone"), ("a.txt", "unknown")]
    assert snapshot(root) == {**BEFORE, "a.txt": content}


async def test_a_folder_that_another_program_took_away_comes_back_as_far_as_it_is_known(
    files: FileToolsFacade, root: Path
) -> None:
    await files.write_file("d/e.txt", "mine\n")
    await files.write_file("d/sub/f.txt", "f\n")
    await files.checkpoint("start")
    (root / "d").rename(root.parent / "elsewhere")
    change = Change(operation=Operation.DELETE_DIRECTORY, path="d", key="d", applied=True, external=True)
    files._parts.journal.commit([change], EXTERNAL)
    await files.restore("start")
    assert snapshot(root) == {**BEFORE, "d/e.txt": b"mine\n", "d/sub": None, "d/sub/f.txt": b"f\n"}
    await assert_at_rest(files, root)


async def test_the_trash_is_kept_as_long_as_a_checkpoint_before_it(files: FileToolsFacade, root: Path) -> None:
    parts = files._parts
    tight = structs.replace(parts, settings=replace(parts.settings, retention_bytes=0))
    await files.checkpoint("start")
    await files.delete_directory("d", recursive=True)
    assert (tidy_trash(tight, {}), len(parts.store.trash_names())) == (0, 1)
    await files.restore("start")
    assert snapshot(root) == BEFORE
    await files.delete_directory("d", recursive=True)
    await files.delete_checkpoint("start")
    measured = {int(name): 0 for name in parts.store.trash_names()}  # what is known is not measured again
    assert (tidy_trash(tight, measured), tidy_trash(tight, {}), len(parts.store.trash_names())) == (0, 1, 0)


async def test_all_after_a_checkpoint_is_kept_whatever_the_limits_say(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as opened:
        files = opened.for_actor(ANN)
        for number in range(30):
            await files.write_file("a.txt", f"before {number}\n" * 20)
        await files.checkpoint("start")
        then = snapshot(root)
        for number in range(30):
            await files.write_file("a.txt", f"after {number}\n" * 20)
            await files.write_file(f"{number}.txt", "x" * 200)
        journal = files._parts.journal
        journal.marks.synced(range(1, journal.positions().newest + 1))
        removed = journal.retention.collect(retention_bytes=2000, retention_records=10)
        assert removed > 20
        await files.restore("start")
        assert snapshot(root) == then
        await files.delete_checkpoint("start")
        journal.marks.synced(range(1, journal.positions().newest + 1))
        assert journal.retention.collect(retention_bytes=2000, retention_records=10) > 30


async def test_a_deleted_folder_gets_nothing_of_one_that_had_moved_away_from_its_name(
    files: FileToolsFacade, root: Path
) -> None:
    await files.write_file("d/sub/f.txt", "f\n")
    await files.checkpoint("start")
    before = snapshot(root)
    await files.move_file("d", "y")
    await files.create_directory("d/sub")
    await files.delete_directory("d/sub")
    await files.restore("start")
    assert snapshot(root) == before
    await files.redo()
    assert snapshot(root) == {"a.txt": BEFORE["a.txt"], "d": None, **{
        path.replace("d", "y", 1): content for path, content in before.items() if path.startswith("d")
    }}  # fmt: skip


async def test_a_trash_is_that_of_the_folder_of_its_own_name(files: FileToolsFacade, root: Path) -> None:
    # One record stands for everything that its step undoes, but not for the folders.
    await files.create_directory("e/e")
    await files.undo()
    await files.checkpoint("start")
    await files.move_file("d", "e/d")
    await files.restore("start")
    await files.redo()
    await files.delete_directory("e", recursive=True)
    await files.restore("start")
    assert snapshot(root) == BEFORE


async def test_a_checkpoint_stands_after_what_was_changed_while_the_tree_was_looked_at(
    files: FileToolsFacade, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await files.checkpoint("first")
    look = ForeignChanges.look

    async def busy(foreign: ForeignChanges) -> WholeLook:
        found = await look(foreign)
        await files.move_file("d", "moved")
        await files.write_file("d/new.txt", "new\n")
        return found

    monkeypatch.setattr(ForeignChanges, "look", busy)
    made = await files.checkpoint("second")
    monkeypatch.undo()
    newest = (await files.changes()).records[-1].number
    assert made.number == newest
    before = snapshot(root)
    await files.restore("first")
    assert snapshot(root) == BEFORE
    await files.redo()
    assert snapshot(root) == before
