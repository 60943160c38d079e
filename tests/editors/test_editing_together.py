"""Editor states that follow real documents: several windows type, agents write the file, and all end with the same text."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random

import pytest

import filetools
from filetools.content.editing.text_edits import TextEdit
from filetools.editors.editor_state import EditorState
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from tests.support.dose import dose
from tests.support.opened import outcome_of, steps_until

AGENT = Actor(kind="agent", id="alice", session="s1")
LINES = "".join(f"line {number} \U0001f600\r\n" for number in range(30))
BEFORE = {"a.txt": LINES.encode()}


class Window:
    """An editor on a real workspace that types, and notes resync requests."""

    def __init__(self, files: FileToolsFacade, name: str) -> None:
        actor = Actor(kind="editor", id=name, session=name)
        self.files = files.for_actor(actor)
        self.asked: list[str] = []
        self.state = EditorState(actor, self.asked.append)
        self.state.attach(files.bus)
        self.handle = ""

    async def open(self, path: str) -> None:
        opened = await self.files.buffers.open(path)
        self.handle = opened.handle
        self.state.show(opened)

    async def type(self, random: Random) -> None:
        shown = next(iter(self.state.documents.values()))
        size = len(shown.text.encode("utf-16-le")) // 2
        place = random.choice([0, size, *shown.carets])
        edit = TextEdit(place, place, random.choice(["x", "new\n", "\U0001f600"]))
        await self.files.buffers.change(self.handle, buffer_version=shown.version, edits=[edit])

    def is_at(self, version: int) -> bool:
        return all(one.version == version for one in self.state.documents.values())


@pytest.mark.parametrize("seed", range(dose(4)))
async def test_windows_and_agents_end_with_one_text(files: FileToolsFacade, seed: int) -> None:
    windows = [Window(files, name) for name in ("ann", "bob")]
    for window in windows:
        await window.open("a.txt")
        window.state.look("a.txt", carets=[20, 60], first_line=3)

    async def type_and_save(window: Window, random: Random) -> None:
        for _ in range(20):
            await window.type(random)
            if random.random() < 0.2:
                await outcome_of(window.files.buffers.save(window.handle))

    async def write(random: Random) -> None:
        for number in range(10):
            edit = filetools.Edit(old=f"line {number + 10} ", new=f"LINE {random.random()} ")
            await outcome_of(files.for_actor(AGENT).edit_file("a.txt", [edit]))

    await asyncio.gather(
        *(type_and_save(window, Random(seed * 10 + at)) for at, window in enumerate(windows)), write(Random(seed))
    )
    truth = await windows[0].files.buffers.read(windows[0].handle)
    for window in windows:
        await steps_until(partial(window.is_at, truth.buffer_version))
        assert window.asked == []
        shown = window.state.documents["a.txt"]
        assert (shown.text, shown.version, shown.is_dirty) == (truth.text, truth.buffer_version, truth.dirty)


async def test_an_agents_edit_reaches_a_window_in_which_nobody_types(files: FileToolsFacade) -> None:
    window = Window(files, "ann")
    await window.open("a.txt")
    for number in (3, 4):
        await files.for_actor(AGENT).edit_file("a.txt", old=f"line {number} ", new=f"LINE {number} ")
        await steps_until(partial(window.is_at, number - 1))


async def test_typing_saving_and_moving_ask_for_nothing(files: FileToolsFacade) -> None:
    window = Window(files, "ann")
    await window.open("a.txt")
    dirty = []
    for path in ("a.txt", "b.txt"):
        await window.type(Random(1))
        dirty.append(window.state.documents[path].is_dirty)
        await window.files.buffers.save(window.handle)
        dirty.append(window.state.documents[path].is_dirty)
        if path == "a.txt":
            await files.move_file("a.txt", "b.txt")
            await steps_until(lambda: "b.txt" in window.state.documents)
    assert dirty == [True, False, True, False]
    assert window.asked == []
    await window.files.buffers.close(window.handle)
    assert dict(window.state.documents) == {}
