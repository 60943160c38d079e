"""An actor's changes are written in the encoding in which it last read the file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET
from tests.support.opened import refused

TEXT = "一行\n二行\n三行\n"
SJIS = TEXT.encode("shift_jis")
BEFORE = {"a.txt": SJIS}
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n 一行\n-二行\n+{new}\n*** End Patch\n"
CALLS: dict[str, Callable[[FileToolsFacade, str], Awaitable[object]]] = {
    "write": lambda files, new: files.write_file("a.txt", TEXT.replace("二行", new)),
    "write several": lambda files, new: files.write_multiple([{"path": "a.txt", "content": TEXT.replace("二行", new)}]),
    "edit": lambda files, new: files.edit_file("a.txt", [Edit(old="二行", new=new)]),
    "insert": lambda files, new: files.insert_lines("a.txt", 1, f"{new}\n"),
    "append": lambda files, new: files.append_file("a.txt", f"{new}\n"),
    "patch": lambda files, new: files.apply_patch(PATCH.format(new=new)),
}


def other(files: FileToolsFacade) -> FileToolsFacade:
    return files.for_actor(Actor(kind="agent", id="bob"))


@pytest.mark.parametrize("name", ["edit", "patch"])
async def test_a_dry_run_sees_the_text_as_its_actor_does(files: FileToolsFacade, name: str) -> None:
    await files.read_file("a.txt", encoding="shift_jis")
    if name == "edit":
        planned: str | None = (await files.edit_file("a.txt", [Edit(old="二行", new="新")], dry_run=True)).version
    else:
        planned = (await files.apply_patch(PATCH.format(new="新"), dry_run=True)).files[0].version
    await CALLS[name](files, "新")
    assert (await files.read_file("a.txt")).version == planned


async def test_a_read_that_names_no_encoding_ends_it(files: FileToolsFacade) -> None:
    await files.read_file("a.txt", encoding="shift_jis")
    await files.read_file("a.txt")
    await refused("EDIT_NOT_FOUND", CALLS["edit"](files, "新"))


async def test_it_is_the_actors_own(files: FileToolsFacade) -> None:
    await files.read_file("a.txt", encoding="shift_jis")
    await refused("EDIT_NOT_FOUND", CALLS["edit"](other(files), "新"))


async def test_it_outlives_own_changes_and_the_opening(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(SJIS)
    actor = Actor(kind="agent", id="alice")
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        files = opened.for_actor(actor)
        await files.read_file("a.txt", encoding="shift_jis", limit=1)
        await files.edit_file("a.txt", [Edit(old="二行", new="2")])
        await files.append_file("a.txt", "四行\n")
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        await opened.for_actor(actor).edit_file("a.txt", [Edit(old="2", new="弐")])
    assert (tmp_path / "a.txt").read_bytes() == "一行\n弐\n三行\n四行\n".encode("shift_jis")


async def test_a_text_written_in_a_given_encoding_keeps_it(files: FileToolsFacade, tmp_path: Path) -> None:
    await files.write_file("b.txt", TEXT, encoding="shift_jis")
    await files.write_file("b.txt", TEXT + "四行\n")
    assert (tmp_path / "b.txt").read_bytes() == (TEXT + "四行\n").encode("shift_jis")


async def test_a_stale_write_is_merged_in_it(files: FileToolsFacade, tmp_path: Path) -> None:
    bob = other(files)
    for each in (files, bob):
        await each.read_file("a.txt", encoding="shift_jis")
    await bob.edit_file("a.txt", [Edit(old="三行", new="参行")])
    result = await files.write_file("a.txt", TEXT.replace("一行", "壱行"))
    assert result.merged
    assert (tmp_path / "a.txt").read_bytes() == "壱行\n二行\n参行\n".encode("shift_jis")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
async def test_a_file_that_was_converted_since_is_written_as_it_is_now(
    files: FileToolsFacade, tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT.encode("latin-1", "replace") + "é\n".encode("latin-1"))
    await files.read_file("a.txt", encoding="latin-1")
    (tmp_path / "a.txt").write_bytes((TEXT + "é\n").encode(encoding))
    await files.edit_file("a.txt", [Edit(old="é", new="日")])
    assert (tmp_path / "a.txt").read_bytes() == (TEXT + "日\n").encode(encoding)


async def test_what_others_read_does_not_depend_on_who_wrote(files: FileToolsFacade) -> None:
    await files.read_file("a.txt", encoding="shift_jis")
    await CALLS["edit"](files, "新")
    assert (await other(files).read_file("a.txt")).encoding == "latin-1"
    await files.write_file("b.txt", TEXT, encoding="shift_jis")
    assert (await other(files).read_file("b.txt")).encoding == "latin-1"


async def test_one_latin_1_byte_survives_every_change(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\r\none\ntwo\r\nlast")
    await files.edit_file("a.txt", [Edit(old="one", new="1")])
    await files.insert_lines("a.txt", 2, "new\n")
    await files.apply_patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n")
    await files.append_file("a.txt", "!")
    await other(files).read_file("a.txt")
    known = (await files.read_file("a.txt")).content
    await other(files).edit_file("a.txt", [Edit(old="1", new="I")])
    await files.write_file("a.txt", known.replace("2", "II"))
    assert (tmp_path / "a.txt").read_bytes() == b"caf\xe9\r\nI\nnew\nII\r\nlast!"


async def test_a_document_that_is_read_in_another_encoding_gets_what_the_file_has(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\u00e9\u00e9\u00e9 END\n", "utf-8")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        ann = files.for_actor(Actor(kind="editor", id="ann", session="window"))
        opened = await ann.buffers.open("f")
        agent = files.for_actor(Actor(kind="agent", id="alice"))
        await agent.read_file("f", encoding="latin-1")
        await agent.edit_file("f", [Edit(old="END", new="FIN")])
        assert (tmp_path / "f").read_text("utf-8") == "\u00e9\u00e9\u00e9 FIN\n"
        assert (await ann.buffers.read(opened.handle)).text == "\u00e9\u00e9\u00e9 FIN\n"


@pytest.mark.parametrize("encoding", ["utf-7", "hz", "iso2022_jp", "shift_jis_2004", "gb18030"])
async def test_lines_are_read_in_every_encoding(files: FileToolsFacade, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("a\n文字\nc\n".encode(encoding))
    read = await files.read_file("a.txt", offset=2, limit=1, encoding=encoding)
    assert (read.content, read.next_offset, read.total_lines) == ("文字\n", 3, 3)
