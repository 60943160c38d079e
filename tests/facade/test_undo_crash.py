"""An undo that dies at any call of store or journal: all of it is done, or nothing, and what is left can be done again."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from tests.facade.test_crash_points import reopened
from tests.support.crashing import QUIET, Tree, count_calls, die_at, grow, leftovers, moments_of, snapshot
from tests.support.faulty import Plan

ALICE = Actor(kind="agent", id="alice", session="s1")
BEFORE: Tree = {
    "a.txt": b"one\ntwo\nthree\nfour\nfive\n", "b.txt": b"other\n",
    "d": None, "d/e.txt": b"deep\n", "d/s": None, "d/s/f.txt": b"f\n"
}  # fmt: skip
EVERY = max(1, 3 // int(os.environ.get("FILETOOLS_DOSE", "1")))
"""Only each third moment in the short dose, another third for each case."""


async def several(files: FileToolsFacade) -> None:
    await files.edit_file("a.txt", [Edit(old="two", new="TWO")])
    await files.for_actor(Actor(kind="editor", id="ann")).edit_file("a.txt", [Edit(old="five", new="5")])
    await files.write_file("n/m/new.txt", "n\n")
    await files.delete_file("b.txt")
    await files.move_file("d/e.txt", "e.txt")


async def folders(files: FileToolsFacade) -> None:
    await files.write_file("d/e.txt", "changed\n")
    await files.move_file("d", "x/t")


CASES: dict[str, tuple[Callable[[FileToolsFacade], Awaitable[object]], int, Tree]] = {
    "several files": (several, 1, {**BEFORE, "a.txt": b"one\ntwo\nthree\nfour\n5\n"}),
    "folder out of the trash": (lambda files: files.delete_directory("d", recursive=True), 1, BEFORE),
    "folder moved": (lambda files: files.move_file("d", "x/t"), 1, BEFORE),
    "folder moved and changed": (folders, 1, BEFORE),
    "file deleted with its folder": (lambda files: files.delete_multiple(["a.txt", "d/e.txt"]), 1, BEFORE),
}


async def undo(files: FileToolsFacade) -> object:
    return await files.for_actor(ALICE).undo(since=1)


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_at_any_call_an_undo_is_done_or_not(name: str, tmp_path: Path) -> None:
    act, _, wanted = CASES[name]
    model = tmp_path / "model"
    grow(model, BEFORE)
    asyncio.run(acting(model, act))
    before = snapshot(model)
    counted = copied(model, tmp_path / "counted")
    calls = count_calls(counted, undo).calls
    assert snapshot(counted) == wanted
    for at, moment in moments_of(calls)[list(CASES).index(name) % EVERY :: EVERY]:
        root = copied(model, tmp_path / f"{at}-{moment}")
        acknowledged = die_at(root, undo, Plan.die(at, moment, exits=True))
        found = reopened(root)
        where = (calls[at - 1], moment, acknowledged)
        assert found in ([wanted] if acknowledged else [wanted, *with_empty_folders(before, wanted)]), where
        assert leftovers(root) == [], where
        asyncio.run(acting(root, undo))
        assert snapshot(root) == wanted, where
        shutil.rmtree(root)


async def acting(root: Path, act: Callable[[FileToolsFacade], Awaitable[object]]) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await act(files.for_actor(ALICE))


def copied(model: Path, root: Path) -> Path:
    shutil.copytree(model, root, symlinks=True)
    return root


def with_empty_folders(before: Tree, wanted: Tree) -> list[Tree]:
    """An undo that died before its commit may leave folders it had made, empty; nothing else."""
    made = sorted(path for path, content in wanted.items() if content is None and path not in before)
    return [{**before, **dict.fromkeys(made[:count])} for count in range(len(made) + 1)]
