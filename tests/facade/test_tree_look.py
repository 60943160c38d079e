"""Looks at the whole tree that remember what the one before has met: they say the same as one that remembers nothing."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import random
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade import tree_look
from filetools.facade.facade import FileToolsFacade
from filetools.facade.tree_memory import TreeLook
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.survey import TreeSurvey
from filetools.stores.local import LocalStore
from filetools.stores.reading import stat_of
from filetools.stores.store import Facts, FileStat
from tests.support.dose import dose
from tests.support.journals import put

ALONE: dict[str, Any] = {"watch": False, "durability": "relaxed"}
OLD_SECONDS = 0.05
"""Longer than the tick of the clock that stamps files."""
DEEDS = (
    "echo {n} >> a/x",
    "echo {n} > a/new{n}; sleep 0.03",
    "rm -f a/new*",
    "mkdir -p b/deep{n}; echo {n} > b/deep{n}/f",
    "rm -rf b/deep*",
    "mv a c 2>/dev/null || mv c a",
    "mv d/y d/z 2>/dev/null || mv d/z d/y",
    "chmod 600 d/w || true",
    "chmod 644 d/w || true",
    "echo '*.log' > .gitignore; echo {n} > a.log",
    "echo 'd/' > .gitignore",
    "rm -f .gitignore",
    "rm -f e; mkdir -p e; echo {n} > e/in",
    "rm -rf e; echo {n} > e",
    "rm -rf e; ln -s d e",
    "cp d/w d/w{n}; mv d/w{n} d/w",
    "touch -d '2001-01-01' d/w; printf {n}{n} > d/w; touch -d '2001-01-01' d/w",
    "true",
)


def run(root: Path, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=root, check=True)


def grow(root: Path, files: int = 20) -> None:
    run(root, "mkdir -p a b d; echo 1 > a/x; echo 2 > d/y; echo 3 > d/w; echo 4 > top")
    for number in range(files):
        (root / "d" / f"file{number}").write_text(f"{number}\n")
    os.sync()


def facts(seen: TreeLook) -> tuple[Any, ...]:
    """Return what a look has met, without the stamps of what was too young to be trusted."""
    rows = {key: (row.path, row.kind, row.mode, row.version) for key, row in seen.rows.items()}
    return rows, seen.heads, sorted(seen.closed), sorted(seen.unnamed), seen.scope, seen.hints


def afresh(files: FileToolsFacade) -> TreeLook:
    """Look at the tree as one who remembers nothing."""
    looker = inspect.getclosurevars(files._runner.look_at_tree).nonlocals["looker"]()
    survey = TreeSurvey(files._parts.store, looker._rules)
    return tree_look._Comparison(looker._parts, looker._rules, survey, None, files._runner.check_open, 0.0).run()


async def deed_of_ours(files: FileToolsFacade, number: int) -> None:
    if number % 4 == 0:
        await files.write_file(f"b/ours{number}/f.txt", f"{number}\n")
    elif number % 4 == 1:
        await files.append_file("a.log", f"{number}\n")
    elif number % 4 == 2:
        await files.append_file("top", f"{number}\n")
    else:
        await files.undo()


@pytest.mark.parametrize("seed", range(dose(4)))
async def test_a_look_says_what_one_without_memory_says(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files, filetools.open(tmp_path, settings=ALONE) as others:
        for number in range(25):
            for deed in chance.sample(DEEDS, 2):
                run(tmp_path, f"({deed.format(n=number)}) 2>/dev/null || true")  # what it is about may not be there
            if chance.random() < 0.5:
                with suppress(filetools.FileToolsError):  # what it needs may not be there
                    await deed_of_ours(chance.choice((files, others)), number)
            if chance.random() < 0.3:
                await others._runner.look_at_tree()
            if chance.random() < 0.5:
                await asyncio.sleep(OLD_SECONDS)
            seen = await files._runner.look_at_tree()
            assert facts(seen) == facts(await files._parts.crew.run(lambda: afresh(files)))


@pytest.mark.parametrize("files_there", [20, 200])
async def test_a_look_costs_what_has_changed(tmp_path: Path, files_there: int, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, files_there)
    await asyncio.sleep(OLD_SECONDS)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("first")
        compared: list[object] = []

        def counted(found: Facts) -> FileStat:
            compared.append(found)
            return stat_of(found)

        monkeypatch.setattr(tree_look, "stat_of", counted)
        first = await files._runner.look_at_tree()
        second = await files._runner.look_at_tree()
        assert (compared, second.rows is first.rows, second.heads is first.heads) == ([], True, True)
        run(tmp_path, "echo more >> d/w")
        await asyncio.sleep(OLD_SECONDS)
        await files._runner.look_at_tree()
        # What differs, and the same once more, to see that it is told; the folder's own stamp has not moved.
        assert len(compared) == 2


async def test_to_see_that_everything_is_told_a_look_does_not_read_the_tree_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path)
    await asyncio.sleep(OLD_SECONDS)
    read: list[str] = []
    scan = LocalStore.scan_again

    def counted(store: LocalStore, path: WorkspacePath, *known: Any) -> tuple[dict[str, Facts], Facts | None]:
        read.append(path)
        return scan(store, path, *known)

    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("first")
        run(tmp_path, "echo more >> d/w; echo more >> a/x; mv d/y b/y; rm d/file3; echo new > top2")
        await asyncio.sleep(OLD_SECONDS)
        monkeypatch.setattr(LocalStore, "scan_again", counted)
        seen = await files._runner.look_at_tree()
        assert sorted(read) == ["", "a", "b", "d"]
        assert facts(seen) == facts(await files._parts.crew.run(lambda: afresh(files)))
        assert len((await files.changes()).records) == 5


async def test_folders_and_looks_of_others_are_not_overlooked(tmp_path: Path) -> None:
    grow(tmp_path)
    await asyncio.sleep(OLD_SECONDS)
    async with filetools.open(tmp_path, settings=ALONE) as files, filetools.open(tmp_path, settings=ALONE) as others:
        await files._runner.look_at_tree()
        run(tmp_path, "echo found > d/found")
        await others._runner.look_at_tree()
        await others.delete_file("d/found")
        await others.move_file("d", "moved")
        seen = await files._runner.look_at_tree()
        assert facts(seen) == facts(await files._parts.crew.run(lambda: afresh(files)))
        assert "moved/w" in seen.rows


async def test_a_record_of_a_file_that_stands_as_it_did_has_it_looked_at(tmp_path: Path) -> None:
    grow(tmp_path)
    await asyncio.sleep(OLD_SECONDS)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        before = (await files._runner.look_at_tree()).heads["top"]
        put(files._parts.journal, "top", b"what is not there", applied=True)
        after = (await files._runner.look_at_tree()).heads["top"]
        assert (after.version, after.number > 1) == (before.version, True)


async def test_names_of_a_folder_are_read_again_only_if_they_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path)
    await asyncio.sleep(OLD_SECONDS)
    listed = []
    read_names = os.listdir

    def counted(folder: int) -> list[str]:
        listed.append(os.readlink(f"/proc/self/fd/{folder}").removeprefix(f"{tmp_path}").removeprefix("/"))
        return read_names(folder)

    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("first")
        monkeypatch.setattr(os, "listdir", counted)
        for command, expected in (
            ("true", []),
            ("echo more >> d/w", []),
            ("cp d/w b/new", ["b"]),
            ("touch -d 2001-01-01 d; touch -r d b/new; mv d/y d/z; touch -r b/new d", ["d"]),
            ("rm a/x", ["a"]),
            ("true", []),
        ):
            run(tmp_path, command)
            await asyncio.sleep(OLD_SECONDS)
            listed.clear()
            seen = await files._runner.look_at_tree()
            assert (command, sorted(listed)) == (command, expected)
            assert facts(seen) == facts(await files._parts.crew.run(lambda: afresh(files)))


async def test_what_a_look_remembers_of_files_costs_no_search_for_garbage(tmp_path: Path) -> None:
    counts = []
    for number, files_there in enumerate((50, 2050)):
        root = tmp_path / str(number)
        root.mkdir()
        grow(root, files_there)
        await asyncio.sleep(OLD_SECONDS)
        async with filetools.open(root, settings=ALONE) as files:
            await files.checkpoint("first")
            await files.checkpoint("second")
            for _ in range(3):  # each leaves out what only refers to what the one before has left out
                gc.collect()
            counts.append(len(gc.get_objects()))
    # A thread more has about 20 objects, the first use of a module 100.
    assert counts[1] - counts[0] < 300
