"""A partial undo: what cannot be undone is kept with everything that depends on it, and the result reports it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from filetools import Actor, Edit
from filetools.errors import AccessDeniedError, FileBusyError, FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.history.undo import UndoFinding
from filetools.history.undo_steps import with_blocked
from filetools.models.history import UndoResult
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.policy import Rule
from tests.support.crashing import Tree, snapshot
from tests.support.inside import damage_version, lose_version, parts
from tests.support.opened import refused, version

ALICE = Actor(kind="agent", id="alice", session="s1")
BOB = Actor(kind="agent", id="bob", session="s2")
BEFORE: Tree = {"d": None, "d/x": b"x\n", "d/y": b"y\n", "q": b"q\n"}


@pytest.fixture
def alice(files: FileToolsFacade) -> FileToolsFacade:
    return files.for_actor(ALICE)


def edit(old: str, new: str) -> list[Edit]:
    return [Edit(old=old, new=new)]


def lose(files: FileToolsFacade, text: bytes) -> None:
    lose_version(files, version(text))


def refuse_folders(files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the creation of folders fail."""

    def refuse(path: WorkspacePath, *_: Any, **_options: Any) -> None:
        raise AccessDeniedError(path)

    monkeypatch.setattr(parts(files).store, "make_directory", refuse)


def outcomes(result: UndoResult) -> list[tuple[str, str, str]]:
    return [(change.operation, change.path, change.outcome) for change in result.changes]


async def test_what_would_go_to_the_place_of_a_file_that_stays_stays_too(alice: FileToolsFacade, root: Path) -> None:
    await alice.write_file("p", "p\n")
    number = (await alice.move_file("p", "r")).number
    await alice.move_file("q", "p")
    await alice.edit_file("p", edit("q", "edited"))
    await alice.write_file("n", "n\n")
    lose(alice, b"q\n")
    result = await alice.undo(since=number, partial=True)
    assert snapshot(root) == {**{path: BEFORE[path] for path in ("d", "d/x", "d/y")}, "p": b"edited\n", "r": b"p\n"}
    assert outcomes(result) == [
        ("create", "n", "undone"), ("modify", "p", "conflict"), ("move", "p", "conflict"), ("move", "r", "conflict")
    ]  # fmt: skip


