"""Moving files and folders: refusals before anything is recorded, and what moves along."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import MoveResult
from tests.support.crashing import QUIET, leftovers, snapshot
from tests.support.faulty import EXIT_CODE
from tests.support.forked import forked
from tests.support.opened import assert_at_rest, names_of, recorded, refused, told, version

BEFORE: dict[str, bytes | None] = {"a.txt": b"a", "b.txt": b"b", "d": None, "d/e.txt": b"e", "d/f": None, "d/f/g": b"g"}


REFUSED: dict[str, list[tuple[Any, Any]]] = {
    "FILE_NOT_FOUND": [("no.txt", "x.txt"), ("no.txt", "b.txt"), ("d/no", "x.txt")],
    "FILE_EXISTS": [("a.txt", "b.txt"), ("d", "a.txt"), ("d/f", "d")],
    "IS_A_DIRECTORY": [("a.txt", "d")],
    "INVALID_ARGUMENT": [("a.txt", "a.txt/x"), ("d/f/g", "d/f"), ("d", "d/x"), ("d", "d/f/x"), (None, "x")],
    "NOT_A_DIRECTORY": [("a.txt", "b.txt/x"), ("d", "b.txt/x")],
    "INVALID_PATH": [("", "x"), ("d", "")],
    "PATH_TRAVERSAL": [("d", "../d")],
    "PERMISSION_DENIED": [(".filetools", "x"), ("d", ".filetools/x")],
}


@pytest.mark.parametrize("code", REFUSED)
async def test_a_move_that_cannot_be_is_refused_and_leaves_no_record(
    files: FileToolsFacade, root: Path, code: str
) -> None:
    heard = told(files)
    for source, destination in REFUSED[code]:
        await refused(code, files.move_file(source, destination))
    assert (snapshot(root), heard, await recorded(files)) == (BEFORE, [], [])


@pytest.mark.parametrize("kind", ["link", "pipe"])
async def test_neither_links_nor_pipes_are_moved_or_replaced(files: FileToolsFacade, root: Path, kind: str) -> None:
    if kind == "link":
        (root / "odd").symlink_to("a.txt")
        code = "SYMLINK_NOT_ALLOWED"
    else:
        os.mkfifo(root / "odd")
        code = "NOT_A_REGULAR_FILE"
    await refused(code, files.move_file("odd", "x"))
    await refused(code, files.move_file("a.txt", "odd", overwrite=True))
    assert sorted(os.listdir(root)) == [".filetools", "a.txt", "b.txt", "d", "odd"]


async def test_a_file_moves_with_its_identity_mode_and_time(files: FileToolsFacade, root: Path) -> None:
    (root / "a.txt").chmod(0o640)
    os.utime(root / "a.txt", (1_700_000_000, 1_700_000_000))
    before, heard = (root / "a.txt").stat(), told(files)
    result = await files.move_file("a.txt", "x/y.txt")
    assert result == MoveResult(source="a.txt", destination="x/y.txt", version=version("a"), number=result.number)
    after = (root / "x/y.txt").stat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)
    assert names_of(heard) == [("directory:created", "x"), ("file:renamed", "x/y.txt")]
    assert heard[1].to_dict()["old_path"] == "a.txt"
    assert await recorded(files) == [("create_directory", "x", "agent"), ("move", "x/y.txt", "agent")]
    await refused("FILE_NOT_FOUND", files.read_file("a.txt"))
    await assert_at_rest(files, root)


async def test_a_replaced_destination_stays_readable_by_its_version(files: FileToolsFacade, root: Path) -> None:
    heard = told(files)
    result = await files.move_file("a.txt", "b.txt", overwrite=True)
    assert result == MoveResult(
        source="a.txt", destination="b.txt", version=version("a"), replaced_version=version("b"), number=result.number
    )
    assert names_of(heard) == [("file:deleted", "b.txt"), ("file:renamed", "b.txt")]
    assert (await files.read_file("b.txt", version=version("b"))).content == "b"
    assert snapshot(root)["b.txt"] == b"a"
    assert leftovers(root) == []
    await assert_at_rest(files, root)


@pytest.mark.parametrize(("path", "other"), [("a.txt", "./a.txt"), ("a.txt", "/a.txt"), ("d", "d/"), ("d", ".\\d")])
async def test_a_move_onto_itself_changes_nothing(files: FileToolsFacade, root: Path, path: str, other: str) -> None:
    heard = told(files)
    result = await files.move_file(path, other)
    known = version("a") if path == "a.txt" else None
    assert result == MoveResult(source=path, destination=path, version=known)
    assert (heard, snapshot(root)) == ([], BEFORE)
    assert await recorded(files) == []


@pytest.mark.parametrize(
    ("first", "tree", "is_recorded"),
    [("a.txt", {"a.txt": b"new", "c.txt": b"a"}, False), ("c.txt", {"c.txt": b"anew"}, True)],
)
async def test_a_move_whose_process_died_is_finished_by_the_next_call_on_either_path(
    files: FileToolsFacade, root: Path, first: str, tree: dict[str, bytes], is_recorded: bool
) -> None:
    if is_recorded:
        await files.write_file("a.txt", "A")
        await files.write_file("a.txt", "a")
    with forked("tests.support.facade_worker", "move and die", root, "a.txt", "c.txt") as process:
        assert await asyncio.to_thread(process.wait) == EXIT_CODE
    assert snapshot(root) == BEFORE
    await files.append_file(first, "new")
    async with filetools.open(root, settings=QUIET):
        pass  # recovers what is left
    assert snapshot(root) == {**{path: BEFORE[path] for path in BEFORE if path != "a.txt"}, **tree}


async def test_a_folder_moves_with_everything_in_it(files: FileToolsFacade, root: Path) -> None:
    await files.write_file("d/e.txt", "new e")
    heard = told(files)
    result = await files.move_file("d", "x/t")
    assert result == MoveResult(source="d", destination="x/t", number=result.number)
    assert names_of(heard) == [("directory:created", "x"), ("directory:renamed", "x/t")]
    assert snapshot(root) == {
        "a.txt": b"a", "b.txt": b"b", "x": None, "x/t": None, "x/t/e.txt": b"new e", "x/t/f": None, "x/t/f/g": b"g",
    }  # fmt: skip
    await refused("VERSION_MISMATCH", files.write_file("x/t/e.txt", "2", expected_version=version("e")))
    assert (await files.write_file("x/t/e.txt", "2", expected_version=version("new e"))).replaced_version is not None
    await refused("FILE_NOT_FOUND", files.read_file("d/e.txt"))
    await assert_at_rest(files, root)


async def test_a_foreign_change_found_at_both_ends_of_a_move_onto_itself_is_recorded_once(
    files: FileToolsFacade, root: Path
) -> None:
    await files.write_file("a.txt", "one")
    (root / "a.txt").write_text("two")
    await files.move_file("a.txt", "a.txt")
    assert await recorded(files) == [("modify", "a.txt", "agent"), ("modify", "a.txt", "external")]
