"""What the door for MCP costs: reading 64 KB and 1 MB against a tool of the same SDK that returns a text it has already.

Also how soon an agent in one process reads what a person has typed in another.

Usage: python -m benchmarks.bench_mcp [ROUNDS]    (needs the extra `mcp`)
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import mcp_types as wire
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server import Server
from mcp.server.stdio import stdio_server

from benchmarks import measure

SIZES = {"64 KB": 65_536, "1 MB": 1_048_576}
ECHO = "echo"
CALLS = 30
REPOSITORY = Path(__file__).resolve().parent.parent


async def serve_echo(size_bytes: int) -> None:
    """Serve one tool that returns a text, with no work at all."""
    content = measure.text_of(size_bytes, 0)

    async def list_tools(request: Any, given: Any) -> wire.ListToolsResult:
        return wire.ListToolsResult(tools=[wire.Tool(name=ECHO, input_schema={"type": "object"})])

    async def call_tool(request: Any, given: wire.CallToolRequestParams) -> wire.CallToolResult:
        return wire.CallToolResult(content=[wire.TextContent(text=content)])

    server: Server[Any] = Server(ECHO, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def process(*arguments: str) -> StdioServerParameters:
    most = str(2 * max(SIZES.values()))
    whole = {
        "PYTHONPATH": str(REPOSITORY), "FILETOOLS_MAX_TEXT_CHARACTERS": most, "FILETOOLS_MAX_TEXT_LINES": most,
    }  # fmt: skip
    return StdioServerParameters(command=sys.executable, args=["-m", *arguments], env=whole, cwd=REPOSITORY)


async def compare(root: Path, size: str, rounds: int) -> None:
    (root / "text.txt").write_text(measure.text_of(SIZES[size], 0))
    async with (
        Client(process("benchmarks.bench_mcp", ECHO, size)) as plain,
        Client(process("filetools", "mcp", str(root))) as ours,
    ):
        times = await measure.interleaved(
            {
                "ours": lambda: ours.call_tool("read_file", {"path": "text.txt"}),
                "echo": lambda: plain.call_tool(ECHO, {}),
            },
            rounds=rounds,
            calls=CALLS,
        )
    floor = "a tool of the same SDK that returns the text"
    row = measure.compared(
        "-", f"read_file of {size} over MCP", times["ours"], times["echo"], limit=1.2, floor_name=floor
    )
    measure.publish(row)


async def seen_by_another(root: Path, rounds: int) -> None:
    """Type in one process; read in another."""
    (root / "typed.txt").write_text("end\n")
    typed = 0
    async with (
        Client(process("filetools", "mcp", str(root), "--editor")) as person,
        Client(process("filetools", "mcp", str(root))) as agent,
    ):
        opened: Any = (await person.call_tool("buffer_open", {"path": "typed.txt"})).structured_content

        async def type_a_line() -> None:
            nonlocal typed
            typed += 1
            edits = [{"start": 0, "end": 0, "text": f"{typed}\n"}]
            given = {"handle": opened["handle"], "buffer_version": typed, "edits": edits}
            await person.call_tool("buffer_change", given)

        async def read() -> None:
            found: Any = (await agent.call_tool("read_file", {"path": "typed.txt", "limit": 1})).content[0]
            assert found.text.startswith(f"{typed}\n")

        times = await measure.interleaved({"type": type_a_line, "read": read}, rounds=rounds * CALLS, calls=1)
    told = times["read"]
    measure.publish(
        measure.Row(
            goal="-", name="unsaved text read by another process", value=told.p99, unit="s", limit=0.05,
            ours=told.median, ours_p99=told.p99,
        )
    )  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == [ECHO]:
        asyncio.run(serve_echo(SIZES[sys.argv[2]]))
        return
    rounds = measure.dose(9)
    measure.print_heading()
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            asyncio.run(compare(Path(folder), size, rounds))
        asyncio.run(seen_by_another(Path(folder), rounds))


if __name__ == "__main__":
    main()
