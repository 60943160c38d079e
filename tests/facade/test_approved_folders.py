"""An approval of moving or deleting a whole folder is bound to its contents, and shows what becomes dangerous."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.changes.deciding.proposals import LARGEST_COMPARED_BYTES
from filetools.changes.parts import Parts
from filetools.changes.runner import CallRunner
from filetools.changes.steps.folders import MoveFolder, RemoveFolderStep
from filetools.errors import BatchFailedError, ChangedMeanwhileError, FileToolsError, VersionMismatchError
from filetools.facade.facade import FileToolsFacade
from filetools.permissions.policy import Rule
from filetools.permissions.requests import ApprovalRequest
from tests.support.crashing import QUIET, Tree, grow, snapshot
from tests.support.opened import refused
from tests.support.people import ALICE, EDITOR, Person

Call = Callable[[FileToolsFacade], Awaitable[object]]
TREE: Tree = {"d/mcp.json": b"harmless\n", "d/sub/notes": b"notes\n"}


@asynccontextmanager
async def opened(root: Path, **settings: Any) -> AsyncIterator[FileToolsFacade]:
    grow(root, TREE)
    async with filetools.open(root, settings={**QUIET, "approval_wait_seconds": 0, **settings}) as files:
        files._parts.gatekeeper.policy.use("allow", [Rule(tool="delete_directory", path="d", level="prompt")])
        yield files.for_actor(ALICE)


@asynccontextmanager
async def asking(root: Path) -> AsyncIterator[FileToolsFacade]:
    """As `opened`, with a person asked about every call of the agent."""
    grow(root, TREE)
    async with filetools.open(root, permissions="ask", settings={**QUIET, "approval_wait_seconds": 60.0}) as files:
        yield files.for_actor(ALICE)


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    async with opened(tmp_path) as made:
        yield made


async def allow_all(files: FileToolsFacade) -> Sequence[ApprovalRequest]:
    person = files.for_actor(EDITOR)
    asked = await person.approvals()
    for request in asked:
        await person.answer_approval(request.id, "allow")
    return asked


async def move(files: FileToolsFacade) -> object:
    return await files.move_file("d", ".cursor")


async def delete(files: FileToolsFacade) -> object:
    return await files.delete_directory("d", recursive=True)


async def move_in_transaction(files: FileToolsFacade) -> object:
    async with files.transaction() as tx:
        return await tx.move_file("d", ".cursor")


async def move_in_parts(files: FileToolsFacade) -> object:
    """A transaction that adds something to the folder, so that it does not move as a whole."""
    async with files.transaction() as tx:
        await tx.move_file("d", ".cursor")
        return await tx.write_file(".cursor/more", "more\n")


async def exchange_names(files: FileToolsFacade) -> None:
    await files.move_file("d/mcp.json", "aside")
    await files.move_file("d/sub/notes", "d/mcp.json")
    await files.move_file("aside", "d/sub/notes")


ACTS = [move, delete, move_in_transaction, move_in_parts]
SWAPS: dict[str, Call] = {
    "other text": lambda files: files.write_file("d/mcp.json", "EVIL"),
    "other text of the same length": lambda files: files.write_file("d/mcp.json", "HARMLESS\n"),
    "a new file": lambda files: files.write_file("d/sub/tasks.json", "EVIL"),
    "a file gone": lambda files: files.delete_file("d/sub/notes"),
    "two names exchanged": exchange_names,
    "a new folder": lambda files: files.create_directory("d/new"),
}


@pytest.mark.parametrize(
    ("act", "swap"),
    [*((move, each) for each in SWAPS), *((act, "a new file") for act in ACTS[1:]), (ACTS[-1], "other text")],
)
async def test_an_allowed_folder_is_asked_about_again_with_other_contents(
    files: FileToolsFacade, tmp_path: Path, act: Call, swap: str
) -> None:
    await refused("APPROVAL_REQUIRED", act(files))
    await allow_all(files)
    await SWAPS[swap](files)
    await refused("APPROVAL_REQUIRED", act(files))
    assert (tmp_path / "d").is_dir()
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("act", ACTS)
async def test_an_allowed_folder_is_taken_with_the_contents_that_were_shown(
    files: FileToolsFacade, tmp_path: Path, act: Call
) -> None:
    await refused("APPROVAL_REQUIRED", act(files))
    await allow_all(files)
    await files.write_file("d/mcp.json", "harmless\n")
    if act is move_in_parts:
        await refused("APPROVAL_REQUIRED", act(files))  # now about the added file
        await allow_all(files)
        await refused("APPROVAL_REQUIRED", act(files))
        await allow_all(files)
    await act(files)
    assert not (tmp_path / "d").exists()
    assert (tmp_path / ".cursor").exists() == (act is not delete)


async def test_what_an_undo_would_move_is_bound_too(files: FileToolsFacade, tmp_path: Path) -> None:
    for source, destination in (("d", ".cursor"), (".cursor", "d")):
        await refused("APPROVAL_REQUIRED", files.move_file(source, destination))
        await allow_all(files)
        await files.move_file(source, destination)
    await refused("APPROVAL_REQUIRED", files.undo())
    [asked] = await allow_all(files)
    assert "+harmless" in (asked.diff or "")
    (tmp_path / "d" / "mcp.json").write_text("EVIL")  # not a change by the agent, which the undo would undo
    await refused("APPROVAL_REQUIRED", files.undo())
    assert (tmp_path / "d").is_dir()


async def test_a_person_is_shown_what_a_moved_folder_makes_dangerous(files: FileToolsFacade) -> None:
    await refused("APPROVAL_REQUIRED", files.move_file("d", ".cursor"))
    [asked] = await files.approvals()
    protected = ".cursor, .cursor/mcp.json, .cursor/sub, .cursor/sub/notes"
    assert asked.description == f"Move folder d to .cursor, with 2 files; protected: {protected}"
    assert asked.diff == (
        "diff --git a/d/mcp.json b/.cursor/mcp.json\nrename from d/mcp.json\nrename to .cursor/mcp.json\n"
        "--- /dev/null\n+++ b/.cursor/mcp.json\n@@ -0,0 +1 @@\n+harmless\n"
        "diff --git a/d/sub/notes b/.cursor/sub/notes\nrename from d/sub/notes\nrename to .cursor/sub/notes\n"
        "--- /dev/null\n+++ b/.cursor/sub/notes\n@@ -0,0 +1 @@\n+notes\n"
    )


async def test_a_person_is_shown_what_a_deleted_folder_held(tmp_path: Path) -> None:
    async with opened(tmp_path, protected_paths=["mcp.json"]) as files:
        (tmp_path / "d" / "sub" / "mcp.json").write_bytes(bytes(range(256)))
        await refused("APPROVAL_REQUIRED", files.delete_directory("d", recursive=True))
        [asked] = await files.approvals()
        assert asked.description == "Delete folder d, with 3 files; protected: d/mcp.json, d/sub/mcp.json"
        first, second, last = (asked.diff or "").split("diff --git ")[1:]
        assert (
            first
            == "a/d/mcp.json b/d/mcp.json\ndeleted file\n--- a/d/mcp.json\n+++ /dev/null\n@@ -1 +0,0 @@\n-harmless\n"
        )
        assert second.splitlines()[2].startswith("Binary file d/sub/mcp.json, 256 bytes, sha256:")
        assert last.splitlines()[1:4] == ["deleted file", "--- a/d/sub/notes", "+++ /dev/null"]


async def test_a_diff_that_is_cut_says_so(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "d" / "mcp.json").write_text("harmless\n" * 500_000)
    await refused("APPROVAL_REQUIRED", files.move_file("d", ".cursor"))
    [asked] = await files.approvals()
    assert (asked.diff or "").endswith(" lines)\n")
    assert " more characters are not shown (" in (asked.diff or "")[-80:]


async def test_a_batch_shows_the_text_of_each_file(files: FileToolsFacade) -> None:
    items = [{"path": "a", "content": "1\n"}, {"path": ".mcp.json", "content": "EVIL\n"}]
    await refused("APPROVAL_REQUIRED", files.write_multiple(items))
    [asked] = await files.approvals()
    assert "+++ b/a\n@@ -0,0 +1 @@\n+1\n" in (asked.diff or "")
    assert "+++ b/.mcp.json\n@@ -0,0 +1 @@\n+EVIL\n" in (asked.diff or "")


@pytest.mark.parametrize("kind", ["move", "remove"])
async def test_what_comes_in_between_the_look_and_the_rename_is_not_taken(
    files: FileToolsFacade, tmp_path: Path, kind: str
) -> None:
    parts = files._parts
    source, target = parts.workspace.resolve("d"), parts.workspace.resolve("e")
    step = MoveFolder(source, target) if kind == "move" else RemoveFolderStep(source, recursive=True)
    step.be_allowed(frozenset(step.paths))
    await parts.workers.run(lambda: step.look(parts))
    (tmp_path / "d" / "sub" / "more").write_text("EVIL")
    with pytest.raises(ChangedMeanwhileError):
        await parts.workers.run(lambda: step.exchange(parts))
    assert (tmp_path / "d" / "sub" / "more").exists()


async def test_a_file_that_is_swapped_after_the_question_is_not_moved(files: FileToolsFacade, tmp_path: Path) -> None:
    await refused("APPROVAL_REQUIRED", files.move_file("d/mcp.json", ".mcp.json"))
    [asked] = await allow_all(files)
    assert "+harmless" in (asked.diff or "")
    await files.write_file("d/mcp.json", "EVIL")
    await refused("APPROVAL_REQUIRED", files.move_file("d/mcp.json", ".mcp.json"))
    assert not (tmp_path / ".mcp.json").exists()


RENAME = "diff --git a/d/mcp.json b/.mcp.json\nrename from d/mcp.json\nrename to .mcp.json\n"


def before_the_turn(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen right before the turn of each change, when people have answered."""
    change = CallRunner.change

    async def late(*arguments: Any, **options: Any) -> Any:
        act()
        return await change(*arguments, **options)

    monkeypatch.setattr(CallRunner, "change", late)


