"""Existing files are distinguished from new ones: none is ever reported as created, or removed by a restore."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import TreeState
from filetools.facade.facade import FileToolsFacade
from tests.support import inside
from tests.support.opened import (
    all_seen,
    names_in,
    steps_until,
    watched,
)
from tests.support.storms.pictures import differences, on_disk, replayed

NO_WATCHER: dict[str, Any] = {"watch": False, "durability": "relaxed"}


def run(root: Path, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=root, check=True)


def facts(events: list[Any]) -> list[tuple[str, str, str]]:
    return [(event.name, event.path, event.source) for event in events]


async def shown(files: FileToolsFacade) -> TreeState:
    tree = TreeState()
    tree.attach(files.bus)
    await tree.refresh(files)
    return tree


def paths_of(tree: TreeState) -> list[str]:
    return sorted(entry.path for entry in tree.entries())


async def outcomes(files: FileToolsFacade, name: str) -> dict[str, str]:
    return {change.path: change.outcome for change in (await files.restore(name)).changes}


@pytest.mark.parametrize(
    "save",
    [
        "sed -i s/one/ONE/ a.txt",
        "rm a.txt && echo ONE > a.txt",
        "echo ONE > a.txt; chmod 600 a.txt",
    ],
)
async def test_a_file_that_stood_there_before_is_modified_and_not_restored_away(tmp_path: Path, save: str) -> None:
    place = tmp_path / "a.txt"
    place.write_text("one\n")
    place.chmod(0o640)
    async with watched(tmp_path) as (files, events):
        await files.checkpoint("before")
        run(tmp_path, save)
        await all_seen(files, tmp_path, events)
        assert ("file:created", "a.txt", "external") not in facts(events)
        assert (await outcomes(files, "before"))["a.txt"] == "undone"
        assert (place.read_text(), place.stat().st_mode & 0o777) == ("one\n", 0o640)


async def test_a_file_deleted_and_made_again_is_not_restored_away(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with watched(tmp_path) as (files, events):
        await files.checkpoint("before")
        (tmp_path / "a.txt").unlink()
        await all_seen(files, tmp_path, events)
        (tmp_path / "a.txt").write_text("new\n")
        await all_seen(files, tmp_path, events)
        assert facts(events) == [("file:deleted", "a.txt", "external"), ("file:created", "a.txt", "external")]
        assert (await outcomes(files, "before"))["a.txt"] == "undone"
        assert (tmp_path / "a.txt").read_text() == "one\n"


async def test_files_of_a_folder_that_left_and_came_back_are_not_restored_away(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d/a.txt").write_text("one\n")
    async with watched(root) as (files, events):
        await files.checkpoint("before")
        run(root, "mv d ../out")
        await steps_until(lambda: ("directory:deleted", "d", "external") in facts(events))
        run(root, "mv ../out d")
        await all_seen(files, root, events)
        assert facts(events)[-1] == ("file:created", "d/a.txt", "external")
        await files.restore("before", partial=True)
        assert (root / "d/a.txt").read_text() == "one\n"


async def test_a_folder_moved_by_a_program_is_one_record_and_comes_back_whole(tmp_path: Path) -> None:
    (tmp_path / "src/unseen").mkdir(parents=True)
    (tmp_path / "src/unseen/c.txt").write_text("three\n")
    async with watched(tmp_path) as (files, events):
        await files.write_file("src/app.py", "one\n")
        await files.write_file("src/lib/util.py", "two\n")
        before = names_in(tmp_path)
        await files.checkpoint("before")
        await all_seen(files, tmp_path, events)
        events.clear()
        run(tmp_path, "mv src source")
        await all_seen(files, tmp_path, events)
        assert facts(events) == [("directory:renamed", "source", "external")]
        await files.restore("before")
        assert names_in(tmp_path) == before
        await all_seen(files, tmp_path, events)
        assert [event.source for event in events] == ["external", "agent"]


async def test_a_folder_of_unseen_files_moved_by_filetools_is_one_record(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    (root / "big/inner").mkdir(parents=True)
    for number in range(5):
        (root / f"big/inner/{number}.txt").write_text(f"{number}\n")
    async with watched(root, mirror, mirror_probe_seconds=0.05) as (files, events):
        await files.sync_all()
        before = names_in(root)
        await files.checkpoint("before")
        await files.move_file("big", "moved")
        await all_seen(files, root, events)
        assert facts(events) == [("directory:renamed", "moved", "agent")]
        await steps_until(lambda: names_in(mirror) == names_in(root))
        await files.restore("before")
        assert names_in(root) == before


async def test_an_agent_that_edits_in_a_folder_it_has_just_moved_edits_a_file_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.txt").write_text("one\n")
    async with watched(tmp_path) as (files, events):
        await files.checkpoint("before")
        await files.move_file("d", "e")
        await files.edit_file("e/a.txt", [filetools.Edit(old="one", new="two")])
        await all_seen(files, tmp_path, events)
        assert [event.name for event in events] == ["directory:renamed", "file:modified"]
        await files.restore("before")
        assert (tmp_path / "d/a.txt").read_text() == "one\n"


@pytest.mark.parametrize("is_known", [True, False])
async def test_files_of_a_folder_deleted_and_brought_back_stay_when_the_time_before_is_restored(
    tmp_path: Path, is_known: bool
) -> None:
    (tmp_path / "big").mkdir()
    async with filetools.open(tmp_path, settings=NO_WATCHER) as files:
        for number in range(3):
            if is_known:
                await files.write_file(f"big/{number}.txt", f"{number}\n")
            else:
                (tmp_path / f"big/{number}.txt").write_text(f"{number}\n")
        before = names_in(tmp_path)
        await files.checkpoint("before")
        await files.delete_directory("big", recursive=True)
        await files.undo()
        assert (await files.restore("before")).files == []
        assert names_in(tmp_path) == before
        assert [(tmp_path / f"big/{number}.txt").read_text() for number in range(3)] == ["0\n", "1\n", "2\n"]


@pytest.mark.parametrize(
    ("save", "is_known"),
    [
        ("sed -i.bak s/one/ONE/ a.txt", True),
        ("mv a.txt a.txt.bak; cp a.txt.bak a.txt", False),
        ("mv a.txt a.txt.bak; mv new.txt a.txt", True),
    ],
)
async def test_a_backup_made_by_renaming_is_published_and_removed_by_an_earlier_restore(
    tmp_path: Path, save: str, is_known: bool
) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "new.txt").write_text("new\n")
    async with watched(root, mirror, mirror_probe_seconds=0.05) as (files, events):
        await files.sync_all()
        if is_known:
            await files.write_file("a.txt", "one\ntwo\n")
            await files.write_file("new.txt", "newer\n")
        texts = {name: (root / name).read_text() for name in ("a.txt", "new.txt")}
        tree = await shown(files)
        await files.checkpoint("before")
        events.clear()
        run(root, save)
        await all_seen(files, root, events)
        assert facts(events).count(("file:created", "a.txt.bak", "external")) == 1
        assert paths_of(tree) == names_in(root)
        await steps_until(lambda: names_in(mirror) == names_in(root))
        await files.restore("before")
        assert {name: (root / name).read_text() for name in names_in(root)} == texts


@pytest.mark.parametrize("act", ["mv a.txt b.txt", "cp a.txt b.txt"])
async def test_a_new_file_is_published_if_an_agent_is_faster_than_the_watcher(tmp_path: Path, act: str) -> None:
    async with watched(tmp_path) as (files, events):
        await files.write_file("a.txt", "one\n")
        tree = await shown(files)
        await files.checkpoint("before")
        await all_seen(files, tmp_path, events)
        events.clear()
        run(tmp_path, act)
        await files.edit_file("b.txt", [filetools.Edit(old="one", new="ONE")])
        await all_seen(files, tmp_path, events)
        names = [event.name for event in events if event.path == "b.txt"]
        assert names in (["file:created", "file:modified"], ["file:renamed", "file:modified"])
        assert paths_of(tree) == names_in(tmp_path)
        await files.restore("before")
        assert names_in(tmp_path) == ["a.txt"]


async def test_a_change_of_an_unseen_file_is_published_if_an_agent_is_faster_than_the_watcher(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with watched(tmp_path) as (files, events):
        await files.checkpoint("before")
        run(tmp_path, "echo two > a.txt")
        await files.edit_file("a.txt", [filetools.Edit(old="two", new="three")])
        await all_seen(files, tmp_path, events)
        assert [(event.name, event.source) for event in events] == [
            ("file:modified", "external"),
            ("file:modified", "agent"),
        ]
        assert {change.outcome for change in (await files.restore("before")).changes} == {"undone"}
        assert (tmp_path / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize(
    "act", ["rmdir empty; rm -r src", "rm a.txt; mkdir a.txt", "rm -r src/inner; rmdir empty; cp a.txt empty"]
)
async def test_removals_of_folders_that_filetools_did_not_make_are_published(tmp_path: Path, act: str) -> None:
    (tmp_path / "src/inner").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "src/inner/b.txt").write_text("b")
    (tmp_path / "a.txt").write_text("a")
    async with watched(tmp_path) as (files, events):
        tree = await shown(files)
        run(tmp_path, act)
        await all_seen(files, tmp_path, events)
        assert paths_of(tree) == names_in(tmp_path)
        assert len(set(facts(events))) == len(events)


async def test_a_folder_put_in_the_place_of_another_shows_its_own_names(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    for folder, names in ((root / "d", ("a", "both", "gone/x")), (other, ("both", "new", "more/y"))):
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{folder}\n")
    async with watched(root) as (files, events):
        tree = await shown(files)
        await files.checkpoint("before")
        run(root, "mv d ../was && mv ../other d")
        await steps_until(lambda: paths_of(tree) == names_in(root))
        await all_seen(files, root, events)
        assert ("file:modified", "d/both", "external") in facts(events) or (
            "directory:deleted",
            "d",
            "external",
        ) in facts(events)
        await files.restore("before", partial=True)
        assert (root / "d/both").exists()


async def test_a_programs_chmod_is_published_mirrored_and_undone(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()

    def modes() -> list[int]:
        return [(place / "run.sh").stat().st_mode & 0o777 for place in (root, mirror)]

    async with watched(root, mirror, mirror_probe_seconds=0.05) as (files, events):
        await files.write_file("run.sh", "#!/bin/sh\n")
        await files.checkpoint("before")
        os.chmod(root / "run.sh", 0o755)
        await all_seen(files, root, events)
        record = (await files.changes(paths=["run.sh"])).records[-1]
        assert (record.operation.value, record.actor.kind, record.mode) == ("modify", "external", 0o755)
        assert record.before == record.after
        await steps_until(lambda: modes() == [0o755, 0o755])
        await files.restore("before")
        await steps_until(lambda: modes() == [0o644, 0o644])
        await files.redo()
        await steps_until(lambda: modes() == [0o755, 0o755])


@pytest.mark.parametrize("how", ["undo", "mv"])
async def test_a_folder_that_left_and_came_back_at_once_is_watched(tmp_path: Path, how: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with watched(root) as (files, events):
        await files.write_file("d/a.txt", "one\n")
        await files.write_file("d/e/b.txt", "one\n")
        await all_seen(files, root, events)
        if how == "undo":
            await files.delete_directory("d", recursive=True)
            await files.undo()
        else:
            run(root, "mv d ../out && mv ../out d")
        await all_seen(files, root, events)
        events.clear()
        for path in ("d/a.txt", "d/e/b.txt", "d/new.txt"):
            (root / path).write_text("by another program\n")
        await all_seen(files, root, events)
        assert {event.path for event in events} == {"d/a.txt", "d/e/b.txt", "d/new.txt"}


async def test_removals_during_an_overflow_of_the_watcher_are_published(tmp_path: Path) -> None:
    (tmp_path / "d/inner").mkdir(parents=True)
    (tmp_path / "d/inner/a.txt").write_text("a")
    async with watched(tmp_path) as (files, events):
        tree = await shown(files)
        foreign = inside.foreign_of(files)
        if (watcher := files._parts.observer.watcher) is not None:
            watcher.close()  # it receives no hints from now on
        run(tmp_path, "rm -r d; mkdir e; echo x > e/x")
        foreign._agenda.hint_everything("overflow")
        await steps_until(lambda: len(events) >= 3)
        await tree.refresh(files)
        assert paths_of(tree) == names_in(tmp_path)
        assert facts(events) == [
            ("directory:created", "e", "external"),
            ("file:created", "e/x", "external"),
            ("directory:deleted", "d", "external"),
        ]


@pytest.mark.parametrize(
    "act",
    ["mv -T docs old", "rm -r old/deep; mv -T docs old", "rm -r old; echo x > old; mv docs gone; rm old; mv gone old"],
)
async def test_a_folder_that_replaces_another_is_published_after_its_removal(tmp_path: Path, act: str) -> None:
    async with watched(tmp_path) as (files, events):
        await files.write_file("docs/a.txt", "one\n")
        await files.create_directory("old/deep" if "deep" in act else "old")
        await all_seen(files, tmp_path, events)
        start, position = on_disk(tmp_path), await files.position()
        tree = await shown(files)
        run(tmp_path, act)
        await all_seen(files, tmp_path, events)
        records = [record for record in (await files.changes(position)).records if not record.path.startswith("marker")]
        assert replayed(start, records) == (on_disk(tmp_path), [])
        assert [record.operation.value for record in records][-2:] == ["delete_directory", "move_directory"]
        assert paths_of(tree) == names_in(tmp_path)


AT_ONCE = {
    "an agent writes in a folder that has just taken the place of another": (
        ("rm old/gone; mv -T docs old", "old/a"), ("true", "old/inner/d")
    ),
    "an agent changes a file between two of its moves": (("mv docs/a docs/b", "docs/b"), ("mv docs/b docs/c", "")),
    "and that folder goes": (("mv -T docs new; mkdir -p docs/inner", "docs/c"), ("rm -r docs", "")),
    "a folder is made anew where an agent has moved one away": (("mkdir -p docs/inner", "docs/inner/d"), ("true", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_ONCE)
async def test_simultaneous_changes_by_agents_and_programs_are_recorded_as_they_happened(
    tmp_path: Path, name: str
) -> None:
    async with watched(tmp_path) as (files, events):
        for path in ("docs/a", "docs/inner/b", "old/gone"):
            await files.write_file(path, "one\n")
        await all_seen(files, tmp_path, events)
        start, position = on_disk(tmp_path), await files.position()
        if "moved one away" in name:
            await files.move_file("docs", "away")
        for command, path in AT_ONCE[name]:
            run(tmp_path, command)
            if path:
                await files.append_file(path, "by the agent\n")
        await all_seen(files, tmp_path, events)
        records = [one for one in (await files.changes(position)).records if not one.path.startswith("marker")]
        found, faults = replayed(start, records)
        assert (differences("told", found, on_disk(tmp_path)), faults) == ([], [])
        tree = await shown(files)
        assert paths_of(tree) == names_in(tmp_path)
