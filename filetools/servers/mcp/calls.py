"""Tools over MCP: publishes their definitions and calls them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import mcp_types as wire
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from filetools.errors import FileToolsError
from filetools.printable import printable
from filetools.servers.mcp.callers import FindRegistry, Request
from filetools.servers.mcp.elicitation import Elicitation
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.resources import descriptor_address, file_address
from filetools.tools.answers.seen import FileLink, ShownCall, TextLimits
from filetools.tools.answers.shown import shown
from filetools.tools.envelope import failure_envelope
from filetools.tools.exports import mcp_tool
from filetools.tools.tool import AbortSignal, AnyTool, ReportProgress

RESULT_SIZE_KEY: Final = "anthropic/maxResultSizeChars"
ALWAYS_LOAD_KEY: Final = "anthropic/alwaysLoad"
_LATER: Final = ("context", "runs", "descriptors")
"""Groups whose tools a client may load on demand."""
MOST_CHARACTERS: Final = 500_000
"""Maximum length of a text; bodies are cut here, so that clients need not cut them again."""

_BLOCK: Final[TypeAdapter[wire.ContentBlock]] = TypeAdapter(wire.ContentBlock)


class ToolCalls:
    """The tools of one server.

    Args:
        find: Returns the tools of a request's caller.
        tools: The published tools.
        elicitation: Sends questions to the client.
        options: Determine how tools are published and results returned.
        limits: Maximum amount of text returned at once.
    """

    def __init__(
        self,
        find: FindRegistry,
        tools: Sequence[AnyTool],
        elicitation: Elicitation,
        options: McpOptions,
        limits: TextLimits,
    ) -> None:
        self._find = find
        self._elicitation = elicitation
        self._tools = {tool.name: tool for tool in tools}
        self._options = options
        self._limits = limits
        self._published = wire.ListToolsResult(tools=[self._publish(tool) for tool in tools])
        self.schemas = {tool.name: tool.input_schema for tool in self._published.tools}
        """Schemas of the tools' arguments by name, for the SDK, which otherwise lists all tools before each call."""
        self._running: set[asyncio.Task[Any]] = set()

    async def list_tools(self, request: Request, given: wire.PaginatedRequestParams | None) -> wire.ListToolsResult:
        """Return the published tools, all on one page."""
        if given is not None and given.cursor:
            raise MCPError(wire.INVALID_PARAMS, "tools/list has only one page; omit the cursor")
        return self._published

    async def call_tool(
        self, request: Request, given: wire.CallToolRequestParams
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        """Call a tool. Failures of the tool are returned to the model; only an unknown tool is a protocol error."""
        tool = self._tools.get(given.name)
        if tool is None:
            try:
                tool = (await self._find(request)).tool(given.name[:80])
            except FileToolsError as unknown:  # or no folder is served, which is reported as well
                sentence = f"{unknown.message}. {unknown.suggested_action}"
                raise MCPError(wire.INVALID_PARAMS, sentence, unknown.details) from unknown
        outcome = await self._elicitation.lead(request, given, lambda: self._envelope(request, tool, given))
        if isinstance(outcome, wire.InputRequiredResult):
            return outcome
        return _result(shown(tool, outcome, self._limits, structured=self._options.structured))

    async def _envelope(self, request: Request, tool: AnyTool, given: wire.CallToolRequestParams) -> dict[str, Any]:
        abort = AbortSignal()
        try:
            registry = await self._find(request)
            async with _reporting(request.session) as report:
                call = registry.call(tool.name, given.arguments or {}, abort=abort, progress=report)
                return await (call if tool.effect == "read" else self._in_own_task(call))
        except FileToolsError as error:  # from finding the workspaces; a call raises none
            return failure_envelope(error)
        except asyncio.CancelledError:
            abort.abort()
            raise

    async def _in_own_task(self, call: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
        """Run a call that changes something in a separate task.

        The SDK cancels a handler again in every iteration of the loop, but a call needs several iterations to undo and
        release; so the abort signal stops it. Reads hold nothing, and are faster without the task.
        """
        task = asyncio.create_task(call)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        """Wait until cancelled calls have ended."""
        while self._running:
            with suppress(asyncio.CancelledError):
                await asyncio.wait(self._running)

    def _publish(self, tool: AnyTool) -> wire.Tool:
        published = wire.Tool.model_validate(mcp_tool(tool, structured=self._options.structured))
        size = {RESULT_SIZE_KEY: MOST_CHARACTERS} if tool.has_body else {}
        at_once = {} if self._options.is_deferred or tool.group in _LATER else {ALWAYS_LOAD_KEY: True}
        return published.model_copy(update={"meta": size | at_once or None})


@asynccontextmanager
async def _reporting(session: ServerSession) -> AsyncIterator[ReportProgress]:
    """Yield a function that reports the progress of one call to the client."""
    last = -1
    sent: list[asyncio.Task[None]] = []

    def report(current: int, total: int | None, message: str | None) -> None:
        nonlocal last
        if current > last:  # the protocol requires increasing values
            last = current
            sent.append(asyncio.create_task(session.report_progress(current, total, message)))

    try:
        yield report
        # The last reports of worker threads may still be queued in the loop; after the result they would be ignored.
        await asyncio.sleep(0)
        await asyncio.gather(*sent)
    finally:
        for task in sent:
            task.cancel()


def _result(seen: ShownCall) -> wire.CallToolResult:
    content: list[wire.ContentBlock] = []
    if seen.text or seen.media is None:
        content.append(wire.TextContent(text=seen.text))
    if seen.media is not None:
        content.append(_BLOCK.validate_python(seen.media.content))
    content += [_link(link) for link in seen.links]
    content += [wire.TextContent(text=note) for note in seen.notes]
    return wire.CallToolResult(content=content, structured_content=seen.structured, is_error=seen.is_error)


def _link(link: FileLink) -> wire.ResourceLink:
    if link.descriptor is not None:
        uri = descriptor_address(link.descriptor)
        return wire.ResourceLink(uri=uri, name=link.descriptor, mime_type=link.mime_type)
    name = printable(link.path.rpartition("/")[2])
    return wire.ResourceLink(uri=file_address(link.path), name=name, mime_type=link.mime_type, size=link.size)
