"""What the door for MCP costs: reading 64 KB and 1 MB against a tool of the same SDK that returns a text it has already.

Also how soon an agent in one process reads what a person has typed in another; what a server costs that a client starts and
only looks at (goal 21), beside the official file server, `@modelcontextprotocol/server-filesystem`, if
`python -m tests.support.node` has installed it; and how soon it is gone when its input is closed.

Usage: python -m benchmarks.bench_mcp [ROUNDS]    (needs the extra `mcp`)
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as wire
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server import Server
from mcp.server.stdio import stdio_server

from benchmarks import measure
from tests.support.node import FILE_SERVER, folder, node

SIZES = {"64 KB": 65_536, "1 MB": 1_048_576}
ECHO = "echo"
CALLS = 10
REPOSITORY = Path(__file__).resolve().parent.parent
OFFICIAL = folder(FILE_SERVER) / "node_modules" / FILE_SERVER.rpartition("@")[0] / "dist" / "index.js"
STARTS = 9
HELLO = {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"},
}  # fmt: skip
BEGINNING: Sequence[Mapping[str, Any]] = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
LOOK: Mapping[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
CALL: Mapping[str, Any] = {
    "jsonrpc": "2.0", "id": 2, "method": "tools/call",
    "params": {"name": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}},
}  # fmt: skip


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
        "18", f"read_file of {size} over MCP / an echo tool", times["ours"], times["echo"], limit=1.2, floor_name=floor
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


@contextmanager
def conversation(command: Sequence[str], question: Mapping[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and ask one thing; the block begins with its answer."""
    # Compiled files are kept, as every installation keeps them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in (*BEGINNING, question)))
        server.stdin.flush()
        while (answer := json.loads(server.stdout.readline())).get("id") != question["id"]:
            pass
        assert "result" in answer, answer
        yield server


def processor_seconds(command: Sequence[str]) -> float:
    """Return the processor time, user and system, that a server takes up to its first list of tools."""
    with conversation(command, LOOK) as server:
        server.kill()
        _, status, usage = os.wait4(server.pid, 0)
        server.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def leaving_seconds(command: Sequence[str], question: Mapping[str, Any]) -> float:
    """Return how long a server stays when its input is closed after an answer."""
    with conversation(command, question) as server:
        assert server.stdin is not None
        began = time.perf_counter()
        server.stdin.close()
        code = server.wait()
        taken = time.perf_counter() - began
    assert code == 0, code
    return taken


def measure_start(root: Path) -> None:
    """Measure what a server costs that is started, looked at, perhaps called once, and left."""
    ours = [sys.executable, "-m", "filetools", "mcp", str(root)]
    contenders = {"ours": ours}
    if OFFICIAL.is_file():
        contenders["official"] = [str(node()), str(OFFICIAL), str(root)]
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in contenders}
    for number in range(STARTS + 1):
        for name, command in contenders.items():
            seconds = processor_seconds(command)
            if number:
                taken[name].append((seconds,))
    times = {name: measure.Times(tuple(found)) for name, found in taken.items()}
    floor = times.get("official", times["ours"])
    row = measure.compared(
        "21", "processor time of `filetools mcp` to the first tools/list", times["ours"], floor,
        limit=1.5 if "official" in times else None, floor_name="the official file server",
    )  # fmt: skip
    measure.publish(row)
    for name, question in (("tools/list", LOOK), ("one call", CALL)):
        stays = [leaving_seconds(ours, question) for _ in range(STARTS)]
        middle = measure.percentile(stays, 0.5)
        row = measure.Row(
            goal="21", name=f"`filetools mcp` is gone after its input closes, after {name}", value=middle, unit="s",
            limit=0.1, ours=middle, ours_p99=max(stays),
        )  # fmt: skip
        measure.publish(row)


def main() -> None:
    if sys.argv[1:2] == [ECHO]:
        asyncio.run(serve_echo(SIZES[sys.argv[2]]))
        return
    rounds = measure.dose(9)
    measure.print_heading()
    with tempfile.TemporaryDirectory() as place:
        measure_start(Path(place))
        for size in SIZES:
            asyncio.run(compare(Path(place), size, rounds))
        asyncio.run(seen_by_another(Path(place), rounds))


if __name__ == "__main__":
    main()
