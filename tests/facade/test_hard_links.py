"""Files with several names: all of them get the new bytes and stay one file, or nothing is changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
import filetools.facade.transactions.transaction
from filetools.errors import DiskFullError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, Tree, deaths, grow, leftovers, reopened, snapshot
from tests.support.opened import (
    Once,
    ScriptedOpening,
    assert_at_rest,
    failing,
    names_of,
    recorded,
    refused,
    told,
    version,
)

NAMES = ("a.txt", "d/b.txt", "d/s/c.txt")
Call = Callable[[FileToolsFacade], Awaitable[object]]
CHANGES: dict[str, tuple[Call, bytes]] = {
    "write": (lambda files: files.write_file("d/b.txt", "new\n"), b"new\n"),
    "append": (lambda files: files.append_file("a.txt", "more\n"), b"old\nmore\n"),
    "edit": (lambda files: files.edit_file("d/s/c.txt", [filetools.Edit(old="old", new="new")]), b"new\n"),
    "insert": (lambda files: files.insert_lines("a.txt", 0, "first\n"), b"first\nold\n"),
    "patch": (
        lambda files: files.apply_patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n"),
        b"new\n",
    ),
    "copy": (lambda files: files.copy_file("other.txt", "a.txt", overwrite=True), b"other\n"),
    "batch": (lambda files: files.write_multiple([{"path": "a.txt", "content": "new\n"}]), b"new\n"),
}


def plant(root: Path) -> None:
    grow(root, {"a.txt": b"old\n", "d/s": None, "other.txt": b"other\n"})
    for name in NAMES[1:]:
        os.link(root / "a.txt", root / name)


def tree(content: bytes) -> Tree:
    return {"d": None, "d/s": None, "other.txt": b"other\n", **dict.fromkeys(NAMES, content)}


def inodes(root: Path) -> set[int]:
    return {(root / name).stat().st_ino for name in NAMES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    plant(root)
    return root


async def test_a_file_with_a_name_outside_is_refused(files: FileToolsFacade, root: Path) -> None:
    os.link(root / "a.txt", root.parent / "outside.txt")
    for name, (call, _) in CHANGES.items():
        error = await refused("BATCH_FAILED" if name == "batch" else "HARD_LINKED", call(files))
        assert error.details.get("cause", "HARD_LINKED") == "HARD_LINKED"
    assert (await files.write_file("a.txt", "old\n")).unchanged
    assert snapshot(root) == tree(b"old\n")
    assert (root.parent / "outside.txt").stat().st_nlink == 4


async def test_a_name_that_nothing_may_be_written_to_is_no_way_round(root: Path) -> None:
    (root / ".git/hooks").mkdir(parents=True)
    os.link(root / "a.txt", root / ".git/hooks/pre-commit")
    async with filetools.open(root, settings=QUIET) as files:
        error = await refused("HARD_LINKED", files.write_file("a.txt", "evil\n"))
        assert ".git/hooks/pre-commit" in error.message
    assert (root / ".git/hooks/pre-commit").read_bytes() == b"old\n"


async def test_two_names_of_one_file_cannot_be_changed_in_one_call(files: FileToolsFacade, root: Path) -> None:
    items = [{"path": name, "content": name} for name in NAMES[:2]]
    error = await refused("BATCH_FAILED", files.write_multiple(items))
    assert "names of one file" in error.message
    tx = files.transaction()
    with pytest.raises(filetools.FileToolsError, match="names of one file"):
        await write_and_delete(tx)
    assert snapshot(root) == tree(b"old\n")


async def test_a_change_at_both_names_is_undone_and_redone_as_one(files: FileToolsFacade, root: Path) -> None:
    made = await files.write_file("a.txt", "new\n")
    undone = await files.undo()
    assert {change.outcome for change in undone.changes} == {"undone"}
    assert snapshot(root) == tree(b"old\n")
    assert (await files.undo()).changes == []
    await files.redo()
    assert (snapshot(root), (await files.read_file("a.txt")).version) == (tree(b"new\n"), made.version)
    assert os.path.samefile(*(root / name for name in NAMES[:2]))


async def test_the_same_text_for_two_names_of_one_file_is_one_change(files: FileToolsFacade, root: Path) -> None:
    result = await files.write_multiple([{"path": name, "content": "new\n"} for name in NAMES[:2]])
    assert len({one.number for one in result.results}) == 2
    assert snapshot(root) == tree(b"new\n")
    assert os.path.samefile(*(root / name for name in NAMES[:2]))


async def write_and_delete(tx: filetools.facade.transactions.transaction.Transaction) -> None:
    async with tx:
        await tx.write_file("a.txt", "new\n")
        await tx.delete_file("d/b.txt")


@pytest.mark.parametrize("name", CHANGES)
async def test_all_names_get_the_new_bytes_and_stay_one_file(files: FileToolsFacade, root: Path, name: str) -> None:
    os.chmod(root / "a.txt", 0o640)
    call, content = CHANGES[name]
    events = told(files)
    await call(files)
    assert snapshot(root) == tree(content)
    assert len(inodes(root)) == 1
    stat = (root / "a.txt").stat()
    assert (stat.st_nlink, stat.st_mode & 0o777) == (
        3,
        (root / "other.txt").stat().st_mode & 0o777 if name == "copy" else 0o640,
    )
    assert sorted(names_of(events)) == [("file:modified", each) for each in NAMES]
    records = (await files.changes()).records
    assert sorted(record.path for record in records) == list(NAMES)
    assert len({record.transaction for record in records}) == 1
    assert {(record.before, record.after) for record in records} == {(version("old\n"), version(content))}
    await assert_at_rest(files, root)


async def test_one_name_is_deleted_or_moved_for_itself(files: FileToolsFacade, root: Path) -> None:
    inode = (root / "a.txt").stat().st_ino
    await files.move_file("d/b.txt", "moved.txt")
    await files.delete_file("d/s/c.txt")
    assert {name: (root / name).stat().st_ino for name in ("a.txt", "moved.txt")} == {
        "a.txt": inode,
        "moved.txt": inode,
    }
    await files.write_file("moved.txt", "new\n")
    assert snapshot(root) == {"d": None, "d/s": None, "other.txt": b"other\n", "a.txt": b"new\n", "moved.txt": b"new\n"}
    assert (root / "a.txt").stat().st_nlink == 2


async def test_the_names_are_searched_for_once_and_looked_at_again(root: Path) -> None:
    walked: list[str] = []

    def count(method: str, path: str) -> None:
        if method == "scan":
            walked.append(path)

    async with ScriptedOpening(root, before=count) as files:
        await files.write_file("a.txt", "1\n")
        assert sorted(walked) == ["", "d", "d/s"]
        walked.clear()
        await files.write_file("d/b.txt", "2\n")
        await files.append_file("d/s/c.txt", "3\n")
        assert (walked, snapshot(root)) == ([], tree(b"2\n3\n"))
        (root / "d/b.txt").rename(root / "d/elsewhere.txt")
        await files.write_file("a.txt", "4\n")
        assert walked != []
        assert (root / "d/elsewhere.txt").read_bytes() == b"4\n"


async def test_what_a_stranger_saved_at_a_name_in_the_same_instant_is_kept(root: Path) -> None:
    def replace() -> None:
        (root / "d/b.txt").unlink()
        (root / "d/b.txt").write_bytes(b"a stranger's\n")

    async with ScriptedOpening(root, before=Once("prepare_link", replace)) as files:
        await files.write_file("a.txt", "new\n")
        assert snapshot(root) == tree(b"new\n")
        kept = [entry.version for entry in (await files.versions("d/b.txt")).versions]
        assert version(b"a stranger's\n") in kept
        assert leftovers(root) == []


async def test_who_knows_the_other_name_merges(files: FileToolsFacade, root: Path) -> None:
    (root / "a.txt").write_bytes(b"1\n2\n3\n4\n5\n")
    other = files.for_actor(filetools.Actor(kind="agent", id="other"))
    known = await other.read_file("d/b.txt")
    await files.edit_file("a.txt", [filetools.Edit(old="5", new="five")])
    assert (await other.write_file("d/b.txt", known.content.replace("1", "one"))).merged
    assert (root / "d/s/c.txt").read_bytes() == b"one\n2\n3\n4\nfive\n"


async def test_a_failure_at_a_further_name_sets_all_back(root: Path) -> None:
    hook = Once("Prepared.exchange", failing(lambda: DiskFullError("d/s/c.txt")), at=3)
    async with ScriptedOpening(root, before=hook) as files:
        events = told(files)
        await refused("DISK_FULL", files.write_file("a.txt", "new\n"))
        assert (snapshot(root), len(inodes(root)), events, await recorded(files)) == (tree(b"old\n"), 1, [], [])
        await assert_at_rest(files, root)
        await files.write_file("a.txt", "newer\n")
        assert snapshot(root) == tree(b"newer\n")


async def test_the_mirror_has_the_bytes_at_each_name(root: Path, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    async with filetools.open(root, mirror=mirror, settings=QUIET) as files:
        assert (await files.write_file("a.txt", "new\n")).mirror == "in_sync"
        assert {name: (mirror / name).read_bytes() for name in NAMES} == dict.fromkeys(NAMES, b"new\n")


def test_after_a_death_at_any_step_all_names_have_the_old_bytes_or_all_the_new(tmp_path: Path) -> None:
    call, content = CHANGES["edit"]
    plant(tmp_path / "model")
    found = []
    for death in deaths(tmp_path / "model", call, most=6):
        found.append(reopened(death.root, death.root.with_name(f"{death.root.name}-mirror")))
        assert found[-1] in ([tree(content)] if death.acknowledged else [tree(b"old\n"), tree(content)]), death
        assert leftovers(death.root) == [], death
        asyncio.run(write_again(death.root))
        assert snapshot(death.root)["a.txt"] == b"again\n"
    assert tree(b"old\n") in found
    assert tree(content) in found


async def write_again(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.write_file("a.txt", "again\n")


async def test_an_own_edit_through_one_name_is_no_surprise_at_another(files: FileToolsFacade, root: Path) -> None:
    for name in NAMES:
        await files.read_file(name)
    await files.edit_file("a.txt", [filetools.Edit(old="old", new="new")])
    await files.delete_file("d/b.txt")
    assert not (root / "d/b.txt").exists()
