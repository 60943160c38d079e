"""The same mistakes over MCP; see `tests/support/mistakes.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from tests.support.mcp_clients import opened_door, text_of
from tests.support.mistakes import MISTAKES, SETTINGS, Arguments, Mistake, plant, try_and_mend


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
async def test_a_mistake_is_mended_with_what_the_error_says(tmp_path: Path, mistake: Mistake) -> None:
    root = tmp_path / "project"
    root.mkdir()
    plant(root)
    async with opened_door(root, settings={**SETTINGS, **mistake.settings}) as (client, files):

        async def show(tool: str, arguments: Arguments) -> tuple[bool, str]:
            try:
                result = await client.call_tool(tool, arguments)
            except MCPError as error:
                assert mistake.is_of_protocol
                return False, f"{mistake.code}: {error.error.message} {error.error.data}"
            return not result.is_error, text_of(result)

        await try_and_mend(mistake, files, root, show)
