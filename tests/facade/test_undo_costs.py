"""What taking back costs: the newest change the same whatever came before it, many changes in step with their number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

import filetools
from filetools import Actor
from filetools.facade.facade import FileToolsFacade
from filetools.journal.sqlite import SqliteJournal
from filetools.models.history import UndoResult
from tests.support.crashing import QUIET
from tests.support.journals import watched

SLACK = 1.5
OTHERS = 12
"""Statements of the background."""
ALICE = Actor(kind="agent", id="alice", session="s", call="c")
Cost = tuple[int, int]
"""How many statements are run, and how many steps they take."""


async def cost(files: FileToolsFacade, act: Callable[[], Awaitable[UndoResult]]) -> Cost:
    """Return what an act costs, without what is written down in the background meanwhile."""
    journal = files._parts.journal
    assert isinstance(journal, SqliteJournal)
    counts = []
    for _ in range(3):
        journal.marks.flush()
        with watched(journal) as (statements, steps):
            result = await act()
        assert result.changes
        counts.append((len([one for one in statements if "stamps" not in one]), steps[0]))
        if not result.dry_run:
            break
    return min(counts)  # the background may be at work meanwhile


async def test_the_newest_change_costs_the_same_whatever_came_before_it(tmp_path: Path) -> None:
    costs = []
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for upto in (50, 250):
            for number in range(upto - 50, upto):
                agent = files.for_actor(Actor(kind="agent", id="alice", session="s", call=f"c{number}"))
                await agent.write_file(f"{number}.txt", "x\n")
            costs.append(await cost(files, partial(agent.undo, dry_run=True)))
            await agent.undo()
            costs.append(await cost(files, partial(agent.redo, dry_run=True)))
            await agent.redo()
    undo, redo, later_undo, later_redo = costs
    for later, first in ((later_undo, undo), (later_redo, redo)):
        assert later[0] <= first[0] + OTHERS
        assert later[1] <= SLACK * first[1]


async def test_undos_in_a_row_cost_the_same_each(tmp_path: Path) -> None:
    costs = []
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for number in range(40):
            await files.write_file(f"{number}.txt", "x\n")
        for act in (files.undo, files.redo):
            for _ in range(40):
                costs.append(await cost(files, partial(act, dry_run=True)))
                await act()
    for several in (costs[:40], costs[40:]):
        first, last = max(several[:10]), max(several[-10:])
        assert last[1] - first[1] <= 10 * 40  # a few steps for each that is undone already


@pytest.mark.parametrize("make", ["written", "in folders of their own", "moved", "deleted folders"])
async def test_many_changes_are_taken_back_in_step_with_their_number(tmp_path: Path, make: str) -> None:
    costs = []
    for count in (12, 48):
        (root := tmp_path / f"{count}").mkdir()
        async with filetools.open(root, settings=QUIET) as files:
            alice = files.for_actor(ALICE)
            await _change(alice, make, count)
            costs.append(await cost(files, partial(alice.undo, call="c", dry_run=True)))
            costs.append(await cost(files, partial(alice.undo, call="c")))
            costs.append(await cost(files, partial(alice.redo, dry_run=True)))
            costs.append(await cost(files, alice.redo))
    for few, many in zip(costs[0:4:2], costs[4::2], strict=True):
        assert many[1] <= 2 * SLACK * 4 * few[1]


async def _change(files: FileToolsFacade, make: str, count: int) -> None:
    other = files.for_actor(Actor(kind="editor", id="ann"))
    folders = ["d" if make in ("written", "moved") else f"d{number}" for number in range(count)]
    if make in ("moved", "deleted folders"):
        async with other.transaction() as tx:
            for number in range(count):
                await tx.write_file(f"{folders[number]}/{number}.txt", f"{number}\n")
        for number in range(count):
            if make == "moved":
                await files.move_file(f"d/{number}.txt", f"e/{number}.txt")
            else:
                await files.delete_directory(f"d{number}", recursive=True)
        return
    async with files.transaction() as tx:
        for number in range(count):
            await tx.write_file(f"{folders[number]}/{number}.txt", f"{number}\n")
