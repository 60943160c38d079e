"""If a call or its interface requires it, only an actor that has read a file can replace it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from tests.support.facade_worker import RELAXED
from tests.support.opened import refused, version

TEN_LINES = "".join(f"line {number}\n" for number in range(1, 11))
BOB = Actor(kind="agent", id="bob", session="s")
ANN = Actor(kind="editor", id="ann")


@pytest.fixture
async def bob(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    """An agent that has not read an existing file."""
    (tmp_path / "a.txt").write_text(TEN_LINES)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        yield files.for_actor(BOB)


async def test_replacing_an_unread_file_is_refused_with_its_version_and_a_hint(
    bob: FileToolsFacade, tmp_path: Path
) -> None:
    error = await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", require_read=True))
    assert error.details == {"expected_version": None, "current_version": version(TEN_LINES)}
    assert "read the whole file first" in error.message
    assert version(TEN_LINES) in error.message
    assert (tmp_path / "a.txt").read_text() == TEN_LINES


@pytest.mark.parametrize(
    "part", [{"offset": 1, "limit": 3}, {"offset": 1, "limit": 9}, {"byte_offset": 0, "byte_count": 10}]
)
async def test_neither_a_part_nor_an_edit_nor_another_session_is_enough(
    bob: FileToolsFacade, part: dict[str, int]
) -> None:
    await bob.for_actor(Actor(kind="agent", id="bob", session="other")).read_file("a.txt")
    await bob.read_file("a.txt", **part)  # type: ignore[arg-type]
    await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", require_read=True))
    await bob.edit_file("a.txt", [Edit(old="line 5", new="five")])
    await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", require_read=True))
    await bob.read_file("a.txt", offset=1, limit=100)
    assert not (await bob.write_file("a.txt", "new", require_read=True)).created


async def test_of_several_files_none_is_replaced_if_one_was_not_read(bob: FileToolsFacade, tmp_path: Path) -> None:
    await bob.write_file("b.txt", "b")
    items = [{"path": path, "content": "new", "require_read": True} for path in ("b.txt", "a.txt")]
    error = await refused("BATCH_FAILED", bob.write_multiple(items))
    assert (error.path, error.details["cause"]) == ("a.txt", "VERSION_MISMATCH")
    assert (tmp_path / "b.txt").read_text() == "b"


async def test_an_actor_that_has_read_all_or_written_it_or_names_its_version_replaces_it(bob: FileToolsFacade) -> None:
    await bob.read_file("a.txt")
    await bob.read_file("a.txt", offset=1, limit=2)
    await bob.write_file("a.txt", "1", require_read=True)
    await bob.write_file("a.txt", "2", require_read=True)
    stranger = bob.for_actor(Actor(kind="agent", id="stranger"))
    await stranger.write_file("a.txt", "3", require_read=True, expected_version=version("2"))
    await stranger.write_file("new.txt", "new", require_read=True)


async def test_equal_bytes_need_no_reading(bob: FileToolsFacade) -> None:
    assert (await bob.write_file("a.txt", TEN_LINES, require_read=True)).unchanged
    assert (await bob.for_actor(BOB, require_version=True).write_file("a.txt", TEN_LINES)).unchanged


async def test_a_whole_reading_of_an_older_text_is_merged(bob: FileToolsFacade, tmp_path: Path) -> None:
    await bob.read_file("a.txt")
    (tmp_path / "a.txt").write_text(TEN_LINES.replace("line 2", "two"))
    result = await bob.write_file("a.txt", TEN_LINES.replace("line 9", "nine"), require_read=True)
    assert result.merged


async def test_an_interface_for_models_requires_the_version(bob: FileToolsFacade, tmp_path: Path) -> None:
    """Several models may share the interface's actor, so a read through it does not prove that the caller knows the text."""
    door = bob.for_actor(BOB, require_version=True)
    read = await door.read_file("a.txt")
    error = await refused("VERSION_MISMATCH", door.write_file("a.txt", "new"))
    assert error.details == {"expected_version": None, "current_version": read.version}
    assert "replacing it needs expected_version" in error.message
    await refused("VERSION_MISMATCH", door.write_file("a.txt", "new", on_stale="merge"))
    await refused("VERSION_MISMATCH", door.write_file("a.txt", "new", expected_version="0" * 12))
    await refused("INVALID_ARGUMENT", door.write_file("a.txt", "new", expected_version=read.version[7:18]))
    await refused("BATCH_FAILED", door.write_multiple([{"path": "a.txt", "content": "new"}]))
    assert (tmp_path / "a.txt").read_text() == TEN_LINES
    await door.write_file("a.txt", "new", expected_version=read.version[7:19])
    await door.write_file("b.txt", "new")
    await door.edit_file("a.txt", [Edit(old="new", new="newer")])
    await door.append_file("a.txt", "!")


async def test_a_transaction_of_such_an_interface_requires_it_too(bob: FileToolsFacade, tmp_path: Path) -> None:
    async with bob.for_actor(BOB, require_version=True).transaction() as transaction:
        await refused("VERSION_MISMATCH", transaction.write_file("a.txt", "new"))
        await transaction.write_file("b.txt", "new")
    assert (tmp_path / "a.txt").read_text() == TEN_LINES
    assert (tmp_path / "b.txt").read_text() == "new"


async def test_the_requirement_passes_to_other_actors_until_it_is_dropped(bob: FileToolsFacade) -> None:
    door = bob.for_actor(BOB, require_version=True)
    other = door.for_actor(Actor(kind="agent", id="other"))
    await refused("VERSION_MISMATCH", other.write_file("a.txt", "new"))
    await other.for_actor(BOB, require_version=False).write_file("a.txt", "new")


