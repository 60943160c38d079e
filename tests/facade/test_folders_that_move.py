"""A folder is moved at any store call of another call, outside its turn: the result is as if one came after the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import Tree, grow, snapshot
from tests.support.opened import ScriptedOpening, assert_at_rest, outcome_of

MOVER = Actor(kind="agent", id="mover", session="s")
TREE: Tree = {"a.txt": b"a\n", "d": None, "d/e.txt": b"e\n"}

Call = Callable[[FileToolsFacade, str], Awaitable[object]]
"""An action below the folder `d` of a folder, or with the handle of a document there."""
Prepare = Callable[[FileToolsFacade, str], Awaitable[str]]
"""Gives what the call gets."""


def void(_: object) -> None:
    """Return nothing."""


@dataclass
class At:
    """Runs an action before the N-th store call that a worker thread makes from now on, and counts them."""

    act: Callable[[], None] = lambda: None
    is_in_turn: Callable[[], bool] = lambda: False
    number: int = -1
    seen: int = field(default=0, init=False)
    _loop: threading.Thread = field(default_factory=threading.current_thread)

    def __call__(self, method: str, path: str) -> None:
        if threading.current_thread() is not self._loop:
            self.seen += 1
            if self.seen == self.number and not self.is_in_turn():
                self.act()


@dataclass
class World:
    """One opened root, in which each try has a folder of its own."""

    root: Path
    files: FileToolsFacade
    at: At
    call: Call
    prepare: Prepare
    tries: int = 0

    async def end(self, moves_at: int | None) -> tuple[str, Tree, int]:
        """Return the call's outcome and the tree; the folder is moved at a store call, or afterwards if that is impossible.

        Args:
            moves_at: The number of the store call; 0 is before all of them, None after.
        """
        self.tries += 1
        home = f"try{self.tries}"
        grow(self.root / home, TREE)
        await self.files.list_files(home, recursive=True)
        given = await self.prepare(self.files, home)
        loop, moves = asyncio.get_running_loop(), list[Future[str]]()

        def move() -> Future[str]:
            call = self.files.for_actor(MOVER).move_file(f"{home}/d", f"{home}/t")
            moves.append(asyncio.run_coroutine_threadsafe(outcome_of(call), loop))
            return moves[-1]

        if moves_at == 0:
            await asyncio.wrap_future(move())
        self.at.seen, self.at.number = 0, moves_at or -1
        self.at.act = lambda: void(move().result())
        outcome = await outcome_of(self.call(self.files, given))
        calls, self.at.number = self.at.seen, -1
        if not moves or await asyncio.wrap_future(moves[-1]) != "done":
            assert await asyncio.wrap_future(move()) == "done"
        return outcome, snapshot(self.root / home), calls


async def nothing(files: FileToolsFacade, home: str) -> str:
    return home


async def written(files: FileToolsFacade, home: str) -> str:
    await files.write_file(f"{home}/d/e.txt", "new\n")
    return home


async def typed(files: FileToolsFacade, home: str) -> str:
    opened = await files.buffers.open(f"{home}/d/e.txt")
    await files.buffers.change(opened.handle, buffer_version=1, text="typed\n")
    return opened.handle


async def opened(files: FileToolsFacade, home: str) -> str:
    await files.buffers.open(f"{home}/d/e.txt")
    return home


CALLS: dict[str, tuple[Prepare, Call]] = {
    "save": (typed, lambda files, handle: files.buffers.save(handle)),
    "undo": (written, lambda files, home: files.undo()),
    "write": (nothing, lambda files, home: files.write_file(f"{home}/d/e.txt", "new\n")),
    "write an open document": (opened, lambda files, home: files.write_file(f"{home}/d/e.txt", "new\n")),
    "create": (nothing, lambda files, home: files.create_file(f"{home}/d/new.txt", "new\n")),
    "create deep": (nothing, lambda files, home: files.create_file(f"{home}/d/x/new.txt", "new\n")),
    "write in a folder": (
        nothing,
        lambda files, home: files.write_file(f"{home}/d/new.txt", "new\n", create_parents=False),
    ),
    "create a folder": (nothing, lambda files, home: files.create_directory(f"{home}/d/new")),
    "edit": (nothing, lambda files, home: files.edit_file(f"{home}/d/e.txt", [Edit(old="e", new="E")])),
    "append": (nothing, lambda files, home: files.append_file(f"{home}/d/e.txt", "more\n")),
    "copy in": (nothing, lambda files, home: files.copy_file(f"{home}/a.txt", f"{home}/d/a.txt")),
    "copy out": (nothing, lambda files, home: files.copy_file(f"{home}/d/e.txt", f"{home}/e.txt")),
    "move in": (nothing, lambda files, home: files.move_file(f"{home}/a.txt", f"{home}/d/a.txt")),
    "move out": (nothing, lambda files, home: files.move_file(f"{home}/d/e.txt", f"{home}/e.txt")),
    "delete": (nothing, lambda files, home: files.delete_file(f"{home}/d/e.txt")),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_folder_that_moves_during_a_call_moved_before_or_after_it(tmp_path: Path, name: str) -> None:
    prepare, call = CALLS[name]
    at = At()
    async with ScriptedOpening(tmp_path, before=at) as files:
        at.is_in_turn = lambda: bool(files.held_locks())
        world = World(root=tmp_path, files=files, at=at, call=call, prepare=prepare)
        *before, _ = await world.end(0)
        *after, calls = await world.end(None)
        assert calls > 0
        for number in range(1, calls + 1):
            outcome, tree, _ = await world.end(number)
            if name == "create deep" and tree.get("d/x/new.txt"):
                tree.pop("t/x", None)  # made for the file, and perhaps moved along before the file was in it
            assert [outcome, tree] in (before, after), number
        await assert_at_rest(files, tmp_path)
