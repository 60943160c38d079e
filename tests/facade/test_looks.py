"""Looks at the whole tree: changes made while no process watched are recorded, with the time at which they were noticed."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import ChangeRecord
from filetools.tree import observer
from tests.support import inside
from tests.support.dose import dose
from tests.support.exact_trees import ALONE, run
from tests.support.inside import parts
from tests.support.mirror_worlds import Hang, caught_up
from tests.support.opened import (
    ScriptedOpening,
    all_seen,
    recorded,
    refused,
    steps_until,
    until_looked_back,
    watched,
)
from tests.support.people import EDITOR
from tests.support.storms.pictures import differences, on_disk, replayed
from tests.support.unprivileged import as_nobody


def grow(root: Path) -> None:
    run(root, "mkdir -p src docs empty; echo one > src/a.py; echo two > src/b.py; echo text > docs/note.md")


async def look_once(root: Path) -> None:
    async with filetools.open(root, settings=ALONE) as files:
        await files.look()


async def records_of(files: FileToolsFacade) -> dict[str, ChangeRecord]:
    return {record.path: record for record in (await files.changes()).records}


async def test_an_unwatched_change_has_the_time_at_which_it_was_noticed(tmp_path: Path) -> None:
    grow(tmp_path)
    await look_once(tmp_path)
    run(
        tmp_path,
        "sed -i s/one/ONE/ src/a.py; rm src/b.py; mv docs/note.md docs/n.md; rmdir empty; mkdir m; echo x > m/x",
    )
    await asyncio.sleep(0.02)
    opened = time.time()
    async with filetools.open(tmp_path, settings=ALONE) as files:
        assert (await files.look()).unread == []
        told = {path: record.time for path, record in (await records_of(files)).items()}
        assert set(told) == {"src/a.py", "src/b.py", "docs/n.md", "empty", "m", "m/x"}
        assert all(opened <= when <= time.time() for when in told.values())
        (newest,) = [each for each in (await files.versions("src/a.py")).versions if each.number]
        assert newest.time == told["src/a.py"]
        watch = await files.watch_changes(f"{(await files.position()).split(':')[0]}:0")
        assert {each.path: each.time for each in watch.changes} == told


async def test_what_a_call_on_one_path_finds_is_recorded_too(tmp_path: Path) -> None:
    grow(tmp_path)
    await look_once(tmp_path)
    run(tmp_path, "echo more >> src/a.py; echo more >> src/b.py; echo more >> docs/note.md")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.versions("src/a.py")
        await files.write_file("src/b.py", "agent\n", on_stale="merge")
        await files.provenance("docs/note.md")
        found = {record.path for record in (await files.changes()).records if record.actor.kind == "external"}
        assert found == {"src/a.py", "src/b.py", "docs/note.md"}


async def test_changes_before_and_after_the_watch_begins_are_recorded(tmp_path: Path) -> None:
    grow(tmp_path)
    await look_once(tmp_path)
    run(tmp_path, "echo more >> src/a.py; rm src/b.py; echo new > new")
    async with watched(tmp_path) as (files, told):
        assert set(await records_of(files)) - {"probe.tmp"} == {"src/a.py", "src/b.py", "new"}
        run(tmp_path, "echo more >> docs/note.md; rm new")
        await all_seen(files, tmp_path, told)
        await files.look()
        newest = await records_of(files)
        assert (newest["docs/note.md"].operation, newest["new"].operation) == ("modify", "delete")


async def test_an_undo_of_a_span_includes_unwatched_changes(tmp_path: Path) -> None:
    grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("with its bytes")
        since = await files.write_file("agent.txt", "agent\n")
        run(tmp_path, "sed -i s/one/ONE/ src/a.py; rm docs/note.md")
        await files.undo(since=since.number, actor="*")
        assert (tmp_path / "src/a.py").read_text() == "one\n"
        assert (tmp_path / "docs/note.md").read_text() == "text\n"
        assert not (tmp_path / "agent.txt").exists()


def test_an_undo_a_restore_and_a_verified_mirror_name_unreadable_paths(tmp_path: Path) -> None:
    async def act() -> None:
        (tmp_path / "root").mkdir()
        async with filetools.open(tmp_path / "root", mirror=tmp_path / "mirror", settings=ALONE) as files:
            await files.write_file("a.txt", "1\n")
            await files.write_file("closed/b.txt", "1\n")
            await files.checkpoint("first")
            number = (await files.write_file("a.txt", "2\n")).number
            (tmp_path / "root/closed").chmod(0)
            assert (await files.undo(since=number, dry_run=True)).unread == ["closed"]
            assert (await files.restore("first", dry_run=True)).unread == ["closed"]
            assert (await files.sync_all(preview=True, verify=True)).unread == ["closed"]
            (tmp_path / "root/closed").chmod(0o755)

    as_nobody(tmp_path, lambda: asyncio.run(act()))


async def test_a_verified_mirror_and_the_feed_get_unwatched_changes(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    async with filetools.open(tmp_path / "root", mirror=tmp_path / "mirror", settings=ALONE) as files:
        await files.write_file("a.txt", "1\n")
        (tmp_path / "root/b.txt").write_text("program\n")
        await files.look()
        (tmp_path / "root/b.txt").write_text("program again\n")
        await files.sync_all(verify=True)
        assert (tmp_path / "mirror/b.txt").read_text() == "program again\n"
        assert ("modify", "b.txt", "external") in await recorded(files)


def test_a_read_only_workspace_is_not_looked_at_and_the_result_says_so(tmp_path: Path) -> None:
    async def act() -> None:
        (tmp_path / "a.txt").write_text("1\n")
        tmp_path.chmod(0o555)
        async with filetools.open(tmp_path, settings=ALONE) as files:
            result = await files.look()
            assert (result.recorded, result.unread) == (False, [])
            assert parts(files).journal.tree_index.looked() is None
        tmp_path.chmod(0o755)

    as_nobody(tmp_path, lambda: asyncio.run(act()))


async def test_a_missing_root_does_not_count_as_deleted_files(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with filetools.open(root, state_dir=tmp_path / "state", settings=ALONE) as files:
        await files.write_file("a.txt", "1\n")
        await files.look()
        shutil.rmtree(root)
        await refused("WORKSPACE_GONE", files.look())
        assert await recorded(files) == [("create", "a.txt", "agent")]


async def test_neither_opening_nor_reading_waits_for_a_look(tmp_path: Path) -> None:
    grow(tmp_path)
    hang = Hang("look_into")
    opening = ScriptedOpening(tmp_path, settings={"watch": True}, before=hang)
    hang.on()
    async with opening as files:
        await steps_until(hang.reached.is_set)
        assert (await files.read_file("src/a.py")).content == "one\n"
        hang.off()
        await files.write_file("src/b.py", "agent\n")
        await until_looked_back(files)
        assert parts(files).journal.tree_index.looked() is not None


async def test_opening_again_lists_each_known_folder_once(tmp_path: Path) -> None:
    grow(tmp_path)
    await look_once(tmp_path)
    listed: list[str] = []

    def count(method: str, path: str) -> None:
        listed.extend([path] if method == "look_into" else [])

    async with ScriptedOpening(tmp_path, settings={"watch": True}, before=count) as files:
        await until_looked_back(files)
        assert sorted(listed) == ["", "docs", "empty", "src"]


async def test_a_look_that_a_call_asks_for_replaces_the_one_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "mkdir $(seq -f m%g 100)")
    await look_once(tmp_path)
    monkeypatch.setattr(observer, "WORK_SECONDS", 0.0)  # one folder in each turn
    hang, listed = Hang("look_into"), list[str]()

    def hold(method: str, path: str) -> None:
        if method == "look_into":
            listed.append(path)
            if len(listed) in (50, 100, 120):
                hang.on()
        hang(method, path)

    async def asked() -> asyncio.Task[object]:
        look: asyncio.Task[object] = asyncio.create_task(files.look())
        await steps_until(lambda: inside.is_look_asked(files))
        hang.off()
        return look

    async with ScriptedOpening(tmp_path, settings={"watch": True}, before=hold) as files:
        await steps_until(hang.reached.is_set)
        given_up = await asked()
        await steps_until(lambda: len(listed) == 100)
        given_up.cancel()
        hang.off()
        await steps_until(lambda: len(listed) == 120 and given_up.done())
        await (await asked())
        await until_looked_back(files)
        assert len(listed) == 50 + 101 + 101  # the second call lets the look of the first one end


async def test_a_document_follows_its_file_although_only_a_look_sees_the_change(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\ntwo\nthree\n")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        ann = files.for_actor(EDITOR)
        opened = await ann.buffers.open("a.md")
        await ann.buffers.change(opened.handle, buffer_version=1, text="ONE\ntwo\nthree\n")
        (tmp_path / "a.md").write_text("one\ntwo\nTHREE\n")
        merged = asyncio.Event()
        ann.on("buffer:changed", lambda event: merged.set())
        await files.look()
        async with asyncio.timeout(60):
            await merged.wait()
        assert (await ann.buffers.read(opened.handle)).text == "ONE\ntwo\nTHREE\n"
        assert await recorded(files) == [("modify", "a.md", "external")]


async def test_closing_ends_a_look(tmp_path: Path) -> None:
    grow(tmp_path)
    reached, free, scans = threading.Event(), threading.Event(), list[str]()

    def hold(method: str, path: str) -> None:
        if method == "look_into":
            scans.append(path)
            reached.set()
            free.wait(60)

    async with ScriptedOpening(tmp_path, before=hold) as files:
        look = asyncio.create_task(files.look())
        await steps_until(reached.is_set)
        asyncio.get_running_loop().call_later(0.05, free.set)
    await refused("WORKSPACE_GONE", look)
    assert scans == [""]


async def test_a_look_in_the_smallest_parts_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path)
    # Enough folders for the second look at a missing name to come before its new place is looked at.
    run(tmp_path, "mkdir -p z/deep $(seq -f m%g 100)")
    run(tmp_path, "echo kept > a_file; echo busy > a_log; echo moved > z/deep/moved")
    monkeypatch.setattr(observer, "WORK_SECONDS", 0.0)  # one folder in each turn
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.look()
        assert await recorded(files) == []  # all of it was there before
    run(tmp_path, "mv z/deep/moved a_moved; mv a_file z/deep/file; rm src/b.py; mkdir new; echo new > new/file")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        with (tmp_path / "a_log").open("a") as log:
            log.write("more")
            log.flush()
            async with asyncio.timeout(60):
                assert (await files.look()).unread == ["a_log"]
        await files.look()
        assert sorted(await recorded(files)) == [
            ("create", "new/file", "external"), ("create_directory", "new", "external"),
            ("delete", "src/b.py", "external"), ("modify", "a_log", "external"),
            ("move", "a_moved", "external"), ("move", "z/deep/file", "external"),
        ]  # fmt: skip


KILLED = """
import asyncio, os, sys, filetools
from filetools.journal.tree_rows import TreeTable
from filetools.tree.observation import Observation
def dying(self, *values, **options):
    os.kill(os.getpid(), 9)
