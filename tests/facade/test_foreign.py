"""Saves by other programs are recorded, kept and published, at whatever moment they happen."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.paths import workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.tree.observer import TreeObserver
from tests.support import inside
from tests.support.crashing import CrashingOpening, leftovers
from tests.support.facade_worker import RELAXED
from tests.support.hinted import folder_id
from tests.support.opened import refused, steps_until, watched
from tests.support.people import EDITOR


async def texts_of(files: FileToolsFacade, path: str) -> list[str]:
    """Every text in the path's history, oldest first."""
    versions = [entry.version for entry in (await files.versions(path)).versions if entry.kept]
    return [(await files.read_file(path, version=version)).content for version in reversed(versions)]


async def test_a_save_since_the_read_refuses_the_write_and_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        before = await files.read_file("a.txt")
        await files.write_file("a.txt", "agent\n", expected_version=before.version)
        known = await files.read_file("a.txt")
        (tmp_path / "a.txt").write_text("person\n")
        await refused("VERSION_MISMATCH", files.write_file("a.txt", "agent again\n", expected_version=known.version))
        assert (tmp_path / "a.txt").read_text() == "person\n"
        assert await texts_of(files, "a.txt") == ["first\n", "agent\n", "person\n"]
        records = (await files.changes()).records
        assert [record.actor.kind for record in records] == ["agent", "external"]


def replace_aside(place: Path) -> None:
    aside = place.with_name("aside")
    aside.write_text("stranger\n")
    aside.replace(place)


def write_in_place(place: Path) -> None:
    place.write_text("stranger\n")


@pytest.mark.parametrize("save", [replace_aside, write_in_place])
async def test_a_save_between_look_and_exchange_is_kept_as_a_version(
    tmp_path: Path, save: Callable[[Path], None]
) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        opening.plan.acts["Prepared.exchange"] = lambda: save(tmp_path / "a.txt")
        result = await files.write_file("a.txt", "agent\n")
        assert (tmp_path / "a.txt").read_text() == "agent\n"
        assert "stranger\n" in await texts_of(files, "a.txt")
        assert [warning["code"] for warning in result.warnings] == ["CHANGED_MEANWHILE"]
        told = [(record.operation.value, record.actor.kind) for record in (await files.changes()).records]
        assert told == [("modify", "agent"), ("modify", "external"), ("modify", "agent")]
        assert (await files.write_file("a.txt", "again\n")).replaced_version == result.version


async def test_a_file_made_between_look_and_exchange_is_not_overwritten_unseen(tmp_path: Path) -> None:
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        opening.plan.acts["Prepared.exchange"] = lambda: write_in_place(tmp_path / "a.txt")
        await refused("FILE_EXISTS", files.create_file("a.txt", "agent\n"))
        assert (tmp_path / "a.txt").read_text() == "stranger\n"
        opening.plan.acts["Prepared.exchange"] = lambda: write_in_place(tmp_path / "b.txt")
        await files.write_file("b.txt", "agent\n")
        assert await texts_of(files, "b.txt") == ["agent\n", "stranger\n", "agent\n"]
    assert leftovers(tmp_path) == []


async def test_a_file_deleted_between_look_and_exchange_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        opening.plan.acts["Prepared.exchange"] = (tmp_path / "a.txt").unlink
        await files.write_file("a.txt", "agent\n")
        assert (tmp_path / "a.txt").read_text() == "agent\n"


async def test_a_save_in_the_instant_of_a_deletion_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        opening.plan.acts["remove"] = lambda: replace_aside(tmp_path / "a.txt")
        await files.delete_file("a.txt")
        assert not (tmp_path / "a.txt").exists()
        assert await texts_of(files, "a.txt") == ["first\n", "stranger\n"]


