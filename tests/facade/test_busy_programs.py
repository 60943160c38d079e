"""Real programs change files during calls: afterwards the rows, the feed and the disk agree."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.journal.storage.contents import version_from
from tests.support import inside
from tests.support.dose import dose
from tests.support.journals import tree_of
from tests.support.opened import ScriptedOpening
from tests.support.storms.pictures import on_disk, replayed


@pytest.fixture(params=["watched", "unwatched"])
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    root = tmp_path / "root"
    root.mkdir()
    async with filetools.open(root, settings={"watch": request.param == "watched"}) as files:
        await files.look()
        yield files


async def judge(files: FileToolsFacade, root: Path) -> None:
    """Look at the whole tree, and assert that rows and feed match the disk."""
    await files.look()
    disk = {path: node.version for path, node in on_disk(root).items()}
    rows = tree_of(inside.parts(files).journal).values()
    assert {row.path: version_from(row.version) for row in rows if row.path} == disk
    tree, faults = replayed({}, inside.parts(files).journal.records())
    assert (faults, {path: node.version for path, node in tree.items()}) == ([], disk)


def _unlink(root: Path, number: int) -> None:
    (root / f"d{number}/new/a").unlink()


def _move_away(root: Path, number: int) -> None:
    (root / f"d{number}/new/a").rename(root / f"moved{number}")


def _make_folder_again(root: Path, number: int) -> None:
    shutil.rmtree(root / f"d{number}/new")
    (root / f"d{number}/new").mkdir()


def _build_twice(root: Path, number: int) -> None:
    for step in range(2):
        shutil.rmtree(root / f"d{number}")
        (root / f"d{number}/js/chunks").mkdir(parents=True)
        (root / f"d{number}/js/chunks/new").write_text(f"{step}")


def _build_in_a_shell(root: Path, number: int) -> None:
    command = "rm -rf new && mkdir -p new/chunks && echo 1 > new/chunks/new"
    subprocess.run(command, shell=True, check=True, cwd=root / f"d{number}")


@pytest.mark.parametrize("act", [_unlink, _move_away, _make_folder_again, _build_twice, _build_in_a_shell])
async def test_changes_in_a_folder_that_was_just_made(
    tmp_path: Path, files: FileToolsFacade, act: Callable[[Path, int], None]
) -> None:
    for number in range(dose(10)):
        await files.write_file(f"d{number}/new/a", "own")
        await asyncio.to_thread(act, tmp_path / "root", number)
    await judge(files, tmp_path / "root")


@pytest.mark.parametrize("pause", ["", "sleep 0.02;"])
@pytest.mark.parametrize("removal", ["", "rmdir lib;", "rm -r lib;"])
async def test_a_folder_that_is_flattened_never_loses_its_files(
    tmp_path: Path, files: FileToolsFacade, removal: str, pause: str
) -> None:
    root = tmp_path / "root"
    for path in ("lib/x/f", "lib/x/y/g"):
        await files.write_file(path, "own")
    command = f"mv lib/x tmp; {pause} {removal} {pause} mv -T tmp lib"
    await asyncio.to_thread(subprocess.run, command, shell=True, check=True, cwd=root)
    await judge(files, root)
    told = [str(each.operation) for each in inside.parts(files).journal.records() if each.path.endswith(("/f", "/g"))]
    assert "delete" not in told


@pytest.mark.parametrize("path", ["new", "folder/new", "d"])
async def test_a_file_that_is_written_as_soon_as_a_program_has_made_it_was_created(
    tmp_path: Path, files: FileToolsFacade, path: str
) -> None:
    root = tmp_path / "root"
    await files.write_file("d/sub/s", "own")
    if path == "d":
        shutil.rmtree(root / "d")
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text("file")
    await files.write_file(path, "own")
    told = [(each.actor.kind, each.operation) for each in inside.parts(files).journal.records() if each.path == path]
    assert told[-2:] == [("external", "create"), ("system", "modify")] or told[-2:] == [
        ("external", "create"),
        (files.actor.kind, "modify"),
    ]
    await judge(files, root)


async def test_a_file_that_changes_at_every_look_has_all_of_its_states_in_the_feed(tmp_path: Path) -> None:
    place, changes = tmp_path / "a.txt", iter(range(20))

    def change(method: str, path: str) -> None:
        if (method, path) == ("stat", "a.txt") and is_on and (number := next(changes, None)) is not None:
            place.write_text(f"{number}\n")

    is_on = False
    async with ScriptedOpening(tmp_path, before=change) as files:
        await files.write_file("a.txt", "first\n")
        is_on = True
        await files.append_file("a.txt", "ours\n")
        records = (await files.changes()).records
    assert place.read_text().endswith("ours\n")
    assert [after.before for after in records[1:]] == [before.after for before in records[:-1]]
