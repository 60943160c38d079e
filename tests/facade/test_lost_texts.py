"""Regressions found by random schedules: texts that were lost, or reached the disk unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.editing.text_edits import TextEdit
from filetools.content.version import version_of
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferResult
from filetools.models.files import BatchResult
from filetools.models.result import Result
from tests.support.crashing import CrashingOpening
from tests.support.facade_worker import RELAXED
from tests.support.opened import refused

LINES = "one\ntwo\nthree\nfour\nfive\nsix\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    root: Path
    person: FileToolsFacade
    alice: FileToolsFacade
    bob: FileToolsFacade

    @property
    def on_disk(self) -> str:
        return (self.root / "a.txt").read_bytes().decode()

    def save_as_another_program(self, text: str, encoding: str = "utf-8") -> None:
        (self.root / "a.txt").write_bytes(text.encode(encoding))

    async def opened(self, typed: str, at: int = 0) -> BufferResult:
        """Open a.txt for the person and type something without saving."""
        opened = await self.person.buffers.open("a.txt")
        edits = [TextEdit(at, at, typed)]
        await self.person.buffers.change(opened.handle, buffer_version=opened.buffer_version, edits=edits)
        return opened


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.write_file("a.txt", LINES)
        actors = [Actor(kind="agent", id=name, session="s") for name in ("alice", "bob")]
        yield Desk(
            root=tmp_path,
            person=files.for_actor(Actor(kind="editor", id="ann", session="w")),
            alice=files.for_actor(actors[0]),
            bob=files.for_actor(actors[1]),
        )


# Saved by another program


async def test_a_save_after_an_agents_edit_keeps_what_a_program_saved_before_it(desk: Desk) -> None:
    opened = await desk.opened("typed\n")
    desk.save_as_another_program(LINES.replace("six\n", "six\nforeign\n"))
    await desk.alice.edit_file("a.txt", [Edit(old="three", new="THREE")])
    await desk.person.buffers.save(opened.handle)
    assert desk.on_disk == "typed\none\ntwo\nTHREE\nfour\nfive\nsix\nforeign\n"


async def test_a_save_over_a_programs_save_in_the_same_place_is_refused_also_after_an_agents_edit(desk: Desk) -> None:
    opened = await desk.opened("typed ", at=0)
    desk.save_as_another_program(LINES.replace("one\n", "foreign\n"))
    await desk.alice.edit_file("a.txt", [Edit(old="five", new="FIVE")])
    assert desk.on_disk == "foreign\ntwo\nthree\nfour\nFIVE\nsix\n"
    await refused("EDIT_CONFLICT", desk.person.buffers.save(opened.handle))
    assert desk.on_disk == "foreign\ntwo\nthree\nfour\nFIVE\nsix\n"


async def test_a_document_saved_as_just_what_a_program_has_written_can_be_read_and_saved_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        opened = await files.buffers.open("a.txt")
        (tmp_path / "a.txt").write_text(LINES + "foreign\n")
        saved = await files.buffers.save(opened.handle)
        assert (saved.unchanged, saved.dirty) == (True, False)
        assert (await files.buffers.read(opened.handle)).text == LINES + "foreign\n"


async def test_a_document_is_saved_in_the_encoding_that_its_file_has_got(desk: Desk) -> None:
    opened = await desk.opened("typed\n")
    desk.save_as_another_program(LINES.replace("six", "sïx"), "utf-16")
    await desk.person.buffers.save(opened.handle)
    expected = "typed\n" + LINES.replace("six", "sïx")
    assert (desk.root / "a.txt").read_bytes().decode("utf-16") == expected
    assert (await desk.person.buffers.read(opened.handle)).text == expected


# Not saved by a person


async def test_a_patch_of_a_file_with_unsaved_text_saves_none_of_it(desk: Desk) -> None:
    await desk.opened("typed\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-typed\n+typed and patched\n*** End Patch\n"
    await desk.alice.apply_patch(patch)
    assert desk.on_disk == LINES
    assert (await desk.alice.read_file("a.txt")).content == "typed and patched\n" + LINES


async def test_naming_the_files_version_after_reading_unsaved_text_saves_none_of_it(desk: Desk) -> None:
    await desk.opened("typed\n")
    read = await desk.alice.read_file("a.txt")
    text = read.content.replace("six", "SIX")
    await desk.alice.write_file("a.txt", text, expected_version=read.disk_version)
    assert desk.on_disk == LINES.replace("six", "SIX")


async def test_the_version_returned_by_a_write_does_not_count_as_having_seen_unsaved_text(desk: Desk) -> None:
    known = (await desk.alice.read_file("a.txt")).content
    await desk.opened("typed\n")
    sent = known.replace("three", "THREE")
    written = await desk.alice.write_file("a.txt", sent)
    await desk.alice.write_file("a.txt", sent.replace("six", "SIX"), expected_version=written.version)
    assert (await desk.bob.read_file("a.txt")).content == "typed\n" + sent.replace("six", "SIX")
    assert desk.on_disk == sent.replace("six", "SIX")


async def test_an_edit_of_unsaved_text_does_not_count_as_having_seen_it(desk: Desk) -> None:
    await desk.alice.read_file("a.txt")
    opened = await desk.opened("typed\n")
    await desk.alice.edit_file("a.txt", [Edit(old="typed\none", new="typed\nONE")])
    await desk.person.buffers.save(opened.handle)
    await desk.person.buffers.close(opened.handle)
    await refused("VERSION_MISMATCH", desk.alice.delete_file("a.txt"))
    assert desk.on_disk == "typed\nONE\n" + LINES.removeprefix("one\n")


# Begun by a refused call


async def test_a_save_that_is_set_back_leaves_the_document_unsaved(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_text(LINES)
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        opened = await files.buffers.open("a.txt")
        await files.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "typed\n")])

        def make_a_folder() -> None:
            place.unlink()
            place.mkdir()

        opening.plan.acts["Prepared.exchange"] = make_a_folder
        with pytest.raises(filetools.FileToolsError):
            await files.buffers.save(opened.handle)
        place.rmdir()
        place.write_text(LINES)
        after = await files.buffers.read(opened.handle)
        assert (after.text, after.dirty) == ("typed\n" + LINES, True)
        assert (await files.buffers.close(opened.handle)).kept_version is not None


async def test_a_write_that_is_set_back_leaves_the_document_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        await files.write_file("a.txt", LINES)
        opened = await files.buffers.open("a.txt")
        opening.plan.acts["Prepared.exchange"] = place.unlink
        await refused("EDIT_CONFLICT", files.write_file("a.txt", LINES.replace("one", "refused")))
        after = await files.buffers.read(opened.handle)
        assert (after.text, after.dirty) == (LINES, False)


async def test_an_editor_that_opens_a_file_sees_nothing_of_changes_that_are_refused_meanwhile(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("one\n")
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        loop, plan, is_in_file, is_open = asyncio.get_running_loop(), opening.plan, Event(), Event()
        hunks = "".join(f"*** Update File: {name}\n@@\n-one\n+refused\n" for name in ("a.txt", "b.txt"))
        patched = list[Future[Any]]()

        def patch() -> None:
            plan.acts["Prepared.exchange"] = arm
            patch = files.apply_patch(f"*** Begin Patch\n{hunks}*** End Patch\n")
            patched.append(asyncio.run_coroutine_threadsafe(patch, loop))
            is_in_file.wait(0.3)  # without effect if only the editor has the file

        def arm() -> None:
            plan.acts["Prepared.exchange"] = remove

        def remove() -> None:
            is_in_file.set()
            is_open.wait(60)
            (tmp_path / "b.txt").unlink()

        plan.acts["read"] = patch
        opened = await files.buffers.open("a.txt")
        is_open.set()
        await refused("FILE_NOT_FOUND", asyncio.wrap_future(patched[0]))
        assert opened.text == "one\n"
        assert (await files.buffers.read(opened.handle)).text == "one\n"


async def test_a_move_that_is_set_back_leaves_the_document_where_its_file_is(tmp_path: Path) -> None:
    opening = CrashingOpening(tmp_path)
    async with opening as files:
        await files.write_file("a.txt", LINES)
        opened = await files.buffers.open("a.txt")
        await files.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "typed\n")])
        opening.plan.acts["move"] = partial((tmp_path / "b.txt").touch)
        await refused("FILE_EXISTS", files.move_file("a.txt", "b.txt"))
        assert (await files.buffers.save(opened.handle)).path == "a.txt"
    assert (tmp_path / "a.txt").read_text() == "typed\n" + LINES
    assert (tmp_path / "b.txt").read_text() == ""


# Written by another agent


async def test_a_line_read_later_does_not_make_the_text_known_that_an_agent_writes_from(desk: Desk) -> None:
    known = (await desk.alice.read_file("a.txt")).content
    await desk.bob.edit_file("a.txt", [Edit(old="five\n", new="five\nbob\n")])
    await desk.alice.read_file("a.txt", offset=1, limit=1)
    await desk.alice.write_file("a.txt", known.replace("two", "TWO"))
    assert desk.on_disk == "one\nTWO\nthree\nfour\nfive\nbob\nsix\n"


async def test_a_merged_version_is_not_known_because_something_else_was_recorded_since(desk: Desk) -> None:
    known = (await desk.alice.read_file("a.txt")).content
    await desk.bob.edit_file("a.txt", [Edit(old="five\n", new="five\nbob\n")])
    sent = known.replace("two", "TWO")
    merged = await desk.alice.write_file("a.txt", sent)
    opened = await desk.opened("typed\n")
    await desk.person.buffers.close(opened.handle)  # keeps what was typed, as the newest record
    text = sent.replace("three", "THREE")
    await desk.alice.write_file("a.txt", text, expected_version=merged.version)
    assert desk.on_disk == "one\nTWO\nTHREE\nfour\nfive\nbob\nsix\n"


async def test_a_patch_deletes_nothing_that_has_moved_on(desk: Desk) -> None:
    await desk.alice.read_file("a.txt")
    await desk.bob.append_file("a.txt", "bob\n")
    patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"
    await refused("VERSION_MISMATCH", desk.alice.apply_patch(patch))
    assert desk.on_disk == LINES + "bob\n"


# Versions of texts that hold what a person had typed


CHANGED = LINES.replace("one", "ONE")
MADE: dict[str, tuple[str, Callable[[FileToolsFacade], Awaitable[Result]]]] = {
    "write": (CHANGED, lambda alice: alice.write_file("a.txt", CHANGED)),
    "edit": (CHANGED, lambda alice: alice.edit_file("a.txt", [Edit(old="one", new="ONE")])),
    "insert": (f"zero\n{LINES}", lambda alice: alice.insert_lines("a.txt", 0, "zero\n")),
    "write several": (CHANGED, lambda alice: alice.write_multiple([{"path": "a.txt", "content": CHANGED}])),
}


@pytest.mark.parametrize("name", MADE)
async def test_the_version_of_a_text_with_unsaved_parts_does_not_say_that_they_are_known(desk: Desk, name: str) -> None:
    made, change = MADE[name]
    opened = await desk.opened("typed\n", at=len(LINES))
    await desk.alice.read_file("a.txt", view="disk")
    result = await change(desk.alice)
    told = result.results[0] if isinstance(result, BatchResult) else result
    await desk.person.buffers.save(opened.handle)
    version = told.to_dict()["version"]
    assert version == version_of(desk.on_disk.encode())
    written = await desk.alice.write_file("a.txt", made.replace("four", "FOUR"), expected_version=version)
    assert written.merged
    assert desk.on_disk == made.replace("four", "FOUR") + "typed\n"


async def test_an_actor_that_has_read_the_saved_text_may_leave_lines_out(desk: Desk) -> None:
    opened = await desk.opened("typed\n", at=len(LINES))
    known = (await desk.alice.read_file("a.txt", view="disk")).content or ""
    told = await desk.alice.write_file("a.txt", known.replace("one", "ONE"))
    await desk.person.buffers.save(opened.handle)
    await desk.alice.read_file("a.txt")
    await desk.alice.write_file("a.txt", "mine\n", expected_version=told.version)
    assert desk.on_disk == "mine\n"