async def refused_as_changed(call: Awaitable[object]) -> None:
    with pytest.raises(FileToolsError) as caught:
        await call
    cause = caught.value.__cause__ if isinstance(caught.value, BatchFailedError) else caught.value
    assert isinstance(cause, ChangedMeanwhileError | VersionMismatchError)


@pytest.mark.parametrize(
    ("saved", "act"),
    [
        ("d/mcp.json", lambda files: files.move_file("d/mcp.json", ".mcp.json")),
        ("d/mcp.json", lambda files: files.apply_patch(RENAME)),
        (".mcp.json", lambda files: files.delete_file(".mcp.json")),
        (".mcp.json", lambda files: files.delete_multiple([".mcp.json"])),
        (".mcp.json", lambda files: files.copy_file("d/mcp.json", ".mcp.json", overwrite=True)),
        (".mcp.json", lambda files: files.write_multiple([{"path": ".mcp.json", "content": "other\n"}])),
        (".mcp.json", lambda files: files.write_file(".mcp.json", "other\n")),
        (".mcp.json", lambda files: files.append_file(".mcp.json", "other\n")),
        (".mcp.json", lambda files: files.insert_lines(".mcp.json", 0, "other\n")),
    ],
    ids=["move", "rename", "delete", "delete several", "copy", "write several", "write", "append", "insert"],
)
async def test_a_file_that_another_program_saves_right_before_the_turn_stays(
    files: FileToolsFacade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: str, act: Call
) -> None:
    (tmp_path / saved).write_text("harmless\n")
    await refused("APPROVAL_REQUIRED", act(files))
    await allow_all(files)
    before_the_turn(monkeypatch, partial((tmp_path / saved).write_text, "EVIL"))
    await refused_as_changed(act(files))
    assert (tmp_path / saved).read_text() == "EVIL"
    assert (tmp_path / ".mcp.json").exists() == (saved == ".mcp.json")