setattr({"_take_away": Observation, "note_whole_look": TreeTable}[sys.argv[2]], sys.argv[2], dying)
async def main():
    async with filetools.open(sys.argv[1], settings={"durability": "relaxed"}):
        await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.parametrize("place", ["_take_away", "note_whole_look"])
async def test_a_process_killed_in_its_first_look_leaves_everything_to_the_next(tmp_path: Path, place: str) -> None:
    grow(tmp_path)
    await look_once(tmp_path)
    run(tmp_path, "sed -i s/one/ONE/ src/a.py; rm src/b.py; echo new > new")
    killed = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", KILLED, str(tmp_path), place], check=False)
    assert killed.returncode == -signal.SIGKILL
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.look()
        await files.look()
        assert sorted(await recorded(files)) == [
            ("create", "new", "external"), ("delete", "src/b.py", "external"), ("modify", "src/a.py", "external")
        ]  # fmt: skip


async def test_two_processes_that_look_at_once_tell_a_change_once(tmp_path: Path) -> None:
    grow(tmp_path)
    await look_once(tmp_path)
    run(tmp_path, "sed -i s/one/ONE/ src/a.py; rm src/b.py; mv docs docs2; echo new > new")
    async with filetools.open(tmp_path, settings=ALONE) as one, filetools.open(tmp_path, settings=ALONE) as two:
        await asyncio.gather(one.look(), two.look(), one.look(), two.look())
        assert sorted(await recorded(one)) == [
            ("create", "new", "external"), ("delete", "src/b.py", "external"), ("modify", "src/a.py", "external"),
            ("move_directory", "docs2", "external"),
        ]  # fmt: skip


