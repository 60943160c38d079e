"""Changes that a function computes from the text that stands there: refused whole, exact in bytes, unknown to stamps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

import filetools
from filetools.content.text_edits import TextEdit
from filetools.errors import InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET
from tests.support.opened import refused
from tests.support.people import ALICE, BOB, EDITOR


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        yield opened


def shout(text: str, _known: str | None = None) -> Sequence[TextEdit]:
    """Put the first word of a text in capitals."""
    end = len(text.split()[0])
    return [TextEdit(0, end, text[:end].upper())]


async def test_what_the_function_refuses_changes_nothing(files: FileToolsFacade, tmp_path: Path) -> None:
    def refuse(text: str, _known: str | None) -> Sequence[TextEdit]:
        raise InvalidArgumentError(f"not in {len(text)} characters")

    (tmp_path / "a.txt").write_text("text")
    await refused("INVALID_ARGUMENT", files.change_text("a.txt", refuse, arguments={}))
    await refused("FILE_NOT_FOUND", files.change_text("b.txt", shout, arguments={}))
    assert (await files.changes()).records == ()


async def test_a_change_needs_the_same_permission_as_an_edit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    async with filetools.open(tmp_path, settings=QUIET, permissions="read_only") as files:
        agent = files.for_actor(ALICE)
        error = await refused("TOOL_BLOCKED", agent.change_text("a.txt", shout, arguments={}))
    assert "edit_file" in error.message


async def test_only_the_bytes_of_the_span_change(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("größe one\r\ntwo\n".encode("latin-1"))
    made = await files.change_text("a.txt", shout, arguments={})
    assert (tmp_path / "a.txt").read_bytes() == "GRÖSSE one\r\ntwo\n".encode("latin-1")
    assert made.structured_patch[0]["lines"] == ["-größe one", "+GRÖSSE one", " two"]
    assert made.counts == [1]


async def test_a_dry_run_and_no_replacement_leave_the_file(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    assert (await files.change_text("a.txt", shout, arguments={}, dry_run=True)).dry_run
    assert (await files.change_text("a.txt", lambda *_: (), arguments={})).unchanged
    assert (tmp_path / "a.txt").read_text() == "one"


async def test_twenty_at_once_are_all_there(files: FileToolsFacade, tmp_path: Path) -> None:
    def more(text: str, _known: str | None) -> Sequence[TextEdit]:
        return [TextEdit(0, len(text), str(int(text) + 1))]

    (tmp_path / "count").write_text("0")
    await asyncio.gather(*(files.change_text("count", more, arguments={}) for _ in range(20)))
    assert (tmp_path / "count").read_text() == "20"


async def test_a_change_does_not_make_the_text_known(files: FileToolsFacade, tmp_path: Path) -> None:
    alice, bob = files.for_actor(ALICE), files.for_actor(BOB)
    await alice.write_file("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n")
    await bob.edit_file("a.txt", [filetools.Edit(old="six", new="6")])
    await alice.change_text("a.txt", shout, arguments={})
    merged = await alice.write_file("a.txt", "one\ntwo\nthree\n4\nfive\nsix\n")
    assert merged.merged
    assert (tmp_path / "a.txt").read_text() == "ONE\ntwo\nthree\n4\nfive\n6\n"


async def test_who_has_not_read_it_is_refused_where_that_is_asked_for(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    alice = files.for_actor(ALICE)
    await refused("VERSION_MISMATCH", alice.change_text("a.txt", shout, arguments={}, require_read=True))
    await alice.read_file("a.txt", limit=1)
    await refused("VERSION_MISMATCH", alice.change_text("a.txt", shout, arguments={}, require_read=True))
    await alice.read_file("a.txt", offset=1, limit=2)
    await alice.change_text("a.txt", shout, arguments={}, require_read=True)
    assert (tmp_path / "a.txt").read_text() == "ONE\ntwo\n"


async def test_the_function_is_told_what_its_actor_knew(files: FileToolsFacade) -> None:
    told: list[tuple[str, str | None]] = []

    def ask(text: str, known: str | None) -> Sequence[TextEdit]:
        told.append((text, known))
        return [TextEdit(0, 0, "!")]

    alice, bob = files.for_actor(ALICE), files.for_actor(BOB)
    await alice.write_file("a.txt", "one")
    await alice.change_text("a.txt", ask, arguments={})
    await alice.change_text("a.txt", ask, arguments={})
    await bob.change_text("a.txt", ask, arguments={})
    await alice.change_text("a.txt", ask, arguments={})
    assert told == [("one", None), ("!one", None), ("!!one", None), ("!!!one", "!!one")]


async def test_unsaved_text_is_changed_where_it_is(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    buffers = files.for_actor(EDITOR).buffers
    opened = await buffers.open("a.txt")
    await buffers.change(opened.handle, buffer_version=opened.buffer_version, text="typed\n")
    made = await files.for_actor(ALICE).change_text("a.txt", shout, arguments={})
    assert made.in_buffer
    assert (await buffers.read(opened.handle)).text == "TYPED\n"
    assert (tmp_path / "a.txt").read_text() == "one\n"