async def test_links_are_bound_too(files: FileToolsFacade, tmp_path: Path) -> None:
    os.symlink("harmless", tmp_path / "d" / "link")
    await refused("APPROVAL_REQUIRED", files.move_file("d", ".cursor"))
    await allow_all(files)
    (tmp_path / "d" / "link").unlink()
    os.symlink("elsewhere", tmp_path / "d" / "link")
    await refused("APPROVAL_REQUIRED", files.move_file("d", ".cursor"))


def large(path: Path, byte: bytes = b"\0") -> None:
    path.write_bytes(byte * (1024 * 1024 + 1))


async def delete_in_transaction(files: FileToolsFacade) -> object:
    async with files.transaction() as tx:
        return await tx.delete_file("large")


LARGE: list[Call] = [
    lambda files: files.delete_file("large"),
    lambda files: files.delete_multiple(["large"]),
    lambda files: files.move_file("large", "elsewhere"),
    delete_in_transaction,
]


@pytest.mark.parametrize("act", LARGE, ids=["delete", "delete several", "move", "transaction"])
async def test_a_large_file_that_was_not_hashed_goes_once_it_is_allowed(tmp_path: Path, act: Call) -> None:
    large(tmp_path / "large")
    async with asking(tmp_path) as files:
        files.answer_approvals(Person("allow"))
        await act(files)
    assert not (tmp_path / "large").exists()