async def test_a_nested_repository_is_a_folder_like_any_other(tmp_path: Path) -> None:
    grow(tmp_path)
    run(tmp_path, "mkdir inner; cd inner; git init -q; echo x > x; git add x")
    await look_once(tmp_path)
    run(tmp_path, "echo y >> inner/x; cd inner; git add x")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.look()
        assert await recorded(files) == [("modify", "inner/x", "external")]


async def test_a_mirror_that_is_filled_gets_recorded_files_that_are_away_for_an_instant(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    async with filetools.open(root, settings=ALONE) as files:
        await files.write_file("src/a.txt", "1\n")
        await files.write_file("src/b.txt", "1\n")
        await files.look()  # otherwise there is one before the mirror is filled
    run(root, "mv src ../away; mkdir src; echo other > src/b.txt")
    async with filetools.open(root, mirror=mirror, settings=ALONE) as files:
        await caught_up(files)
        run(root, "rm -r src; mv ../away src")
        await files.look()
        assert await recorded(files) == [
            ("create_directory", "src", "agent"), ("create", "src/a.txt", "agent"), ("create", "src/b.txt", "agent")
        ]  # fmt: skip
        assert [(mirror / name).read_text() for name in ("src/a.txt", "src/b.txt")] == ["1\n", "1\n"]


async def test_without_a_watcher_a_removed_folder_is_published_before_a_call_makes_it_again(
    tmp_path: Path,
) -> None:
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.write_file("src/a.txt", "1\n")
        run(tmp_path, "rm -r src")
        await files.write_file("src/b.txt", "2\n")
        assert await recorded(files) == [
            ("create_directory", "src", "agent"), ("create", "src/a.txt", "agent"),
            ("delete_directory", "src", "external"), ("create_directory", "src", "agent"),
            ("create", "src/b.txt", "agent"),
        ]  # fmt: skip


@pytest.mark.parametrize("is_made_anew", [True, False])
async def test_an_old_file_in_a_new_folder_is_published_as_created(tmp_path: Path, is_made_anew: bool) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (root / "old").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "a").write_text("old\n")
    async with filetools.open(root, settings=ALONE) as files:
        await asyncio.sleep(0.05)  # older than the tick of the clock that stamps files
        await files.look()
        position = await files.position()
        if is_made_anew:
            await files.delete_directory("old")
        elsewhere.rename(root / ("old" if is_made_anew else "new"))
        await files.delete_file("old/a" if is_made_anew else "new/a")
        records = (await files.changes(position)).records
        assert [str(record.operation.value) for record in records][-3:] == ["create_directory", "create", "delete"]


