"""Calls on a large text do not block the loop: work that grows with the text runs in a worker."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.ends import split_lines
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET

LINES: Final = 4_000
TEXT: Final = "same line\n" * LINES + "END\n"
LARGE: Final = LINES
PATCH: Final = "*** Begin Patch\n*** Update File: f\n@@\n-END\n+FIN\n*** End Patch\n"
Call = Callable[[FileToolsFacade], Awaitable[object]]


async def transaction(files: FileToolsFacade) -> None:
    async with files.transaction() as tx:
        await tx.edit_file("f", [Edit(old="END", new="FIN")])


CALLS: Final[dict[str, Call]] = {
    "edit": lambda files: files.edit_file("f", [Edit(old="END", new="FIN")]),
    "edit, tried": lambda files: files.edit_file("f", [Edit(old="END", new="FIN")], dry_run=True),
    "insertion": lambda files: files.insert_lines("f", 7, "new\n"),
    "addition": lambda files: files.append_file("f", "new\n"),
    "patch": lambda files: files.apply_patch(PATCH),
    "write": lambda files: files.write_file("f", TEXT + "more\n"),
    "undo": lambda files: files.undo(),
    "transaction": transaction,
}


@contextmanager
def large_things_seen() -> Iterator[list[str]]:
    """List the functions of `filetools.content` that are called with large arguments in this thread."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _what: Any) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event != "call" or not module.startswith("filetools.content"):
            return
        given = list(frame.f_locals.values())
        if any(isinstance(one, Sized) and len(one) >= LARGE for one in given):
            found.append(f"{module}.{frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("is_unsaved", [False, True], ids=["file", "unsaved text"])
@pytest.mark.parametrize("call", CALLS)
async def test_nothing_works_on_the_text_in_the_loop(tmp_path: Path, call: str, is_unsaved: bool) -> None:
    (tmp_path / "f").write_text(TEXT)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        if is_unsaved:
            ann = files.for_actor(Actor(kind="editor", id="ann", session="window"))
            opened = await ann.buffers.open("f")
            await ann.buffers.change(opened.handle, buffer_version=1, edits=[filetools.TextEdit(0, 0, "typed\n")])
        agent = files.for_actor(Actor(kind="agent", id="alice", session="s"))
        if call == "undo":
            await agent.edit_file("f", [Edit(old="END", new="FIN")])
        with large_things_seen() as found:
            await CALLS[call](agent)
        assert found == []


def test_work_on_a_large_text_in_this_thread_is_detected() -> None:
    with large_things_seen() as found:
        split_lines(TEXT)
    assert "filetools.content.ends.split_lines" in found
