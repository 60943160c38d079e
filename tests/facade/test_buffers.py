"""Documents that editors have open: shared, never lost, and never saved without the person."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Actor, Edit
from filetools.changes.documents.files import follow_disk
from filetools.changes.parts import Parts
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.facade.facade import FileToolsFacade
from filetools.journal.documents import Document
from filetools.models.buffers import BufferResult
from filetools.models.words import OnConflict
from tests.support import inside
from tests.support.facade_worker import RELAXED
from tests.support.opened import lapse_leases, outcome_of, refused, steps_until, until_watched

ANN = Actor(kind="editor", id="ann", session="window")
BEN = Actor(kind="editor", id="ben", session="window")
AGENT = Actor(kind="agent", id="alice", session="s")
LINES = "".join(f"line {number}\n" for number in range(1, 21))


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The editors of two persons and an agent, on one tree."""

    root: Path
    ann: FileToolsFacade
    ben: FileToolsFacade
    agent: FileToolsFacade

    @property
    def on_disk(self) -> str:
        return (self.root / "a.txt").read_text()

    async def opened(self, text: str = LINES, typed: str | None = None) -> BufferResult:
        """Open a.txt for ann and type something at its beginning."""
        (self.root / "a.txt").write_text(text)
        opened = await self.ann.buffers.open("a.txt")
        if typed is not None:
            await self.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, typed)])
        return opened


async def test_an_edit_keeps_unsaved_characters_that_the_encoding_of_the_file_lacks(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes("café\ntwo\n".encode("latin-1"))
    opened = await desk.ann.buffers.open("a.txt")
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "日\n")])
    await desk.agent.edit_file("a.txt", [Edit(old="two", new="2")])
    assert (await desk.agent.read_file("a.txt")).content == "日\ncafé\n2\n"
    assert (desk.root / "a.txt").read_bytes() == "café\n2\n".encode("latin-1")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        yield Desk(root=tmp_path, ann=files.for_actor(ANN), ben=files.for_actor(BEN), agent=files.for_actor(AGENT))


# What must be refused


async def test_a_binary_file_is_not_opened(desk: Desk) -> None:
    (desk.root / "a.bin").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    await refused("INVALID_ARGUMENT", desk.ann.buffers.open("a.bin"))


@pytest.mark.parametrize(
    "edits",
    [
        [TextEdit(0, 1000, "")],
        [TextEdit(-1, 0, "")],
        [TextEdit(5, 3, "")],
        [TextEdit(0, 4, "x"), TextEdit(2, 6, "y")],
        [TextEdit(0, 0, "\ud800")],
    ],
)
async def test_edits_that_do_not_fit_are_refused_and_change_nothing(desk: Desk, edits: list[TextEdit]) -> None:
    opened = await desk.opened()
    for number, given in ((1, edits), *((wrong, []) for wrong in (0, 2, -1))):
        await refused("INVALID_ARGUMENT", desk.ann.buffers.change(opened.handle, buffer_version=number, edits=given))
    assert (await desk.ann.buffers.read(opened.handle)).text == LINES


