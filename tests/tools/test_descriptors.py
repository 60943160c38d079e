"""Tools over descriptors, and long results that become them: to the letter, and off exactly as without."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import DiskFullError, InvalidArgumentError
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.tools.handlers.descriptors import descriptors_for
from filetools.tools.registry import FILE_TOOLS, ToolRegistry, chosen
from tests.support.crashing import QUIET

LINES = "".join(f"line {number}\n" for number in range(1, 3001))
ALICE = Actor(kind="agent", id="alice", session="s")
ANN = Actor(kind="editor", id="ann")


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    (tmp_path / "big.txt").write_text(LINES)
    (tmp_path / "small.txt").write_text("small\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20_000))
    (tmp_path / "many").mkdir()
    for number in range(400):
        (tmp_path / "many" / f"a_file_with_a_rather_long_name_{number:03}.txt").touch()
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        yield opened.for_actor(ALICE)


@pytest.fixture
def tools(files: FileToolsFacade) -> ToolRegistry:
    return ToolRegistry(files, descriptors=files.descriptors())


async def shown(tools: ToolRegistry, name: str, **arguments: Any) -> str:
    return tools.show(name, await tools.call(name, arguments)).text


async def keep(files: FileToolsFacade, text: str) -> None:
    await files.descriptors().run(lambda descriptors: descriptors.create(text))


def error(kind: str, fd: str, message: str) -> str:
    return f'<fd_error type="{kind}" fd="{fd}">\n  <message>{message}</message>\n</fd_error>'


UNKNOWN = error("not_found", "fd:7", "File descriptor fd:7 not found. Available FDs: fd:1")
WRONG = '<fd_error type="invalid_parameter" fd="fd:1">'
LINES_OF_IT = "Invalid line start position. Valid range: 1-3000"


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("read_fd", {"fd": "fd:7"}, UNKNOWN),
        ("search_fd", {"fd": "fd:7", "pattern": "x"}, UNKNOWN),
        ("fd_to_file", {"fd": "fd:7", "file_path": "a"}, UNKNOWN),
        ("read_fd", {"mode": "words"}, WRONG),
        ("search_fd", {}, WRONG),
        ("fd_to_file", {"file_path": 1}, WRONG),
        ("read_fd", {"start": 0}, error("invalid_page", "fd:1", "Invalid page number. Valid range: 1-8")),
        ("read_fd", {"mode": "line", "start": 3001}, error("invalid_range", "fd:1", LINES_OF_IT)),
    ],
)
async def test_what_is_wrong_is_told_of_the_descriptor_of_the_call(
    files: FileToolsFacade, tools: ToolRegistry, name: str, arguments: dict[str, Any], told: str
) -> None:
    await keep(files, LINES)
    said = await shown(tools, name, **{"fd": "fd:1", **arguments})
    assert said.startswith(told) if told == WRONG else said == told


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            {"file_path": "small.txt", "exist_ok": False},
            "file_exists",
            "File small.txt already exists and exist_ok=False",
        ),
        ({"file_path": "new.txt", "create": False}, "file_not_found", "File new.txt doesn't exist and create=False"),
        ({"file_path": "../out.txt"}, "invalid_path", "Path '../out.txt' contains a '..' segment"),
        (
            {"file_path": ".git/config"},
            "permission_error",
            "write_file on .git/config needs approval: changes of this path can make other programs run code",
        ),
        ({"file_path": "many"}, "write_error", "Is a directory: many"),
    ],
)
async def test_a_file_that_cannot_be_written_is_told_and_nothing_changes(
    files: FileToolsFacade, tools: ToolRegistry, arguments: dict[str, Any], kind: str, message: str
) -> None:
    await keep(files, "text")
    before = await files.position()
    told = await shown(tools, "fd_to_file", fd="fd:1", **arguments)
    assert told == error(kind, "fd:1", message)
    assert await files.position() == before


async def test_a_lone_surrogate_cannot_be_written_and_its_place_is_named(
    files: FileToolsFacade, tools: ToolRegistry
) -> None:
    await keep(files, "ab\ud800")
    told = await shown(tools, "fd_to_file", fd="fd:1", file_path="a.txt")
    assert told.startswith('<fd_error type="write_error" fd="fd:1">')
    assert "character 2 is a lone surrogate" in told
    assert not await files.exists("a.txt")


async def test_a_text_is_written_as_it_is(files: FileToolsFacade, tools: ToolRegistry, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("crlf\r\nlines\r\n".encode("utf-16"))
    text = "ä\r\nb\rc\n"
    await keep(files, text)
    for name in ("old.txt", "folder/new.txt"):
        assert await shown(tools, "fd_to_file", fd="fd:1", file_path=name) == (
            f'<fd_file_result fd="fd:1" file_path="{name}" mode="write" char_count="7" size_bytes="8" success="true"'
            ' create="true" exist_ok="true">\n'
            f"  <message>File descriptor fd:1 content (7 chars) successfully written to {name}</message>\n</fd_file_result>"
        )
        assert (tmp_path / name).read_bytes() == text.encode()
    assert "appended to old.txt" in await shown(tools, "fd_to_file", fd="fd:1", file_path="old.txt", mode="append")
    told = await tools.call("fd_to_file", {"fd": "fd:1", "file_path": "old.txt", "mode": "append", "create": False})
    assert (told["data"]["char_count"], told["data"]["size_bytes"]) == (7, 24)
    assert (tmp_path / "old.txt").read_bytes() == text.encode() * 3


async def typed(files: FileToolsFacade) -> str:
    """Have Ann type at the beginning of typed.py without saving it; returns her handle."""
    await files.write_file("typed.py", "a\nb\nc\n")
    ann = files.for_actor(ANN)
    opened = await ann.buffers.open("typed.py")
    edits = [filetools.TextEdit(0, 0, "Ann's ")]
    await ann.buffers.change(opened.handle, buffer_version=opened.buffer_version, edits=edits)
    return opened.handle


@pytest.mark.parametrize("has_read", [False, True])
async def test_what_a_person_has_not_saved_is_never_replaced(
    files: FileToolsFacade, tools: ToolRegistry, tmp_path: Path, has_read: bool
) -> None:
    handle = await typed(files)
    if has_read:  # the agent knows her text then: a text that lacks it would count as its removal
        await tools.call("read_file", {"path": "typed.py"})
    await keep(files, "a\nb\nc\nd\n")
    told = await shown(tools, "fd_to_file", fd="fd:1", file_path="typed.py")
    sentence = "File typed.py has unsaved changes of a person, which a descriptor cannot replace"
    assert told == error("write_error", "fd:1", sentence)
    assert (await files.for_actor(ANN).buffers.read(handle)).text == "Ann's a\nb\nc\n"
    assert (tmp_path / "typed.py").read_text() == "a\nb\nc\n"


@pytest.mark.parametrize("has_read", [False, True])
async def test_what_is_appended_goes_behind_what_a_person_types(
    files: FileToolsFacade, tools: ToolRegistry, tmp_path: Path, has_read: bool
) -> None:
    handle = await typed(files)
    if has_read:
        await tools.call("read_file", {"path": "typed.py"})
    await keep(files, "d\n")
    assert 'success="true"' in await shown(tools, "fd_to_file", fd="fd:1", file_path="typed.py", mode="append")
    assert (await files.for_actor(ANN).buffers.read(handle)).text == "Ann's a\nb\nc\nd\n"
    assert (tmp_path / "typed.py").read_text() == "a\nb\nc\nd\n"  # what is not saved does not get onto the disk


async def test_a_long_result_becomes_a_descriptor_with_all_of_its_text(
    files: FileToolsFacade, tools: ToolRegistry
) -> None:
    plain = ToolRegistry(files)
    whole = await shown(plain, "list_files", path="many")
    told = await shown(tools, "list_files", path="many")
    assert told.startswith('<fd_result fd="fd:1" pages="5" truncated="false" lines="1-')
    assert "<message>Output exceeds 8000 characters. Use read_fd to read more pages.</message>" in told
    assert (await tools.call("read_fd", {"fd": "fd:1", "read_all": True}))["data"]["content"] == whole


async def test_a_long_file_becomes_a_copy_of_it_with_its_version(files: FileToolsFacade, tools: ToolRegistry) -> None:
    version = (await files.file_info("big.txt")).version or ""
    told = await shown(tools, "read_file", path="big.txt")
    facts = f'path="big.txt" version="{version.removeprefix("sha256:")[:12]}"'
    assert told.split("\n")[0].endswith(f'total_lines="3000" source="file" {facts}>')
    assert (await tools.call("read_fd", {"fd": "fd:1", "read_all": True}))["data"]["content"] == LINES
    assert "moved_on" not in await shown(tools, "read_fd", fd="fd:1")
    await files.write_file("big.txt", "new\n", expected_version=version)
    assert (await shown(tools, "read_fd", fd="fd:1")).split("\n")[0].endswith(f'{facts} moved_on="true">')
    await files.delete_file("big.txt")
    assert 'moved_on="true"' in await shown(tools, "read_fd", fd="fd:1")


async def test_a_read_with_a_limit_that_fits_stays_as_it_is(files: FileToolsFacade, tools: ToolRegistry) -> None:
    plain = ToolRegistry(files)
    for arguments in ({"limit": 1500}, {"limit": 1500, "offset": 1000}):
        assert await shown(tools, "read_file", path="big.txt", **arguments) == await shown(
            plain, "read_file", path="big.txt", **arguments
        )
    assert (await shown(tools, "read_file", path="big.txt", limit=2500)).startswith("<fd_result")
    assert 'source="tool_result"' in await shown(tools, "read_file", path="big.txt", offset=10)


async def test_descriptors_of_descriptors_are_never_made(files: FileToolsFacade, tools: ToolRegistry) -> None:
    await keep(files, LINES)
    assert (await shown(tools, "read_fd", fd="fd:1", read_all=True)).startswith("<fd_content")
    assert (await shown(tools, "search_fd", fd="fd:1", pattern="line", max_matches=900)).startswith("1:line 1")
    assert [each["id"] for each in (await tools.call("list_fds", {}))["data"]["fds"]] == ["fd:1"]


async def test_without_descriptors_everything_is_exactly_as_before(files: FileToolsFacade) -> None:
    plain = ToolRegistry(files)
    envelope = await plain.call("list_files", {"path": "many"})
    assert len(envelope["data"]["entries"]) == 400
    assert not plain.show("list_files", envelope).text.startswith("<fd_")


async def test_what_cannot_be_kept_is_cut_as_without_and_a_warning_says_so(
    files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(self: DescriptorCalls, work: Any) -> Any:
        raise DiskFullError("the journal")

    tools = ToolRegistry(files, descriptors=files.descriptors())
    monkeypatch.setattr(DescriptorCalls, "run", run)
    text = await shown(tools, "list_files", path="many")
    assert text.split("\n")[:2] == [
        "many/a_file_with_a_rather_long_name_000.txt  0",
        "many/a_file_with_a_rather_long_name_001.txt  0",
    ]
    assert "warning: DISK_FULL: The whole text could not be kept as a descriptor: " in text


async def test_found_lines_are_told_with_their_place(files: FileToolsFacade, tools: ToolRegistry) -> None:
    await keep(files, "one\r\nTwo\rthree\nfour two\n" + LINES)
    assert await shown(tools, "search_fd", fd="fd:1", pattern="two", ignore_case=True, context=1, max_matches=1) == (
        "1-one\n2:Two\rthree  (page 1, column 1)\n3-four two\n[fd:1 · 1 line; there are more: raise max_matches]"
    )
    found = (await tools.call("search_fd", {"fd": "fd:1", "pattern": "line 2[5-9]00$", "regex": True}))["data"][
        "matches"
    ]
    for row in found:
        page = (await tools.call("read_fd", {"fd": "fd:1", "start": row["page"]}))["data"]["content"]
        assert f"{row['text']}\n" in page
    assert [row["line"] for row in found] == [2503, 2603, 2703, 2803, 2903]


async def test_they_are_listed_with_their_sizes(files: FileToolsFacade, tools: ToolRegistry) -> None:
    assert await shown(tools, "list_fds") == "[0 descriptors]"
    await keep(files, LINES)
    await keep(files, "x")
    assert await shown(tools, "list_fds") == (
        f"fd:1  tool_result  {len(LINES)} characters, 8 pages, 3000 lines\n"
        "fd:2  tool_result  1 character, 1 page, 1 line\n[2 descriptors]"
    ).replace("8 pages", f"{(await files.descriptors().run(lambda each: each.info('fd:1'))).total_pages} pages")


async def test_bodies_are_escaped_where_that_is_configured(files: FileToolsFacade) -> None:
    settings = {**QUIET, "file_descriptor": {"body": "xml", "max_direct_output_chars": 10, "default_page_size": 10}}
    async with filetools.open(files.root_paths[0], settings=settings) as opened:
        await opened.write_file("x.html", "<b>&</b>\n" * 3)
        tools = ToolRegistry(opened, descriptors=opened.descriptors())
        assert "  &lt;b&gt;&amp;&lt;/b&gt;\n" in await shown(tools, "read_file", path="x.html")
        assert "&lt;b&gt;&amp;&lt;/b&gt;" in await shown(tools, "read_fd", fd="fd:1", start=2)


async def test_they_are_on_where_a_tool_reads_them_and_refused_where_none_does(files: FileToolsFacade) -> None:
    assert descriptors_for(files, chosen(FILE_TOOLS, ["core"])) is None
    assert descriptors_for(files, chosen(FILE_TOOLS, ["core", "search_fd"])) is not None
    async with filetools.open(files.root_paths[0], settings={**QUIET, "file_descriptor": {"enabled": True}}) as opened:
        with pytest.raises(InvalidArgumentError, match="read_fd"):
            descriptors_for(opened, chosen(FILE_TOOLS, ["core"]))
        envelope = await opened.call_tool("list_files", {"path": "many"})
        assert envelope["data"]["fd"] == "fd:1"


async def test_a_part_that_is_too_long_says_which_part_it_is_and_where_to_go_on(
    files: FileToolsFacade, tools: ToolRegistry
) -> None:
    told = await shown(tools, "read_file", path="big.txt", limit=2500)
    assert told.splitlines()[0].endswith(' total_lines="2501" source="tool_result" next_offset="2501">')
    last = await shown(tools, "read_fd", fd="fd:1", mode="line", start=2501)
    assert "[big.txt \u00b7 lines 1\u20132500 of 3000 \u00b7 version" in last