async def test_what_came_out_of_a_folder_that_cannot_come_back_stays_where_it_is(
    alice: FileToolsFacade, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alice.move_file("d/y", "z")
    await alice.delete_file("d/x")
    await alice.delete_directory("d")
    await alice.write_file("n", "n\n")
    refuse_folders(alice, monkeypatch)
    result = await alice.undo(since=1, partial=True)
    assert snapshot(root) == {"q": b"q\n", "z": b"y\n"}
    assert outcomes(result) == [
        ("create", "n", "undone"), ("delete_directory", "d", "conflict"), ("delete", "d/x", "conflict"),
        ("move", "z", "conflict"),
    ]  # fmt: skip
    assert {conflict.path for conflict in result.conflicts} == {"d", "d/x", "z"}


async def test_what_came_out_of_a_folder_that_cannot_come_back_is_not_removed_by_a_restore(
    alice: FileToolsFacade, root: Path
) -> None:
    await alice.checkpoint("before")
    await alice.move_file("d/y", "z")
    await alice.delete_directory("d", recursive=True)
    os.mkfifo(root / "d")
    result = await alice.restore("before", partial=True)
    assert (root / "z").read_bytes() == b"y\n"
    assert ("move", "z", "conflict") in outcomes(result)


async def test_an_edit_is_not_said_to_be_undone_in_a_file_that_stays(alice: FileToolsFacade, root: Path) -> None:
    await alice.move_file("d", "e")
    await alice.edit_file("e/x", edit("x", "edited"))
    lose(alice, b"x\n")
    result = await alice.undo(since=1, partial=True)
    assert (root / "e/x").read_bytes() == b"edited\n"
    assert outcomes(result) == [("modify", "e/x", "conflict"), ("move_directory", "e", "conflict")]
    again = await alice.undo(since=1, partial=True, dry_run=True)
    assert ("modify", "e/x", "conflict") in outcomes(again)


async def test_a_file_that_makes_room_for_a_folder_with_a_conflict_in_it_is_undone(
    alice: FileToolsFacade, root: Path
) -> None:
    await alice.edit_file("d/x", edit("x", "edited"))
    await alice.move_file("d", "e")
    await alice.write_file("d", "a file\n")
    lose(alice, b"x\n")
    result = await alice.undo(since=1, partial=True)
    assert snapshot(root) == {"d": None, "d/y": b"y\n", "e": None, "e/x": b"edited\n", "q": b"q\n"}
    assert outcomes(result) == [
        ("create", "d", "undone"), ("move_directory", "e", "conflict"), ("modify", "d/x", "conflict")
    ]  # fmt: skip


async def test_a_preview_shows_that_a_folder_with_something_in_it_that_stays_gives_way_to_no_file(
    alice: FileToolsFacade, root: Path
) -> None:
    await alice.write_file("f", "a file\n")
    number = (await alice.delete_file("f")).number
    await alice.create_directory("f")
    await alice.move_file("q", "f/q")
    await alice.edit_file("f/q", edit("q", "edited"))
    await alice.write_file("n", "n\n")
    lose(alice, b"q\n")
    preview = await alice.undo(since=number, partial=True, dry_run=True)
    result = await alice.undo(since=number, partial=True)
    assert [(one.action, one.path) for one in preview.files] == [("delete", "n")]
    assert (preview.files, preview.conflicts, preview.changes) == (result.files, result.conflicts, result.changes)
    assert (root / "f/q").read_bytes() == b"edited\n"


@pytest.mark.parametrize("moves", [False, True])
async def test_a_mode_is_taken_back_although_the_kept_bytes_are_damaged(
    alice: FileToolsFacade, root: Path, moves: bool
) -> None:
    (root / "q").chmod(0o644)
    done = await alice.write_file("q", "text\n")
    number = (await alice.latest_changes(1))[0].number + 1
    if moves:
        await alice.move_file("q", "m")
    (root / ("m" if moves else "q")).chmod(0o600)
    await alice.look()
    damage_version(alice, done.version)
    assert (await alice.undo(since=number, actor="*")).conflicts == []
    assert snapshot(root) == {**BEFORE, "q": b"text\n"}
    assert (root / "q").stat().st_mode & 0o777 == 0o644


async def test_a_part_is_restored_although_a_text_that_left_it_is_not_kept(alice: FileToolsFacade, root: Path) -> None:
    await alice.checkpoint("before")
    await alice.move_file("d/x", "z")
    await alice.edit_file("z", edit("x", "edited"))
    await alice.write_file("d/y", "Y\n")
    lose(alice, b"x\n")
    result = await alice.restore("before", "d", partial=True)
    assert snapshot(root) == {"d": None, "d/y": b"y\n", "q": b"q\n", "z": b"edited\n"}
    assert [(conflict.path, conflict.code) for conflict in result.conflicts] == [("d/x", "VERSION_GONE")]


async def test_a_conflict_is_told_once_for_all_changes_of_its_path(alice: FileToolsFacade) -> None:
    await alice.checkpoint("before")
    first = await alice.edit_file("d/x", edit("x", "edited"))
    second = await alice.move_file("d/x", "z")
    lose(alice, b"x\n")
    result = await alice.restore("before", partial=True)
    assert [(one.path, one.numbers) for one in result.conflicts] == [("z", [second.number, first.number])]


def test_findings_and_paths_that_stay_are_compared_by_looking_up_and_not_one_by_one() -> None:
    walked = 0

    class Counted(dict[str, FileToolsError]):
        def __iter__(self) -> Iterator[str]:
            nonlocal walked
            for path in super().__iter__():
                walked += 1
                yield path

        def items(self) -> Any:
            return [(path, self[path]) for path in self]

        def keys(self) -> Any:
            return list(self)

    clash, paths = FileToolsError("gone"), [f"d{at % 7}/{at}" for at in range(200)]
    findings = [UndoFinding(records=(), path=path, outcome="undone") for path in paths]
    blocked: Mapping[str, FileToolsError] = Counted(dict.fromkeys(paths, clash))
    found = with_blocked(findings, blocked)
    assert [(one.path, one.outcome) for one in found] == [(path, clash) for path in paths]
    assert walked <= 3 * len(paths)


async def test_each_move_of_a_file_that_stays_is_a_conflict(alice: FileToolsFacade, root: Path) -> None:
    number = (await alice.edit_file("q", edit("q", "edited"))).number
    await alice.move_file("q", "r")
    await alice.move_file("r", "s")
    lose(alice, b"q\n")
    result = await alice.undo(since=number, partial=True)
    assert (root / "s").read_bytes() == b"edited\n"
    assert {outcome for operation, _, outcome in outcomes(result) if operation == "move"} == {"conflict"}
    again = await alice.undo(since=number, partial=True, dry_run=True)
    assert [operation for operation, _, _ in outcomes(again)].count("move") == 2


async def test_a_mode_is_taken_back_though_a_file_in_the_folder_stays(alice: FileToolsFacade, root: Path) -> None:
    (root / "d").chmod(0o755)
    await alice.checkpoint("before")
    (root / "d").chmod(0o700)
    await alice.read_file("d/x")
    await alice.edit_file("d/x", edit("x", "edited"))
    await alice.restore("before")
    lose(alice, b"edited\n")
    result = await alice.redo(partial=True)
    assert (root / "d").stat().st_mode & 0o777 == 0o700
    assert [outcome for operation, _, outcome in outcomes(result) if operation == "modify_directory"] == ["undone"]


async def test_a_file_that_must_stay_where_it_went_is_not_copied_back(
    alice: FileToolsFacade, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: WorkspacePath, _destination: WorkspacePath, **_options: Any) -> None:
        raise FileBusyError(source)

    await alice.move_file("q", "p")
    await alice.write_file("n", "n\n")
    monkeypatch.setattr(parts(alice).store, "move", refuse)
    result = await alice.undo(since=1, partial=True)
    assert snapshot(root) == {**{path: BEFORE[path] for path in ("d", "d/x", "d/y")}, "p": b"q\n"}
    assert outcomes(result) == [("create", "n", "undone"), ("move", "p", "conflict")]
    assert [(conflict.path, conflict.code) for conflict in result.conflicts] == [("p", "FILE_BUSY")]


async def test_an_edit_under_a_name_in_between_is_a_conflict_if_the_file_stays(
    alice: FileToolsFacade, root: Path
) -> None:
    number = (await alice.edit_file("q", edit("q", "edited"))).number
    await alice.move_file("q", "r")
    await alice.edit_file("r", edit("edited", "again"))
    await alice.move_file("r", "s")
    lose(alice, b"q\n")
    result = await alice.undo(since=number, partial=True)
    assert (root / "s").read_bytes() == b"again\n"
    assert outcomes(result) == [
        ("move", "s", "conflict"), ("modify", "r", "conflict"), ("move", "r", "conflict"), ("modify", "q", "conflict")
    ]  # fmt: skip
    assert {conflict.path for conflict in result.conflicts} == {"s"}


async def test_everything_below_a_folder_whose_change_is_refused_stays(
    alice: FileToolsFacade, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **_options: Any) -> None:
        raise AccessDeniedError(WorkspacePath("d"))

    number = (await alice.edit_file("d/x", edit("x", "edited"))).number
    await alice.write_file("n", "n\n")
    monkeypatch.setattr(parts(alice).store, "prepare", refuse)
    result = await alice.undo(since=number, partial=True)
    assert snapshot(root) == {**BEFORE, "d/x": b"edited\n"}
    assert outcomes(result) == [("create", "n", "undone"), ("modify", "d/x", "conflict")]


async def test_a_preview_of_a_part_tells_that_a_file_is_in_the_place_of_its_folder(
    alice: FileToolsFacade, root: Path
) -> None:
    await alice.checkpoint("before")
    await alice.delete_directory("d", recursive=True)
    await alice.write_file("d", "a file now\n")
    preview = await alice.restore("before", "d/x", dry_run=True)
    assert [(one.path, one.reason) for one in preview.conflicts] == [("d/x", "d is a file now")]
    await refused("EDIT_CONFLICT", alice.restore("before", "d/x"))
    assert (root / "d").read_bytes() == b"a file now\n"


async def test_a_created_file_that_was_moved_and_cannot_be_deleted_is_a_conflict(
    alice: FileToolsFacade, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: WorkspacePath, *_: Any, **_options: Any) -> None:
        raise FileBusyError(path)

    number = (await alice.write_file("new", "new\n")).number
    await alice.move_file("new", "moved")
    await alice.edit_file("q", edit("q", "edited"))
    monkeypatch.setattr(parts(alice).store, "remove", refuse)
    result = await alice.undo(since=number, partial=True)
    assert snapshot(root) == {**BEFORE, "moved": b"new\n"}
    assert outcomes(result) == [("modify", "q", "undone"), ("move", "moved", "conflict"), ("create", "new", "conflict")]
    assert [(conflict.path, conflict.code) for conflict in result.conflicts] == [("moved", "FILE_BUSY")]


@pytest.fixture
async def moved(alice: FileToolsFacade, files: FileToolsFacade) -> int:
    """Have one move a file into another folder and edit it there, and another edit the same line; the move's number."""
    bob = files.for_actor(BOB)
    await alice.read_file("q")
    number = (await alice.move_file("q", "secret/q")).number
    assert number is not None
    await alice.edit_file("secret/q", edit("q", "edited"))
    await bob.read_file("secret/q")
    await bob.edit_file("secret/q", edit("edited", "PASSWORD"))
    return number


@pytest.mark.parametrize("path", ["secret/**", "q"])
async def test_a_conflict_in_a_moved_file_hides_text_that_must_not_be_read(
    alice: FileToolsFacade, moved: int, path: str
) -> None:
    parts(alice).gatekeeper.policy.use("allow", [Rule(tool="read_file", path=path, level="block")])
    error = await refused("EDIT_CONFLICT", alice.undo(since=moved))
    preview = await alice.undo(since=moved, dry_run=True)
    result = await alice.undo(since=moved, partial=True)
    assert [conflict["conflicts"] for conflict in error.details["conflicts"]] == [[]]
    assert [conflict.conflicts for conflict in (*preview.conflicts, *result.conflicts)] == [[], []]


async def test_a_conflict_names_the_path_at_which_the_file_is(alice: FileToolsFacade, moved: int, root: Path) -> None:
    error = await refused("EDIT_CONFLICT", alice.undo(since=moved))
    assert error.path == "secret/q"
    assert error.message.startswith("secret/q cannot be taken back: others have changed the same place since (line 1)")
    assert [conflict["path"] for conflict in error.details["conflicts"]] == ["secret/q"]
    assert [one["path"] for one in error.details["not_undone"]] == ["secret/q"]
    preview = await alice.undo(since=moved, dry_run=True)
    assert [(one.path, one.conflicts[0]["current"]) for one in preview.conflicts] == [("secret/q", "PASSWORD\n")]
    result = await alice.undo(since=moved, partial=True)
    assert [one.path for one in result.conflicts] == ["q"]
    assert (root / "q").read_bytes() == b"PASSWORD\n"


async def test_where_nothing_is_to_be_done_below_a_path_that_stays_the_records_are_unchanged(
    alice: FileToolsFacade, files: FileToolsFacade, root: Path
) -> None:
    (root / "d/e").mkdir()
    number = (await alice.delete_directory("d/e")).number
    await alice.write_file("d/e", "a file\n")
    await alice.delete_file("d/e")
    bob = files.for_actor(BOB)
    await bob.delete_directory("d", recursive=True)
    await bob.write_file("d", "a file\n")
    result = await alice.undo(since=number, partial=True)
    assert outcomes(result) == [
        ("delete", "d/e", "unchanged"), ("create", "d/e", "unchanged"), ("delete_directory", "d/e", "conflict")
    ]  # fmt: skip
    assert [(one.path, one.reason) for one in result.conflicts] == [("d/e", "d is a file now")]
