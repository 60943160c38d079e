"""Named changes of a document: each is applied once, however often it is sent."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.wire import in_characters
from filetools.models.buffers import BufferChange
from tests.facade.test_buffers import ANN, Desk, desk
from tests.support.facade_worker import RELAXED
from tests.support.opened import refused

__all__ = ["desk"]


async def test_a_change_of_the_same_name_is_made_once_and_answered_as_the_first(desk: Desk) -> None:
    opened = await desk.opened("one\n")
    theirs = await desk.ben.buffers.open("a.txt")
    await desk.ben.buffers.change(theirs.handle, buffer_version=1, edits=[TextEdit(0, 0, "before ")])
    mine = [TextEdit(0, 0, "mine "), TextEdit(4, 4, "end\n")]
    first = await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=mine, change_id="a-1")
    assert first.edits == [{"start": 0, "end": 0, "text": "before "}]
    await desk.ben.buffers.change(theirs.handle, buffer_version=3, edits=[TextEdit(0, 0, "after ")])
    again = await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=mine, change_id="a-1")
    newest = await desk.ann.buffers.read(opened.handle)
    assert newest.text == "after before mine one\nend\n"
    assert (again.buffer_version, again.dirty, newest.buffer_version) == (4, True, 4)
    assert applied("mine one\nend\n", again) == newest.text
    assert again.edits == [{"start": 0, "end": 0, "text": "after before "}]


async def test_a_change_with_another_name_or_none_is_applied_again(desk: Desk) -> None:
    opened = await desk.opened("")
    for name in ("a-1", "a-2", None, None):
        await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "x")], change_id=name)
    assert (await desk.ann.buffers.read(opened.handle)).text == "xxxx"


async def test_a_name_used_by_another_actor_does_not_suppress_a_change(desk: Desk) -> None:
    opened = await desk.opened("")
    theirs = await desk.ben.buffers.open("a.txt")
    await desk.ben.buffers.change(theirs.handle, buffer_version=1, edits=[TextEdit(0, 0, "ben ")], change_id="same")
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "ann ")], change_id="same")
    other = await desk.ann.buffers.open("b.txt")
    await desk.ann.buffers.change(other.handle, buffer_version=1, edits=[TextEdit(0, 0, "b")], change_id="same")
    assert (await desk.ann.buffers.read(opened.handle)).text == "ben ann "
    assert (await desk.ann.buffers.read(other.handle)).text == "b"


async def test_a_repeated_change_that_was_put_on_a_newer_text_is_taken_out_of_the_editors_text_again(
    desk: Desk,
) -> None:
    opened = await desk.opened("one\n")
    for edits in ([TextEdit(0, 0, "mine ")], [TextEdit(0, 0, "more ")]):
        made = await desk.ann.buffers.change(
            opened.handle, buffer_version=1, edits=edits, change_id=edits[0].text.strip()
        )
    newest = await desk.ann.buffers.read(opened.handle)
    for version, known in ((3, newest.text), (2, "mine one\n")):
        edits = [TextEdit(len(known), len(known), "mine \U0001f600")]
        made = await desk.ann.buffers.change(opened.handle, buffer_version=version, edits=edits, change_id="mine")
        assert (made.buffer_version, applied(apply_text_edits(known, edits), made)) == (3, newest.text)
    assert (await desk.ann.buffers.read(opened.handle)).text == newest.text


async def test_a_repeated_change_whose_history_is_gone_asks_for_a_resync_and_its_name_counts_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.journal.documents.KEPT_EDITS", 3)
    opened = await desk.opened("")
    theirs = await desk.ben.buffers.open("a.txt")
    once = [TextEdit(0, 0, "mine")]
    for version in (1, 2):
        await desk.ben.buffers.change(theirs.handle, buffer_version=version, edits=[TextEdit(0, 0, "x")])
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=once, change_id="a-1")
    await desk.ben.buffers.change(theirs.handle, buffer_version=4, edits=[TextEdit(0, 0, "x")])
    call = desk.ann.buffers.change(opened.handle, buffer_version=1, edits=once, change_id="a-1")
    await refused("RESYNC", call)
    newest = await desk.ann.buffers.read(opened.handle)
    made = await desk.ann.buffers.change(
        opened.handle, buffer_version=newest.buffer_version, edits=once, change_id="a-1"
    )
    assert applied("mine" + newest.text, made) == newest.text == (await desk.ann.buffers.read(opened.handle)).text


async def test_a_name_outlives_the_process_and_is_seen_by_another_one(tmp_path: Path) -> None:
    change: dict[str, Any] = {"buffer_version": 1, "edits": [TextEdit(0, 0, "once")], "change_id": "a-1"}
    async with filetools.open(tmp_path, settings=RELAXED) as first:
        opened = await first.for_actor(ANN).buffers.open("a.txt")
        await first.for_actor(ANN).buffers.change(opened.handle, **change)
        async with filetools.open(tmp_path, settings=RELAXED) as second:
            await second.for_actor(ANN).buffers.change(opened.handle, **change)
    async with filetools.open(tmp_path, settings=RELAXED) as third:
        made = await third.for_actor(ANN).buffers.change(opened.handle, **change)
        assert (made.buffer_version, made.edits) == (2, [])
        assert (await third.buffers.read(opened.handle)).text == "once"


async def test_the_same_change_twice_at_once_is_made_once(desk: Desk) -> None:
    opened = await desk.opened("")
    change = partial(desk.ann.buffers.change, opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "once ")])
    for number in range(20):
        await asyncio.gather(*(change(change_id=f"a-{number}") for _ in range(4)))
    assert (await desk.ann.buffers.read(opened.handle)).text == "once " * 20


@pytest.mark.parametrize("name", ["", "x" * 65, "two words", "line\n", "\u00e9", 5, b"x"])
async def test_an_invalid_name_is_refused(desk: Desk, name: Any) -> None:
    opened = await desk.opened("")
    call = desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[], change_id=name)
    await refused("INVALID_ARGUMENT", call)


def applied(text: str, made: BufferChange) -> str:
    edits = [TextEdit(each["start"], each["end"], each["text"]) for each in made.edits]
    return apply_text_edits(text, in_characters(text, edits))
