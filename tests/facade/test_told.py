"""Hints that say nothing new cost no lock, hop or query; whatever may be new is looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.app.opening import Opening
from filetools.facade.facade import FileToolsFacade
from filetools.facade.foreign import ForeignRecorder
from filetools.facade.others import nothing_precedes
from filetools.facade.told import NewestRecords
from filetools.models.records import EXTERNAL, Actor, ChangeRecord, Operation, RecordState
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Reader, Store
from filetools.watch.hints import Hint
from tests.support.crashing import QUIET
from tests.support.faulty import FaultyReader, FaultyStore, Plan
from tests.support.mirror_worlds import ignore
from tests.support.opened import Once, ScriptedOpening, all_seen, clerk_of, recorded, until_watched, watched

AGENT = Actor(kind="agent", id="agent")
TICK_NS = 3_600_000_000_000


def coarse(stat: FileStat) -> FileStat:
    """Facts by a clock that ticks once an hour; one nanosecond off the whole second, which would be another clock."""
    return replace(
        stat, modified_ns=stat.modified_ns // TICK_NS * TICK_NS + 1, changed_ns=stat.changed_ns // TICK_NS * TICK_NS + 1
    )


class CoarseReader(FaultyReader):
    @property
    def stat(self) -> FileStat:
        return coarse(self.inner.stat)


class CoarseStore(FaultyStore):
    """A store whose clock ticks once an hour."""

    @property
    def tick_ns(self) -> int:
        return TICK_NS

    def stat(self, path: WorkspacePath) -> FileStat | None:
        found = self.inner.stat(path)
        return None if found is None else coarse(found)

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        content, found = self.inner.read(path, limit=limit)
        return content, coarse(found)

    def open(self, path: WorkspacePath) -> Reader:
        return CoarseReader(self.inner.open(path), Plan(), self.name, path)


class CoarseOpening(Opening):
    def __init__(self, root: Path) -> None:
        super().__init__(root, None, None, {**QUIET, "watch": True})

    def _open_store(self, workspace: Workspace, private_directory: Path) -> Store:
        return CoarseStore(super()._open_store(workspace, private_directory), Plan())


@contextmanager
def looks(files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the keys that the watcher locks to look at them."""
    locks = files._parts.locks
    hold, keys = locks.hold, list[str]()

    def counted(wanted: Any, **given: Any) -> Any:
        if given["owner"] == "watcher":
            keys.extend(wanted)
        return hold(wanted, **given)

    with monkeypatch.context() as patch:
        patch.setattr(locks, "hold", counted)
        yield keys


async def make(files: FileToolsFacade, number: int) -> None:
    """Make and change files and folders."""
    await files.write_file(f"d{number}/e/a.txt", "1")
    await files.write_file(f"d{number}/e/a.txt", "2")
    await files.append_file(f"d{number}/e/a.txt", "3")
    await files.copy_file(f"d{number}/e/a.txt", f"d{number}/c.txt")


async def move(files: FileToolsFacade, number: int) -> None:
    await files.move_file(f"d{number}/e/a.txt", f"d{number}/b.txt")


async def change(files: FileToolsFacade, number: int) -> None:
    await files.edit_file(f"d{number}/b.txt", [filetools.Edit(old="2", new="4")])


async def delete(files: FileToolsFacade, number: int) -> None:
    await files.delete_file(f"d{number}/b.txt")
    await files.delete_directory(f"d{number}/e")
    await files.delete_directory(f"d{number}", recursive=True)


