"""Descriptors over MCP with the official client: the whole chain, again after a restart, and nothing for strangers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Implementation, ResourceLink, TextResourceContents

from filetools.errors import InvalidArgumentError
from tests.support.mcp_clients import ERAS, opened_door, process, text, text_of

TOOLS = ("core", "descriptors")
MANY = 400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for number in range(MANY):
        place = folder / "many" / f"a_file_with_a_rather_long_name_{number:03}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return folder


def links(result: CallToolResult) -> list[ResourceLink]:
    return [block for block in result.content if isinstance(block, ResourceLink)]


async def resource(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text


async def test_without_the_group_results_are_as_ever(root: Path) -> None:
    async with opened_door(root) as (client, _):
        assert "<fd_result" not in await text(client, "list_files", path="many")
        assert not [tool for tool in (await client.list_tools()).tools if "fd" in tool.name]
        with pytest.raises(MCPError, match="no descriptors"):
            await resource(client, "filetools:///fds/fd%3A1")


@pytest.mark.parametrize("mode", ERAS)
async def test_the_whole_chain(root: Path, mode: str) -> None:
    async with opened_door(root, mode, tools=TOOLS) as (client, files):
        result = await client.call_tool("list_files", {"path": "many"})
        assert text_of(result).startswith('<fd_result fd="fd:1" pages="5"')
        (link,) = links(result)
        assert (str(link.uri), link.name) == ("filetools:///fds/fd%3A1", "fd:1")
        found = await text(client, "search_fd", fd="fd:1", pattern="name_377")
        line = int(found.split(":")[0])
        page = await text(client, "read_fd", fd="fd:1", mode="line", start=line)
        assert "many/a_file_with_a_rather_long_name_377.txt  0\n" in page
        whole = await resource(client, str(link.uri))
        assert whole.count("\n") == MANY
        assert 'success="true"' in await text(client, "fd_to_file", fd="fd:1", file_path="out/listing.txt")
        assert (root / "out" / "listing.txt").read_text() == whole
        await text(client, "undo_changes")
        assert not (root / "out").exists()
        assert (await files.changes()).records[-1].actor.kind == "agent"


async def test_the_chain_goes_on_after_a_restart_in_the_middle(root: Path) -> None:
    named: dict[str, Any] = {"client_info": Implementation(name="tester", version="1")}
    serve = process(root, "--tools", "core,descriptors")
    async with Client(serve, **named) as client:
        first = await text(client, "list_files", path="many")
        assert first.startswith('<fd_result fd="fd:1"')
    async with Client(serve, **named) as client:
        line = int((await text(client, "search_fd", fd="fd:1", pattern="name_377")).split(":")[0])
        assert "name_377" in await text(client, "read_fd", fd="fd:1", mode="line", start=line)
        await text(client, "fd_to_file", fd="fd:1", file_path="listing.txt")
        again = await text(client, "list_files", path="many")
        assert again.startswith('<fd_result fd="fd:2"')
        await text(client, "undo_changes")
    assert not (root / "listing.txt").exists()
    async with Client(serve, client_info=Implementation(name="stranger", version="1")) as client:
        told = [text_of(await client.call_tool("read_fd", {"fd": fd})) for fd in ("fd:1", "fd:9")]
        assert told[0] == told[1].replace("fd:9", "fd:1")
        errors = []
        for fd in ("fd%3A1", "fd%3A9"):
            with pytest.raises(MCPError) as caught:
                await resource(client, f"filetools:///fds/{fd}")
            errors.append(str(caught.value).replace("fd:9", "fd:1"))
        assert errors[0] == errors[1]


async def test_structured_results_stay_whole(root: Path) -> None:
    async with opened_door(root, tools=TOOLS, structured=True) as (client, _):
        result = await client.call_tool("list_files", {"path": "many"})
        assert not text_of(result).startswith("<fd_")
        assert result.structured_content is not None
        assert len(result.structured_content["entries"]) == MANY


async def test_ids_of_a_shared_door_cannot_be_guessed(root: Path) -> None:
    async with opened_door(root, tools=TOOLS, is_shared=True) as (client, _):
        result = await client.call_tool("list_files", {"path": "many"})
        found = re.search(r'fd="(fd:[A-Za-z0-9_-]{22})"', text_of(result))
        assert found is not None
        assert (await resource(client, str(links(result)[0].uri))).count("\n") == MANY
        assert "not_found" in text_of(await client.call_tool("read_fd", {"fd": "fd:1"}))
        session: Any = {"filetools/session": "other"}
        other = await client.call_tool("read_fd", {"fd": found[1]}, meta=session)
        assert text_of(other).startswith(f'<fd_error type="not_found" fd="{found[1]}">')


async def test_a_name_that_a_client_of_a_shared_door_gives_itself_opens_nothing(root: Path) -> None:
    named = {"client_info": Implementation(name="claude", version="1")}
    async with opened_door(root, tools=TOOLS, client=named) as (client, _):
        await text(client, "list_files", path="many")
        assert "fd:1" in await text(client, "list_fds")
    async with opened_door(root, tools=TOOLS, client=named, is_shared=True) as (client, _):
        assert await text(client, "list_fds") == "[0 descriptors]"
        assert "not_found" in text_of(await client.call_tool("read_fd", {"fd": "fd:1"}))


async def test_a_door_without_the_tools_that_the_settings_need_is_refused_at_once(root: Path) -> None:
    settings = {"file_descriptor": {"enabled": True}}
    with pytest.raises(InvalidArgumentError, match="needs one of the tools"):
        async with opened_door(root, settings=settings):
            pass
    async with opened_door(root, settings=settings, tools=TOOLS) as (client, _):
        assert (await text(client, "list_files", path="many")).startswith("<fd_result")
