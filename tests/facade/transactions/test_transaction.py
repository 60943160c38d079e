"""Transactions of a caller's own: nothing before the end of the block, then all of it or nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools.errors import DiskFullError
from filetools.facade.facade import FileToolsFacade
from filetools.facade.transactions.transaction import Transaction
from filetools.permissions.requests import ApprovalDecision
from tests.support import inside
from tests.support.crashing import QUIET, Tree, grow, snapshot
from tests.support.opened import (
    Once,
    ScriptedOpening,
    assert_at_rest,
    failing,
    names_of,
    recorded,
    refused,
    steps_until,
    told,
    version,
)
from tests.support.people import Person

BEFORE: Tree = {
    "a.txt": b"one\ntwo\nthree\nfour\nfive\n",
    "b.txt": b"b\n",
    "d": None,
    "d/e.txt": b"deep\n",
    "d/s": None,
    "d/s/f.txt": b"f\n",
    "z.bin": b"\x00\x01",
}
MOVES = {"move": ("a.txt", "c.txt"), "move away": ("b.txt", "a.txt"), "move folder": ("d", "t")}
ALICE = filetools.Actor(kind="agent", id="alice")


def after(changes: Tree, *gone: str) -> Tree:
    return {path: content for path, content in {**BEFORE, **changes}.items() if path not in gone}


class StopError(Exception):
    """Ends a block in the middle."""


async def transacted(tx: Transaction, work: Callable[[Transaction], Awaitable[None]]) -> None:
    async with tx:
        await work(tx)


async def test_an_exception_in_the_block_leaves_everything_as_it_was(files: FileToolsFacade, root: Path) -> None:
    events = told(files)
    tx = files.transaction()

    async def work(tx: Transaction) -> None:
        await tx.write_file("a.txt", "new")
        await tx.delete_file("b.txt")
        raise StopError

    with pytest.raises(StopError):
        await transacted(tx, work)
    assert (snapshot(root), events, await recorded(files)) == (BEFORE, [], [])
    with pytest.raises(filetools.FileToolsError, match="only if it was done"):
        _ = tx.result


async def test_a_refusal_in_the_block_leaves_what_was_before_it(files: FileToolsFacade, root: Path) -> None:
    async with files.transaction() as tx:
        await tx.write_file("new.txt", "new")
        await refused("FILE_EXISTS", tx.create_file("a.txt", ""))
        items = [{"path": "c.txt", "content": "C"}, {"path": "a.txt", "content": "A", "expected_version": "0" * 64}]
        await refused("BATCH_FAILED", tx.write_multiple(items))
    assert snapshot(root) == after({"new.txt": b"new"})


async def test_one_cancelled_while_it_waits_for_a_lock_changes_nothing(files: FileToolsFacade, root: Path) -> None:
    tx, reached = files.transaction(), asyncio.Event()

    async def work() -> None:
        async with tx:
            await tx.write_file("a.txt", "new")
            await tx.write_file("b.txt", "new")
            reached.set()

    async with inside.at_work(files, "b.txt"):
        task = asyncio.create_task(work())
        await reached.wait()
        await steps_until(lambda: tx._buffer.is_over)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert snapshot(root) == BEFORE
    assert not await files.is_locked("a.txt")
    await files.write_file("a.txt", "later")


async def test_one_that_outlives_its_workspace_is_refused(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        tx = await files.transaction().__aenter__()
        await tx.write_file("a.txt", "new")
    await refused("WORKSPACE_GONE", tx.write_file("a.txt", "newer"))
    await refused("WORKSPACE_GONE", tx.__aexit__(None, None, None))
    assert snapshot(root) == BEFORE


async def test_nothing_can_be_done_with_a_transaction_before_its_block_and_after_it(files: FileToolsFacade) -> None:
    tx = files.transaction()
    await refused("INVALID_ARGUMENT", tx.write_file("a.txt", "new"))
    async with tx:
        await tx.write_file("a.txt", "new")
    for call in (tx.write_file("a.txt", "x"), tx.read_file("a.txt"), tx.exists("a.txt"), tx.list_files()):
        error = await refused("INVALID_ARGUMENT", call)
        assert "files.transaction()" in error.message
    await refused("INVALID_ARGUMENT", tx.__aenter__())


async def test_a_task_may_have_several_transactions(files: FileToolsFacade, root: Path) -> None:
    async with files.transaction() as tx, files.for_actor(ALICE).transaction() as another:
        await tx.edit_file("a.txt", old="one", new="ONE")
        await another.edit_file("a.txt", old="five", new="FIVE")
    assert (root / "a.txt").read_bytes() == b"ONE\ntwo\nthree\nfour\nFIVE\n"


async def test_two_tasks_have_a_transaction_each(files: FileToolsFacade, root: Path) -> None:
    barrier = asyncio.Barrier(2)

    async def work(old: str) -> None:
        async with files.for_actor(filetools.Actor(kind="agent", id=old)).transaction() as tx:
            await tx.edit_file("a.txt", [filetools.Edit(old=old, new=old.upper())])
            await barrier.wait()

    await asyncio.gather(work("one"), work("five"))
    assert (root / "a.txt").read_bytes() == b"ONE\ntwo\nthree\nfour\nFIVE\n"


async def test_a_path_cannot_change_between_file_and_folder(files: FileToolsFacade, root: Path) -> None:
    async with files.transaction() as tx:
        await tx.delete_file("a.txt")
        await tx.delete_directory("d", recursive=True)
        for call in (
            tx.write_file("d", "x"),
            tx.create_directory("a.txt"),
            tx.write_file("a.txt/x", "x"),
            tx.move_file("b.txt", "d"),
        ):
            error = await refused("INVALID_ARGUMENT", call)
            assert "another kind" in error.message
    assert snapshot(root) == after({}, "a.txt", "d", "d/e.txt", "d/s", "d/s/f.txt")


@pytest.mark.parametrize("change", ["delete", *MOVES, "delete folder", "new in folder"])
async def test_what_others_changed_is_not_deleted_or_moved(files: FileToolsFacade, root: Path, change: str) -> None:
    path = "d/new.txt" if change == "new in folder" else "d/e.txt" if "folder" in change else "a.txt"
    others = files.for_actor(ALICE)

    async def work(tx: Transaction) -> None:
        await tx.write_file("b.txt", "mine\n")
        if change in MOVES:
            await tx.move_file(*MOVES[change], overwrite=True)
        elif change == "delete":
            await tx.delete_file("a.txt")
        else:
            await tx.delete_directory("d", recursive=True)
        await others.write_file(path, "theirs\n")

    error = await refused("VERSION_MISMATCH", transacted(files.transaction(), work))
    assert error.path == path
    assert snapshot(root) == after({path: b"theirs\n"})
    await assert_at_rest(files, root)


async def test_a_file_that_others_created_meanwhile_is_not_replaced(files: FileToolsFacade, root: Path) -> None:
    async def work(tx: Transaction) -> None:
        await tx.write_file("b.txt", "mine\n")
        await tx.write_file("new.txt", "mine\n")
        (root / "new.txt").write_text("theirs\n")

    error = await refused("FILE_EXISTS", transacted(files.transaction(), work))
    assert error.path == "new.txt"
    assert snapshot(root) == after({"new.txt": b"theirs\n"})


async def test_changes_that_overlap_are_refused_with_both_sides(files: FileToolsFacade, root: Path) -> None:
    async def work(tx: Transaction) -> None:
        await tx.write_file("b.txt", "mine\n")
        await tx.edit_file("a.txt", [filetools.Edit(old="three", new="3")])
        await files.for_actor(ALICE).edit_file("a.txt", [filetools.Edit(old="three", new="drei")])

    with pytest.raises(filetools.FileToolsError) as caught:
        await transacted(files.transaction(), work)
    assert (caught.value.code, caught.value.path) == ("EDIT_CONFLICT", "a.txt")
    assert caught.value.details["conflicts"] == [{"base": "three\n", "current": "drei\n", "yours": "3\n", "line": 3}]
    assert snapshot(root) == after({"a.txt": b"one\ntwo\ndrei\nfour\nfive\n"})


@pytest.mark.parametrize(("path", "mine"), [("a.txt", "mine\n"), ("z.bin", b"\x00\x03")])
async def test_a_file_gone_or_binary_since_is_a_conflict(
    files: FileToolsFacade, root: Path, path: str, mine: str | bytes
) -> None:
    async def work(tx: Transaction) -> None:
        await tx.write_file(path, mine)
        (root / "a.txt").unlink()
        (root / "z.bin").write_bytes(b"\x00\x02")

    error = await refused("EDIT_CONFLICT", transacted(files.transaction(), work))
    assert error.path == path


@pytest.mark.parametrize("name", ["edit_file", "write_file", "write_multiple", "copy_file"])
async def test_a_version_that_was_named_is_not_merged(files: FileToolsFacade, root: Path, name: str) -> None:
    before = await files.read_file("a.txt")
    edit = [filetools.Edit(old="five", new="5")]

    async def work(tx: Transaction) -> None:
        if name == "edit_file":
            await tx.edit_file("a.txt", edit, expected_version=before.version)
        elif name == "write_file":
            await tx.write_file("a.txt", before.content + "6\n", expected_version=before.version)
        elif name == "write_multiple":
            await tx.write_multiple([{"path": "a.txt", "content": "x", "expected_version": before.version}])
        else:
            await tx.copy_file("b.txt", "a.txt", overwrite=True)
        (root / "a.txt").write_bytes(b"ONE\ntwo\nthree\nfour\nfive\n")

    error = await refused("VERSION_MISMATCH", transacted(files.transaction(), work))
    assert error.path == "a.txt"
    assert (root / "a.txt").read_bytes() == b"ONE\ntwo\nthree\nfour\nfive\n"


async def test_what_others_changed_elsewhere_in_a_file_is_merged(files: FileToolsFacade, root: Path) -> None:
    async with files.transaction() as tx:
        await tx.edit_file("a.txt", [filetools.Edit(old="two", new="2")])
        await tx.append_file("b.txt", "more\n")
        await files.for_actor(ALICE).edit_file("a.txt", [filetools.Edit(old="five", new="5")])
    assert (root / "a.txt").read_bytes() == b"one\n2\nthree\nfour\n5\n"
    first = tx.result.changes[0]
    assert (first.path, first.merged, len(first.foreign)) == ("a.txt", True, 1)
    assert first.version == version(b"one\n2\nthree\nfour\n5\n")
    # The stamp is what the transaction knew: a later write of that text does not undo what others did.
    mine = await files.read_file("b.txt")
    assert mine.content == "b\nmore\n"


async def test_a_write_is_merged_onto_what_its_actor_has_not_seen(files: FileToolsFacade, root: Path) -> None:
    known = await files.read_file("a.txt")
    await files.for_actor(ALICE).edit_file("a.txt", [filetools.Edit(old="five", new="5")])
    async with files.transaction() as tx:
        written = await tx.write_file("a.txt", known.content.replace("one", "1"))
        assert written.merged
        again = await tx.write_file("a.txt", known.content.replace("one", "1").replace("two", "2"))
        assert again.merged
    assert (root / "a.txt").read_bytes() == b"1\n2\nthree\nfour\n5\n"


async def test_a_text_read_in_a_transaction_that_came_to_nothing_is_known(files: FileToolsFacade, root: Path) -> None:
    texts = []

    async def work(tx: Transaction) -> None:
        texts.append((await tx.read_file("a.txt")).content)
        raise StopError

    with pytest.raises(StopError):
        await transacted(files.transaction(), work)
    (root / "a.txt").write_bytes(b"one\ntwo\nthree\nfour\n5\n")
    assert (await files.write_file("a.txt", texts[0].replace("one", "1"))).merged
    assert (root / "a.txt").read_bytes() == b"1\ntwo\nthree\nfour\n5\n"


async def test_nothing_is_changed_locked_or_told_before_the_end(files: FileToolsFacade, root: Path) -> None:
    events = told(files)
    async with files.transaction() as tx:
        results = [
            await tx.write_file("a.txt", "new\n"),
            await tx.create_file("x/y.txt", "y"),
            await tx.delete_file("b.txt"),
            await tx.move_file("d", "t"),
            await tx.read_file("t/e.txt"),
            await tx.list_files(recursive=True),
        ]
        assert all(getattr(result, "number", None) is None for result in results)
        assert (snapshot(root), events, await recorded(files)) == (BEFORE, [], [])
        assert not await files.is_locked("a.txt")
        assert await files.exists("b.txt")
    assert snapshot(root) == {
        "a.txt": b"new\n", "x": None, "x/y.txt": b"y", "t": None, "t/e.txt": b"deep\n", "t/s": None,
        "t/s/f.txt": b"f\n", "z.bin": b"\x00\x01",
    }  # fmt: skip
    assert names_of(events) == [
        ("directory:created", "x"), ("directory:renamed", "t"), ("file:modified", "a.txt"), ("file:deleted", "b.txt"),
        ("file:created", "x/y.txt"),
    ]  # fmt: skip
    records = (await files.changes()).records
    assert len({record.transaction for record in records}) == 1
    assert tx.result.number == records[-1].number
    assert [(one.operation, one.path, one.old_path) for one in tx.result.changes] == [
        ("create_directory", "x", None), ("move_directory", "t", "d"), ("modify", "a.txt", None),
        ("delete", "b.txt", None), ("create", "x/y.txt", None),
    ]  # fmt: skip
    await assert_at_rest(files, root)


async def test_reads_see_what_the_transaction_has_made(files: FileToolsFacade) -> None:
    async with files.transaction() as tx:
        await tx.write_file("a.txt", "1\n2\n3\n")
        assert (await tx.read_file("a.txt", offset=2, limit=1)).content == "2\n"
        assert (await tx.read_file("a.txt", byte_offset=4, byte_count=1)).content == "3"
        assert b"".join([chunk async for chunk in tx.stream_file("a.txt", offset=2, count=3)]) == b"2\n3"
        assert b"".join([chunk async for chunk in tx.stream_file("b.txt")]) == b"b\n"
        await refused("INVALID_ARGUMENT", anext(aiter(tx.stream_file("a.txt", offset=-1))))
        info = await tx.file_info("a.txt")
        assert (info.size, info.version, info.total_lines) == (6, version("1\n2\n3\n"), 3)
        edited = await tx.edit_file("a.txt", [filetools.Edit(old="2", new="two")], dry_run=True)
        assert (edited.dry_run, (await tx.read_file("a.txt")).content) == (True, "1\n2\n3\n")
        await tx.move_file("d", "t")
        await tx.create_file("t/new.txt", "n")
        assert [await tx.exists(path) for path in ("d", "d/e.txt", "t", "t/s/f.txt")] == [False, False, True, True]
        listed = await tx.list_files("t")
        assert [(entry.path, entry.type, entry.size) for entry in listed.entries] == [
            ("t/s", "directory", None), ("t/e.txt", "file", 5), ("t/new.txt", "file", 1),
        ]  # fmt: skip
        both = await tx.read_multiple(["t/e.txt", "d/e.txt"])
        assert [item.result and item.result.content for item in both.items] == ["deep\n", None]


async def test_the_names_of_a_wide_folder_are_those_of_each_side(files: FileToolsFacade, root: Path) -> None:
    grow(root / "d", {f"{number}": b"" for number in range(512)})

    async def names(of: FileToolsFacade | Transaction) -> set[str]:
        return {entry.path for entry in (await of.list_files("d", limit=1000)).entries}

    before = await names(files)
    async with files.transaction() as tx:
        await tx.write_file("d/new", "")
        assert (await names(tx), await names(files)) == (before | {"d/new"}, before)
        await tx.delete_file("d/7")
        assert await names(tx) == (before | {"d/new"}) - {"d/7"}
        (root / "d").rename(root / "away")
        assert await names(tx) == {"d/new"}
        (root / "away").rename(root / "d")


async def test_what_cancels_out_leaves_no_trace(files: FileToolsFacade, root: Path) -> None:
    events = told(files)
    async with files.transaction() as tx:
        await tx.create_file("d/y.txt", "y")
        await tx.delete_file("d/y.txt")
        await tx.move_file("a.txt", "c.txt")
        await tx.move_file("c.txt", "a.txt")
        await tx.write_file("b.txt", "other\n")
        await tx.write_file("b.txt", "b\n")
        await tx.create_directory("n")
        await tx.delete_directory("n")
        await tx.move_file("d", "t")
        await tx.move_file("t", "d")
    assert (tx.result.changes, tx.result.number, events, await recorded(files)) == ([], None, [], [])
    assert snapshot(root) == BEFORE


async def test_a_file_written_and_moved_is_a_new_one_and_a_deletion(files: FileToolsFacade, root: Path) -> None:
    os.chmod(root / "a.txt", 0o750)
    async with files.transaction() as tx:
        await tx.write_file("a.txt", "new\n")
        await tx.move_file("a.txt", "c.txt")
    assert await recorded(files) == [("delete", "a.txt", "agent"), ("create", "c.txt", "agent")]
    assert snapshot(root) == after({"c.txt": b"new\n"}, "a.txt")
    assert (root / "c.txt").stat().st_mode & 0o777 == 0o750


async def test_who_deletes_or_moves_a_folder_is_not_surprised_that_its_files_are_gone(files: FileToolsFacade) -> None:
    for path in ("d/e.txt", "d/s/f.txt"):
        await files.read_file(path)
    async with files.transaction() as tx:
        await tx.move_file("d/s", "t")
        await tx.delete_directory("d", recursive=True)
        await tx.write_file("d/e.txt", "new\n")
    assert (await files.write_file("d/s/f.txt", "again\n")).created


async def test_a_patch_and_a_copy_work_inside(files: FileToolsFacade, root: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Add File: p.txt\n+p\n*** Update File: a.txt\n*** Move to: q.txt\n@@\n-two\n+2\n"
        "*** Delete File: c.txt\n*** End Patch\n"
    )
    async with files.transaction() as tx:
        await tx.copy_file("b.txt", "c.txt")
        result = await tx.apply_patch(patch)
        assert (result.dry_run, result.number, len(result.files)) == (False, None, 3)
    assert snapshot(root) == after({"p.txt": b"p\n", "q.txt": b"one\n2\nthree\nfour\nfive\n"}, "a.txt")


async def test_a_private_folder_that_moves_in_parts_stays_private(files: FileToolsFacade, root: Path) -> None:
    (root / "d").chmod(0o700)
    async with files.transaction() as tx:
        await tx.move_file("d", "t")
        await tx.write_file("t/more", "more\n")
    assert ((root / "t").stat().st_mode & 0o777, (root / "d").exists()) == (0o700, False)


async def test_permissions_are_asked_at_the_end_about_what_comes_of_it(root: Path) -> None:
    settings = {**QUIET, "permissions": "guarded"}
    async with filetools.open(root, settings=settings) as files:
        asked: list[tuple[str, tuple[str, ...], str | None]] = []

        async def answer(request: filetools.ApprovalRequest) -> filetools.ApprovalAnswer:
            asked.append((request.tool, tuple(request.paths), request.new_text))
            return "allow"

        files.answer_approvals(answer)
        async with files.transaction() as tx:
            await tx.write_file("new.txt", "n")
            await tx.delete_file("new.txt")
            await tx.write_file("a.txt", "A")
            assert asked == []
        assert asked == [("write_file", ("a.txt",), "A")]

        async def work(tx: Transaction) -> None:
            await tx.write_file("b.txt", "B")
            await tx.delete_file("a.txt")

        error = await refused("TOOL_BLOCKED", transacted(files.transaction(), work))
        assert error.path == "a.txt"
    assert snapshot(root) == after({"a.txt": b"A"})


async def test_a_text_that_a_person_gives_instead_is_written(root: Path) -> None:
    async with filetools.open(root, settings={**QUIET, "permissions": "ask"}) as files:
        seen = []

        async def answer(request: filetools.ApprovalRequest) -> ApprovalDecision:
            seen.append((request.old_text, request.new_text))
            return ApprovalDecision(answer="merge", edited_text="a person's\n")

        async def work(tx: Transaction) -> None:
            await tx.edit_file("a.txt", [filetools.Edit(old="five", new="5")])
            (root / "a.txt").write_bytes(b"ONE\ntwo\nthree\nfour\nfive\n")

        files.answer_approvals(answer)
        await transacted(files.transaction(), work)
    assert seen == [("ONE\ntwo\nthree\nfour\nfive\n", "ONE\ntwo\nthree\nfour\n5\n")]
    assert (root / "a.txt").read_bytes() == b"a person's\n"


async def test_a_person_is_shown_what_a_text_becomes_on_top_of_what_others_saved(root: Path) -> None:
    lines = [f"line {number}\n" for number in range(10)]
    (root / "b.txt").write_text("".join(lines))
    async with filetools.open(root, settings={**QUIET, "permissions": "ask"}) as files:
        seen = []

        def answer(request: filetools.ApprovalRequest) -> filetools.ApprovalAnswer:
            seen.append((request.old_text, request.new_text))
            return "allow"

        async def work(tx: Transaction) -> None:
            await tx.edit_file("b.txt", [filetools.Edit(old="line 8", new="LINE 8")])
            (root / "b.txt").write_text("saved meanwhile\n" + "".join(lines[1:]))

        files.answer_approvals(answer)
        await transacted(files.transaction(), work)
    others = "saved meanwhile\n" + "".join(lines[1:])
    made = others.replace("line 8", "LINE 8")
    assert (seen, (root / "b.txt").read_text()) == ([(others, made)], made)


async def test_nobody_is_asked_about_a_text_that_overlaps(root: Path) -> None:
    async with filetools.open(root, settings={**QUIET, "permissions": "ask"}) as files:
        person = Person("allow")
        files.answer_approvals(person)

        async def work(tx: Transaction) -> None:
            await tx.edit_file("a.txt", [filetools.Edit(old="three", new="3")])
            await tx.write_file("new.txt", "new\n")
            (root / "a.txt").write_bytes(b"saved meanwhile\n")

        await refused("EDIT_CONFLICT", transacted(files.transaction(), work))
    assert ([request.path for request in person.asked], (root / "a.txt").read_bytes()) == ([], b"saved meanwhile\n")


@pytest.mark.parametrize("answer", ["allow", ApprovalDecision(answer="merge", edited_text="a person's\n")])
async def test_nobody_is_asked_about_a_text_for_a_version_that_is_gone(
    root: Path, answer: filetools.ApprovalAnswer | ApprovalDecision
) -> None:
    async with filetools.open(root, settings={**QUIET, "permissions": "ask"}) as files:
        person = Person(answer)
        files.answer_approvals(person)
        version = (await files.read_file("b.txt")).version

        async def work(tx: Transaction) -> None:
            await tx.edit_file("b.txt", [filetools.Edit(old="b", new="B")], expected_version=version)
            (root / "b.txt").write_bytes(b"saved meanwhile\n")

        await refused("VERSION_MISMATCH", transacted(files.transaction(), work))
    assert (person.asked, (root / "b.txt").read_bytes()) == ([], b"saved meanwhile\n")


async def test_a_failure_in_the_middle_sets_all_back(root: Path) -> None:
    hook = Once("Prepared.exchange", failing(lambda: DiskFullError("c.txt")), at=3)
    async with ScriptedOpening(root, before=hook) as files:
        events = told(files)

        async def work(tx: Transaction) -> None:
            await tx.write_file("a.txt", "A")
            await tx.write_file("b.txt", "B")
            await tx.move_file("d", "t")
            await tx.write_file("c.txt", "C")
            await tx.delete_file("z.bin")

        error = await refused("DISK_FULL", transacted(files.transaction(), work))
        assert error.path == "c.txt"
        assert (snapshot(root), events, await recorded(files)) == (BEFORE, [], [])
        await assert_at_rest(files, root)
