"""The facade used from Python: pathlib paths, single edits, event names, filters, approvers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest

import filetools
from filetools import Edit, FileToolsFacade
from filetools.events.types import Event
from filetools.models.records import Actor
from tests.support.crashing import QUIET
from tests.support.opened import refused
from tests.support.people import ALICE, BOB

Call = Callable[[FileToolsFacade, Any], Awaitable[object]]
BEFORE, ACTOR = {"docs/a.txt": b"one\ntwo\n", "b.txt": b"b\n"}, ALICE

READS: dict[str, Call] = {
    "read_file": lambda files, path: files.read_file(path),
    "read_multiple": lambda files, path: files.read_multiple([path]),
    "versions": lambda files, path: files.versions(path),
    "diff": lambda files, path: files.diff(path),
    "diff_tree": lambda files, path: files.diff_tree("start", path=path),
    "provenance": lambda files, path: files.provenance(path),
    "file_info": lambda files, path: files.file_info(path),
    "real_path": lambda files, path: files.real_path(path),
    "exists": lambda files, path: files.exists(path),
    "list_files": lambda files, path: files.list_files(path.parent),
    "search_files": lambda files, path: files.search_files("*.txt", path=path.parent),
    "grep_files": lambda files, path: files.grep_files("two", path=path),
    "watch_changes": lambda files, path: files.watch_changes(path=path),
    "changes": lambda files, path: files.changes(paths=[path.parent]),
    "latest_changes": lambda files, path: files.latest_changes(path=path),
    "is_locked": lambda files, path: files.is_locked(path),
    "lock_info": lambda files, path: files.lock_info(path),
}
CHANGES: dict[str, Call] = {
    "write_file": lambda files, path: files.write_file(path, "new\n"),
    "write_multiple": lambda files, path: files.write_multiple([{"path": path, "content": "new\n"}]),
    "append_file": lambda files, path: files.append_file(path, "more\n"),
    "create_file": lambda files, path: files.create_file(path.with_name("created.txt")),
    "edit_file": lambda files, path: files.edit_file(path, [Edit(old="two", new="2")]),
    "insert_lines": lambda files, path: files.insert_lines(path, 1, "more"),
    "replace_file": lambda files, path: files.replace_file(path, b"new\n"),
    "patch_file": lambda files, path: files.patch_file(path, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"),
    "copy_file": lambda files, path: files.copy_file(path, path.with_suffix(".md")),
    "move_file": lambda files, path: files.move_file(path, path.with_suffix(".md")),
    "delete_file": lambda files, path: files.delete_file(path),
    "delete_multiple": lambda files, path: files.delete_multiple([path]),
    "create_directory": lambda files, path: files.create_directory(path.parent / "more"),
    "delete_directory": lambda files, path: files.delete_directory(path.parent, recursive=True),
    "undo": lambda files, path: files.undo(path=path),
    "restore": lambda files, path: files.restore("start", path),
    "buffers.open": lambda files, path: files.buffers.open(path),
}


@pytest.fixture
async def files(files: FileToolsFacade) -> FileToolsFacade:
    await files.write_file("docs/a.txt", "one\ntwo\n \n")
    await files.write_file("docs/a.txt", "one\ntwo\n")
    await files.checkpoint("start")
    return files


@pytest.mark.parametrize("name", CHANGES)
async def test_every_call_takes_a_path_of_pathlib(files: FileToolsFacade, name: str) -> None:
    assert await CHANGES[name](files, PurePosixPath("docs/a.txt")) is not None


async def test_every_call_that_reads_takes_one_too(files: FileToolsFacade) -> None:
    for name, call in READS.items():
        assert await call(files, PurePosixPath("docs/a.txt")) is not None or name == "lock_info"


def test_every_call_with_a_path_is_tried() -> None:
    """Every call that takes a path must be in the table above."""
    tried = {name.partition(" ")[0] for name in {**READS, **CHANGES}}
    elsewhere = {"open_file", "stream_file", "glob_files", "follow_pages", "walk_files"}  # tried below
    for name in dir(FileToolsFacade):
        words = getattr(getattr(FileToolsFacade, name), "__annotations__", {})
        if not name.startswith("_") and {"path", "paths", "source"} & set(words):
            assert name in tried | elsewhere, name


async def test_blocks_streams_and_folders_take_one_too(files: FileToolsFacade, tmp_path: Path) -> None:
    path = Path("docs/a.txt")
    async with files.open_file(path) as opened:
        assert opened.size == 8
    assert [chunk async for chunk in files.stream_file(path)] == [b"one\ntwo\n"]
    assert [row async for rows in files.walk_files(path.parent) for row in rows if row[0].endswith(path.name)] != []
    assert [entry.path for entry in (await files.glob_files("*.txt", path=Path("docs"))).entries] == ["docs/a.txt"]
    assert (await files.list_files(Path())).total == 2
    async with files.transaction() as tx:
        await tx.write_multiple(
            [{"path": path, "content": "new\n", "expected_version": (await tx.read_file(path)).version}]
        )
        await tx.copy_file(path, Path("c.txt"))
    assert (tmp_path / "c.txt").read_text() == "new\n"
    absolute = tmp_path / "docs" / "a.txt"
    assert (await files.read_file(absolute)).path == "docs/a.txt"
    assert (await files.read_file(PureWindowsPath(r"docs\a.txt"))).path == "docs/a.txt"  # type: ignore[arg-type,unused-ignore]


async def test_an_invalid_path_is_refused(files: FileToolsFacade) -> None:
    class Bytes:
        def __fspath__(self) -> bytes:
            return b"docs/a.txt"

    for given in (None, 3, b"docs/a.txt", Bytes()):
        error = await refused("INVALID_ARGUMENT", files.read_file(given))  # type: ignore[arg-type]
        assert "A path is text or a pathlib.Path" in error.message
    await refused("PATH_TRAVERSAL", files.read_file(Path("docs/../../a.txt")))


async def test_one_edit_needs_no_list(files: FileToolsFacade, tmp_path: Path) -> None:
    result = await files.edit_file("docs/a.txt", old="two", new="2")
    assert (tmp_path / "docs/a.txt").read_text() == "one\n2\n"
    assert result.number is not None
    await files.write_file("docs/a.txt", "x x x\n", on_stale="merge")
    await refused("EDIT_AMBIGUOUS", files.edit_file("docs/a.txt", old="x", new="y"))
    await files.edit_file("docs/a.txt", old="x", new="y", replace_all=True)
    assert (tmp_path / "docs/a.txt").read_text() == "y y y\n"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"old": "two"},
        {"new": "2"},
        {"old": "two", "new": 2},
        {"edits": [Edit(old="two", new="2")], "old": "two", "new": "2"},
        {"edits": [Edit(old="two", new="2")], "replace_all": True},
        {"edits": "two"},
        {"edits": [{"old": "two", "new": "2"}]},
    ],
)
async def test_an_edit_that_is_half_or_double_is_refused(
    files: FileToolsFacade, tmp_path: Path, given: dict[str, Any]
) -> None:
    await refused("INVALID_ARGUMENT", files.edit_file("docs/a.txt", **given))
    assert (tmp_path / "docs/a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("file:changed", "known events are file:created, file:deleted, file:modified"),
        ("File:created", "known events are agent:tool:completed, "),
        ("modified", "file:modified"),
    ],
)
async def test_an_event_that_there_is_not_is_refused_with_those_that_there_are(
    files: FileToolsFacade, name: str, hint: str
) -> None:
    with pytest.raises(filetools.FileToolsError) as caught:
        files.on(name, print)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert hint in caught.value.message
    assert not files.bus.has_listeners("file:modified")


async def test_a_custom_event_is_accepted(files: FileToolsFacade) -> None:
    class Saluted(Event, frozen=True):
        name = "greeting:saluted"

    heard: list[Event] = []
    files.on("greeting:saluted", heard.append)
    files.on("greeting:*", heard.append)
    files.bus.publish(Saluted())
    assert len(heard) == 2


async def changes(files: FileToolsFacade, since: str, **filters: Any) -> list[tuple[str, str]]:
    records = (await files.changes(since, **filters)).records
    return [(record.actor.id, record.path) for record in records]


async def test_changes_are_filtered_by_paths_and_actors(files: FileToolsFacade) -> None:
    since = await files.position()
    bob = files.for_actor(BOB)
    await files.write_file("docs/new.txt", "1")
    await bob.write_file("docs/new.txt", "2", on_stale="merge")
    await bob.write_file("docs2/x.txt", "1")
    await files.move_file("b.txt", "docs2/b.txt")

    assert await changes(files, since, paths=["docs"]) == [("alice", "docs/new.txt"), ("bob", "docs/new.txt")]
    assert await changes(files, since, paths=[Path("docs2/x.txt"), "docs/none"]) == [("bob", "docs2/x.txt")]
    assert await changes(files, since, paths=["b.txt"]) == [("alice", "docs2/b.txt")]  # the old path matches, too
    assert await changes(files, since, actors=["bob"], paths=["docs"]) == [("bob", "docs/new.txt")]
    assert len(await changes(files, since, actors=[ALICE, "bob"], paths=[""])) == len(await changes(files, since))
    assert len(await changes(files, since, actors=[Actor(kind="agent", id="alice")])) == 2
    for nobody in (Actor(kind="agent", id="alice", session="s2"), Actor(kind="editor", id="alice"), "carol"):
        assert await changes(files, since, actors=[nobody]) == []
    assert await changes(files, since, paths=[]) == []


async def test_a_filtered_page_is_full_and_continues_after_its_last_change(files: FileToolsFacade) -> None:
    since = await files.position()
    bob = files.for_actor(BOB)
    for number in range(6):
        await files.write_file(f"a{number}", "1")
        await bob.write_file(f"b{number}", "1")
    page = await files.changes(since, limit=4, actors=["bob"])
    assert [record.path for record in page.records] == ["b0", "b1", "b2", "b3"]
    page = await files.changes(page.position, limit=4, actors=["bob"])
    assert [record.path for record in page.records] == ["b4", "b5"]
    assert page.position == await files.position()


async def test_a_text_is_refused_as_a_list_of_paths_or_actors(files: FileToolsFacade) -> None:
    await refused("INVALID_ARGUMENT", files.changes(paths="docs"))
    await refused("INVALID_ARGUMENT", files.changes(actors="bob"))
    await refused("INVALID_ARGUMENT", files.changes(paths=["docs"], limit=0))


async def test_a_plain_approver_works(tmp_path: Path) -> None:
    asked: list[str] = []

    def approve(request: filetools.ApprovalRequest) -> filetools.ApprovalAnswer:
        asked.append(request.path)
        return "allow" if request.path == "yes.txt" else "deny"

    async with filetools.open(tmp_path, permissions="ask", settings=QUIET) as opened:
        alice = opened.for_actor(ALICE)
        opened.answer_approvals(approve)
        await alice.write_file("yes.txt", "1")
        await refused("APPROVAL_DENIED", alice.write_file("no.txt", "1"))
    assert asked == ["yes.txt", "no.txt"]
    assert not (tmp_path / "no.txt").exists()


async def test_an_approver_that_is_not_callable_is_refused_at_once(files: FileToolsFacade) -> None:
    for given in (None, "allow", True):
        with pytest.raises(filetools.FileToolsError, match="An approver is a function"):
            files.answer_approvals(given)  # type: ignore[arg-type]