DEEDS = (
    "echo {n} >> a/x", "echo {n} > a/new{n}; sleep 0.03", "rm -f a/new*", "mkdir -p b/deep{n}; echo {n} > b/deep{n}/f",
    "rm -rf b/deep*", "mv a c 2>/dev/null || mv c a", "mv d/y d/z 2>/dev/null || mv d/z d/y", "chmod 600 d/w", "chmod 644 d/w",
    "rm -f e; mkdir -p e; echo {n} > e/in", "rm -rf e; echo {n} > e", "cp d/w d/w{n}; mv d/w{n} d/w",
    "touch -d 2001-01-01 d/w; printf {n}{n} > d/w; touch -d 2001-01-01 d/w", "true",
)  # fmt: skip


async def deed_of_ours(files: FileToolsFacade, number: int) -> None:
    match number % 3:
        case 0:
            await files.write_file(f"b/ours{number}/f.txt", f"{number}\n")
        case 1:
            await files.append_file("top", f"{number}\n")
        case _:
            await files.undo()


@pytest.mark.parametrize("seed", range(dose(2)))
async def test_a_look_finds_exactly_the_changes_since_the_previous_one(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    run(tmp_path, "mkdir a b d; echo 1 > a/x; echo 2 > d/y; echo 3 > d/w; echo 4 > top")
    async with filetools.open(tmp_path, settings=ALONE) as files, filetools.open(tmp_path, settings=ALONE) as others:
        await files.look()
        for number in range(15):
            start, position = on_disk(tmp_path), await files.position()
            for deed in chance.sample(DEEDS, 2):
                run(tmp_path, f"({deed.format(n=number)}) 2>/dev/null || true")  # what it is about may not be there
            if chance.random() < 0.5:
                with suppress(filetools.FileToolsError):  # what it needs may not be there
                    await deed_of_ours(files, number)
            if chance.random() < 0.3:
                await others.look()
            if chance.random() < 0.5:
                await asyncio.sleep(0.05)  # longer than the tick of the clock that stamps files
            await files.look()
            told, faults = replayed(start, (await files.changes(position)).records)
            assert (differences("told", told, on_disk(tmp_path)), faults) == ([], []), number
