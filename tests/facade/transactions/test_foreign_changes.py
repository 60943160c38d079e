"""Entries that other programs made or moved before a transaction changes them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import filetools
from filetools.errors import InvalidPathError
from tests.support.opened import refused


async def test_a_file_that_replaced_a_moved_one_with_equal_bytes_is_created_before_it_is_deleted(
    tmp_path: Path,
) -> None:
    """As `sed -i.bak` leaves it when nothing matches."""
    root = tmp_path / "root"
    root.mkdir()
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False}) as files:
        await files.write_file("note.md", "text\n")
        start = await files.position()
        (root / "note.md").rename(root / "note.md.bak")
        (root / "note.md").write_text("text\n")
        async with files.transaction() as changes:
            await changes.delete_file("note.md")
            await changes.delete_file("note.md.bak")
        told = [f"{record.operation} {record.path}" for record in (await files.changes(start)).records]
    assert told == ["move note.md.bak", "create note.md", "delete note.md", "delete note.md.bak"]


async def test_a_name_that_no_call_can_use_keeps_its_folder_from_being_made_anew(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    nameless = os.fsencode(root / "d") + b"/n\xff"
    with open(nameless, "wb") as file:
        file.write(b"x")
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False}) as files:
        await files.look()
        changes = await files.transaction().__aenter__()
        await changes.delete_directory("d", recursive=True)
        await changes.create_file("d/new.txt", "new\n")
        with pytest.raises(InvalidPathError, match="only with its folder"):
            await changes.__aexit__(None, None, None)
    assert [os.path.exists(nameless), (root / "d/new.txt").exists()] == [True, False]


async def test_a_link_goes_when_its_folder_is_deleted_and_made_anew(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d/link").symlink_to("../a.txt")
    (root / "a.txt").write_text("a\n")
    settings = {"durability": "relaxed", "watch": False, "follow_symlinks": True}
    async with filetools.open(root, settings=settings) as files, files.transaction() as changes:
        await changes.delete_directory("d", recursive=True)
        await changes.create_file("d/new.txt", "new\n")
    assert (os.listdir(root / "d"), (root / "a.txt").read_text()) == (["new.txt"], "a\n")


async def test_a_folder_made_anew_shows_nothing_that_others_put_into_the_former_one(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    settings = {"durability": "relaxed", "watch": False}
    async with filetools.open(tmp_path, settings=settings) as files, files.transaction() as changes:
        await changes.delete_directory("d")
        await changes.create_directory("d")
        (tmp_path / "d/theirs").write_text("theirs")
        assert (await changes.list_files("d")).entries == []
        await refused("FILE_NOT_FOUND", changes.read_file("d/theirs"))
    assert (tmp_path / "d/theirs").read_text() == "theirs"


async def test_what_is_written_in_a_folder_that_others_remove_moves_with_the_folder_above(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d/s").mkdir(parents=True)
    settings = {"durability": "relaxed", "watch": False}
    async with filetools.open(root, settings=settings) as files, files.transaction() as changes:
        await changes.create_file("d/s/new.txt", "new\n")
        shutil.rmtree(root / "d")
        assert [each.path for each in (await changes.list_files("", recursive=True)).entries] == [
            "d",
            "d/s",
            "d/s/new.txt",
        ]
        await changes.move_file("d", "e")
    assert [str(each.relative_to(root)) for each in sorted(root.glob("[de]/**/*"))] == ["e/s", "e/s/new.txt"]