async def test_a_version_older_than_the_history_asks_for_a_resync(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filetools.journal.documents.KEPT_EDITS", 3)
    opened = await desk.opened()
    for number in range(5):
        await desk.ann.buffers.change(opened.handle, buffer_version=number + 1, edits=[TextEdit(0, 0, "x")])
    error = await refused(
        "RESYNC", desk.ann.buffers.change(opened.handle, buffer_version=2, edits=[TextEdit(0, 0, "y")])
    )
    assert error.details["newest_version"] == 6
    fine = await desk.ann.buffers.change(opened.handle, buffer_version=3, edits=[TextEdit(0, 0, "y")])
    assert fine.buffer_version == 7


async def test_an_agent_may_not_delete_or_overwrite_unsaved_text(desk: Desk) -> None:
    await desk.opened(typed="typed ")
    (desk.root / "folder").mkdir()
    await desk.agent.write_file("folder/b.txt", "b\n")
    below = await desk.ann.buffers.open("folder/b.txt")
    await desk.ann.buffers.change(below.handle, buffer_version=1, text="typed\n")
    await desk.agent.write_file("c.txt", "c\n")
    await refused("BATCH_FAILED", desk.agent.delete_multiple(["c.txt", "a.txt"]))
    calls: list[Awaitable[object]] = [
        desk.agent.delete_file("a.txt"),
        desk.agent.move_file("c.txt", "a.txt", overwrite=True),
        desk.agent.delete_directory("folder", recursive=True),
        desk.agent.write_file("a.txt", b"\0\1\2"),
        desk.agent.write_file("a.txt", "new", on_conflict="cancel"),
    ]
    errors = [await refused("EDIT_CONFLICT", call) for call in calls]
    assert ["Approval required." in str(error) for error in errors] == [*[False] * 4, True]
    assert desk.on_disk == LINES
    assert (desk.root / "folder/b.txt").read_text() == "b\n"


# One document per path


async def test_crossing_edits_meet_and_both_editors_end_with_the_same_text(desk: Desk) -> None:
    first = await desk.opened("abc def\n")
    second = await desk.ben.buffers.open("a.txt")
    anns = [TextEdit(0, 3, "ABC")]
    bens = [TextEdit(4, 7, "DEF!"), TextEdit(3, 3, " <>")]
    await desk.ann.buffers.change(first.handle, buffer_version=1, edits=anns)
    answer = await desk.ben.buffers.change(second.handle, buffer_version=1, edits=bens)
    own = apply_text_edits("abc def\n", sorted(bens, key=lambda edit: edit.start))
    others = [TextEdit(edit["start"], edit["end"], edit["text"]) for edit in answer.edits]
    shared = (await desk.ann.buffers.read(first.handle)).text
    assert apply_text_edits(own, others) == shared
    assert shared == "ABC <> DEF!\n"


async def test_a_whole_text_counts_only_where_it_differs(desk: Desk) -> None:
    first = await desk.opened()
    second = await desk.ben.buffers.open("a.txt")
    await desk.ann.buffers.change(first.handle, buffer_version=1, edits=[TextEdit(0, 0, "top\n")])
    await desk.ben.buffers.change(second.handle, buffer_version=1, text=LINES.replace("line 20", "bottom"))
    text = (await desk.ann.buffers.read(first.handle)).text
    assert text == "top\n" + LINES.replace("line 20", "bottom")


async def test_places_count_utf16_units_and_lines_keep_their_ends(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes("😀a\r\nb\nc\r\n".encode())
    opened = await desk.ann.buffers.open("a.txt")
    assert opened.text == "😀a\nb\nc\n"
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(2, 3, "A"), TextEdit(8, 8, "d\n")])
    await desk.ann.buffers.save(opened.handle)
    assert (desk.root / "a.txt").read_bytes() == "😀A\r\nb\nc\r\nd\r\n".encode()


async def test_bytes_outside_typed_text_survive(desk: Desk) -> None:
    content = b"caf\xe9\r\nplain\nlast"
    (desk.root / "a.txt").write_bytes(content)
    opened = await desk.ann.buffers.open("a.txt")
    place = opened.text.index("plain")
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(place, place + 5, "PLAIN")])
    await desk.ann.buffers.save(opened.handle)
    assert (desk.root / "a.txt").read_bytes() == content.replace(b"plain", b"PLAIN")


async def test_a_character_that_the_encoding_lacks_is_refused_at_saving_and_stays_typed(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"caf\xe9\n")
    opened = await desk.ann.buffers.open("a.txt")
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "€ ")])
    error = await refused("ENCODING_ERROR", desk.ann.buffers.save(opened.handle))
    assert error.details["character"] == "U+20AC"
    assert (desk.root / "a.txt").read_bytes() == b"caf\xe9\n"
    assert (await desk.agent.read_file("a.txt")).content == "€ café\n"


@pytest.mark.parametrize("on_disk", [None, "café\r\ntwo\nTHREE\n"])
async def test_saving_in_another_encoding_keeps_line_ends_and_what_others_wrote(
    desk: Desk, on_disk: str | None
) -> None:
    (desk.root / "a.txt").write_bytes("café\r\ntwo\nthree\n".encode("latin-1"))
    opened = await desk.ann.buffers.open("a.txt")
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "€ ")])
    await refused("INVALID_ARGUMENT", desk.ann.buffers.save(opened.handle, encoding="utf-9"))
    await refused("ENCODING_ERROR", desk.ann.buffers.save(opened.handle, encoding="ascii"))
    if on_disk:
        (desk.root / "a.txt").write_bytes(on_disk.encode("latin-1"))
    await desk.ann.buffers.save(opened.handle, encoding="utf-8")
    assert (desk.root / "a.txt").read_bytes().decode() == "€ " + (on_disk or "café\r\ntwo\nthree\n")
    assert (await desk.ann.buffers.read(opened.handle)).encoding == "utf-8"
    assert not (await desk.ann.buffers.read(opened.handle)).dirty


async def test_a_new_document_makes_its_file_when_it_is_saved(desk: Desk) -> None:
    opened = await desk.ann.buffers.open("new/a.txt")
    assert (opened.text, opened.disk_version) == ("", None)
    await desk.ann.buffers.change(opened.handle, buffer_version=1, text="hello\n")
    saved = await desk.ann.buffers.save(opened.handle)
    assert (saved.created, saved.dirty) == (True, False)
    assert (desk.root / "new/a.txt").read_text() == "hello\n"


async def test_typing_back_to_the_saved_text_is_clean_again(desk: Desk) -> None:
    opened = await desk.opened(typed="x")
    answer = await desk.ann.buffers.change(opened.handle, buffer_version=2, edits=[TextEdit(0, 1, "")])
    assert not answer.dirty
    assert (await desk.agent.read_file("a.txt")).origin == "disk"