async def test_a_late_save_into_a_displaced_file_becomes_a_version_with_an_event(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    async with watched(tmp_path) as (files, told):
        with (tmp_path / "a.txt").open("r+") as late:
            await asyncio.sleep(0)
            late.write("too")
            late.flush()
            await refused("FILE_BUSY", files.write_file("a.txt", "agent\n"))
        await steps_until(lambda: told)
        await files.write_file("a.txt", "agent\n")
        with (tmp_path / "a.txt").open("r+") as late:
            await files.write_file("a.txt", "agent again\n")
            late.write("late words\n")
        await steps_until(lambda: [event for event in told if event.source == "external"][1:])
        assert "late words\n" in await texts_of(files, "a.txt")
        assert (tmp_path / "a.txt").read_text() == "agent again\n"
        await steps_until(lambda: leftovers(tmp_path) == [])


async def test_changes_by_other_programs_are_published_as_external(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old\n")
    (tmp_path / "gone.txt").write_text("gone\n")
    (tmp_path / "from.txt").write_text("from\n")
    async with watched(tmp_path) as (files, told):
        (tmp_path / "new.txt").write_text("new\n")
        (tmp_path / "old.txt").write_text("changed\n")
        (tmp_path / "gone.txt").unlink()
        (tmp_path / "from.txt").rename(tmp_path / "to.txt")
        (tmp_path / "folder").mkdir()
        await steps_until(lambda: len(told) >= 5)
        seen = {(event.name, event.path, event.source) for event in told}
        assert seen == {
            ("file:created", "new.txt", "external"),
            ("file:modified", "old.txt", "external"),
            ("file:deleted", "gone.txt", "external"),
            ("file:renamed", "to.txt", "external"),
            ("directory:created", "folder", "external"),
        }
        records = (await files.changes()).records
        assert {record.path: record.before_unknown for record in records if record.path in ("old.txt", "gone.txt")} == {
            "old.txt": True,
            "gone.txt": True,
        }


async def test_an_editor_that_saves_by_renaming_has_modified_its_file(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        first = await files.write_file("a.txt", "agent\n")
        replace_aside(tmp_path / "a.txt")
        await steps_until(lambda: any(event.source == "external" for event in told))
        external = [event for event in told if event.source == "external"]
        assert [(event.name, event.path) for event in external] == [("file:modified", "a.txt")]
        record = (await files.changes(paths=["a.txt"])).records[-1]
        assert record.before == first.version


async def test_own_changes_are_published_once(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        await files.write_file("d/a.txt", "1")
        await files.write_file("d/a.txt", "2")
        await files.append_file("d/a.txt", "3")
        await files.move_file("d", "e")
        await files.move_file("e/a.txt", "e/b.txt")
        await files.delete_file("e/b.txt")
        await files.delete_directory("e")
        (tmp_path / "last").write_text("")
        await steps_until(lambda: any(event.path == "last" for event in told))
        await asyncio.sleep(0.3)
        assert [(event.name, event.path) for event in told if event.source != "external"] == [
            ("directory:created", "d"),
            ("file:created", "d/a.txt"),
            ("file:modified", "d/a.txt"),
            ("file:modified", "d/a.txt"),
            ("directory:renamed", "e"),
            ("file:renamed", "e/b.txt"),
            ("file:deleted", "e/b.txt"),
            ("directory:deleted", "e"),
        ]
        assert [event.path for event in told if event.source == "external"] == ["last"]


async def test_ignored_and_excluded_files_are_published_only_if_filetools_wrote_them_or_has_them_open(
    tmp_path: Path,
) -> None:
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "open.log").write_text("1\n")
    async with watched(tmp_path) as (files, told):
        await files.write_file("kept.log", "agent\n")
        opened = await files.for_actor(EDITOR).buffers.open("open.log")
        (tmp_path / "open.log").write_text("2\n")
        (tmp_path / "node_modules").mkdir()
        (tmp_path / "node_modules/x.js").write_text("x")
        (tmp_path / "noise.log").write_text("x")
        (tmp_path / "kept.log").write_text("person\n")
        (tmp_path / "last").write_text("")
        await steps_until(lambda: any(event.path == "last" for event in told))
        await steps_until(lambda: any(event.path == "kept.log" and event.source == "external" for event in told))
        assert {event.path for event in told if event.source == "external"} == {"kept.log", "last", "open.log"}
        editor = files.for_actor(EDITOR)
        async with asyncio.timeout(60):
            while (await editor.buffers.read(opened.handle)).text != "2\n":  # documents follow after the events
                await asyncio.sleep(0.01)


async def test_a_new_file_is_published_as_created_although_an_editor_opens_it_first(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        path = WorkspacePath("new.txt")
        async with inside.at_work(files, path):
            (tmp_path / path).write_text("1\n")
            await files.for_actor(EDITOR).buffers.open(path)
        await steps_until(lambda: bool(told))
        assert [(event.name, event.path) for event in told] == [("file:created", path)]


async def test_a_large_file_is_kept_whole_before_it_is_replaced_or_deleted(tmp_path: Path) -> None:
    large = "line\n" * 1000
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(large + name)
    async with filetools.open(tmp_path, settings={**RELAXED, "max_foreign_bytes": 100}) as files:
        await files.write_file("a.txt", "new")
        await files.delete_file("b.txt")
        await files.move_file("a.txt", "c.txt", overwrite=True)
        for name in ("a.txt", "b.txt", "c.txt"):
            assert large + name in await texts_of(files, name)


async def test_a_file_too_large_to_be_kept_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 2000)
    settings = {**RELAXED, "max_foreign_bytes": 100, "max_write_bytes": 1000}
    async with filetools.open(tmp_path, settings=settings) as files:
        await refused("FILE_TOO_LARGE", files.write_file("a.txt", "new"))
        assert (tmp_path / "a.txt").read_text() == "x" * 2000


async def test_a_write_just_before_the_displaced_file_is_discarded_is_kept(tmp_path: Path) -> None:
    opening = CrashingOpening(tmp_path, settings={"sync_after_seconds": 0.02})
    async with opening as files:
        await files.write_file("a.txt", "first\n")
        late = (tmp_path / "a.txt").open("a")

        def last_word() -> None:
            late.write("last word\n")
            late.close()

        opening.plan.acts["Displaced.is_untouched"] = last_word
        await files.write_file("a.txt", "second\n")
        assert late.closed
        async with asyncio.timeout(60):
            while "first\nlast word\n" not in await texts_of(files, "a.txt"):
                await asyncio.sleep(0.01)
        assert (tmp_path / "a.txt").read_text() == "second\n"


async def test_a_file_that_vanishes_before_the_new_bytes_are_written_is_created_again(tmp_path: Path) -> None:
    """Editors that save by renaming remove the file for a moment."""
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        await files.write_file("a.txt", "first\n")
        opening.plan.acts["prepare"] = (tmp_path / "a.txt").unlink
        result = await files.for_actor(filetools.Actor(kind="agent", id="bob")).write_file("a.txt", "second\n")
        assert result.created
        assert "first\n" in await texts_of(files, "a.txt")
        opening.plan.acts["prepare"] = (tmp_path / "a.txt").unlink
        await refused("FILE_NOT_FOUND", files.edit_file("a.txt", [filetools.Edit(old="second", new="2")]))
    assert not (tmp_path / "a.txt").exists()


async def test_no_line_of_a_stranger_is_lost_that_appends_while_an_agent_appends(tmp_path: Path) -> None:
    script = (
        "import os, sys, time, random\n"
        "for n in range(150):\n"
        "    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)\n"
        "    time.sleep(random.uniform(0, 0.003))\n"
        "    os.write(file, f's-{n:03d}\\n'.encode())\n"
        "    os.close(file)\n"
        "    time.sleep(random.uniform(0, 0.003))\n"
    )
    (tmp_path / "a.txt").write_text("start\n")
    async with watched(tmp_path) as (files, _):
        stranger = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(tmp_path / "a.txt"))
        own: list[str] = []
        refusals: set[str] = set()
        while stranger.returncode is None:
            try:
                await files.append_file("a.txt", f"a-{len(own):03d}\n")
                own.append(f"a-{len(own):03d}")
            except filetools.FileToolsError as exc:
                refusals.add(exc.code)
            await asyncio.sleep(0.001)
        assert refusals <= {"FILE_BUSY", "CHANGED_MEANWHILE"}
        await steps_until(lambda: leftovers(tmp_path) == [])
        entries = (await files.versions("a.txt", limit=100_000)).versions
        # A text that the program itself has overwritten before it was read is named but not kept.
        versions = {one.version for one in entries if one.kept}
        texts = [(await files.read_file("a.txt", version=each)).content for each in versions]
        kept = set((tmp_path / "a.txt").read_text().split())
        assert set(own) <= kept
        kept.update(*(text.split() for text in texts))
        assert {f"s-{number:03d}" for number in range(150)} <= kept


async def test_a_file_made_by_a_stranger_is_recorded_though_the_same_bytes_were_to_be_written(tmp_path: Path) -> None:
    """A version returned by a call can be read even after another program has replaced the file."""
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.write_file("a.txt", "first\n")
        await files.delete_file("a.txt")
        (tmp_path / "a.txt").write_text("strange\n")
        result = await files.write_file("a.txt", "strange\n")
        assert result.unchanged
        (tmp_path / "a.txt").write_text("newer\n")
        assert (await files.read_file("a.txt", version=result.version)).content == "strange\n"


async def test_own_writes_do_not_count_as_foreign_changes(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        await files.look()
        for number in range(20):
            await files.write_file("a.txt", f"{number}")
            await files.write_file(f"new{number}.txt", "x")
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.1)
        assert [event for event in told if event.source == "external"] == []
        (tmp_path / "a.txt").write_text("stranger")
        await steps_until(lambda: any(event.path == "a.txt" and event.source == "external" for event in told))


async def test_a_name_that_no_call_can_address_does_not_block_events_of_others(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        await files.look()
        (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
        (tmp_path / "a.txt").write_text("x")
        await steps_until(lambda: any(event.path == "a.txt" for event in told))


async def test_a_changed_mode_of_a_very_recent_file_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "tick_ns", 20_000_000)
    async with watched(tmp_path) as (files, _):
        await files.look()
        for number in range(6):
            name = f"{number}.sh"
            await files.write_file(name, "x")
            await asyncio.sleep(number / 1000)
            (tmp_path / name).chmod(0o755)
            await steps_until(partial(has_mode, files, name, 0o755))


def has_mode(files: FileToolsFacade, path: str, mode: int) -> bool:
    row = inside.parts(files).journal.tree_index.get(path)
    return row is not None and row.mode == mode


async def test_a_new_spelling_is_recorded_as_a_move_where_case_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_into = LocalStore.look_into

    def any_spelling(store: LocalStore, path: WorkspacePath, names: Collection[str] | None = None) -> Any:
        own, found = look_into(store, path)
        by_key = {name.casefold(): stat for name, stat in found.items()}
        return own, found if names is None else {name: by_key[name.casefold()] for name in names}

    monkeypatch.setattr(workspace, "probe_rules", lambda *_: workspace.NameRules(ignores_case=True))
    monkeypatch.setattr(LocalStore, "look_into", any_spelling)
    (tmp_path / "Docs").mkdir()
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.look()
        (tmp_path / "Docs").rename(tmp_path / "docs")
        position = await files.position()
        inside.hint(files, folder_id(tmp_path), "Docs", "docs")
        await inside.foreign_of(files).work()
        (record,) = (await files.changes(position)).records
        assert (record.operation, record.old_path, record.path) == ("move_directory", "Docs", "docs")


async def test_a_call_that_is_cancelled_waits_for_a_mirror_no_more(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    settings = {**RELAXED, "mirror_wait_seconds": 60.0}
    async with filetools.open(tmp_path / "root", mirror=tmp_path / "mirror", settings=settings) as files:
        await files.write_file("a.txt", "1")
        with inside.hanging_mirror(files) as waiters:
            writing = asyncio.ensure_future(files.write_file("a.txt", "2"))
            await steps_until(lambda: waiters() == 1)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            assert waiters() == 0


def after_each_look(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen in each turn, once the paths of its calls were compared with the disk."""
    named = TreeObserver.named

    def late(self: TreeObserver, paths: Iterable[WorkspacePath]) -> Any:
        found = named(self, paths)
        act()
        return found

    monkeypatch.setattr(TreeObserver, "named", late)


async def test_a_folder_removed_after_the_look_is_published_before_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.write_file("d/a.txt", "1")
        after_each_look(monkeypatch, partial(shutil.rmtree, tmp_path / "d", ignore_errors=True))
        await files.write_file("d/b.txt", "2")
        told = [(record.operation, record.path) for record in (await files.changes()).records]
        assert told[-3:] == [("delete_directory", "d"), ("create_directory", "d"), ("create", "d/b.txt")]


async def test_a_file_that_comes_back_after_the_look_is_published_as_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.write_file("d/a.txt", "1")
        await files.look()
        shutil.rmtree(tmp_path / "d")

        def make_again() -> None:
            if not (tmp_path / "d").exists():
                (tmp_path / "d").mkdir()
                (tmp_path / "d/a.txt").write_text("2")

        after_each_look(monkeypatch, make_again)
        await files.for_actor(filetools.Actor(kind="agent", id="bob")).write_file("d/a.txt", "3")
        told = [(record.operation, record.path) for record in (await files.changes()).records]
        assert told[-4:] == [
            ("delete_directory", "d"), ("create_directory", "d"), ("create", "d/a.txt"), ("modify", "d/a.txt"),
        ]  # fmt: skip


@pytest.mark.parametrize("seconds", [20_000_000_000, 300_000_000_000, -300_000_000_000])
async def test_far_years_and_inodes_of_64_bits_hinder_no_look_and_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    def enlarged(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        kind, (values, more) = call(*arguments, **named).__reduce__()
        return kind((values[0], values[1] + 2**63, *values[2:]), more)

    for name in ("stat", "lstat", "fstat"):
        monkeypatch.setattr(os, name, partial(enlarged, getattr(os, name)))
    (tmp_path / "a.txt").write_text("one")
    try:
        os.utime(tmp_path / "a.txt", (seconds, seconds))
    except OSError:
        pytest.skip("this file system has no such years")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        assert (await files.look()).unread == []
        assert (await files.read_file("a.txt")).content == "one"
        assert (await files.file_info("a.txt", times=True)).modified == (await files.list_files()).entries[0].modified
        await files.write_file("a.txt", "two", expected_version=(await files.read_file("a.txt")).version)
        await files.checkpoint("now")
        assert (await files.look()).unread == []
