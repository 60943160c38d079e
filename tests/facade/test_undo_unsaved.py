"""Undo while people type: an agent's changes of unsaved text are undone there, and what people typed is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferResult
from tests.support.opened import refused

ALICE = Actor(kind="agent", id="alice", session="s1")
ANN = Actor(kind="editor", id="ann", session="w1")
LINES = "one\ntwo\nthree\nfour\nfive\n"
BEFORE = {"a.txt": LINES.encode()}
TYPED = "one\ntyped two\nthree\nfour\nfive\n"


@pytest.fixture
async def document(files: FileToolsFacade) -> BufferResult:
    """A document with unsaved text that an agent has changed."""
    ann = files.for_actor(ANN)
    opened = await ann.buffers.open("a.txt")
    await ann.buffers.change(opened.handle, text=TYPED, buffer_version=opened.buffer_version)
    done = await files.for_actor(ALICE).edit_file("a.txt", [Edit(old="typed two", new="typed TWO")])
    assert done.in_buffer
    return await ann.buffers.read(opened.handle)


async def test_what_a_person_typed_over_is_a_conflict(
    files: FileToolsFacade, document: BufferResult, tmp_path: Path
) -> None:
    ann = files.for_actor(ANN)
    text = document.text.replace("typed TWO", "my own words")
    await ann.buffers.change(document.handle, text=text, buffer_version=document.buffer_version)
    await refused("EDIT_CONFLICT", files.for_actor(ALICE).undo())
    assert (await ann.buffers.read(document.handle)).text == text
    assert (tmp_path / "a.txt").read_text() == LINES


async def test_an_agents_part_of_unsaved_text_is_taken_back_and_put_back(
    files: FileToolsFacade, document: BufferResult, tmp_path: Path
) -> None:
    ann, alice = files.for_actor(ANN), files.for_actor(ALICE)
    text = document.text.replace("five", "FIVE")
    await ann.buffers.change(document.handle, text=text, buffer_version=document.buffer_version)
    result = await alice.undo()
    assert [(change.outcome, change.path) for change in result.changes] == [("undone", "a.txt")]
    now = await ann.buffers.read(document.handle)
    assert (now.text, now.dirty) == (TYPED.replace("five", "FIVE"), True)
    assert (tmp_path / "a.txt").read_text() == LINES
    assert (await alice.undo()).changes == []
    await alice.redo()
    assert (await ann.buffers.read(document.handle)).text == text
    assert (tmp_path / "a.txt").read_text() == LINES


@pytest.mark.parametrize("words", ["\u20ac and \u0142", "\xc3\xa9 and"], ids=["not in Latin-1", "like UTF-8"])
async def test_an_agents_part_is_taken_back_in_the_encoding_of_the_text(
    files: FileToolsFacade, tmp_path: Path, words: str
) -> None:
    ann, alice = files.for_actor(ANN), files.for_actor(ALICE)
    (tmp_path / "l.txt").write_bytes("caf\xe9 cr\xe8me\ntwo\nthree\n".encode("latin-1"))
    opened = await ann.buffers.open("l.txt")
    typed = f"cafe\n{words}\nthree\n"
    await ann.buffers.change(opened.handle, text=typed, buffer_version=opened.buffer_version)
    await alice.edit_file("l.txt", [Edit(old="and", new="or")])
    assert [change.outcome for change in (await alice.undo()).changes] == ["undone"]
    assert (await ann.buffers.read(opened.handle)).text == typed


async def test_after_the_save_it_is_taken_back_from_the_file(
    files: FileToolsFacade, document: BufferResult, tmp_path: Path
) -> None:
    await files.for_actor(ANN).buffers.save(document.handle)
    names = [(part.first, (part.actor or {}).get("id")) for part in (await files.provenance("a.txt")).ranges]
    assert (2, "alice") in names
    await files.for_actor(ALICE).undo()
    assert (tmp_path / "a.txt").read_text() == TYPED


async def test_of_a_document_that_was_given_up_nothing_is_left(
    files: FileToolsFacade, document: BufferResult, tmp_path: Path
) -> None:
    await files.for_actor(ANN).buffers.close(document.handle)
    result = await files.for_actor(ALICE).undo()
    assert [change.outcome for change in result.changes] == ["unchanged"]
    assert (tmp_path / "a.txt").read_text() == LINES


@pytest.mark.parametrize("agent_undoes", [False, True])
async def test_a_restore_takes_an_agents_part_of_unsaved_text_back_with_its_save(
    files: FileToolsFacade, tmp_path: Path, agent_undoes: bool
) -> None:
    ann, alice = files.for_actor(ANN), files.for_actor(ALICE)
    await files.checkpoint("start")
    opened = await ann.buffers.open("a.txt")
    await ann.buffers.change(opened.handle, text=TYPED, buffer_version=opened.buffer_version)
    await alice.edit_file("a.txt", [Edit(old="typed two", new="typed TWO")])
    await ann.buffers.save(opened.handle)
    await ann.buffers.close(opened.handle)
    if agent_undoes:
        await alice.undo()
    before = (tmp_path / "a.txt").read_text()
    result = await ann.restore("start")
    assert {change.outcome for change in result.changes} == {"undone"}
    assert (tmp_path / "a.txt").read_text() == LINES
    await ann.redo()
    assert (tmp_path / "a.txt").read_text() == before


async def test_a_preview_sees_unsaved_text_and_one_open_document_does_not_stop_the_rest(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    ann, alice = files.for_actor(ANN), files.for_actor(ALICE)
    await alice.edit_file("a.txt", [Edit(old="two", new="TWO")])
    await alice.write_file("b.txt", "b\n")
    opened = await ann.buffers.open("a.txt")
    text = opened.text.replace("TWO", "TWO, says ann")
    await ann.buffers.change(opened.handle, text=text, buffer_version=opened.buffer_version)
    preview = await alice.undo(since=1, dry_run=True)
    error = await refused("EDIT_CONFLICT", alice.undo(since=1))
    assert [conflict.path for conflict in preview.conflicts] == ["a.txt"]
    assert error.details["conflicts"] == [conflict.to_dict() for conflict in preview.conflicts]
    done = await alice.undo(since=1, partial=True)
    assert [conflict.path for conflict in done.conflicts] == ["a.txt"]
    assert not (tmp_path / "b.txt").exists()
    assert (await ann.buffers.read(opened.handle)).text == text
    assert (tmp_path / "a.txt").read_text() == LINES.replace("two", "TWO")


async def test_a_deleted_file_comes_back_below_what_was_typed_since(files: FileToolsFacade, tmp_path: Path) -> None:
    ann, alice = files.for_actor(ANN), files.for_actor(ALICE)
    await alice.edit_file("a.txt", [Edit(old="two", new="TWO")])
    opened = await ann.buffers.open("a.txt")
    await alice.delete_file("a.txt")
    now = await ann.buffers.read(opened.handle)
    text = now.text.replace("five", "my five")
    await ann.buffers.change(opened.handle, text=text, buffer_version=now.buffer_version)
    for count, standing in ((1, LINES.replace("two", "TWO")), (2, LINES)):
        preview, done = await alice.undo(dry_run=True), await alice.undo()
        assert (
            [change.outcome for change in done.changes] == [change.outcome for change in preview.changes] == ["undone"]
        )
        assert (tmp_path / "a.txt").read_text() == standing
        shown = await ann.buffers.read(opened.handle)
        assert (shown.text, shown.dirty) == (text if count == 1 else text.replace("TWO", "two"), True)
    await ann.buffers.save(opened.handle)
    assert (tmp_path / "a.txt").read_text() == LINES.replace("five", "my five")
