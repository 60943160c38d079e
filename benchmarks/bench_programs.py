"""Programs that are started: the command line and the MCP server, beside a bare interpreter and an echo server (goals 18, 21).

The echo server is made with the same SDK and does no work. Processor time is that of a process and its children.

Usage: python -m benchmarks.bench_programs [ROUNDS]    (needs the extra `mcp`)
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks.measure import Times, against, dose, ratio, text_of

SIZES: Final = {"64 KB": 65_536, "1 MB": 1_048_576}
REPOSITORY: Final = Path(__file__).resolve().parent.parent
STARTS: Final = 7
HELLO: Final[Sequence[dict[str, Any]]] = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)  # fmt: skip
ECHO_SERVER: Final = """
import asyncio, sys
import mcp_types as wire
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def list_tools(request, given):
    return wire.ListToolsResult(tools=[wire.Tool(name="echo", input_schema={"type": "object"})])

async def call_tool(request, given):
    return wire.CallToolResult(content=[wire.TextContent(text=text)])

async def serve():
    server = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

text = open(sys.argv[1]).read()
asyncio.run(serve())
"""
"""Its tool returns a text that it has read before; it imports nothing that a server does not need."""
LIST: Final[dict[str, Any]] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}


def call_of(tool: str, **arguments: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


async def mcp_reads(rounds: int) -> None:
    """Goal 18."""

    def server(*arguments: str) -> StdioServerParameters:
        most = str(2 * max(SIZES.values()))
        environment = {
            "PYTHONPATH": str(REPOSITORY), "FILETOOLS_MAX_TEXT_CHARACTERS": most, "FILETOOLS_MAX_TEXT_LINES": most,
        }  # fmt: skip
        return StdioServerParameters(command=sys.executable, args=[*arguments], env=environment, cwd=REPOSITORY)

    for case, size in SIZES.items():
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "text.txt").write_text(text_of(size, 0))
            async with (
                Client(server("-c", ECHO_SERVER, f"{root}/text.txt")) as echo,
                Client(server("-m", "filetools", "mcp", root)) as ours,
            ):
                read = partial(ours.call_tool, "read_file", {"path": "text.txt"})
                floor = partial(echo.call_tool, "echo", {})
                told = "read_file over MCP / an echo tool"
                await against(18, told, 1.2, read, floor, rounds=rounds, calls=10, case=case)


def reap(process: subprocess.Popen[bytes]) -> float:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def commands() -> None:
    """Goal 21: importing and commands."""
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "text.txt").write_text("text")
        ours: dict[str, tuple[list[str], float]] = {
            "import filetools": (["-c", "import filetools"], 8.0),
            "filetools --version": (["-m", "filetools", "--version"], 10.0),
            "filetools ls": (["-m", "filetools", "ls", "--root", root], 35.0),
        }
        used: dict[str, list[list[float]]] = {name: [] for name in ("pass", *ours)}
        for number in range(STARTS + 1):
            for name in used:
                arguments = ["-c", "pass"] if name == "pass" else ours[name][0]
                with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL) as process:
                    taken = reap(process)
                assert process.returncode == 0, name
                if number:
                    used[name].append([taken])
    for name, (_, limit) in ours.items():
        ratio(21, f"CPU: {name} / python -c pass", limit, Times(used[name]), Times(used["pass"]))


@contextmanager
def conversation(command: Sequence[str], question: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and ask one question; the block begins with its answer."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=REPOSITORY
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in (*HELLO, question)))
        server.stdin.flush()
        while (answer := json.loads(server.stdout.readline())).get("id") != question["id"]:
            pass
        assert "result" in answer, answer
        yield server


def servers() -> None:
    """Goal 21: the MCP server until its first list of tools and its first answer."""
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "text.txt").write_text(text_of(1024, 0))
        ours = [sys.executable, "-m", "filetools", "mcp", root]
        echo = [sys.executable, "-c", ECHO_SERVER, f"{root}/text.txt"]
        questions = {
            "first tools/list": (LIST, LIST),
            "first answer": (call_of("read_file", path="text.txt"), call_of("echo")),
        }
        for name, (asked, asked_echo) in questions.items():
            taken: tuple[list[list[float]], list[list[float]]] = ([], [])
            for number in range(STARTS + 1):
                for found, command, question in zip(taken, (ours, echo), (asked, asked_echo), strict=True):
                    with conversation(command, question) as server:
                        server.kill()
                        used = reap(server)
                    if number:
                        found.append([used])
            ratio(21, f"CPU: filetools mcp to the {name} / echo", 1.5, Times(taken[0]), Times(taken[1]))


def main(rounds: int) -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled files are kept, as every installation keeps them
    commands()
    servers()
    asyncio.run(mcp_reads(rounds))


if __name__ == "__main__":
    main(dose(9))
