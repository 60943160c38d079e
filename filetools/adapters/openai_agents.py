"""OpenAI Agents: an editor for `ApplyPatchTool`, and the tools as `FunctionTool`s."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from filetools.adapters.answering import HomeLoop
from filetools.distribution import require_extra
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import APPLY_PATCH
from filetools.tools.exports import answer, openai_responses_tools
from filetools.tools.registry import FILE_TOOLS, ToolRegistry, chosen

require_extra("openai-agents", __name__, "agents")

from agents import ApplyPatchOperation, ApplyPatchResult, FunctionTool, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext


class FileToolsEditor:
    """An `ApplyPatchEditor` for one agent; usable while the workspace is open. Each operation is all or nothing.

    Args:
        files: The agent's own facade: `files.for_actor(…)`.
    """

    def __init__(self, files: FileToolsFacade) -> None:
        self._tools = APPLY_PATCH.registry(files)
        self._home = HomeLoop(files)

    async def apply(self, asked: ApplyPatchOperation) -> ApplyPatchResult:
        """Create, change, move or delete a file; a failure is returned as a failed result."""
        [tool] = self._tools.names()
        operation = {"type": asked.type, "path": asked.path, "diff": asked.diff, "move_to": asked.move_to}
        seen = self._tools.show(tool, await self._home.awaited(self._tools.call, tool, {"operation": operation}))
        return ApplyPatchResult(status="failed" if seen.is_error else "completed", output=seen.text)

    create_file = update_file = delete_file = apply


def function_tools(files: FileToolsFacade, wanted: Iterable[str] = ("core",)) -> list[FunctionTool]:
    """Return tools for one agent; usable while the workspace is open. The model receives the error of a failed call.

    Args:
        files: The agent's own facade: `files.for_actor(…)`.
        wanted: Groups and names of tools.

    Raises:
        InvalidArgumentError: There is no group and no tool of a name.
    """
    registry, home = ToolRegistry(files), HomeLoop(files)
    return [_function(registry, each, home) for each in openai_responses_tools(chosen(FILE_TOOLS, wanted))]


def _function(registry: ToolRegistry, definition: dict[str, Any], home: HomeLoop) -> FunctionTool:
    name = definition["name"]

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        call = {"type": "function_call", "call_id": context.tool_call_id, "name": name, "arguments": arguments}
        output = (await home.awaited(answer, registry, call))["output"]
        return output if isinstance(output, str) else [_block(each) for each in output]

    return FunctionTool(
        name=name,
        description=definition["description"],
        params_json_schema=definition["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=definition["strict"],
    )


def _block(block: dict[str, Any]) -> ToolOutputText | ToolOutputImage:
    if block["type"] == "input_text":
        return ToolOutputText(text=block["text"])
    return ToolOutputImage(image_url=block["image_url"], detail=block["detail"])