# What agents see


async def test_agents_read_unsaved_text(desk: Desk) -> None:
    await desk.opened(typed="typed ")
    auto = await desk.agent.read_file("a.txt")
    disk = await desk.agent.read_file("a.txt", view="disk")
    assert (auto.content, auto.origin, auto.disk_version) == ("typed " + LINES, "buffer", disk.version)
    assert (disk.content, disk.origin, disk.buffer_is_newer) == (LINES, "disk", True)
    assert (await desk.agent.read_file("a.txt", offset=1, limit=1)).content == "typed line 1\n"


async def test_a_clean_document_is_read_from_disk(desk: Desk) -> None:
    await desk.opened()
    assert (await desk.agent.read_file("a.txt")).origin == "disk"


async def test_an_edit_elsewhere_is_written_to_the_file_and_merged_into_unsaved_text(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    result = await desk.agent.edit_file("a.txt", [Edit(old="line 15", new="LINE 15")])
    assert desk.on_disk == LINES.replace("line 15", "LINE 15")
    after = await desk.ann.buffers.read(opened.handle)
    assert (after.text, after.dirty) == ("typed " + desk.on_disk, True)
    assert (result.in_buffer, result.version) == (False, (await desk.agent.read_file("a.txt")).version)
    assert result.disk_version == (await desk.agent.read_file("a.txt", view="disk")).version


async def test_an_edit_of_unsaved_text_changes_only_the_document(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    result = await desk.agent.edit_file("a.txt", [Edit(old="typed line 1", new="better line 1")])
    assert result.in_buffer
    assert desk.on_disk == LINES
    assert (await desk.ann.buffers.read(opened.handle)).text == "better " + LINES
    (newest, *_) = (await desk.agent.versions("a.txt")).versions
    assert (newest.version, newest.actor["id"], newest.number) == (result.version, "alice", result.number)
    saved = await desk.ann.buffers.save(opened.handle)
    assert desk.on_disk == "better " + LINES
    assert saved.number is not None


async def test_a_whole_write_from_the_unsaved_text_saves_none_of_it(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    known = await desk.agent.read_file("a.txt")
    sent = known.content.replace("line 15", "LINE 15")
    result = await desk.agent.write_file("a.txt", sent, expected_version=known.version)
    assert desk.on_disk == LINES.replace("line 15", "LINE 15")
    assert (await desk.ann.buffers.read(opened.handle)).text == sent
    assert not result.merged


async def test_a_whole_write_based_on_the_file_is_merged_into_unsaved_text(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    known = await desk.agent.read_file("a.txt", view="disk")
    sent = LINES.replace("line 15", "LINE 15")
    result = await desk.agent.write_file("a.txt", sent, expected_version=known.version)
    assert (desk.on_disk, result.merged) == (sent, True)
    assert (await desk.ann.buffers.read(opened.handle)).text == "typed " + sent


async def test_bytes_that_are_text_are_merged_into_unsaved_text(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    await desk.agent.write_file("a.txt", (LINES + "more\n").encode())
    await desk.agent.append_file("a.txt", b"last\n")
    assert desk.on_disk == LINES + "more\nlast\n"
    assert (await desk.ann.buffers.read(opened.handle)).text == "typed " + LINES + "more\nlast\n"


async def test_a_change_that_overlaps_with_unsaved_text_is_refused_with_both_sides(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    known = await desk.agent.read_file("a.txt", view="disk")
    sent = LINES.replace("line 1\n", "first\n")
    error = await refused("EDIT_CONFLICT", desk.agent.write_file("a.txt", sent, expected_version=known.version))
    neither = desk.agent.write_file("a.txt", "x", expected_version="0" * 64)
    await refused("VERSION_MISMATCH", neither)
    (conflict,) = error.details["conflicts"]
    assert (conflict["current"], conflict["yours"], conflict["base"]) == ("typed line 1\n", "first\n", "line 1\n")
    assert (desk.on_disk, (await desk.ann.buffers.read(opened.handle)).text) == (LINES, "typed " + LINES)


async def test_an_addition_is_appended_to_file_and_document(desk: Desk) -> None:
    opened = await desk.opened("one", typed="typed ")
    await desk.agent.append_file("a.txt", " more\n")
    assert desk.on_disk == "one more\n"
    assert (await desk.ann.buffers.read(opened.handle)).text == "typed one more\n"


async def test_equal_bytes_of_the_file_never_fail_and_change_nothing(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    result = await desk.agent.write_file("a.txt", LINES)
    assert result.unchanged
    assert (await desk.ann.buffers.read(opened.handle)).text == "typed " + LINES


async def test_a_dry_run_is_about_the_unsaved_text(desk: Desk) -> None:
    await desk.opened(typed="typed ")
    result = await desk.agent.edit_file("a.txt", [Edit(old="typed", new="seen")], dry_run=True)
    assert result.structured_patch[0]["lines"][:2] == ["-typed line 1", "+seen line 1"]


# Disk against document


async def test_a_clean_document_follows_an_agents_write_by_small_edits(desk: Desk) -> None:
    opened = await desk.opened()
    events: list[Any] = []
    desk.ann.on("buffer:changed", events.append)
    await desk.agent.edit_file("a.txt", [Edit(old="line 15", new="Line 15")])
    after = await desk.ann.buffers.read(opened.handle)
    assert (after.text, after.dirty, after.behind) == (desk.on_disk, False, False)
    await steps_until(lambda: len(events) == 1)
    (edit,) = events[0].edits
    assert (edit.end - edit.start, edit.text, events[0].actor.id) == (1, "L", "alice")


async def test_changes_of_the_file_meanwhile_are_merged_when_saving(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    events: list[Any] = []
    desk.ann.on("buffer:changed", events.append)
    (desk.root / "a.txt").write_text(LINES.replace("line 15", "by a shell"))
    saved = await desk.ann.buffers.save(opened.handle, buffer_version=2)
    # The document may have followed the file in the instant before.
    assert saved.merged or "disk" in [event.reason for event in events]
    assert desk.on_disk == "typed " + LINES.replace("line 15", "by a shell")
    text = apply_text_edits("typed " + LINES, [TextEdit(one["start"], one["end"], one["text"]) for one in saved.edits])
    assert text == desk.on_disk


async def test_a_save_over_the_same_place_is_refused_with_both_sides_until_allowed(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    (desk.root / "a.txt").write_text(LINES.replace("line 1\n", "by a shell\n"))
    error = await refused("EDIT_CONFLICT", desk.ann.buffers.save(opened.handle))
    (conflict,) = error.details["conflicts"]
    assert (conflict["current"], conflict["yours"]) == ("by a shell\n", "typed line 1\n")
    assert (await desk.ann.buffers.read(opened.handle)).text == "typed " + LINES
    saved = await desk.ann.buffers.save(opened.handle, on_conflict="allow")
    assert desk.on_disk == "typed " + LINES
    replaced = await desk.ann.read_file("a.txt", version=saved.replaced_version)
    assert replaced.content.startswith("by a shell\n")


async def test_saving_a_document_whose_file_is_gone_makes_it_again(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    (desk.root / "a.txt").unlink()
    saved = await desk.ann.buffers.save(opened.handle)
    assert (saved.created, desk.on_disk) == (True, "typed " + LINES)


async def test_a_document_follows_its_file_to_another_name(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    await desk.agent.move_file("a.txt", "folder/b.txt")
    await desk.agent.move_file("folder", "elsewhere")
    await desk.ann.buffers.save(opened.handle)
    assert (desk.root / "elsewhere/b.txt").read_text() == "typed " + LINES
    assert not (desk.root / "a.txt").exists()


@pytest.mark.parametrize(("old", "new"), [("a.txt", "b.txt"), ("folder", "elsewhere")])
async def test_a_read_right_after_a_move_shows_unsaved_text_and_editors_are_notified(
    desk: Desk, old: str, new: str
) -> None:
    source, moved = (name if name.endswith(".txt") else f"{name}/a.txt" for name in (old, new))
    await desk.agent.write_file(source, LINES)
    told = list[str]()
    desk.ann.bus.subscribe("buffer:moved", lambda event: told.append(event.path))
    opened = await desk.ann.buffers.open(source)
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "typed ")])
    await desk.ann.move_file(old, new)
    seen = await desk.agent.read_file(moved)
    assert (seen.content, seen.origin) == ("typed " + LINES, "buffer")
    await desk.ann.undo()
    assert (await desk.agent.read_file(source)).content == "typed " + LINES
    await steps_until(lambda: told == [moved, source])


async def test_editors_are_notified_of_a_move_by_another_program(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings={**RELAXED, "watch": True}) as files:
        ann = files.for_actor(ANN)
        told = list[str]()
        await until_watched(files, tmp_path)
        files.bus.subscribe("buffer:moved", lambda event: told.append(event.path))
        await ann.write_file("a.txt", LINES)
        opened = await ann.buffers.open("a.txt")
        await ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "typed ")])
        # A late hint of the write, examined after the move, would be reported as a deletion.
        await until_watched(files, tmp_path)
        (tmp_path / "a.txt").rename(tmp_path / "b.txt")
        await steps_until(lambda: told == ["b.txt"])
        assert (await ann.read_file("b.txt")).content == "typed " + LINES


@pytest.mark.parametrize("what", ["a.txt", ""], ids=["folder", "file"])
async def test_a_save_during_a_move_goes_to_the_new_path(desk: Desk, what: str) -> None:
    names = [f"name{number}" for number in range(11)]
    await desk.agent.write_file(f"{names[0]}/{what}".rstrip("/"), LINES)
    handle = (await desk.ann.buffers.open(f"{names[0]}/{what}".rstrip("/"))).handle
    for old, new in pairwise(names):
        before = await desk.ann.buffers.read(handle)
        await desk.ann.buffers.change(
            handle, buffer_version=before.buffer_version, edits=[TextEdit(0, 0, f"in {old}\n")]
        )
        await desk.agent.read_file(before.path)
        save, move = desk.ann.buffers.save(handle), outcome_of(desk.agent.move_file(old, new))
        saved, moved = await asyncio.gather(save, move)
        if moved != "done":  # the save came first, and the agent had not read the saved text
            await desk.ann.move_file(old, new)
        document = await desk.ann.buffers.read(handle)
        paths = [f"{name}/{what}".rstrip("/") for name in (old, new)]
        assert (saved.path in paths, document.path, document.dirty) == (True, paths[1], False)
        assert (desk.root / document.path).read_text() == document.text == f"in {old}\n{before.text}"
        assert not (desk.root / old).exists()


async def test_an_agent_that_has_read_unsaved_text_may_move_the_file_but_not_delete_it(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    await desk.agent.read_file("a.txt")
    await refused("EDIT_CONFLICT", desk.agent.delete_file("a.txt"))
    await desk.ann.buffers.change(opened.handle, buffer_version=2, text="more " + LINES)
    await refused("VERSION_MISMATCH", desk.agent.move_file("a.txt", "b.txt"))
    await desk.agent.read_file("a.txt")
    await desk.agent.move_file("a.txt", "b.txt")
    await desk.ann.buffers.save(opened.handle)
    assert (desk.root / "b.txt").read_text() == "more " + LINES


# Nothing typed is lost


async def test_closing_with_unsaved_text_keeps_it_as_a_version(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    told: list[Any] = []
    desk.ann.on("buffer:*", told.append)
    closed = await desk.ann.buffers.close(opened.handle)
    assert closed.kept_version is not None
    kept = await desk.agent.read_file("a.txt", version=closed.kept_version)
    assert (kept.content, desk.on_disk) == ("typed " + LINES, LINES)
    assert [event.name for event in told] == ["buffer:abandoned", "buffer:closed"]
    (entry, *_) = (await desk.agent.versions("a.txt")).versions
    assert (entry.version, entry.actor["id"]) == (closed.kept_version, "ann")
    assert (await desk.agent.read_file("a.txt")).origin == "disk"


async def test_the_text_of_a_vanished_editor_is_kept_and_reported(desk: Desk) -> None:
    told: list[Any] = []
    desk.ben.on("buffer:abandoned", told.append)
    opened = await desk.opened(typed="typed ")
    lapse_leases(desk.ann)
    await steps_until(lambda: bool(told))
    assert (told[0].path, told[0].actor.id) == ("a.txt", "ann")
    assert (await desk.agent.read_file("a.txt", version=told[0].kept_version)).content == "typed " + LINES
    await refused("BUFFER_CLOSED", desk.ann.buffers.read(opened.handle))


async def test_unsaved_text_outlives_the_process(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        opened = await files.for_actor(ANN).buffers.open("a.txt")
        await files.for_actor(ANN).buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "typed ")])
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        assert (await files.read_file("a.txt")).content == "typed " + LINES
        await files.for_actor(ANN).buffers.save(opened.handle)
    assert (tmp_path / "a.txt").read_text() == "typed " + LINES


# Editors that only report that they have changes


async def test_an_editor_that_reports_unsaved_changes_is_respected(desk: Desk) -> None:
    (desk.root / "a.txt").write_text(LINES)
    desk.ann.bus.answer("editor:is_dirty", lambda payload: {"text": "theirs\n"} if payload["path"] == "a.txt" else None)
    error = await refused("EDIT_CONFLICT", desk.agent.write_file("a.txt", "new\n"))
    assert str(error) == "File a.txt has unsaved changes."
    error = await refused("EDIT_CONFLICT", desk.agent.write_file("a.txt", "new\n", on_conflict="cancel"))
    assert str(error) == "File a.txt has unsaved changes. Approval required."
    await refused("EDIT_CONFLICT", desk.agent.edit_file("a.txt", [Edit(old="line 15", new="x")]))
    await desk.agent.write_file("b.txt", "other\n")
    await desk.agent.write_file("a.txt", "new\n", on_conflict="allow")
    assert desk.on_disk == "new\n"
    texts = [
        (await desk.agent.read_file("a.txt", version=entry.version)).content
        for entry in (await desk.agent.versions("a.txt")).versions
    ]
    assert "theirs\n" in texts


# A person decides


@pytest.mark.parametrize(
    ("answer", "edited", "expected"),
    [("allow", None, "new\n"), ("merge", "both\n", "both\n"), ("deny", None, LINES)],
)
async def test_a_person_decides_about_unsaved_text(desk: Desk, answer: str, edited: str | None, expected: str) -> None:
    opened = await desk.opened(typed="typed ")
    asked: list[Any] = []

    async def decide(request: Any) -> Any:
        asked.append(request)
        return filetools.ApprovalDecision(answer=answer, edited_text=edited)  # type: ignore[arg-type]

    desk.ann.answer_approvals(decide)
    call = desk.agent.write_file("a.txt", "new\n", on_conflict="ask")
    if answer == "deny":
        error = await refused("EDIT_CONFLICT", call)
        assert "a person refused" in str(error)
    else:
        await call
    assert desk.on_disk == expected
    assert (asked[0].base_text, asked[0].old_text, asked[0].new_text) == (LINES, "typed " + LINES, "new\n")
    after = (await desk.ann.buffers.read(opened.handle)).text
    assert after == ("typed " + LINES if answer == "deny" else expected)


@pytest.mark.parametrize("answer", ["cancel", "deny"])
async def test_merging_or_asking_refuses_only_overlaps(desk: Desk, answer: str) -> None:
    opened = await desk.opened()
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(4, 4, ", typed,")])
    asked: list[Any] = []

    async def decide(request: Any) -> Any:
        asked.append(request.new_text)
        return answer

    desk.ann.answer_approvals(decide)
    agent = desk.agent.for_actor(AGENT, on_conflict="merge_or_ask")
    await agent.edit_file("a.txt", [Edit(old="line 9\n", new="LINE 9\n")])
    assert asked == []
    await refused("EDIT_CONFLICT", agent.edit_file("a.txt", [Edit(old="line 1\nline 2\n", new="LINE 1\n")]))
    assert len(asked) == 1
    await refused("EDIT_CONFLICT", agent.write_file("a.txt", "new\n"))
    assert len(asked) == 2
    # The call's own option takes precedence.
    await refused("EDIT_CONFLICT", agent.write_file("a.txt", "new\n", on_conflict="merge"))
    assert len(asked) == 2
    expected = LINES.replace("line 9\n", "LINE 9\n")
    assert (desk.on_disk, (await desk.ann.buffers.read(opened.handle)).text) == (
        expected,
        expected.replace("line 1\n", "line, typed, 1\n", 1),
    )


@pytest.mark.parametrize("on_conflict", ["merge_or_ask", "ask", "allow"])
async def test_an_allowed_edit_replaces_only_what_it_overlaps_with(desk: Desk, on_conflict: OnConflict) -> None:
    opened = await desk.opened()
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(4, 4, ", typed,")])
    await desk.ann.buffers.change(
        opened.handle, buffer_version=2, edits=[TextEdit(len(LINES) + 8, len(LINES) + 8, "end\n")]
    )
    unsaved = (await desk.ann.buffers.read(opened.handle)).text
    asked: list[Any] = []

    async def decide(request: Any) -> Any:
        asked.append((request.base_text, request.old_text, request.new_text))
        return "allow"

    desk.ann.answer_approvals(decide)
    agent = desk.agent.for_actor(AGENT, on_conflict=on_conflict)
    result = await agent.edit_file("a.txt", [Edit(old="line 1\nline 2\n", new="LINE 1\n")])
    expected = LINES.replace("line 1\nline 2\n", "LINE 1\n") + "end\n"
    assert asked == ([] if on_conflict == "allow" else [(LINES, unsaved, expected)])
    assert (desk.on_disk, (await desk.ann.buffers.read(opened.handle)).text) == (expected, expected)
    assert (await agent.read_file("a.txt")).version == result.version
    assert not result.in_buffer
    assert (await agent.read_file("a.txt", version=result.replaced_version)).content == unsaved


async def test_concurrent_edits_are_returned_with_their_author_if_there_is_one(desk: Desk) -> None:
    mine = await desk.opened()
    theirs = await desk.ben.buffers.open("a.txt")
    await desk.ben.buffers.change(theirs.handle, buffer_version=1, edits=[TextEdit(0, 0, "ben ")])
    made = await desk.ann.buffers.change(mine.handle, buffer_version=1, edits=[TextEdit(4, 4, "ann ")])
    assert made.actor == BEN.to_dict()
    await desk.agent.edit_file("a.txt", [Edit(old="line 9\n", new="LINE 9\n")])
    late = await desk.ann.buffers.change(mine.handle, buffer_version=1, edits=[TextEdit(0, 0, "late ")])
    assert (len(late.edits), late.actor) == (3, None)


async def test_a_person_who_merges_without_a_text_keeps_both_sides(desk: Desk) -> None:
    opened = await desk.opened()
    await desk.ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(4, 4, ", typed,")])

    async def decide(request: Any) -> Any:
        return "merge"

    desk.ann.answer_approvals(decide)
    agent = desk.agent.for_actor(AGENT, on_conflict="merge_or_ask")
    await agent.insert_lines("a.txt", 20, "line 21\n")
    await agent.write_file("a.txt", LINES.replace("line 1\n", "LINE 1\n"))
    both = (await desk.ann.buffers.read(opened.handle)).text
    assert both.startswith("line, typed, 1\nLINE 1\nline 2\n")
    assert both == desk.on_disk


