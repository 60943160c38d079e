"""Every call of store and journal is a moment to die, for every kind of change; after each, old or new, never a mix."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, Tree, count_calls, die_at, grow, leftovers, moments_of, snapshot
from tests.support.faulty import Plan

DOSE = int(os.environ.get("FILETOOLS_DOSE", "1"))
BEFORE: Tree = {"a.txt": b"old\n", "b.txt": b"other\n", "d": None, "d/e.txt": b"deep\n", "d/f.bin": b"\x00\x01"}


def after(changes: Tree, *gone: str) -> Tree:
    return {path: content for path, content in {**BEFORE, **changes}.items() if path not in gone}


CASES: dict[str, tuple[Callable[[FileToolsFacade], Awaitable[object]], Tree]] = {
    "replace": (lambda files: files.write_file("a.txt", "new\n"), after({"a.txt": b"new\n"})),
    "create": (lambda files: files.create_file("x/y/z.txt", "z"), after({"x": None, "x/y": None, "x/y/z.txt": b"z"})),
    "append": (lambda files: files.append_file("a.txt", "more\n"), after({"a.txt": b"old\nmore\n"})),
    "delete": (lambda files: files.delete_file("a.txt"), after({}, "a.txt")),
    "move": (lambda files: files.move_file("a.txt", "d/g.txt"), after({"d/g.txt": b"old\n"}, "a.txt")),
    "move over": (lambda files: files.move_file("a.txt", "b.txt", overwrite=True), after({"b.txt": b"old\n"}, "a.txt")),
    "copy": (lambda files: files.copy_file("a.txt", "c.txt"), after({"c.txt": b"old\n"})),
    "make folder": (lambda files: files.create_directory("n/m"), after({"n": None, "n/m": None})),
    "move folder": (
        lambda files: files.move_file("d", "t"),
        after({"t": None, "t/e.txt": b"deep\n", "t/f.bin": b"\x00\x01"}, "d", "d/e.txt", "d/f.bin"),
    ),
    "delete folder": (
        lambda files: files.delete_directory("d", recursive=True),
        after({}, "d", "d/e.txt", "d/f.bin"),
    ),
    "write several": (
        lambda files: files.write_multiple(
            [{"path": "a.txt", "content": "A"}, {"path": "b.txt", "content": "B"}, {"path": "new.txt", "content": "N"}]
        ),
        after({"a.txt": b"A", "b.txt": b"B", "new.txt": b"N"}),
    ),
    "delete several": (lambda files: files.delete_multiple(["a.txt", "b.txt"]), after({}, "a.txt", "b.txt")),
}


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_at_any_call_everything_is_old_or_new(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    model = tmp_path / "model"
    grow(model, BEFORE)
    calls = count_calls(model, action).calls
    moments = moments_of(calls)
    assert len(moments) >= 2
    allowed = with_empty_parents(wanted)
    for at, moment in moments:
        root = tmp_path / f"{at}-{moment}"
        grow(root, BEFORE)
        acknowledged = die_at(root, action, Plan.die(at, moment, exits=True))
        found = reopened(root)
        assert found in ([wanted] if acknowledged else allowed), (calls[at - 1], moment, acknowledged)
        assert leftovers(root) == [], (calls[at - 1], moment)
        shutil.rmtree(root)


def with_empty_parents(wanted: Tree) -> list[Tree]:
    """A call that died before its commit may leave folders it had made, empty; nothing else."""
    made = [path for path, content in wanted.items() if content is None and path not in BEFORE]
    halfway: list[Tree] = [{**BEFORE, **dict.fromkeys(made[:count])} for count in range(1, len(made) + 1)]
    return [BEFORE, wanted, *halfway]


def reopened(root: Path) -> Tree:
    """Open a root again, wait for the keeper's first round, and return what stands there, checked against the journal."""

    async def main() -> None:
        async with filetools.open(root, settings={**QUIET, "sync_after_seconds": 0.01}) as files:
            parts = files._parts
            for _ in range(6000):
                if not leftovers(root) and not parts.journal.marks.pending():
                    break
                await asyncio.sleep(0.01)
            assert parts.journal.marks.pending() == []
            for path, version in parts.journal.heads_below(""):
                assert (await files.read_file(path)).version == version, path

    asyncio.run(main())
    return snapshot(root)
