"""Every kind of change that a facade can make to a small tree, and what stands there after it."""

from __future__ import annotations

from typing import Final

from filetools import Actor
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import Action, Tree

ALICE: Final = Actor(kind="agent", id="alice", session="s1")
BEFORE: Tree = {"a.txt": b"old\n", "b.txt": b"other\n", "d": None, "d/e.txt": b"deep\n", "d/f.bin": b"\x00\x01"}


def after(changes: Tree, *gone: str) -> Tree:
    return {path: content for path, content in {**BEFORE, **changes}.items() if path not in gone}


CASES: dict[str, tuple[Action, Tree]] = {
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


async def undo(files: FileToolsFacade) -> object:
    """Undo everything that Alice has done."""
    return await files.for_actor(ALICE).undo(since=1)
