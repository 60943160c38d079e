"""A transaction over fifty files, its process killed at each of its steps: after reopening it is wholly there or wholly not."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.facade.test_crash_points import DOSE
from tests.facade.test_kill import reopen
from tests.support.crashing import QUIET, Tree, count_calls, die_at, grow, leftovers, moments_of, snapshot
from tests.support.faulty import Plan

DEATHS = 12
"""Moments that are tried by default; all of them from FILETOOLS_DOSE=2 on."""
BEFORE: Tree = {
    **{f"edited/{number}.txt": f"{number}\nold\n".encode() for number in range(14)},
    **{f"deleted/{number}.txt": f"{number}\n".encode() for number in range(9)},
    "deleted/kept.txt": b"kept\n",
    **{f"moved/{number}.txt": f"moved {number}\n".encode() for number in range(8)},
    **{f"folder/{number}.txt": f"in folder {number}\n".encode() for number in range(3)},
    **{f"trash/s/{number}.txt": f"in trash {number}\n".encode() for number in range(3)},
}
NEW_FOLDERS: Tree = {"new": None, "new/0": None, "new/1": None, "new/2": None}
AFTER: Tree = {
    **{f"edited/{number}.txt": f"{number}\nnew\n".encode() for number in range(14)},
    "deleted/kept.txt": b"kept\n",
    "moved/7.txt": b"moved 0\n",
    **{f"moved/to/{number}.txt": f"moved {number}\n".encode() for number in range(1, 7)},
    **{f"renamed/{number}.txt": f"in folder {number}\n".encode() for number in range(3)},
    "saved.txt": b"in trash 1\n",
    **NEW_FOLDERS,
    **{f"new/{number % 3}/{number}.txt": f"new {number}\n".encode() for number in range(12)},
}


async def change_fifty_files(files: FileToolsFacade) -> None:
    async with files.transaction() as tx:
        for number in range(14):
            await tx.edit_file(f"edited/{number}.txt", [filetools.Edit(old="old", new="new")])
        for number in range(9):
            await tx.delete_file(f"deleted/{number}.txt")
        await tx.move_file("moved/0.txt", "moved/7.txt", overwrite=True)
        for number in range(1, 7):
            await tx.move_file(f"moved/{number}.txt", f"moved/to/{number}.txt")
        await tx.move_file("folder", "renamed")
        await tx.move_file("trash/s/1.txt", "saved.txt")
        await tx.delete_directory("trash", recursive=True)
        for number in range(12):
            await tx.create_file(f"new/{number % 3}/{number}.txt", f"new {number}\n")
    touched = {path for path in {**BEFORE, **AFTER} if BEFORE.get(path) != AFTER.get(path)} - set(NEW_FOLDERS)
    assert len(touched) >= 50


def with_folders(tree: Tree) -> Tree:
    above = {parent.as_posix() for path in tree for parent in Path(path).parents} - {"."}
    return {**dict.fromkeys(sorted(above)), **tree}


def prepared(place: Path) -> tuple[Path, Path]:
    """Make a root and its mirror, in step."""
    root, mirror = place / "root", place / "mirror"
    grow(root, BEFORE)
    mirror.mkdir()

    async def main() -> None:
        async with filetools.open(root, mirror=mirror, settings=QUIET) as files:
            assert (await files.sync_all()).success
            for path in BEFORE:
                await files.edit_file(path, [filetools.Edit(old="\n", new="\n", replace_all=True)])

    asyncio.run(main())
    return root, mirror


def copied(place: Path, name: str) -> tuple[Path, Path]:
    shutil.copytree(place / "root", place / name / "root")
    shutil.copytree(place / "mirror", place / name / "mirror")
    return place / name / "root", place / name / "mirror"


def test_fifty_files_are_wholly_changed_or_wholly_not_after_a_death_at_any_step(tmp_path: Path) -> None:
    prepared(tmp_path)
    root, mirror = copied(tmp_path, "model")
    moments = moments_of(count_calls(root, change_fifty_files, mirror).calls)
    assert snapshot(root) == snapshot(mirror) == with_folders(AFTER)
    assert len(moments) > 200
    before, after = with_folders(BEFORE), with_folders(AFTER)
    made = [path for path in after if after[path] is None and path not in before]
    found_before = found_after = 0
    for at, moment in moments if DOSE > 1 else moments[:: -(-len(moments) // DEATHS)]:
        root, mirror = copied(tmp_path, f"{at}-{moment}")
        acknowledged = die_at(root, change_fifty_files, Plan.die(at, moment, exits=True), mirror)
        asyncio.run(reopen(root, mirror))
        found = snapshot(root)
        if found == after:
            found_after += 1
        else:
            found_before += 1
            assert not acknowledged, (at, moment)
            # Folders made for a commit that never came may stay, empty.
            assert {path: text for path, text in found.items() if path not in made} == before, (at, moment)
        assert leftovers(root) == [], (at, moment)
        shown = snapshot(mirror)
        assert {path: found[path] for path in found if path in shown or path not in made} == shown, (at, moment)
        shutil.rmtree(root.parent)
    assert found_before > 1
    assert found_after > 1