@pytest.mark.parametrize("act", LARGE, ids=["delete", "delete several", "move", "transaction"])
async def test_a_large_file_that_is_saved_after_it_was_allowed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Call
) -> None:
    large(tmp_path / "large")
    async with asking(tmp_path) as files:
        files.answer_approvals(Person("allow"))
        before_the_turn(monkeypatch, partial(large, tmp_path / "large", b"\1"))
        await refused_as_changed(act(files))
    assert (tmp_path / "large").exists()


async def move_back(files: FileToolsFacade) -> object:
    return await files.move_file("d", "e")


async def move_and_edit(files: FileToolsFacade) -> None:
    await files.move_file("d", "e")
    await files.write_file("e/mcp.json", "other\n")


async def move_and_add(files: FileToolsFacade) -> None:
    await files.move_file("d", "e")
    await files.write_file("e/new/one", "new\n")


async def move_and_delete(files: FileToolsFacade) -> None:
    await files.move_file("d", "e")
    await files.delete_directory("e/sub", recursive=True)


async def exchange_places(files: FileToolsFacade) -> None:
    await files.move_file("d", "e")
    await files.move_file("e/mcp.json", "mcp.json")
    await files.write_file("d/mcp.json", "other\n")


async def turn_inside_out(files: FileToolsFacade) -> None:
    await files.move_file("d/sub", "sub")
    await files.move_file("d", "e")
    await files.move_file("e", "sub/e")


async def make(files: FileToolsFacade) -> object:
    return await files.write_file("n/m/one", "new\n")


BACK = [move_back, move_and_edit, move_and_add, move_and_delete, exchange_places, turn_inside_out, make]


@pytest.mark.parametrize("act", BACK)
@pytest.mark.parametrize("kind", ["restore", "undo"])
async def test_what_an_allowed_call_takes_back_inside_a_folder_does_not_stop_it(
    tmp_path: Path, act: Call, kind: str
) -> None:
    async with asking(tmp_path) as files:
        person = Person("allow")
        files.answer_approvals(person)
        number = (await files.checkpoint("before")).number
        before = snapshot(tmp_path)
        await act(files.for_actor(EDITOR))
        if kind == "restore":
            await files.restore("before")
        else:
            await files.undo(since=number + 1, actor="*")
        assert (snapshot(tmp_path), len(person.asked)) == (before, 1)


@pytest.mark.parametrize("place", ["e/late", "e/sub/late"])
async def test_what_comes_into_a_folder_that_an_allowed_call_takes_back_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Besides the call's own changes in the folder."""
    async with asking(tmp_path) as files:
        person = Person("allow", "deny")
        files.answer_approvals(person)
        await files.checkpoint("before")
        await move_and_edit(files.for_actor(EDITOR))
        exchange = MoveFolder.exchange

        def saved_before(step: MoveFolder, parts: Parts) -> None:
            (tmp_path / place).write_text("EVIL")
            exchange(step, parts)

        monkeypatch.setattr(MoveFolder, "exchange", saved_before)
        await refused("APPROVAL_DENIED", files.restore("before"))
        assert [place in (request.diff or "") for request in person.asked] == [False, True]
        assert ((tmp_path / place).read_text(), (tmp_path / "e/mcp.json").read_text()) == ("EVIL", "other\n")


async def test_a_file_too_large_to_be_compared_goes_and_moves_once_that_is_allowed(tmp_path: Path) -> None:
    person = Person("allow", "allow", "allow", "allow", "allow", "allow", "allow", "allow")
    async with asking(tmp_path) as files:
        files.answer_approvals(person)
        for name in ("deleted", "moved", "deleted too", "moved too"):
            await files.write_file(name, bytes(LARGEST_COMPARED_BYTES + 1))
        await files.delete_file("deleted")
        await files.move_file("moved", "there")
        async with files.transaction() as tx:
            await tx.delete_file("deleted too")
            await tx.move_file("moved too", "there too")
    assert {"there", "there too"} == {path.name for path in tmp_path.iterdir() if path.is_file()}