async def test_tools_of_such_an_interface_require_it_too(bob: FileToolsFacade) -> None:
    door = bob.for_actor(BOB, require_version=True)
    for files in (door, bob):  # an agent's own tools require it by themselves
        envelope = await files.call_tool("write_file", {"path": "a.txt", "content": "new"})
        assert envelope["error_code"] == "VERSION_MISMATCH"
    assert (await bob.for_actor(ANN).call_tool("write_file", {"path": "a.txt", "content": "new"}))["success"]


async def test_tools_merge_a_text_made_from_an_older_version(bob: FileToolsFacade, tmp_path: Path) -> None:
    read = await bob.call_tool("read_file", {"path": "a.txt"})
    (tmp_path / "a.txt").write_text(TEN_LINES.replace("line 2", "two"))
    item = {
        "path": "a.txt",
        "content": TEN_LINES.replace("line 9", "nine"),
        "expected_version": read["data"]["version"],
    }
    envelope = await bob.call_tool("write_file", item)
    assert envelope["data"]["merged"]
    assert (tmp_path / "a.txt").read_text() == item["content"].replace("line 2", "two")
    (tmp_path / "a.txt").write_text(TEN_LINES.replace("line 3", "three"))
    envelope = await bob.call_tool("write_multiple", {"items": [item]})
    assert (tmp_path / "a.txt").read_text() == item["content"].replace("line 3", "three")


async def test_of_a_file_with_unsaved_text_the_version_of_that_text_is_named(bob: FileToolsFacade) -> None:
    ann = bob.for_actor(ANN)
    opened = await ann.buffers.open("a.txt")
    await ann.buffers.change(opened.handle, text=TEN_LINES + "unsaved\n", buffer_version=opened.buffer_version)
    door = bob.for_actor(BOB, require_version=True)
    error = await refused("VERSION_MISMATCH", door.write_file("a.txt", "new"))
    assert (
        error.details["current_version"] == (await door.read_file("a.txt")).version == version(TEN_LINES + "unsaved\n")
    )


@pytest.mark.parametrize(
    "part", [{"offset": 1, "limit": 9}, {"offset": -9}, {"max_characters": 5}, {"byte_offset": 0, "byte_count": 10}]
)
async def test_who_has_read_a_part_cannot_replace_the_rest_by_naming_the_version(
    bob: FileToolsFacade, tmp_path: Path, part: dict[str, int]
) -> None:
    named = (await bob.read_file("a.txt", **part)).version  # type: ignore[arg-type]
    error = await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", expected_version=named))
    assert "only a part" in error.message
    await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", expected_version=named, on_stale="merge"))
    await refused("BATCH_FAILED", bob.write_multiple([{"path": "a.txt", "content": "x", "expected_version": named}]))
    async with bob.transaction() as transaction:
        await refused("VERSION_MISMATCH", transaction.write_file("a.txt", "new", expected_version=named))
    made = await bob.edit_file("a.txt", [Edit(old="line 1\n", new="one\n")])
    await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", expected_version=made.version))
    assert (tmp_path / "a.txt").read_text() == TEN_LINES.replace("line 1\n", "one\n")
    await bob.for_actor(ANN).write_file("a.txt", "people may", expected_version=made.version)


async def test_all_parts_together_are_the_whole(bob: FileToolsFacade) -> None:
    await bob.read_file("a.txt", offset=8)
    await bob.read_file("a.txt", offset=1, limit=5)
    await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", expected_version=version(TEN_LINES)))
    await bob.read_file("a.txt", offset=4, limit=3)
    await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", expected_version=version(TEN_LINES)))
    await bob.read_file("a.txt", offset=7, limit=1)
    await bob.write_file("a.txt", "new", expected_version=version(TEN_LINES))


async def test_a_long_line_is_read_in_parts(bob: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "long.js").write_text("x" * 100)
    first = await bob.read_file("long.js", max_characters=60)
    await refused("VERSION_MISMATCH", bob.write_file("long.js", "new", expected_version=first.version))
    await bob.read_file("long.js", offset=first.next_offset, column=first.next_column)
    await bob.write_file("long.js", "new", expected_version=first.version)


async def test_a_part_stays_a_part_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEN_LINES)
    async with filetools.open(tmp_path) as files:
        await files.for_actor(BOB).read_file("a.txt", offset=1, limit=2)
    async with filetools.open(tmp_path) as files:
        bob = files.for_actor(BOB)
        await refused("VERSION_MISMATCH", bob.write_file("a.txt", "new", expected_version=version(TEN_LINES)))


@pytest.mark.parametrize("content", ["x\n" * 30, "x" * 300], ids=["lines", "characters"])
async def test_what_no_model_is_shown_does_not_count_as_read(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.txt").write_text(content)
    settings = {**RELAXED, "max_text_lines": 20, "max_text_characters": 200}
    async with filetools.open(tmp_path, settings=settings) as files:
        bob = files.for_actor(BOB)
        read = (await bob.call_tool("read_file", {"path": "a.txt"}))["data"]
        write = {"path": "a.txt", "content": "new", "expected_version": read["version"]}
        assert (await bob.call_tool("write_file", write))["error_code"] == "VERSION_MISMATCH"
        rest = {"path": "a.txt", "offset": read["next_offset"], "column": read.get("next_column")}
        await bob.call_tool("read_file", rest)
        assert (await bob.call_tool("write_file", write))["success"]