async def test_a_read_only_agent_may_not_type(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    async with filetools.open(tmp_path, settings=RELAXED, permissions="read_only") as files:
        opened = await files.for_actor(AGENT).buffers.open("a.txt")
        call = files.for_actor(AGENT).buffers.change(opened.handle, buffer_version=1, text="x")
        await refused("TOOL_BLOCKED", call)
        opened = await files.for_actor(ANN).buffers.open("a.txt")
        await files.for_actor(ANN).buffers.change(opened.handle, buffer_version=1, text="x")


async def test_the_status_lists_what_is_open(desk: Desk) -> None:
    await desk.opened(typed="typed ")
    await desk.ben.buffers.open("a.txt")
    listed = (await desk.agent.status())["documents"]
    assert listed == [{"path": "a.txt", "dirty": True, "buffer_version": 2, "editors": ["ann", "ben"]}]


async def test_a_handle_is_its_actors_alone_while_it_is_open(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    calls: list[Awaitable[object]] = [
        desk.agent.buffers.save(opened.handle),
        desk.agent.buffers.change(opened.handle, buffer_version=2, text="x"),
        desk.ben.buffers.close(opened.handle),
    ]
    buffers = desk.ann.buffers
    calls += [
        buffers.change("no", buffer_version=1, text=""),
        buffers.read("no"),
        buffers.renew("no"),
        buffers.close("no"),
    ]
    for call in calls:
        await refused("BUFFER_CLOSED", call)
    await buffers.close(opened.handle)
    await refused("BUFFER_CLOSED", buffers.save(opened.handle))
    assert desk.on_disk == LINES


@pytest.mark.parametrize(
    "given",
    [
        {"buffer_version": "1", "text": "x"},
        {"buffer_version": 1.5, "text": "x"},
        {"buffer_version": 1, "text": 5},
        {"buffer_version": 1, "edits": ["x"]},
        {"buffer_version": 1, "edits": [{"start": 0, "end": 0, "text": "x"}]},
        {"buffer_version": 1, "edits": {TextEdit(0, 0, "x")}},
        {"buffer_version": 1, "edits": [TextEdit(0, 0, 5)]},  # type: ignore[arg-type]
        {"buffer_version": 1, "edits": [TextEdit("a", 0, "x")]},  # type: ignore[arg-type]
        {"buffer_version": 1, "edits": 5},
        {"buffer_version": 1},
    ],
)
async def test_an_invalid_edit_is_refused(desk: Desk, given: dict[str, Any]) -> None:
    opened = await desk.opened()
    await refused("INVALID_ARGUMENT", desk.ann.buffers.change(opened.handle, **given))


async def test_the_first_call_finds_the_text_of_a_vanished_editor(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    settings = {**RELAXED, "sync_after_seconds": 3600.0}
    async with filetools.open(tmp_path, settings=settings) as files:
        opened = await files.for_actor(ANN).buffers.open("a.txt")
        await files.for_actor(ANN).buffers.change(opened.handle, buffer_version=1, text="typed\n")
    with closing(sqlite3.connect(tmp_path / ".filetools/state" / "journal.db")) as database, database:
        database.execute("UPDATE document_handles SET leased_until = 0")
    async with filetools.open(tmp_path, settings=settings) as files:
        (entry,) = (await files.versions("a.txt")).versions
        assert (await files.read_file("a.txt", version=entry.version[7:19])).content == "typed\n"


async def test_typed_text_is_read_and_kept_although_its_base_is_lost(desk: Desk) -> None:
    opened = await desk.opened(typed="typed ")
    with closing(sqlite3.connect(desk.root / ".filetools/state" / "journal.db")) as database, database:
        database.execute("DELETE FROM contents")
    assert (await desk.agent.read_file("a.txt")).content == "typed " + LINES
    saved = await desk.ann.buffers.save(opened.handle)
    assert (desk.on_disk, saved.dirty) == ("typed " + LINES, False)


async def test_file_and_unsaved_text_that_an_agent_replaces_on_demand_are_kept_as_versions(desk: Desk) -> None:
    await desk.opened(typed="typed by ann\n")
    await desk.agent.write_file("a.txt", "by the agent\n", on_conflict="allow")
    versions = (await desk.agent.versions("a.txt")).versions
    texts = [(await desk.agent.read_file("a.txt", version=entry.version)).content for entry in versions]
    assert texts == ["by the agent\n", "typed by ann\n" + LINES, LINES]
    assert [(entry.actor["kind"], entry.operation) for entry in versions][-1] == ("external", "found")


async def test_a_text_that_cannot_be_merged_with_its_file_is_tried_again_after_a_change(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[object] = []
    tried: list[str] = []

    def counted(parts: Parts, document: Document) -> bool:
        tried.append(document.path)
        return follow_disk(parts, document)

    monkeypatch.setattr("filetools.changes.documents.document_news.follow_disk", counted)
    desk.ann.on("buffer:behind", events.append)
    opened = await desk.opened(typed="mine ")
    (desk.root / "a.txt").write_text("theirs " + LINES)
    await desk.agent.look()
    await steps_until(lambda: len(events) == 1)
    tried.clear()
    await inside.follow_files(desk.agent)
    assert tried == []
    await desk.ann.buffers.change(opened.handle, buffer_version=2, edits=[TextEdit(0, 0, "still ")])
    await inside.follow_files(desk.agent)
    assert ({*tried}, len(events)) == ({"a.txt"}, 1)


async def test_a_text_follows_its_file_once_the_lost_bytes_of_that_are_stored_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    settings = {"watch": False, "durability": "relaxed", "max_foreign_bytes": 100}
    async with filetools.open(tmp_path, settings=settings) as files:
        opened = await files.buffers.open("a.txt")
        large = "x" * 200 + "\n" + LINES
        (tmp_path / "a.txt").write_text(large)
        await files.look()
        await inside.follow_files(files)
        assert (await files.buffers.read(opened.handle)).text == LINES
        await files.checkpoint("keeps the bytes")
        await inside.follow_files(files)
        assert (await files.buffers.read(opened.handle)).text == large


async def test_a_document_opens_with_old_text_that_was_put_back_while_no_process_ran(tmp_path: Path) -> None:
    settings = {"watch": False, "durability": "relaxed", "sync_after_seconds": 0.05}
    async with filetools.open(tmp_path, settings=settings) as files:
        old = await files.write_file("a.txt", "old\n")
        await files.write_file("a.txt", "new\n", expected_version=old.version)
    (tmp_path / "a.txt").write_text("old\n")  # as git checkout does
    async with filetools.open(tmp_path, settings=settings) as files:
        opened = await files.buffers.open("a.txt")
        assert (opened.text, opened.disk_version, opened.behind) == ("old\n", old.version, False)
        record = (await files.changes(paths=["a.txt"])).records[-1]
        assert (record.actor.kind, record.after) == ("external", old.version)
        typed = await files.buffers.change(opened.handle, buffer_version=opened.buffer_version, text="old\nmine\n")
        await inside.follow_files(files)
        assert (await files.buffers.read(opened.handle)).text == "old\nmine\n"
        saved = await files.buffers.save(opened.handle, buffer_version=typed.buffer_version)
        assert saved.edits == []
        assert (tmp_path / "a.txt").read_text() == "old\nmine\n"


async def test_a_document_of_a_missing_or_busy_file_can_be_opened(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings={"watch": False, "durability": "relaxed"}) as files:
        assert (await files.buffers.open("new.txt")).text == ""
        await files.write_file("gone.txt", "x\n")
        (tmp_path / "gone.txt").unlink()
        assert (await files.buffers.open("gone.txt")).disk_version is None
        assert (await files.changes(paths=["gone.txt"])).records[-1].operation.value == "delete"


async def test_other_wrong_types_are_refused_with_a_sentence(desk: Desk) -> None:
    calls: list[Awaitable[object]] = [
        desk.agent.edit_file("a.txt", "one"),  # type: ignore[arg-type]
        desk.agent.edit_file("a.txt", ["one"]),  # type: ignore[list-item]
        desk.agent.edit_file("a.txt", None),
        desk.agent.changes(-1),  # type: ignore[arg-type]
        desk.agent.list_files(limit="x"),  # type: ignore[arg-type]
        desk.agent.checkpoint(5),  # type: ignore[arg-type]
        desk.agent.diff("a.txt", "zz"),
        desk.agent.read_file("a.txt", version="6b"),
    ]
    for call in calls:
        await refused("INVALID_ARGUMENT", call)


async def test_an_unsaved_line_that_an_agent_replaces_is_among_the_versions(desk: Desk) -> None:
    opened = await desk.opened(typed="typed by ann\n")
    replaced = await desk.agent.edit_file("a.txt", [Edit(old="typed by ann", new="by the agent")])
    await desk.agent.edit_file("a.txt", [Edit(old="by the agent", new="by the agent again")])
    assert replaced.in_buffer
    await desk.ann.buffers.save(opened.handle)
    versions = (await desk.agent.versions("a.txt")).versions
    texts = [(await desk.agent.read_file("a.txt", version=entry.version)).content for entry in versions]
    by_ann = [
        entry.actor["id"] for entry, text in zip(versions, texts, strict=True) if text.startswith("typed by ann\n")
    ]
    assert by_ann == ["ann"]


async def test_without_anybody_to_ask_nothing_is_written(desk: Desk) -> None:
    await desk.opened(typed="typed ")
    await refused("APPROVAL_REQUIRED", desk.agent.write_file("a.txt", "new\n", on_conflict="ask"))
    assert desk.on_disk == LINES
