"""Tools of a dialect as an agent's loop calls them: what the model reads, and what programs get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.tools.answers.seen import TextLimits
from filetools.tools.answers.shown import shown
from filetools.tools.dialects import Dialect


class Session:
    """One agent's session with a dialect.

    Args:
        files: The opened workspace.
        dialect: Whose tools it has.
        name: Tells sessions apart.
    """

    def __init__(self, files: FileToolsFacade, dialect: Dialect, name: str = "s1") -> None:
        self.tools = dialect.registry(files.for_actor(Actor(kind="agent", id="agent", session=name)))

    async def envelope(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool."""
        return await self.tools.call(tool, arguments)

    async def says(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must succeed; return what the model reads."""
        seen = shown(self.tools.tool(tool), await self.envelope(tool, arguments), TextLimits())
        assert not seen.is_error, seen.text
        return "\n".join((seen.text, *seen.notes))

    async def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; return what programs get."""
        envelope = await self.envelope(tool, arguments)
        assert envelope["success"], envelope
        data: dict[str, Any] = envelope["data"]
        return data

    async def refuses(self, code: str, tool: str, **arguments: Any) -> str:
        """Call a tool that must be refused with this code; return what the model reads."""
        envelope = await self.envelope(tool, arguments)
        assert envelope.get("error_code") == code, envelope
        seen = shown(self.tools.tool(tool), envelope, TextLimits())
        assert seen.is_error
        assert f"[{code}]" in seen.text
        return seen.text
