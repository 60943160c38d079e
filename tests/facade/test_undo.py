"""Undo: refused if others have changed the same places, keeps their other changes, and can itself be undone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Actor, Edit
from filetools.errors import AccessDeniedError, DiskFullError
from filetools.facade.facade import FileToolsFacade
from filetools.history.undoing import MOST_PASSED_OVER
from filetools.paths.workspace_path import WorkspacePath
from tests.support.crashing import QUIET, Tree, snapshot
from tests.support.inside import lose_version, parts
from tests.support.opened import assert_at_rest, recorded, refused, told, version

ALICE = Actor(kind="agent", id="alice", session="s1")
BOB = Actor(kind="agent", id="bob", session="s2")
ANN = Actor(kind="editor", id="ann")
BEFORE: Tree = {
    "a.txt": b"one\ntwo\nthree\nfour\nfive\n",
    "d": None,
    "d/e.txt": b"deep\n",
    "d/f.bin": b"\x89PNG\x00\x01\xff",
}


@pytest.fixture
def alice(files: FileToolsFacade) -> FileToolsFacade:
    return files.for_actor(ALICE)


@pytest.fixture
def bob(files: FileToolsFacade) -> FileToolsFacade:
    return files.for_actor(BOB)


@pytest.fixture
def ann(files: FileToolsFacade) -> FileToolsFacade:
    return files.for_actor(ANN)


def edit(old: str, new: str) -> list[Edit]:
    return [Edit(old=old, new=new)]


def text(root: Path, path: str = "a.txt") -> str:
    return (root / path).read_text()


async def in_a_transaction(files: FileToolsFacade) -> None:
    async with files.transaction() as tx:
        await tx.write_file("n.txt", "n\n")
        await tx.edit_file("a.txt", edit("two", "TWO"))
        await tx.delete_file("d/e.txt")


Call = Callable[[FileToolsFacade], Awaitable[object]]
MOVED_AND_CHANGED = (
    "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-two\n+TWO\n"
    "*** Delete File: d/e.txt\n*** Add File: new.txt\n+new\n*** End Patch\n"
)
IDENTITIES: dict[str, list[Call]] = {
    "creation": [lambda files: files.create_file("x/y/z.txt", "z")],
    "move over": [lambda files: files.move_file("a.txt", "d/e.txt", overwrite=True)],
    "patch": [lambda files: files.apply_patch(MOVED_AND_CHANGED)],
    "transaction": [in_a_transaction],
    "folder that moved and whose files changed": [
        lambda files: files.edit_file("d/e.txt", edit("deep", "DEEP")),
        lambda files: files.move_file("d", "x/t"),
        lambda files: files.edit_file("x/t/e.txt", edit("DEEP", "deeper")),
        lambda files: files.write_file("x/t/new.txt", "n"),
    ],
    "folder in the place of a file": [
        lambda files: files.delete_file("a.txt"),
        lambda files: files.create_directory("a.txt/deep"),
    ],
    "folder whose files changed before it was deleted": [
        lambda files: files.edit_file("d/e.txt", edit("deep", "DEEP")),
        lambda files: files.delete_directory("d", recursive=True),
    ],
    "everything": [
        lambda files: files.move_file("a.txt", "0/a.txt"),
        lambda files: files.edit_file("0/a.txt", edit("two", "TWO")),
        lambda files: files.delete_file("d/e.txt"),
        lambda files: files.write_file("d/f.bin", b"\x00\x05"),
        lambda files: files.create_directory("empty"),
    ],
}
CONFLICTS: dict[str, tuple[Call, Call, str]] = {
    "created and edited": (
        lambda alice: alice.write_file("new.txt", "mine\n"),
        lambda bob: bob.append_file("new.txt", "yours\n"),
        "",
    ),
    "deleted and made anew": (lambda alice: alice.delete_file("a.txt"), lambda bob: bob.write_file("a.txt", "b\n"), ""),
    "moved and made anew": (
        lambda alice: alice.move_file("a.txt", "b.txt"),
        lambda bob: bob.write_file("a.txt", "b\n"),
        "something else is at a.txt",
    ),
    "edited and deleted": (
        lambda alice: alice.edit_file("a.txt", edit("two", "TWO")),
        lambda bob: bob.delete_file("a.txt"),
        "no longer there",
    ),
    "binary": (
        lambda alice: alice.write_file("d/f.bin", b"\x89PNG\x00\x02\xff"),
        lambda bob: bob.write_file("d/f.bin", b"\x89PNG\x00\x03\xff"),
        "binary",
    ),
}


# Refusals


@pytest.mark.parametrize("name", CONFLICTS)
async def test_what_others_did_on_top_is_a_conflict_and_stays(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path, name: str
) -> None:
    act, meddle, message = CONFLICTS[name]
    await act(alice)
    await meddle(bob)
    before = snapshot(root)
    error = await refused("EDIT_CONFLICT", alice.undo())
    assert message in error.message
    assert snapshot(root) == before


async def test_what_somebody_changed_since_in_the_same_place_is_a_conflict_and_nothing_is_written(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.edit_file("a.txt", edit("two", "TWO"))
    await bob.edit_file("a.txt", edit("TWO", "Two!"))
    before, heard = snapshot(root), told(alice)
    error = await refused("EDIT_CONFLICT", alice.undo())
    (conflict,) = error.details["conflicts"]
    assert (conflict["path"], conflict["code"]) == ("a.txt", "EDIT_CONFLICT")
    assert conflict["conflicts"] == [{"base": "TWO\n", "current": "Two!\n", "yours": "two\n", "line": 2}]
    assert (snapshot(root), heard) == (before, [])


async def test_an_agent_reaches_its_own_changes_only(alice: FileToolsFacade, bob: FileToolsFacade, root: Path) -> None:
    done = await bob.edit_file("a.txt", edit("two", "TWO"))
    assert (await alice.undo()).changes == []
    await refused("INVALID_ARGUMENT", alice.undo(numbers=[done.number or 0]))
    assert (await alice.undo(session="s2")).changes == []
    assert (await alice.undo(path="a.txt")).changes == []
    await refused("INVALID_ARGUMENT", alice.undo(call="nope"))
    assert "TWO" in text(root)


@pytest.mark.parametrize(
    "options",
    [{"since": "yesterday"}, {"until": 1.5}, {"since": True}, {"numbers": ["1"]}, {"numbers": []}, {"actor": 7}],
)
async def test_what_is_not_understood_does_not_widen_what_is_undone(
    alice: FileToolsFacade, root: Path, options: dict[str, Any]
) -> None:
    await alice.edit_file("a.txt", edit("two", "TWO"))
    await refused("INVALID_ARGUMENT", alice.undo(**options))
    assert "TWO" in text(root)


async def test_a_protected_path_asks_as_every_change_of_it_does(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.for_actor(ALICE).write_file("d/e.txt", "written\n")
        await files.for_actor(ALICE).move_file("d", "t")
    async with filetools.open(root, settings={**QUIET, "protected_paths": ("d/**",)}) as files:
        await refused("APPROVAL_REQUIRED", files.for_actor(ALICE).undo())
        assert text(root, "t/e.txt") == "written\n"


# One change


async def test_an_edit_is_taken_back_and_what_others_did_beside_it_stays(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    done = await alice.edit_file("a.txt", edit("two", "TWO"))
    await bob.edit_file("a.txt", edit("four", "FOUR"))
    result = await alice.undo()
    assert text(root) == "one\ntwo\nthree\nFOUR\nfive\n"
    (change,) = result.changes
    assert (change.number, change.operation, change.path, change.outcome) == (done.number, "modify", "a.txt", "undone")
    (file,) = result.files
    assert (file.path, file.action, file.version) == ("a.txt", "write", version(text(root)))
    await assert_at_rest(alice, root)


async def test_one_conflict_of_several_changes_refuses_all_and_partial_does_what_a_dry_run_tells(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.write_file("n.txt", "n\n")
    await alice.write_file("a.txt", "x\n")
    await bob.append_file("n.txt", "more\n")
    before = snapshot(root)
    tried = await alice.undo(since=1, dry_run=True)
    assert [(file.path, file.action) for file in tried.files] == [("a.txt", "write")]
    assert [conflict.path for conflict in tried.conflicts] == ["n.txt"]
    await refused("EDIT_CONFLICT", alice.undo(since=1))
    assert (tried.dry_run, tried.number, snapshot(root)) == (True, None, before)
    result = await alice.undo(since=1, partial=True)
    assert (result.files, result.conflicts) == (tried.files, tried.conflicts)
    assert (text(root), text(root, "n.txt")) == ("one\ntwo\nthree\nfour\nfive\n", "n\nmore\n")


async def test_a_folder_that_others_use_stays(alice: FileToolsFacade, bob: FileToolsFacade, root: Path) -> None:
    await alice.create_file("x/y/z.txt", "z")
    await bob.create_file("x/b.txt", "b")
    result = await alice.undo()
    assert snapshot(root) == {**BEFORE, "x": None, "x/b.txt": b"b"}
    assert [change.outcome for change in result.changes] == ["undone", "undone", "kept"]


async def test_a_deleted_file_comes_back_with_its_mode(alice: FileToolsFacade, root: Path) -> None:
    (root / "a.txt").chmod(0o750)
    await alice.delete_file("a.txt")
    await alice.undo()
    assert snapshot(root) == BEFORE
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o750


async def test_a_mode_that_others_changed_meanwhile_is_not_set_back(alice: FileToolsFacade, root: Path) -> None:
    await alice.edit_file("a.txt", edit("two", "TWO"))
    (root / "a.txt").chmod(0o755)
    await alice.edit_file("a.txt", edit("four", "FOUR"))
    await alice.undo(since=1)
    assert text(root) == "one\ntwo\nthree\nfour\nfive\n"
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o755


async def test_a_moved_file_goes_back_with_the_edits_made_since(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.move_file("a.txt", "x/b.txt")
    await bob.edit_file("x/b.txt", edit("two", "TWO"))
    await alice.undo()
    assert snapshot(root) == {**BEFORE, "a.txt": b"one\nTWO\nthree\nfour\nfive\n"}
    await assert_at_rest(alice, root)


async def test_an_edit_is_found_under_the_name_that_others_gave_the_file(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.edit_file("a.txt", edit("two", "TWO"))
    await bob.move_file("a.txt", "d/b.txt")
    await bob.move_file("d", "t")
    await alice.undo()
    assert text(root, "t/b.txt") == "one\ntwo\nthree\nfour\nfive\n"


async def test_a_moved_folder_goes_back(alice: FileToolsFacade, bob: FileToolsFacade, root: Path) -> None:
    await alice.move_file("d", "x/t")
    await bob.write_file("x/t/e.txt", "edited\n")
    await bob.create_directory("d")
    await bob.move_file("d", "other")  # another folder that had the name meanwhile
    result = await alice.undo()
    assert snapshot(root) == {**BEFORE, "d/e.txt": b"edited\n", "other": None}
    assert [file.action for file in result.files] == ["move_directory", "delete_directory"]
    await assert_at_rest(alice, root)


async def test_a_deleted_folder_comes_back_with_what_nobody_had_recorded(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    (root / "d" / "link").symlink_to("e.txt")
    (root / "d" / "e.txt").chmod(0o700)
    await alice.delete_directory("d", recursive=True)
    result = await alice.undo()
    assert [file.action for file in result.files] == ["restore_directory"]
    assert {**snapshot(root), "d/link": b""} == {**BEFORE, "d/link": b""}
    assert os.readlink(root / "d" / "link") == "e.txt"
    assert (root / "d" / "e.txt").stat().st_mode & 0o777 == 0o700
    await assert_at_rest(alice, root)
    await alice.redo()
    assert snapshot(root) == {"a.txt": BEFORE["a.txt"]}
    await bob.create_directory("new")
    await bob.move_file("new", "d")  # other folders have the name meanwhile
    await bob.delete_directory("d")
    await bob.create_directory("d")
    await bob.move_file("d", "other")
    await alice.undo()
    assert os.readlink(root / "d" / "link") == "e.txt"


async def test_an_empty_folder_is_not_in_the_way_of_one_that_comes_back(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.move_file("d", "t")
    (root / "d").mkdir()
    await alice.undo()
    assert snapshot(root) == BEFORE
    await alice.delete_directory("d", recursive=True)
    await bob.create_directory("d")
    await alice.undo()
    assert snapshot(root) == BEFORE
    await alice.delete_directory("d", recursive=True)
    await bob.write_file("d/new.txt", "n")
    await refused("EDIT_CONFLICT", alice.undo())
    assert snapshot(root) == {"a.txt": BEFORE["a.txt"], "d": None, "d/new.txt": b"n"}


# Several changes


async def test_of_several_changes_those_of_others_in_between_are_left_standing(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.edit_file("a.txt", edit("one", "ONE"))
    await bob.edit_file("a.txt", edit("three", "THREE"))
    await alice.edit_file("a.txt", edit("five", "FIVE"))
    await bob.edit_file("a.txt", edit("THREE", "3"))
    await alice.undo(since=1)
    assert text(root) == "one\ntwo\n3\nfour\nfive\n"


async def test_own_changes_on_top_of_each_other_are_no_conflict(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.edit_file("a.txt", edit("two", "TWO"))
    await alice.edit_file("a.txt", edit("TWO", "Two!"))
    await alice.write_file("n.txt", "1\n")
    await alice.write_file("n.txt", "2\n")
    await bob.edit_file("a.txt", edit("five", "FIVE"))
    await alice.undo(session="s1")
    assert snapshot(root) == {**BEFORE, "a.txt": b"one\ntwo\nthree\nfour\nFIVE\n"}


async def test_links_go_with_a_folder_whose_files_changed(alice: FileToolsFacade, root: Path) -> None:
    (root / "d" / "s").mkdir()
    (root / "d" / "s" / "link").symlink_to("../e.txt")
    await alice.move_file("d", "x/t")
    await alice.edit_file("x/t/e.txt", edit("deep", "DEEP"))
    after = snapshot(root)
    await alice.undo(since=1)
    assert os.readlink(root / "d" / "s" / "link") == "../e.txt"
    assert text(root, "d/s/link") == "deep\n"
    assert not (root / "x").exists()
    await alice.redo()
    assert snapshot(root) == after
    await alice.delete_directory("x", recursive=True)
    await alice.undo(since=1)
    assert os.readlink(root / "d" / "s" / "link") == "../e.txt"
    assert not (root / "x").exists()


async def test_a_place_that_is_cleared_first_is_as_it_was_if_the_rest_fails(
    alice: FileToolsFacade, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alice.delete_file("a.txt")
    await alice.create_directory("a.txt/deep")
    before, store = snapshot(root), parts(alice).store
    prepare = store.prepare

    def full(path: WorkspacePath, content: bytes, **options: Any) -> object:
        if path == "a.txt" and content:
            raise DiskFullError(path)
        return prepare(path, content, **options)

    monkeypatch.setattr(store, "prepare", full)
    await refused("DISK_FULL", alice.undo(since=1))
    assert snapshot(root) == before
    monkeypatch.undo()
    await alice.undo(since=1)
    assert snapshot(root) == BEFORE


@pytest.mark.parametrize("kind", ["folder", "file"])
async def test_a_folder_comes_back_in_the_place_of_what_the_same_undo_removes(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path, kind: str
) -> None:
    await alice.delete_file("d/e.txt")
    await bob.delete_directory("d", recursive=True)
    await (alice.create_directory("d") if kind == "folder" else alice.write_file("d", "a file"))
    preview = await alice.undo(since=1, dry_run=True)
    result = await alice.undo(since=1)
    assert snapshot(root) == {"a.txt": BEFORE["a.txt"], "d": None, "d/e.txt": b"deep\n"}
    assert (preview.files, preview.changes) == (result.files, result.changes)
    assert [change.outcome for change in result.changes] == ["kept" if kind == "folder" else "undone", "undone"]


async def test_changes_are_chosen_by_call_number_path_time_and_actor(
    files: FileToolsFacade, bob: FileToolsFacade, ann: FileToolsFacade, root: Path
) -> None:
    alice = files.for_actor(Actor(kind="agent", id="alice", session="s1", call="c1"))
    await alice.edit_file("a.txt", edit("one", "ONE"))
    await alice.write_file("d/e.txt", "E\n")
    between = datetime.now(UTC)
    other = await bob.edit_file("a.txt", edit("five", "FIVE"))
    dry = [
        await ann.undo(call="c1", dry_run=True),
        await ann.undo(path="d", actor="*", dry_run=True),
        await ann.undo(since=between, actor="*", dry_run=True),
        await ann.undo(until=between, actor="alice", dry_run=True),
        await ann.undo(numbers=[other.number or 0], dry_run=True),
        await ann.undo(session="s2", dry_run=True),
        await ann.undo(actor=BOB, dry_run=True),
        await ann.undo(dry_run=True),
    ]
    found = [[(change.actor["id"], change.path) for change in each.changes] for each in dry]
    alices = [("alice", "d/e.txt"), ("alice", "a.txt")]
    bobs = [("bob", "a.txt")]
    assert found == [alices, alices[:1], bobs, alices, bobs, bobs, bobs, []]


async def test_foreign_changes_are_left_standing_though_nobody_saw_them_yet(alice: FileToolsFacade, root: Path) -> None:
    await alice.edit_file("a.txt", edit("two", "TWO"))
    (root / "a.txt").write_text("one\nTWO\nthree\nfour\nfive\nsix\n")
    await alice.undo()
    assert text(root) == "one\ntwo\nthree\nfour\nfive\nsix\n"
    assert [fact[::2] for fact in await recorded(alice)] == [
        ("modify", "agent"), ("modify", "external"), ("modify", "agent")
    ]  # fmt: skip


# Undo and redo


@pytest.mark.parametrize("name", IDENTITIES)
async def test_undo_and_redo_of_everything_is_the_identity(alice: FileToolsFacade, root: Path, name: str) -> None:
    for act in IDENTITIES[name]:
        await act(alice)
    after = snapshot(root)
    for _ in range(2):
        gone = [file.action.startswith("delete") for file in (await alice.undo(since=1)).files]
        assert gone == sorted(gone) or "in the place" in name  # no file is missing for a moment
        assert snapshot(root) == BEFORE
        await assert_at_rest(alice, root)
        await alice.redo()
        assert snapshot(root) == after


async def test_undo_goes_back_step_by_step_and_redo_forth_again(alice: FileToolsFacade, root: Path) -> None:
    texts = [text(root)]
    for old, new in [("one", "1"), ("two", "2"), ("three", "3")]:
        await alice.edit_file("a.txt", edit(old, new))
        texts.append(text(root))
    for wanted in texts[2::-1]:
        await alice.undo()
        assert text(root) == wanted
    assert (await alice.undo()).changes == []
    for wanted in texts[1:]:
        await alice.redo()
        assert text(root) == wanted
    assert (await alice.redo()).changes == []
    await alice.undo()
    assert text(root) == texts[2]


async def test_a_change_that_others_took_back_by_hand_is_passed_over_and_counts_as_undone(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    for old, new in [("one", "1"), ("two", "2")]:
        await alice.edit_file("a.txt", edit(old, new))
    await alice.create_directory("new")
    await bob.edit_file("a.txt", edit("2", "two"))
    await bob.delete_directory("new")
    undone = [(each.operation, each.outcome) for each in (await alice.undo()).changes]
    assert undone == [("create_directory", "unchanged"), ("modify", "unchanged"), ("modify", "undone")]
    assert snapshot(root) == BEFORE
    assert (await alice.undo()).changes == []
    await alice.redo()
    assert text(root) == "1\ntwo\nthree\nfour\nfive\n"


async def test_an_undo_passes_over_a_hundred_calls_and_then_stops(alice: FileToolsFacade, bob: FileToolsFacade) -> None:
    for number in range(MOST_PASSED_OVER + 1):
        await alice.write_file(f"{number}.txt", "x\n")
    await bob.delete_multiple([f"{number + 1}.txt" for number in range(MOST_PASSED_OVER)])
    assert [file.path for file in (await alice.undo(dry_run=True)).files] == ["0.txt"]
    await alice.write_file("late.txt", "x\n")
    await bob.delete_file("late.txt")
    result = await alice.undo()
    assert (len(result.changes), result.files) == (MOST_PASSED_OVER + 1, [])


async def test_folders_that_an_undo_makes_belong_to_it(alice: FileToolsFacade, root: Path) -> None:
    await alice.write_file("d/e.txt", "other\n")
    await alice.create_file("x/y.txt", "y")
    await alice.delete_file("x/y.txt")
    await alice.delete_directory("x")
    await alice.undo(numbers=[(await alice.latest_changes(2))[1].number])
    assert text(root, "x/y.txt") == "y"
    await alice.redo()
    assert not (root / "x").exists()


async def test_an_undo_of_many_records_counts_as_one_in_a_span(alice: FileToolsFacade, root: Path) -> None:
    await alice.delete_directory("d", recursive=True)
    await alice.undo()
    assert (await alice.undo(since=1)).changes == []
    await alice.redo()
    await alice.undo(since=1)
    assert snapshot(root) == BEFORE
    assert (await alice.undo(since=1)).changes == []


async def test_what_a_person_took_back_is_not_taken_back_again(
    alice: FileToolsFacade, ann: FileToolsFacade, root: Path
) -> None:
    await alice.edit_file("a.txt", edit("one", "1"))
    await alice.edit_file("a.txt", edit("two", "2"))
    await ann.undo(session="s1")
    assert (await alice.undo()).changes == []
    assert snapshot(root) == BEFORE
    await ann.redo()
    assert text(root) == "1\n2\nthree\nfour\nfive\n"


async def test_what_a_person_brought_back_is_taken_back_with_the_span_that_made_it(
    alice: FileToolsFacade, ann: FileToolsFacade, root: Path
) -> None:
    await alice.edit_file("a.txt", edit("one", "1"))
    undo = await alice.undo()
    await ann.undo(numbers=[undo.number or 0])
    assert text(root).startswith("1")
    await alice.undo(since=1)
    assert snapshot(root) == BEFORE


async def test_the_replaced_text_of_an_undo_stays_a_version(alice: FileToolsFacade) -> None:
    done = await alice.edit_file("a.txt", edit("two", "TWO"))
    await alice.undo()
    found = (await alice.versions("a.txt")).versions
    assert [entry.version for entry in found][:2] == [done.replaced_version, done.version]
    assert (await alice.read_file("a.txt", version=done.version)).content == "one\nTWO\nthree\nfour\nfive\n"


async def test_a_text_that_is_not_kept_any_more_is_a_conflict(alice: FileToolsFacade, root: Path) -> None:
    await alice.write_file("a.txt", "1\n")
    await alice.write_file("a.txt", "2\n")
    lose_version(alice, version(BEFORE["a.txt"] or b""))
    error = await refused("EDIT_CONFLICT", alice.undo(since=1))
    assert error.details["conflicts"][0]["code"] == "VERSION_GONE"
    assert text(root) == "2\n"


async def test_a_moved_file_whose_former_text_is_not_kept_stays_where_it_is(alice: FileToolsFacade, root: Path) -> None:
    await alice.move_file("a.txt", "b.txt")
    await alice.write_file("b.txt", "2\n")
    await alice.write_file("n.txt", "n\n")
    lose_version(alice, version(BEFORE["a.txt"] or b""))
    result = await alice.undo(since=1, partial=True)
    assert {conflict.code for conflict in result.conflicts} == {"VERSION_GONE"}
    assert snapshot(root) == {**{path: BEFORE[path] for path in BEFORE if path != "a.txt"}, "b.txt": b"2\n"}


async def test_a_moved_folder_stays_with_what_cannot_be_taken_back_in_it(alice: FileToolsFacade, root: Path) -> None:
    await alice.move_file("d", "t")
    await alice.edit_file("t/e.txt", edit("deep", "DEEP"))
    lose_version(alice, version(b"deep\n"))
    await alice.undo(since=1, partial=True)
    assert snapshot(root) == {
        "a.txt": BEFORE["a.txt"], "d": None, "d/f.bin": BEFORE["d/f.bin"], "t": None, "t/e.txt": b"DEEP\n"
    }  # fmt: skip


async def test_a_file_that_may_not_move_back_stays_where_it_is_and_the_rest_is_taken_back(
    alice: FileToolsFacade, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_source: WorkspacePath, destination: WorkspacePath, **_options: Any) -> None:
        raise AccessDeniedError(destination)

    await alice.move_file("a.txt", "b.txt")
    await alice.write_file("n.txt", "n\n")
    monkeypatch.setattr(parts(alice).store, "move", refuse)
    result = await alice.undo(since=1, partial=True)
    assert [(conflict.path, conflict.code) for conflict in result.conflicts] == [("b.txt", "PERMISSION_DENIED")]
    assert snapshot(root) == {**{path: BEFORE[path] for path in BEFORE if path != "a.txt"}, "b.txt": BEFORE["a.txt"]}


async def test_a_text_in_between_need_not_be_kept(alice: FileToolsFacade, root: Path) -> None:
    for act in IDENTITIES["folder that moved and whose files changed"]:
        await act(alice)
    lose_version(alice, version(b"DEEP\n"))
    await alice.undo(since=1)
    assert snapshot(root) == BEFORE


async def test_a_redo_of_several_changes_is_taken_back_as_one(alice: FileToolsFacade, root: Path) -> None:
    before = snapshot(root)
    await alice.checkpoint("c")
    for name in ("x", "y", "z"):
        await alice.write_file(name, name)
    after = snapshot(root)
    await alice.restore("c")
    for _ in range(2):
        await alice.redo()
        assert snapshot(root) == after
        await alice.undo()
        assert snapshot(root) == before
    assert (await alice.undo()).changes == []


@pytest.mark.parametrize("moment", [-1, 10**20])
async def test_a_number_that_no_journal_has_is_refused(alice: FileToolsFacade, moment: int) -> None:
    await alice.write_file("n.txt", "n")
    await refused("INVALID_ARGUMENT", alice.undo(since=moment))
    await refused("INVALID_ARGUMENT", alice.undo(until=moment))
    await refused("INVALID_ARGUMENT", alice.undo(numbers=[moment]))


async def test_a_change_of_mode_alone_is_taken_back(alice: FileToolsFacade, root: Path) -> None:
    (root / "a.txt").chmod(0o644)
    await alice.apply_patch("diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n")
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o755
    await alice.undo()
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o644
    await alice.redo()
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o755


async def test_a_folder_whose_trash_is_gone_is_made_anew_from_what_is_kept(files: FileToolsFacade, root: Path) -> None:
    await files.write_file("d/e.txt", "read\n")
    await files.move_file("d", "new/d")
    await files.write_file("new/d/sub/g.txt", "g\n")
    (root / "new/d/f.bin").unlink()
    before = snapshot(root)
    await files.delete_directory("new", recursive=True)
    shutil.rmtree(root / ".filetools/state/trash")
    parts(files).journal.retention.collect(retention_bytes=2**40, retention_records=10**6)
    await files.undo()
    assert snapshot(root) == before


async def test_a_file_moves_back_out_of_a_folder_that_a_redo_made(alice: FileToolsFacade, root: Path) -> None:
    await alice.move_file("a.txt", "new/a.txt")
    for _ in range(2):
        result = await alice.undo()
        assert [(one.action, one.path) for one in result.files] == [("move", "a.txt"), ("delete_directory", "new")]
        await alice.redo()


async def test_a_folder_is_restored_in_place_of_a_file_that_the_same_undo_removes(
    alice: FileToolsFacade, root: Path
) -> None:
    await alice.write_file("d/s/x", "x\n")
    first = (await alice.delete_directory("d/s", recursive=True)).number or 0
    await alice.delete_directory("d", recursive=True)
    last = (await alice.write_file("d", "a file\n")).number or 0
    await alice.undo(numbers=[first, last])
    assert snapshot(root) == {"a.txt": BEFORE["a.txt"], "d": None, "d/s": None, "d/s/x": b"x\n"}
    await alice.redo()
    assert snapshot(root) == {"a.txt": BEFORE["a.txt"], "d": b"a file\n"}


async def test_a_link_whose_folder_is_gone_is_made_again_with_its_folder(files: FileToolsFacade, root: Path) -> None:
    await files.checkpoint("before")
    (root / "d" / "link").symlink_to("e.txt")
    number = (await files.restore("before")).number or 0
    await files.delete_directory("d", recursive=True)
    await files.undo(numbers=[number])
    assert os.readlink(root / "d" / "link") == "e.txt"
    await files.redo()
    assert not (root / "d").exists()


async def test_a_file_in_place_of_a_restored_folder_is_removed(alice: FileToolsFacade, root: Path) -> None:
    number = (await alice.delete_directory("d", recursive=True)).number or 0
    deleted = snapshot(root)
    await alice.undo()
    await alice.delete_directory("d", recursive=True)
    await alice.write_file("d", "a file\n")
    await alice.undo(since=number + 1)
    assert snapshot(root) == deleted


@pytest.mark.parametrize("outcome", ["undone", "conflict"])
async def test_a_folder_that_is_made_anew_is_one_change_in_the_result(
    files: FileToolsFacade, root: Path, outcome: str
) -> None:
    await files.write_file("new/e.txt", "e\n")
    await files.write_file("new/f.txt", "f\n")
    number = (await files.delete_directory("new", recursive=True)).number or 0
    shutil.rmtree(root / ".filetools/state/trash")
    if outcome == "conflict":
        await files.write_file("new/e.txt", "another\n")
    result = await files.undo(numbers=[number], partial=True)
    assert (root / "new/f.txt").read_bytes() == b"f\n"
    assert [(one.number, one.outcome) for one in result.changes] == [(number, outcome)]


async def test_a_file_renamed_by_others_in_a_moved_folder_keeps_its_name_when_all_is_undone(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    number = (await alice.edit_file("d/e.txt", edit("deep", "deeper"))).number
    await alice.move_file("d", "k")
    await bob.move_file("k/e.txt", "k/z.txt")
    await alice.undo(since=number)
    assert snapshot(root) == {"a.txt": BEFORE["a.txt"], "d": None, "d/f.bin": BEFORE["d/f.bin"], "d/z.txt": b"deep\n"}


async def test_a_name_that_another_file_got_is_not_mixed_up_with_it_until_that_is_undone(
    alice: FileToolsFacade, bob: FileToolsFacade, root: Path
) -> None:
    await alice.write_file("b.txt", BEFORE["a.txt"] or b"")
    await alice.edit_file("b.txt", edit("one", "ONE"))
    await bob.delete_file("b.txt")
    await bob.edit_file("a.txt", edit("one", "ONE"))
    await bob.move_file("a.txt", "b.txt")
    await refused("EDIT_CONFLICT", alice.undo())
    for _ in range(3):
        await bob.undo()
    assert (root / "b.txt").read_bytes().startswith(b"ONE")
