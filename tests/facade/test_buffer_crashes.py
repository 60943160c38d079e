"""Every call of store and journal is a moment to die while a file changes under unsaved text: both have it, or neither."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.text_edits import TextEdit
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, count_calls, die_at, grow, leftovers, moments_of
from tests.support.faulty import Plan

LINES = "".join(f"line {number}\n" for number in range(1, 21))
EDITED = LINES.replace("line 15", "LINE 15")
FAR = Edit(old="line 15", new="LINE 15")
NEAR = Edit(old="typed line", new="better line")

Found = tuple[str, str | None]
"""What the file holds, and the text of the open document; None if there is none."""


async def typed(files: FileToolsFacade) -> tuple[FileToolsFacade, str]:
    ann = files.for_actor(Actor(kind="editor", id="ann"))
    opened = await ann.buffers.open("a.txt")
    await ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "typed ")])
    return ann, opened.handle


async def edit_beside(files: FileToolsFacade) -> None:
    await typed(files)
    await files.edit_file("a.txt", [FAR])


async def edit_in_buffer(files: FileToolsFacade) -> None:
    await typed(files)
    await files.edit_file("a.txt", [NEAR])


async def save(files: FileToolsFacade) -> None:
    ann, handle = await typed(files)
    await ann.buffers.save(handle)


async def replace(files: FileToolsFacade) -> None:
    await typed(files)
    await files.write_file("a.txt", "new\n", on_conflict="allow")


async def close(files: FileToolsFacade) -> None:
    ann, handle = await typed(files)
    await ann.buffers.close(handle)


BEGINNING: list[Found] = [(LINES, None), (LINES, LINES), (LINES, "typed " + LINES)]
CASES: dict[str, tuple[Callable[[FileToolsFacade], Awaitable[None]], Found]] = {
    "beside": (edit_beside, (EDITED, "typed " + EDITED)),
    "in buffer": (edit_in_buffer, (LINES, "better " + LINES)),
    "save": (save, ("typed " + LINES, "typed " + LINES)),
    "replace": (replace, ("new\n", "new\n")),
    "close": (close, (LINES, None)),
}


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_file_and_document_tell_one_story(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    model = tmp_path / "model"
    grow(model, {"a.txt": LINES.encode()})
    moments = moments_of(count_calls(model, action).calls)
    assert moments
    for at, moment in moments:
        root = tmp_path / f"{at}-{moment}"
        grow(root, {"a.txt": LINES.encode()})
        acknowledged = die_at(root, action, Plan.die(at, moment, exits=True))
        found, texts = reopened(root)
        assert found in ([wanted] if acknowledged else [wanted, *BEGINNING]), (at, moment, acknowledged)
        if acknowledged and name in ("replace", "close"):
            assert "typed " + LINES in texts
        shutil.rmtree(root)


def reopened(root: Path) -> tuple[Found, list[str]]:
    """Open a root again, wait for the keeper's first round, and return what is there, and the texts of all versions."""

    async def main() -> tuple[Found, list[str]]:
        async with filetools.open(root, settings={**QUIET, "sync_after_seconds": 0.01}) as files:
            parts = files._parts
            for _ in range(6000):
                documents = parts.journal.documents.all()
                heads = dict(parts.journal.heads_below(""))
                is_level = all(document.base == heads.get(document.path) for document in documents if heads)
                if not leftovers(root) and not parts.journal.marks.pending() and is_level:
                    break
                await asyncio.sleep(0.01)
            documents = parts.journal.documents.all()
            text = None
            if documents:
                shown = parts.documents.texts.newest(documents[0].id)
                text = None if shown is None else shown.text
            disk = (await files.read_file("a.txt", view="disk")).content
            entries = (await files.versions("a.txt")).versions
            kept = [(await files.read_file("a.txt", version=entry.version)).content for entry in entries]
            return (disk, text), kept

    return asyncio.run(main())
