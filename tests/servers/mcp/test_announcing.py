"""Instruction files of folders below the root, as a model behind the protocol is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from mcp_types import TextContent

from filetools.tools.dialects import CLAUDE_CODE
from tests.support.mcp_clients import ERAS, facts, opened_door, process, text

LINE = "instructions: docs/AGENTS.md applies here; read it before you change files here"


@pytest.fixture
def docs(root: Path) -> Path:
    folder = root / "docs"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("# Rules\n")
    (folder / "a.txt").write_text("one\n")
    return folder


async def test_editors_and_doors_with_the_setting_off_are_not_told(root: Path, docs: Path) -> None:
    async with opened_door(root, settings={"announce_instructions": False}) as (client, _):
        assert "instructions" not in await text(client, "read_file", path="docs/a.txt")
    async with opened_door(root, is_editor=True) as (client, _):
        assert "instructions" not in await text(client, "read_file", path="docs/a.txt")


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_the_process_is_told_once(root: Path, docs: Path, era: str) -> None:
    async with Client(process(root), mode=era) as client:
        first = await text(client, "read_file", path="docs/a.txt")
        assert first.splitlines()[0] == "one"
        assert first.splitlines()[-1] == LINE
        assert "instructions" not in await text(client, "list_files", path="docs")
        assert "# Rules" in await text(client, "read_file", path="docs/AGENTS.md")


async def test_programs_get_the_paths(root: Path, docs: Path) -> None:
    async with opened_door(root, structured=True) as (client, _):
        assert (await facts(client, "list_files", path="docs"))["instructions"] == ["docs/AGENTS.md"]
        assert "instructions" not in await facts(client, "list_files", path="docs")


async def test_a_dialect_tells_it_in_a_block_of_its_own(root: Path, docs: Path) -> None:
    async with opened_door(root, dialect=CLAUDE_CODE) as (client, _):
        result = await client.call_tool("Read", {"file_path": str(docs / "a.txt")})
        blocks = [block.text for block in result.content if isinstance(block, TextContent)]
        assert blocks == ["     1\tone", LINE.replace("docs/", f"{docs}/", 1)]
