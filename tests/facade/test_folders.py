"""Creating and deleting folders, and calls below a folder that is deleted or moved at the same moment."""

from __future__ import annotations

import asyncio
import os
import shutil
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import DeleteResult, DirectoryResult
from filetools.models.records import ChangeRecord
from tests.support.crashing import QUIET, snapshot
from tests.support.opened import (
    Once,
    ScriptedOpening,
    assert_at_rest,
    names_of,
    outcome_of,
    recorded,
    refused,
    steps_until,
    told,
    until_watched,
    version,
)

BEFORE: dict[str, bytes | None] = {"a.txt": b"a", "d": None, "d/e.txt": b"e", "d/f": None, "d/f/g": b"g", "n": None}


UNMAKEABLE: dict[str, list[Any]] = {
    "FILE_EXISTS": ["a.txt"], "NOT_A_DIRECTORY": ["a.txt/x"], "INVALID_PATH": [""], "PATH_TRAVERSAL": ["x/.."],
    "PATH_TOO_LONG": ["x" * 256], "PERMISSION_DENIED": [".filetools", "d/.filetools"], "INVALID_ARGUMENT": [3],
}  # fmt: skip


async def test_no_folder_is_made_where_none_can_be(files: FileToolsFacade, root: Path) -> None:
    for code, given in UNMAKEABLE.items():
        for path in given:
            await refused(code, files.create_directory(path))
            assert (snapshot(root), await recorded(files)) == (BEFORE, [])


async def test_links_and_pipes_are_not_folders(files: FileToolsFacade, root: Path) -> None:
    (root / "link").symlink_to("d")
    (root / "away").symlink_to(root.parent)
    os.mkfifo(root / "pipe")
    for path in ("link", "link/x", "away", "away/x"):
        await refused("SYMLINK_NOT_ALLOWED", files.create_directory(path))
        await refused("SYMLINK_NOT_ALLOWED", files.delete_directory(path, recursive=True))
    await refused("FILE_EXISTS", files.create_directory("pipe"))
    await refused("NOT_A_DIRECTORY", files.delete_directory("pipe"))
    assert not (root.parent / "x").exists()
    assert (root / "link").is_symlink()


async def test_a_folder_is_made_with_its_parents(files: FileToolsFacade, root: Path) -> None:
    heard = told(files)
    result = await files.create_directory("x/y")
    assert result == DirectoryResult(path="x/y", created=True, number=result.number)
    assert names_of(heard) == [("directory:created", "x"), ("directory:created", "x/y")]
    assert await files.create_directory("x/y/") == DirectoryResult(path="x/y", created=False)
    assert await recorded(files) == [("create_directory", "x", "agent"), ("create_directory", "x/y", "agent")]


UNREMOVABLE: dict[str, list[Any]] = {
    "DIR_NOT_FOUND": ["no", "no/no"], "NOT_A_DIRECTORY": ["a.txt", "a.txt/x"], "DIR_NOT_EMPTY": ["d"],
    "INVALID_PATH": ["", "."], "PERMISSION_DENIED": [".filetools"],
}  # fmt: skip


async def test_a_path_that_is_not_an_empty_folder_is_not_deleted(files: FileToolsFacade, root: Path) -> None:
    for code, given in UNREMOVABLE.items():
        for path in given:
            await refused(code, files.delete_directory(path))
            if code != "DIR_NOT_EMPTY":
                await refused(code, files.delete_directory(path, recursive=True))
            assert (snapshot(root), await recorded(files)) == (BEFORE, [])


async def test_an_empty_folder_is_deleted(files: FileToolsFacade, root: Path) -> None:
    heard = told(files)
    result = await files.delete_directory("n")
    assert result == DeleteResult(path="n", entries=1, number=result.number)
    assert names_of(heard) == [("directory:deleted", "n")]
    assert not (root / "n").exists()


async def test_a_folder_is_deleted_with_everything_in_it(files: FileToolsFacade, root: Path) -> None:
    await files.write_file("d/e.txt", "new e")
    heard = told(files)
    result = await files.delete_directory("d", recursive=True)
    assert result == DeleteResult(path="d", entries=4, number=result.number)
    assert names_of(heard) == [("directory:deleted", "d")]
    assert snapshot(root) == {"a.txt": b"a", "n": None}
    assert (await files.read_file("d/e.txt", version=version("new e"))).content == "new e"
    assert (await files.create_file("d/e.txt", "again")).created
    await assert_at_rest(files, root)


