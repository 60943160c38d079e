"""Foreign changes close to own ones are published, each once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from filetools.facade.facade import FileToolsFacade
from tests.support.opened import Once, ScriptedOpening, all_seen, until_watched, watched


async def move(files: FileToolsFacade, number: int) -> None:
    await files.move_file(f"d{number}/e/a.txt", f"d{number}/b.txt")


def write_in_place(place: Path, text: str) -> None:
    with place.open("r+") as file:
        file.write(text)


def replace_aside(place: Path, text: str) -> None:
    aside = place.with_name("aside")
    aside.write_text(text)
    aside.replace(place)


@pytest.mark.parametrize("save", [write_in_place, replace_aside])
async def test_a_save_right_after_our_own_is_published(tmp_path: Path, save: Callable[[Path, str], None]) -> None:
    async with watched(tmp_path) as (files, told):
        for number in range(10):
            await files.write_file(f"{number}.txt", "ours\n")
            save(tmp_path / f"{number}.txt", "them\n")
        await all_seen(files, tmp_path, told)
        saved = {event.path for event in told if event.source == "external" and event.name == "file:modified"}
        assert saved == {f"{number}.txt" for number in range(10)}


async def test_foreign_changes_of_what_we_made_moved_and_deleted_are_published(tmp_path: Path) -> None:
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
        }
        # Either the folder was recognised as another one, or only its contents as gone.
        assert theirs & {("file:deleted", "d/a.txt"), ("directory:deleted", "d")}
        (tmp_path / "gone.txt").unlink()
        await all_seen(files, tmp_path, told)
        assert told[-1].name == "file:deleted"


async def test_a_folder_made_where_ours_is_moving_away_is_published(tmp_path: Path) -> None:
    def make_anew() -> None:
        (tmp_path / "src/deep").mkdir(parents=True)
        (tmp_path / "src/deep/b.txt").write_text("new")
        time.sleep(0.3)  # so that the watcher reports it before the call ends

    async with ScriptedOpening(tmp_path, after=Once("move", make_anew), settings={"watch": True}) as files:
        await until_watched(files, tmp_path)
        await files.write_file("src/deep/a.txt", "old")
        told: list[Any] = []
        files.on("file:*", told.append)
        files.on("directory:*", told.append)
        await files.move_file("src", "old")
        await all_seen(files, tmp_path, told)
    assert [(event.name, event.path) for event in told] == [
        ("directory:renamed", "old"), ("directory:created", "src"), ("directory:created", "src/deep"),
        ("file:created", "src/deep/b.txt"),
    ]  # fmt: skip


@pytest.mark.parametrize("leaves", ["by our hand", "by another program"])
async def test_new_entries_of_a_folder_that_was_removed_as_a_whole_are_published(tmp_path: Path, leaves: str) -> None:
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


async def test_a_file_deep_in_unknown_folders_is_published_once_after_each_of_them(tmp_path: Path) -> None:
    async with watched(tmp_path) as (files, told):
        (tmp_path / "a/b/c/d").mkdir(parents=True)
        (tmp_path / "a/b/c/d/e.txt").write_text("text")
        await all_seen(files, tmp_path, told)
        made = [("directory:created", path) for path in ("a", "a/b", "a/b/c", "a/b/c/d")]
        assert [(event.name, event.path) for event in told] == [*made, ("file:created", "a/b/c/d/e.txt")]
