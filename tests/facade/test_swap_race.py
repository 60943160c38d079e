"""A process keeps swapping names during every call of the facade: nothing outside the root is read, listed or changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.dose import dose
from tests.support.facade_worker import RELAXED
from tests.support.swapper import CASES, OUTSIDE, Kind, Swapper, SwapTree, plant

Attempt = Callable[[FileToolsFacade, SwapTree, int], Awaitable[object]]


async def read(files: FileToolsFacade, tree: SwapTree, _: int) -> object:
    return (await files.read_file(tree.path)).content


async def write(files: FileToolsFacade, tree: SwapTree, number: int) -> object:
    return await files.write_file(tree.path, f"inside {number}\n")


async def append(files: FileToolsFacade, tree: SwapTree, number: int) -> object:
    return await files.append_file(f"{tree.folder}/new.txt", f"{number}\n")


async def remove(files: FileToolsFacade, tree: SwapTree, number: int) -> object:
    await files.create_file(f"{tree.folder}/gone.txt", str(number))
    return await files.delete_file(f"{tree.folder}/gone.txt")


async def move(files: FileToolsFacade, tree: SwapTree, number: int) -> object:
    await files.create_file(f"{tree.folder}/from.txt", str(number))
    return await files.move_file(f"{tree.folder}/from.txt", f"{tree.folder}/to.txt", overwrite=True)


async def make_and_remove_folder(files: FileToolsFacade, tree: SwapTree, _: int) -> object:
    await files.create_directory(f"{tree.folder}/sub/deep")
    return await files.delete_directory(f"{tree.folder}/sub", recursive=True)


async def show(files: FileToolsFacade, tree: SwapTree, _: int) -> object:
    page = await files.list_files(tree.folder, recursive=True)
    assert not [entry for entry in page.entries if entry.name == "secret"]
    return page


READS: dict[str, tuple[Attempt, float]] = {"read": (read, 150), "list": (show, 15)}
CHANGES: dict[str, tuple[Attempt, float]] = {
    "write": (write, 5),
    "append": (append, 5),
    "remove": (remove, 3),
    "move": (move, 3),
    "folders": (make_and_remove_folder, 2),
}


@pytest.mark.parametrize(("kind", "position"), CASES)
async def test_no_call_ever_leaves_the_root(tmp_path: Path, kind: Kind, position: int) -> None:
    tree = plant(tmp_path, kind, position)
    met: dict[str, set[str]] = {}
    messages: set[str] = set()
    async with filetools.open(tree.root, settings=RELAXED) as files:
        with Swapper(tree):
            for name, (attempt, share) in {**READS, **CHANGES}.items():
                met[name] = set()
                for number in range(dose(int(share))):
                    try:
                        async with asyncio.timeout(60):
                            result = await attempt(files, tree, number)
                    except filetools.FileToolsError as exc:
                        messages.add(exc.message)
                        met[name].add(exc.code)
                    else:
                        met[name].add("done")
                        assert OUTSIDE.decode() != result
    tree.assert_outside_untouched()
    assert not [message for message in messages if str(tree.outside) in message]
    assert "INTERNAL" not in set[str]().union(*met.values()), met
    assert all(met.values())


async def test_the_same_harness_catches_a_naive_reader(tmp_path: Path) -> None:
    tree = plant(tmp_path, "absolute", 1)
    name, root = str(tree.root / tree.path), os.path.realpath(tree.root)
    with Swapper(tree):
        for _ in range(500_000):
            try:
                if os.path.commonpath((os.path.realpath(name), root)) == root:
                    with open(name, "rb") as file:
                        content = file.read()
                    if content == OUTSIDE:
                        return
            except OSError:
                continue
    pytest.fail("the harness did not catch it")