async def test_an_empty_folder_that_a_stranger_fills_in_the_same_instant_stays(root: Path) -> None:
    def fill() -> None:
        (root / "n/new").write_text("person")

    async with ScriptedOpening(root, before=Once("remove_empty_directory", fill)) as files:
        heard = told(files)
        await refused("DIR_NOT_EMPTY", files.delete_directory("n"))
        assert (root / "n/new").read_text() == "person"
        assert heard == []
        assert await recorded(files) == []
        await assert_at_rest(files, root)


async def test_a_new_folder_that_a_stranger_takes_away_between_two_files_in_it_is_recorded_once(root: Path) -> None:
    async with ScriptedOpening(
        root, before=Once("make_directory", partial(shutil.rmtree, root / "new"), at=2)
    ) as files:
        await files.write_multiple([{"path": f"new/{name}", "content": name} for name in "ab"])
        assert [fact[:2] for fact in await recorded(files)].count(("create_directory", "new")) == 1
        assert snapshot(root)["new/b"] == b"b"
        await files.look()
        await assert_at_rest(files, root)


async def test_a_write_while_its_folder_is_about_to_move_is_refused_or_lands_in_the_old_place(root: Path) -> None:
    """The folder's move is recorded but not applied; no other turn can begin before it is."""
    seen: list[str] = []
    loop = asyncio.get_running_loop()

    def look() -> None:
        async def write() -> None:
            paths = ("d/e.txt", "d/new.txt", "t/e.txt", "t/new.txt")
            seen.extend([await outcome_of(other.write_file(path, "x")) for path in paths])
            seen.extend([await outcome_of(other.create_directory(path)) for path in ("d/made", "t/made")])

        asyncio.run_coroutine_threadsafe(write(), loop).result(30)

    async with (
        filetools.open(root, settings={**QUIET, "lock_timeout_seconds": 0.05}) as other,
        ScriptedOpening(root, before=Once("move", look)) as files,
    ):
        await files.write_file("d/e.txt", "new e")
        await files.move_file("d", "t")
        assert seen == ["LOCK_TIMEOUT"] * 6
        assert snapshot(root) == {
            "a.txt": b"a", "n": None, "t": None, "t/e.txt": b"new e", "t/f": None, "t/f/g": b"g",
        }  # fmt: skip
        await assert_at_rest(files, root)
        assert ("delete", "t/e.txt", "external") not in await recorded(files)


async def test_changes_below_a_deleted_folder_happened_before_or_after_the_deletion(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        for _ in range(10):
            await asyncio.gather(
                outcome_of(files.delete_directory("d", recursive=True)),
                outcome_of(files.write_file("d/e.txt", "late")),
                outcome_of(files.create_directory("d/sub")),
                outcome_of(files.append_file("d/f/g", "late")),
            )
            stands = {path for path in snapshot(root) if path.startswith("d")}
            assert stands == await told_tree(files)
            await assert_at_rest(files, root)


async def told_tree(files: FileToolsFacade) -> set[str]:
    """Return the entries below d according to the feed."""
    paths = {path for path in BEFORE if path.startswith("d")}
    for record in (await files.changes()).records:
        if record.operation == "delete_directory":
            paths = {path for path in paths if path != record.path and not path.startswith(f"{record.path}/")}
        elif record.path.startswith("d"):
            paths.add(record.path)
    return paths


async def test_new_folders_of_another_opening_are_not_taken_for_a_stranger_s(root: Path) -> None:
    """The watching leader must not record a folder that a call has made but not committed."""
    watching = {"durability": "relaxed", "sync_after_seconds": 0.05}
    async with filetools.open(root, settings=watching) as leader, filetools.open(root, settings=QUIET) as other:
        await until_watched(leader, root)
        heard = told(leader, "directory:created")
        await other.create_directory("probe")
        await steps_until(lambda: names_of(heard) == [("directory:created", "probe")])
        for number in range(15):
            await other.write_file(f"new{number}/deep/x.txt", "x")
            await other.create_directory(f"made{number}/deep")
            await other.move_file(f"new{number}/deep/x.txt", f"to{number}/deep/x.txt")
        (root / "last").mkdir()
        await steps_until(lambda: ("directory:created", "last") in names_of(heard))
        made: list[ChangeRecord] = []
        # The feed ends at the first unmarked change, and the other opening writes its marks a moment later.
        for _ in range(6000):
            made = [record for record in (await leader.changes()).records if record.operation == "create_directory"]
            if any(record.path == "last" for record in made):
                break
            await asyncio.sleep(0.01)
        ours = product(("new", "made", "to"), range(15), ("", "/deep"))
        assert sorted(record.path for record in made) == sorted(
            ["probe", "last", *(f"{name}{number}{deep}" for name, number, deep in ours)]
        )
        assert [record.path for record in made if record.actor.kind != "agent"] == ["last"]
