"""LangChain: the tools as `StructuredTool`s."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from filetools.adapters.answering import HomeLoop
from filetools.distribution import require_extra
from filetools.facade.facade import FileToolsFacade
from filetools.tools.registry import FILE_TOOLS, ToolRegistry, chosen
from filetools.tools.tool import AnyTool

require_extra("langchain", __name__, "langchain_core")

from langchain_core.tools import StructuredTool, ToolException


def langchain_tools(files: FileToolsFacade, wanted: Iterable[str] = ("core",)) -> list[StructuredTool]:
    """Return tools for one agent; usable while the workspace is open.

    A tool call that fails is a `ToolMessage` with the status "error", for the model. `invoke` is for other threads than
    that of the workspace's event loop.

    Args:
        files: The agent's own facade: `files.for_actor(…)`.
        wanted: Groups and names of tools.

    Raises:
        InvalidArgumentError: There is no group and no tool of a name.
    """
    registry, home = ToolRegistry(files), HomeLoop(files)
    return [_structured(registry, tool, home) for tool in chosen(FILE_TOOLS, wanted)]


def _structured(registry: ToolRegistry, tool: AnyTool, home: HomeLoop) -> StructuredTool:
    async def call(**arguments: Any) -> str | list[dict[str, Any]]:
        seen = registry.show(tool.name, await registry.call(tool.name, arguments))
        if seen.is_error:
            raise ToolException(seen.text)
        if seen.media is None or seen.media.kind != "image":
            return seen.text
        image = {"type": "image", "base64": seen.media.data, "mime_type": seen.media.mime_type}
        return [{"type": "text", "text": seen.text}, image] if seen.text else [image]

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.definition()["input_schema"],
        coroutine=lambda **arguments: home.awaited(call, **arguments),
        func=lambda **arguments: home.waited(call, **arguments),
        handle_tool_error=True,
    )