@pytest.mark.parametrize("times", [1, 10])
async def test_the_echo_of_our_own_changes_is_not_looked_at(
    tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(tmp_path) as (files, told):
        with looks(files, monkeypatch) as keys:
            # What comes and goes, or moves on, before anybody hears of it is looked at.
            for work in (make, move, change, delete):
                for number in range(times):
                    await work(files, number)
                await all_seen(files, tmp_path, told)
        assert {key for key in keys if not key.startswith("marker-")} == set()
        assert {event.source for event in told} == {"agent"}


async def test_a_change_of_another_program_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with watched(tmp_path) as (files, told):
        await files.write_file("a.txt", "ours\n")
        with looks(files, monkeypatch) as keys:
            (tmp_path / "beside").write_text("theirs\n")
            (tmp_path / "beside").rename(tmp_path / "a.txt")
            await all_seen(files, tmp_path, told)
            looked_at = keys.count("a.txt")
            clerk_of(files)._hints.take([Hint("changed", "a.txt")] * 3)
            await all_seen(files, tmp_path, told)
            assert keys.count("a.txt") == looked_at
        assert ("modify", "a.txt", "external") in await recorded(files)


def write_in_place(place: Path, text: str) -> None:
    with place.open("r+") as file:
        file.write(text)


def replace_aside(place: Path, text: str) -> None:
    aside = place.with_name("aside")
    aside.write_text(text)
    aside.replace(place)


@pytest.mark.parametrize("save", [write_in_place, replace_aside])
async def test_a_save_right_after_our_own_is_told(tmp_path: Path, save: Callable[[Path, str], None]) -> None:
    async with watched(tmp_path) as (files, told):
        for number in range(30):
            await files.write_file(f"{number}.txt", "ours\n")
            save(tmp_path / f"{number}.txt", "them\n")
        await all_seen(files, tmp_path, told)
        saved = {event.path for event in told if event.source == "external" and event.name == "file:modified"}
        assert saved == {f"{number}.txt" for number in range(30)}


async def test_a_save_within_the_tick_of_the_clock_is_told(tmp_path: Path) -> None:
    async with CoarseOpening(tmp_path) as files:
        await until_watched(files, tmp_path)
        told: list[Any] = []
        files.on("file:*", told.append)
        await files.write_file("a.txt", "ours\n")
        ours = files._parts.store.stat(WorkspacePath("a.txt"))
        write_in_place(tmp_path / "a.txt", "them\n")
        assert files._parts.store.stat(WorkspacePath("a.txt")) == ours  # no facts can tell the two
        await all_seen(files, tmp_path, told)
        assert [event.source for event in told if event.path == "a.txt"] == ["agent", "external"]


async def test_where_the_clock_is_coarse_many_writes_of_one_file_are_one_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.facade.told.ECHO_OF_SECONDS", 3600)
    async with CoarseOpening(tmp_path) as files:
        await until_watched(files, tmp_path)
        told: list[Any] = []
        files.on("file:*", told.append)
        with looks(files, monkeypatch) as keys:
            for number in range(10):
                await files.write_file("a.txt", str(number))
            (tmp_path / "last").write_text("")
            while not any(event.path == "last" for event in told):
                await asyncio.sleep(0.002)
            assert "a.txt" not in keys
            monkeypatch.setattr("filetools.facade.told.ECHO_OF_SECONDS", 0)
            await all_seen(files, tmp_path, told)
            assert keys.count("a.txt") == 1
        assert {event.source for event in told if event.path == "a.txt"} == {"agent"}


async def test_what_others_do_to_what_we_made_moved_and_deleted_is_told(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        await files.write_file("made.txt", "1")
        (tmp_path / "made.txt").unlink()
        await files.write_file("from.txt", "2")
        await files.move_file("from.txt", "to.txt")
        (tmp_path / "from.txt").write_text("2")
        await files.write_file("gone.txt", "3")
        await files.delete_file("gone.txt")
        (tmp_path / "gone.txt").write_text("3")
        await files.write_file("mode.txt", "4")
        (tmp_path / "mode.txt").chmod(0o600)
        await files.write_file("d/a.txt", "5")
        (tmp_path / "d/a.txt").unlink()
        (tmp_path / "d").rmdir()
        (tmp_path / "d").mkdir()
        await all_seen(files, tmp_path, told)
        theirs = {(event.name, event.path) for event in told if event.source == "external"}
        assert theirs >= {
            ("file:deleted", "made.txt"),
            ("file:created", "from.txt"),
            ("file:created", "gone.txt"),
            ("file:modified", "mode.txt"),
            ("file:deleted", "d/a.txt"),
        }
        (tmp_path / "gone.txt").unlink()
        await all_seen(files, tmp_path, told)
        assert told[-1].name == "file:deleted"


def record(operation: Operation, path: str, **given: Any) -> ChangeRecord:
    values = {"number": 1, "actor": AGENT, "time": 0.0, "state": RecordState.PENDING, **given}
    return ChangeRecord(operation=operation, path=path, **values)


@pytest.fixture
async def told_of(tmp_path: Path) -> Any:
    """What was told, in a workspace in which `a.txt` has been written."""
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("a.txt", "1")
        told = NewestRecords(files._parts)
        told.note((await files.changes()).records)
        yield told


async def test_what_stands_as_it_was_told_is_no_news(told_of: NewestRecords) -> None:
    assert not told_of.is_news(Hint("changed", "a.txt"))
    assert told_of.is_news(Hint("changed", "b.txt"))
    assert told_of.is_news(Hint("deleted", "a.txt"))


async def test_what_was_deleted_and_is_not_there_is_no_news(told_of: NewestRecords) -> None:
    told_of.note([record(Operation.DELETE, "b.txt")])
    assert not told_of.is_news(Hint("deleted", "b.txt"))
    assert told_of.is_news(Hint("changed", "b.txt"))


async def test_what_came_and_went_is_news(told_of: NewestRecords) -> None:
    """A mirror that is being filled may have met it; and of a folder, what was in it is gone."""
    told_of.note([record(Operation.DELETE, "b.txt"), record(Operation.CREATE_DIRECTORY, "d")])
    assert told_of.is_news(Hint("deleted", "b.txt", came_and_went=True))
    assert told_of.is_news(Hint("changed", "d", is_directory=True, came_and_went=True))


async def test_after_news_nothing_counts_as_told(told_of: NewestRecords) -> None:
    """Another process may have made the file, and been told of by nobody yet, when a stranger deletes it again."""
    told_of.note([record(Operation.DELETE, "b.txt")])
    assert told_of.is_news(Hint("changed", "b.txt"))
    assert told_of.is_news(Hint("deleted", "b.txt"))


async def test_what_a_moved_folder_brings_is_news_where_nothing_stood(told_of: NewestRecords) -> None:
    told_of.note([record(Operation.DELETE, "d/b.txt"), record(Operation.MOVE_DIRECTORY, "d", old_path="e")])
    assert told_of.is_news(Hint("deleted", "d/b.txt"))


async def test_a_record_that_was_set_back_says_nothing(told_of: NewestRecords) -> None:
    told_of.note([record(Operation.DELETE, "b.txt", state=RecordState.ABORTED)])
    assert told_of.is_news(Hint("deleted", "b.txt"))


async def test_what_is_remembered_is_bounded(told_of: NewestRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filetools.facade.told.REMEMBERED_PATHS", 3)
    for number in range(10):
        told_of.note([record(Operation.DELETE, str(number), actor=EXTERNAL, time=time.time())])
    assert [number for number in range(10) if not told_of.is_news(Hint("deleted", str(number)))] == [7, 8, 9]


@pytest.mark.parametrize("instant", ["it is renamed", "it is told"])
async def test_a_folder_made_anew_where_ours_is_just_moving_away_is_told(tmp_path: Path, instant: str) -> None:
    def make_anew() -> None:
        (tmp_path / "src/deep").mkdir(parents=True)
        (tmp_path / "src/deep/b.txt").write_text("new")
        time.sleep(0.3)  # so that the watcher tells of it before the call ends

    async def precede(_keys: object) -> None:
        if (tmp_path / "old").exists():
            await asyncio.to_thread(make_anew)

    hook = Once("move", make_anew) if instant == "it is renamed" else ignore
    async with ScriptedOpening(tmp_path, after=hook, settings={"watch": True}) as files:
        await until_watched(files, tmp_path)
        await files.write_file("src/deep/a.txt", "old")
        told: list[Any] = []
        files.on("file:*", told.append)
        files.on("directory:*", told.append)
        if instant == "it is told":
            files._runner.precede = precede
        await files.move_file("src", "old")
        files._runner.precede = nothing_precedes
        await all_seen(files, tmp_path, told)
    assert [(event.name, event.path) for event in told] == [
        ("directory:renamed", "old"), ("directory:created", "src"), ("directory:created", "src/deep"),
        ("file:created", "src/deep/b.txt"),
    ]  # fmt: skip


@pytest.mark.parametrize("leaves", ["by our hand", "by another program"])
async def test_what_is_made_anew_in_a_folder_that_had_gone_whole_is_told(tmp_path: Path, leaves: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with watched(root) as (files, told):
        await files.write_file("src/deep/a.txt", "text")
        if leaves == "by our hand":
            await files.delete_directory("src", recursive=True)
        else:
            (root / "src").rename(tmp_path / "src")
        await all_seen(files, root, told)
        told.clear()
        (root / "src/deep").mkdir(parents=True)
        (root / "src/deep/a.txt").write_text("text")
        await all_seen(files, root, told)
        assert [(event.name, event.path) for event in told] == [
            ("directory:created", "src"), ("directory:created", "src/deep"), ("file:created", "src/deep/a.txt"),
        ]  # fmt: skip


async def test_what_is_hinted_at_below_a_link_is_not_looked_at_for_ever(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with watched(root) as (files, told):
        await files.write_file("build/x.txt", "text")
        (root / "build").rename(tmp_path / "build")
        (root / "build").symlink_to("nowhere")
        hints = clerk_of(files)._hints
        hints.take([Hint("changed", "build"), Hint("deleted", "build/x.txt"), Hint("changed", "build/y.txt")])
        await all_seen(files, root, told)
        assert hints.is_empty
        assert ("directory:deleted", "build") in [(event.name, event.path) for event in told]


async def test_a_file_deep_in_folders_that_nobody_was_told_of_is_told_after_each_of_them_once(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        recorder = ForeignRecorder(files._parts, files._runner.tell)
        async with files._parts.locks.hold(["a"], path="a", owner="test", timeout_seconds=60):
            (tmp_path / "a/b/c/d").mkdir(parents=True)
            (tmp_path / "a/b/c/d/e.txt").write_text("text")
            hints = [Hint("changed", "a/b/c/d/e.txt"), Hint("changed", "a/b/c/d/f.txt")]
            for _ in range(8):
                hints = await recorder.record(hints)
                assert 2 <= len(hints) <= 6  # the folders, and what is in the innermost
        while hints:
            hints = await recorder.record(hints)
        await all_seen(files, tmp_path, told)
        made = [("directory:created", path) for path in ("a", "a/b", "a/b/c", "a/b/c/d")]
        assert [(event.name, event.path) for event in told] == [*made, ("file:created", "a/b/c/d/e.txt")]
