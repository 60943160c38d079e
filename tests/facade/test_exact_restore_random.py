"""Random trees, changed at random by programs and calls: a restore gives exactly the first tree, its redo exactly the last."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools import Actor, FileToolsError
from filetools.facade.facade import FileToolsFacade
from tests.support.dose import dose
from tests.support.exact_trees import ALONE, NAMES, Program, differences, on_disk
from tests.support.opened import watched

ANN = Actor(kind="editor", id="ann")


async def there_and_back(files: FileToolsFacade, root: Path, seed: int, *, calls: int = 0) -> None:
    """Make a checkpoint, change the tree, each time with a number of calls, restore and redo."""
    program, ann = Program(root, seed), files.for_actor(ANN)
    program.grow(14)
    first = on_disk(root)
    made = await ann.checkpoint("before")
    assert made.unread == []
    deeds = []
    for _ in range(3):
        deeds += program.change(4)
        deeds += [await called(files, random.Random(f"{seed}-{len(deeds)}-{number}")) for number in range(calls)]
    later = on_disk(root)
    result = await ann.restore("before")
    assert differences(on_disk(root), first) == {}, deeds
    assert (result.conflicts, result.unknown) == ([], []), deeds
    assert differences(later, first) == {} or result.files
    if result.files:
        await ann.redo()
        assert differences(on_disk(root), later) == {}, deeds
        await ann.undo()
        assert differences(on_disk(root), first) == {}, deeds


async def called(files: FileToolsFacade, chance: random.Random) -> str:
    """Make one call as an agent or a person; some are refused, as they must be."""
    one, other = ("/".join(chance.choices(NAMES, k=chance.randint(1, 2))) for _ in range(2))
    ann = files.for_actor(ANN)
    agent = files.for_actor(Actor(kind="agent", id=chance.choice("bc"), session="s", call=f"{chance.random()}"))
    since = chance.randint(1, max(1, (await files.checkpoint("now", replace=True)).number))
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "write": lambda: agent.write_file(one, "called\n"),
        "append": lambda: agent.append_file(one, f"{chance.random()}\n"),
        "delete": lambda: agent.delete_file(one),
        "delete folder": lambda: agent.delete_directory(one, recursive=True),
        "move": lambda: agent.move_file(one, other, overwrite=True),
        "make folder": lambda: agent.create_directory(one),
        "undo": agent.undo,
        "redo": agent.redo,
        "undo since": lambda: agent.undo(since=since, partial=True),
        "undo of all": lambda: ann.undo(actor="*"),
        "redo of ann": ann.redo,
        "restore": lambda: ann.restore(chance.choice(["before", "now"])),
    }
    act = chance.choice(sorted(acts))
    try:
        await acts[act]()
    except FileToolsError as exc:
        return f"refused to {act} {one} {other}: {exc.code}"
    return f"called {act} {one} {other}"


@pytest.mark.parametrize("calls", [0, 1, 6])
@pytest.mark.parametrize("seed", range(dose(3)))
async def test_what_was_done_while_nobody_watched(tmp_path: Path, seed: int, calls: int) -> None:
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await there_and_back(files, tmp_path, 10_000 * calls + seed, calls=calls)


@pytest.mark.parametrize("seed", range(dose(3)))
async def test_what_programs_did_under_the_eyes_of_a_watcher(tmp_path: Path, seed: int) -> None:
    async with watched(tmp_path) as (files, _):
        await there_and_back(files, tmp_path, 20_000 + seed)


@pytest.mark.parametrize("seed", range(dose(3)))
async def test_a_part_of_it(tmp_path: Path, seed: int) -> None:
    program = Program(tmp_path, 30_000 + seed)
    program.grow(14)
    first = on_disk(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        ann = files.for_actor(ANN)
        await ann.checkpoint("before")
        deeds = program.change(10)
        later = on_disk(tmp_path)
        for top in NAMES:
            if top not in {**first, **later}:
                continue
            result = await ann.restore("before", top)
            now = on_disk(tmp_path)
            wanted = {path: node for path, node in first.items() if path.split("/")[0] == top}
            wanted |= {path: node for path, node in later.items() if path.split("/")[0] != top}
            assert differences(now, wanted) == {}, (top, deeds)
            if result.files:
                await ann.redo()
                assert differences(on_disk(tmp_path), later) == {}, (top, deeds)
