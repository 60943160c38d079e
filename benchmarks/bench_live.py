"""How soon an editor over the live protocol and agents over MCP see each other's changes of one file.

Agents call over streamable HTTP at the same server, and over standard input and output from a process of their own on the
same root. Measured is the whole way: from sending the agent's call to the edit in the editor and the call's end; and the calls
by which an agent reads until it sees what was typed and acknowledged just before.

Usage: python -m benchmarks.bench_live [ROUNDS]    (needs the extras `server` and `mcp`)
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from websockets.asyncio.client import ClientConnection, connect

from benchmarks import measure

GOAL_SECONDS = 0.05
CALLS = 30
REPOSITORY = Path(__file__).resolve().parent.parent
ENVIRONMENT = {"PYTHONPATH": str(REPOSITORY)}


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a root on a free port, and return the address."""
    command = [sys.executable, "-m", "filetools", "serve", str(root), "--port", "0"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            server.terminate()


class Editor:
    """An editor with one document, whose person types at its end."""

    def __init__(self, connection: ClientConnection, opened: dict[str, Any]) -> None:
        self._connection = connection
        self._handle = opened["handle"]
        self._version = opened["buffer_version"]
        self._length = len(opened["text"])
        self.typed = 0

    async def type(self) -> None:
        """Type a line, and wait for the acknowledgement."""
        self.typed += 1
        line = f"typed {self.typed}\n"
        edits = [{"start": self._length, "end": self._length, "text": line}]
        given = {"type": "change", "handle": self._handle, "buffer_version": self._version, "edits": edits}
        await self._connection.send(json.dumps(given))
        self._take(await frame(self._connection, "ack"))
        self._length += len(line)

    async def edited(self) -> None:
        """Wait for the next edit by another."""
        self._take(await frame(self._connection, "edits"))

    def _take(self, told: dict[str, Any]) -> None:
        self._version = told["buffer_version"]
        self._length += sum(len(each["text"]) - (each["end"] - each["start"]) for each in told["edits"])


async def frame(connection: ClientConnection, kind: str) -> dict[str, Any]:
    """Return the next frame of a type."""
    while True:
        found: dict[str, Any] = json.loads(await connection.recv())
        if found["type"] == kind:
            return found


async def measured(root: Path, address: str, agent: Client, way: str, rounds: int) -> None:
    """Measure both directions with one agent."""
    path = f"{way}.txt"
    count = rounds * CALLS * 2
    (root / path).write_text("".join(f"line {number}\n" for number in range(count)))
    async with connect(f"ws{address.removeprefix('http')}/v1/live", compression=None, max_size=None) as connection:
        await connection.send('{"type":"hello"}')
        await connection.send(json.dumps({"type": "open", "path": path}))
        editor = Editor(connection, await frame(connection, "ack"))
        edited = 0

        async def agent_edits() -> None:
            nonlocal edited
            old, new = f"line {edited}\n", f"agent {edited}\n"
            calling = asyncio.create_task(
                agent.call_tool("edit_file", {"path": path, "old_string": old, "new_string": new})
            )
            await editor.edited()
            await calling
            edited += 1

        async def agent_reads() -> None:
            text = ""
            while not text.startswith(f"typed {editor.typed}\n"):
                found: Any = (await agent.call_tool("read_file", {"path": path, "offset": -1})).content[0]
                text = found.text

        times = await measure.interleaved(
            {"edit": agent_edits, "type": editor.type, "read": agent_reads}, rounds=count // 2, calls=1
        )
    names = {
        "edit": f"edit by an agent ({way}), in an editor",
        "read": f"typing in an editor, read by an agent ({way})",
        "type": f"typing, acknowledged ({way})",
    }
    for name, taken in times.items():
        measure.publish(
            measure.Row(
                goal="-", name=names[name], value=taken.median, unit="s", limit=GOAL_SECONDS,
                ours=taken.median, ours_p99=taken.p99,
            )
        )  # fmt: skip


async def both(root: Path, rounds: int) -> None:
    """Measure with an agent at the server, and with one in a process of its own."""
    with served(root) as address:
        async with Client(f"{address}/mcp") as agent:
            await measured(root, address, agent, "HTTP", rounds)
        stdio = StdioServerParameters(
            command=sys.executable, args=["-m", "filetools", "mcp", str(root)], env=ENVIRONMENT, cwd=REPOSITORY
        )
        async with Client(stdio) as agent:
            await measured(root, address, agent, "stdio", rounds)


def main() -> None:
    measure.print_heading()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(both(Path(folder), measure.dose(3)))


if __name__ == "__main__":
    main()
