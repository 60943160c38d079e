"""Dialects over the protocol: what is published, and sessions in processes of their own that lose nothing of each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from filetools.tools.dialects import APPLY_PATCH, CLAUDE_CODE, DIALECTS, MEMORY, TEXT_EDITOR, Dialect
from tests.support import bearer
from tests.support.http_servers import http_server
from tests.support.mcp_clients import facts, failure, opened_door, process, text, text_of

OURS = (CLAUDE_CODE, TEXT_EDITOR, MEMORY, APPLY_PATCH)


@pytest.mark.parametrize("dialect", OURS, ids=lambda dialect: dialect.name)
async def test_the_tools_of_a_dialect_are_published_and_no_others(root: Path, dialect: Dialect) -> None:
    async with opened_door(root, dialect=dialect) as (client, _):
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [tool.name for tool in dialect.tools]
        assert all(tool.output_schema is None for tool in listed)
        assert all(tool.annotations is not None and tool.annotations.open_world_hint is False for tool in listed)


async def test_names_with_a_dash_are_published_and_understood(root: Path) -> None:
    (root / "a.txt").write_text("one\ntwo\n")
    async with opened_door(root, dialect=CLAUDE_CODE) as (client, _):
        grep = next(tool for tool in (await client.list_tools()).tools if tool.name == "Grep")
        assert {"-A", "-B", "-C", "-n", "-i", "-o"} <= set(grep.input_schema["properties"])
        found = await client.call_tool(
            "Grep", {"pattern": "TWO", "-i": True, "-B": 1, "output_mode": "content", "path": "a.txt"}
        )
        assert text_of(found) == "a.txt-1-one\na.txt:2:two"


async def test_a_read_only_door_offers_only_what_reads(root: Path) -> None:
    async with opened_door(root, dialect=CLAUDE_CODE, only_reads=True) as (client, _):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["Read", "Glob", "Grep"]


async def test_two_processes_with_claude_code_lose_nothing_of_each_other(root: Path) -> None:
    path = root / "plan.md"
    lines = "".join(f"step {number}\n" for number in range(1, 10))
    path.write_text(lines)
    serve = process(root, "--dialect", "claude-code")
    async with Client(serve) as alice, Client(serve) as bob:
        refused = await failure(bob, "Write", file_path=str(path), content="mine\n")
        assert "Read the whole file" in refused
        assert "[ABSOLUTE_PATH]" in await failure(alice, "Read", file_path="/etc/hostname")
        for client in (alice, bob):
            assert (await text(client, "Read", file_path=str(path))).startswith("     1\tstep 1\n")
        await text(alice, "Edit", file_path=str(path), old_string="step 9", new_string="step nine")
        said = await text(bob, "Write", file_path=str(path), content=lines.replace("step 1\n", "step one\n"))
        assert "were merged with yours" in said
    assert path.read_text() == lines.replace("step 9", "step nine").replace("step 1\n", "step one\n")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_dialect_is_served_over_http_too(root: Path, dialect: Dialect) -> None:
    pytest.importorskip("fastapi")
    with http_server(root, "--dialect", dialect.name, "--read-only") as serving:
        async with Client(bearer.mcp(serving.address)) as client:
            offered = [tool.name for tool in (await client.list_tools()).tools]
        assert offered == [tool.name for tool in dialect.tools if tool.effect == "read"]
        written = bearer.post(f"{serving.address}/v1/tools/write_file", json={"path": "a", "content": "1"}).json()
        assert written["error_code"] == "TOOL_BLOCKED"
    assert not (root / "a").exists()


async def test_results_over_http_go_to_programs_too_where_that_is_asked_for(root: Path) -> None:
    pytest.importorskip("fastapi")
    (root / "a.txt").write_text("one\n")
    with http_server(root, "--structured") as serving:
        async with Client(bearer.mcp(serving.address)) as client:
            assert (await facts(client, "read_file", path="a.txt"))["content"] == "one\n"
