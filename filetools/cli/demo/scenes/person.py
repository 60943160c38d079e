"""A person types into a document and does not save it, while two agents change the same file."""

from __future__ import annotations

import asyncio
from typing import Final

from filetools.cli.demo.marks import line_with
from filetools.cli.demo.scenes.scene import Scene
from filetools.cli.demo.stage import Stage
from filetools.content.edits import Edit
from filetools.content.text_edits import TextEdit
from filetools.errors import EditConflictError
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferResult
from filetools.models.records import Actor

PATH: Final = "src/tally/counter.py"
PAUSE_SECONDS: Final = 0.05
_LETTER: Final = 0.1
"""Its share of a pause."""
ANN: Final = Actor(kind="editor", id="ann", session="demo")


class Person(Scene):
    """Unsaved text, merges, a refused conflict and an undo: nobody's work is lost, and nothing is saved unasked."""

    title = "Ann types and does not save; the agents go on"

    async def play(self, stage: Stage) -> None:
        """Type, let the agents work under it, save, and take one change back."""
        ann = stage.files.for_actor(ANN)
        opened = await ann.buffers.open(PATH)
        typed = await _type(stage, ann, opened)
        for step in (_edit_elsewhere, _edit_what_is_unsaved, _conflict):
            await stage.pause(2)
            await step(stage, typed)
        await stage.pause(2)
        saved = await ann.buffers.save(opened.handle)
        stage.ledger.acknowledged.add(typed)
        stage.narrator.say(f"ann saves: her line and what the agents did are in the file, {saved.version[7:19]}")
        await ann.buffers.close(opened.handle)
        for last in (_merge, _undo):
            await stage.pause(2)
            await last(stage)


def _agent(stage: Stage, name: str) -> FileToolsFacade:
    return stage.files.for_actor(Actor(kind="agent", id=name, session="demo"))


def _line(mark: str) -> str:
    return line_with(mark, PATH) + "\n"


async def _type(stage: Stage, ann: FileToolsFacade, opened: BufferResult) -> str:
    mark = stage.ledger.begin("ann")
    version = opened.buffer_version
    # As people type: by and by.
    for place, letter in enumerate(_line(mark)):
        edits = [TextEdit(place, place, letter)]
        version = (await ann.buffers.change(opened.handle, buffer_version=version, edits=edits)).buffer_version
        await stage.pause(_LETTER)
    stage.narrator.say(f"ann types into {PATH}, and does not save:")
    stage.narrator.show("+ " + _line(mark))
    seen = await _agent(stage, "alice").read_file(PATH)
    on_disk = (stage.root / PATH).read_text(encoding="utf-8")
    if mark in seen.content and mark not in on_disk:
        stage.narrator.say("alice reads the file and sees it; on the disk it is not")
    return mark


async def _edit_elsewhere(stage: Stage, typed: str) -> None:
    mark = stage.ledger.begin("bob")
    await _agent(stage, "bob").append_file(PATH, _line(mark))
    stage.ledger.acknowledged.add(mark)
    held = await stage.files.read_file(PATH)
    if mark in held.content and typed in held.content:
        stage.ledger.merged += 1
        stage.narrator.say("bob adds a line at the end: it is on the disk, and in ann's editor")
        stage.narrator.show("+ " + _line(mark))


async def _edit_what_is_unsaved(stage: Stage, typed: str) -> None:
    mark = stage.ledger.begin("alice")
    edit = Edit(old=_line(typed), new=_line(typed) + _line(mark))
    result = await _agent(stage, "alice").edit_file(PATH, [edit])
    stage.ledger.acknowledged.add(mark)
    if result.in_buffer:
        stage.narrator.say("alice answers ann's line: that goes into ann's editor, not to the disk")
        stage.narrator.show("+ " + _line(mark))


async def _conflict(stage: Stage, typed: str) -> None:
    mark = stage.ledger.begin("bob")
    bob = _agent(stage, "bob")
    disk = await bob.read_file(PATH, view="disk")
    try:
        await bob.write_file(PATH, _line(mark) + disk.content, expected_version=disk.version)
    except EditConflictError as exc:
        stage.ledger.refused.add(mark)
        (conflict, *_) = exc.details["conflicts"]
        if typed in conflict["ours"] and mark in conflict["theirs"]:
            stage.narrator.say(f"bob writes where ann types: {exc.code}, both sides told, nothing written")
            for whose, side in (("ann ", conflict["ours"]), ("bob ", conflict["theirs"])):
                stage.narrator.show(*(f"{whose}| {line}" for line in side.splitlines()))
    else:
        stage.ledger.acknowledged.add(mark)


async def _merge(stage: Stage) -> None:
    alice, bob = _agent(stage, "alice"), _agent(stage, "bob")
    marks = stage.ledger.begin("alice"), stage.ledger.begin("bob")
    known = [(await agent.read_file(PATH)).content for agent in (alice, bob)]
    await alice.write_file(PATH, _line(marks[0]) + known[0])
    result = await bob.write_file(PATH, known[1] + _line(marks[1]))
    stage.ledger.acknowledged.update(marks)
    if result.merged:
        stage.ledger.merged += 1
        stage.narrator.say("alice and bob write the whole file from one text: merged, it has both")
        stage.narrator.show(*("+ " + _line(mark) for mark in marks))


async def _undo(stage: Stage) -> None:
    alice, bob = _agent(stage, "alice"), _agent(stage, "bob")
    unwanted, wanted = stage.ledger.begin("alice"), stage.ledger.begin("bob")
    before = await alice.read_file(PATH)
    middle = before.content.index("\n\n") + 1
    await alice.write_file(PATH, before.content[:middle] + _line(unwanted) + before.content[middle:])
    await bob.append_file(PATH, _line(wanted))
    stage.ledger.acknowledged.add(wanted)
    await asyncio.sleep(PAUSE_SECONDS)
    await stage.pause(2)
    await alice.undo()
    stage.ledger.undone.add(unwanted)
    stage.narrator.say("alice takes a change of hers back; what bob wrote after it stays")
    stage.narrator.show("- " + _line(unwanted), "  " + _line(wanted))
