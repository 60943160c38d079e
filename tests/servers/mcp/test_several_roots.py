"""Several roots behind one door: what the command line allows, and what a client makes of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as wire
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import filetools
from filetools.app.opening import Opening
from filetools.errors import InvalidArgumentError
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.roots_server import folder_at, roots_server
from filetools.tools.dialects import dialect_named
from tests.support.crashing import grow
from tests.support.mcp_clients import ERAS, RELAXED, command, failure, forked, text
from tests.support.mcp_people import Person, shown_to

pytestmark = pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
"""Those who use the revisions that have it."""
OPTIONS = McpOptions(dialect=dialect_named("mcp-filesystem"))


def ours(*folders: Path) -> StdioServerParameters:
    """Return what starts the command with some folders."""
    return forked(folders[0], "mcp", *map(str, folders), "--dialect", "mcp-filesystem")


def opening(place: Path) -> Opening:
    return filetools.open(place, settings={**RELAXED, "follow_symlinks": True})


class TellingRoots:
    """The roots of a client, which may change."""

    def __init__(self, *folders: Path | str) -> None:
        self.folders: Sequence[Path | str] = folders
        self.asked = 0

    async def __call__(self, context: Any) -> wire.ListRootsResult | wire.ErrorData:
        self.asked += 1
        uris = [each if isinstance(each, str) else each.as_uri() for each in self.folders]
        return wire.ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in uris]})


async def refusing(context: Any) -> wire.ListRootsResult | wire.ErrorData:
    return wire.ErrorData(code=-32603, message="not now")


@asynccontextmanager
async def connected(
    *folders: Path, mode: str = "legacy", roots: Any = None, client: dict[str, Any] | None = None
) -> AsyncIterator[Client]:
    """Connect a client, with roots of its own or without, to a door for some folders."""
    named = [found for each in folders if (found := folder_at(each)) is not None]
    async with (
        roots_server(opening, named, OPTIONS) as server,
        Client(server, mode=mode, list_roots_callback=roots, **client or {}) as calling,
    ):
        yield calling


async def allowed(client: Client) -> list[str]:
    return (await text(client, "list_allowed_directories")).splitlines()[1:]


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first", tmp_path / "second"
    grow(first, {"a.txt": b"a\n", "sub/in.txt": b"in\n", "sub/deep/er.txt": b"deep\n"})
    grow(second, {"b.txt": b"b\n"})
    (first / "sub" / "up").symlink_to("../a.txt")
    return first, second


async def test_only_a_dialect_of_several_roots_is_served_over_several() -> None:
    with pytest.raises(InvalidArgumentError):
        await roots_server(opening, [], McpOptions()).__aenter__()
    wrong = McpOptions(dialect=OPTIONS.dialect, tools=("raed_file",))
    with pytest.raises(InvalidArgumentError, match="did you mean 'read_file'"):
        await roots_server(opening, [], wrong).__aenter__()


@pytest.mark.parametrize("mode", ERAS)
async def test_without_any_folder_every_call_fails_and_says_what_to_do(mode: str) -> None:
    async with connected(mode=mode) as client:
        assert len((await client.list_tools()).tools) == 14
        told = await failure(client, "read_text_file", path="/etc/hostname")
        assert told.startswith("WORKSPACE_GONE: ")
        assert "Start the server with a folder" in told


@pytest.mark.parametrize("mode", ERAS)
async def test_the_folders_of_the_command_line_are_served(places: tuple[Path, Path], mode: str) -> None:
    first, second = places
    async with connected(first, second, mode=mode) as client:
        assert await allowed(client) == [str(first), str(second)]
        assert await text(client, "read_text_file", path=f"{second}/b.txt") == "b\n"
        assert (await failure(client, "read_text_file", path="/etc/hostname")).startswith("ABSOLUTE_PATH: ")
        await text(client, "write_file", path=f"{second}/new.txt", content="new\n")
        refused = await failure(client, "move_file", source=f"{second}/new.txt", destination=f"{first}/new.txt")
        assert refused.startswith("INVALID_ARGUMENT: ")
    assert (second / "new.txt").read_text() == "new\n"
    assert not (first / "new.txt").exists()


@pytest.mark.parametrize("mode", ERAS)
async def test_a_person_is_asked_about_the_files_of_every_root(places: tuple[Path, Path], mode: str) -> None:
    for person, written in ((Person("accept", "deny"), False), (Person("accept", "allow"), True)):
        async with connected(*places, mode=mode, client=shown_to(person)) as client:
            wanted = {"path": f"{places[1]}/.mcp.json", "content": "{}"}
            result = await client.call_tool("write_file", wanted)
        assert (result.is_error, (places[1] / ".mcp.json").exists()) == (not written, written)
        assert len(person.asked) == 1


async def test_folders_in_one_another_share_one_journal(places: tuple[Path, Path]) -> None:
    first = places[0]
    async with connected(first / "sub", first, first / "sub" / "deep") as client:
        assert await allowed(client) == [str(first / "sub"), str(first), str(first / "sub" / "deep")]
        assert await text(client, "read_text_file", path="in.txt") == "in\n"
        await text(client, "move_file", source=f"{first}/sub/deep/er.txt", destination=f"{first}/er.txt")
    assert [each.parent for each in first.rglob(".filetools")] == [first]


async def test_roots_of_the_client_win_over_the_command_line(places: tuple[Path, Path]) -> None:
    first, second = places
    telling = TellingRoots(first / "sub", second.parent / "elsewhere", "file://host/x")
    async with connected(first, roots=telling) as client:
        assert await allowed(client) == [str(first / "sub")]
        assert await text(client, "read_text_file", path="in.txt") == "in\n"
        assert (await failure(client, "read_text_file", path=f"{first}/a.txt")).startswith("ABSOLUTE_PATH: ")
        assert (await failure(client, "read_text_file", path="up")).startswith("SYMLINK_ESCAPE: ")
        telling.folders = (first / "sub", second)
        await client.send_roots_list_changed()
        assert await allowed(client) == [str(first / "sub"), str(second)]
        assert await text(client, "read_text_file", path=f"{second}/b.txt") == "b\n"
        telling.folders = (second.parent / "elsewhere",)
        await client.send_roots_list_changed()
        assert await allowed(client) == [str(first)]
    assert telling.asked == 3
    assert not (first / "sub" / ".filetools").exists()


async def test_a_client_without_roots_of_its_own_is_served_those_of_the_command_line(places: tuple[Path, Path]) -> None:
    for roots in (TellingRoots(), refusing):
        async with connected(places[0], roots=roots) as client:
            assert await allowed(client) == [str(places[0])]
    telling = TellingRoots(places[0] / "sub")
    async with connected(places[0], mode="auto", roots=telling) as client:
        assert await allowed(client) == [str(places[0])]
    assert telling.asked == 0


async def test_without_folders_on_the_command_line_the_client_defines_them(places: tuple[Path, Path]) -> None:
    first, second = places
    (first.parent / "link").symlink_to(second)
    telling = TellingRoots(first / "sub", first / "a.txt", first.parent / "nowhere")
    async with connected(roots=telling) as client:
        assert await allowed(client) == [str(first / "sub")]
        await text(client, "read_text_file", path="in.txt")
        telling.folders = (first.parent / "link", first / "sub" / "deep")
        await client.send_roots_list_changed()
        assert await allowed(client) == [str(first.parent / "link"), str(second), str(first / "sub" / "deep")]
        assert await text(client, "read_text_file", path=f"{second}/b.txt") == "b\n"
        assert await text(client, "read_text_file", path=f"{first.parent}/link/b.txt") == "b\n"
        assert await text(client, "read_text_file", path=f"{first}/sub/deep/er.txt") == "deep\n"
        assert (await failure(client, "read_text_file", path=f"{first}/sub/in.txt")).startswith("ABSOLUTE_PATH: ")
    assert not (first / ".filetools").exists()
    assert not (first / "sub" / "deep" / ".filetools").exists()


async def test_many_calls_at_once_ask_for_the_roots_once_and_open_each_once(places: tuple[Path, Path]) -> None:
    telling = TellingRoots(*places)
    async with connected(roots=telling) as client:
        path = f"{places[1]}/b.txt"
        found = await asyncio.gather(*(text(client, "read_text_file", path=path) for _ in range(20)))
    assert (set(found), telling.asked) == ({"b\n"}, 1)


async def test_a_root_that_cannot_be_opened_is_left_out_and_the_others_are_served(places: tuple[Path, Path]) -> None:
    first, second = places
    (first / ".filetools").write_text("no folder")
    async with connected(roots=TellingRoots(first, second)) as client:
        assert await allowed(client) == [str(second)]
    async with connected(first, second) as client:
        assert await allowed(client) == [str(second)]
    with pytest.raises(filetools.FileToolsError):
        async with connected(first):
            pass


async def test_a_process_serves_several_folders_to_a_client_of_either_era(places: tuple[Path, Path]) -> None:
    for mode in ERAS:
        async with Client(ours(*places), mode=mode) as client:
            assert await allowed(client) == [str(place) for place in places]
            await text(client, "read_text_file", path=f"{places[1]}/b.txt")
            await text(client, "write_file", path=f"{places[1]}/b.txt", content=f"{mode}\n")
    assert (places[1] / "b.txt").read_text() == "legacy\n"


async def test_of_several_folders_a_missing_one_is_a_warning(places: tuple[Path, Path]) -> None:
    with tempfile.TemporaryFile("w+") as told:
        async with Client(stdio_client(ours(places[0], places[0] / "missing", places[1]), errlog=told)) as client:
            assert await allowed(client) == [str(place) for place in places]
        told.seek(0)
        assert "missing' is not a folder" in told.read().replace("\n", " ")


async def test_folders_inside_one_another_share_a_workspace(places: tuple[Path, Path]) -> None:
    first, second = places
    async with connected(first / "sub", second, first / "sub" / "deep", first, second / "missing") as client:
        assert set(await allowed(client)) >= {str(first), str(second)}
    made = {str(each.parent) for place in places for each in place.rglob(".filetools")}
    assert made == {str(first), str(second)}


@pytest.mark.parametrize("name", ["/no/such/folder", "no\0name", "~nobody/x"])
def test_what_is_no_folder_is_none(name: str) -> None:
    assert folder_at(name) is None


def test_a_call_is_understood_without_the_official_client(places: tuple[Path, Path]) -> None:
    """What clients send to the original, word for word."""
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "any", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "read_text_file", "arguments": {"path": f"{places[0]}/a.txt"}}},
    ]  # fmt: skip
    start = command(*map(str, places), "--dialect", "mcp-filesystem")
    with subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{json.dumps(each)}\n" for each in messages))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        assert server.wait(60) == 0
    assert answers[0]["result"]["capabilities"] == {"tools": {"listChanged": False}}
    result = answers[1]["result"]
    assert (result["content"], result["structuredContent"]) == ([{"type": "text", "text": "a\n"}], {"content": "a\n"})


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("answer", ["allow", "cancel"])
async def test_a_person_decides_what_overlaps_with_unsaved_text(
    places: tuple[Path, Path], mode: str, answer: str
) -> None:
    file, person = places[1] / "a.txt", Person("accept", answer)
    file.write_text("one\ntwo\n")
    folders = [found for each in places if (found := folder_at(each)) is not None]
    async with (
        opening(places[1]) as files,
        roots_server(opening, folders, OPTIONS) as server,
        Client(server, mode=mode, **shown_to(person)) as client,
    ):
        ann = files.for_actor(filetools.Actor(kind="editor", id="ann"))
        opened = await ann.buffers.open("a.txt")
        await ann.buffers.change(opened.handle, buffer_version=1, edits=[filetools.TextEdit(7, 7, ", typed")])
        edits = [{"oldText": "two\n", "newText": "2\n"}]
        result = await client.call_tool("edit_file", {"path": str(file), "edits": edits})
        assert result.is_error is (answer == "cancel")
        unsaved = (await ann.buffers.read(opened.handle)).text
    assert len(person.asked) == 1
    assert unsaved == ("one\ntwo, typed\n" if answer == "cancel" else "one\n2\n")
    assert file.read_text() == ("one\ntwo\n" if answer == "cancel" else "one\n2\n")
