"""How soon a client of the chat interface gets what an agent says: one run alone, and twenty at once.

The agent is a small program that tells when it says its first line, which is compared with when the client has it: both read
the same clock. Measured besides is a whole run of an agent that does nothing, from the request to the end of the answer.

Usage: python -m benchmarks.bench_runs [ROUNDS]    (needs the extra `server`)
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from benchmarks import measure

GOAL_SECONDS = 0.03
AT_ONCE = 20
ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
AGENT = """
import json, sys, time
sys.stdin.read()
def tell(**message):
    sys.stdout.write(json.dumps(message) + chr(10))
    sys.stdout.flush()
tell(type="assistant", message={"content": [{"type": "text", "text": str(time.time())}]})
tell(type="result", result="")
"""


@contextmanager
def served(root: Path) -> Iterator[httpx2.AsyncClient]:
    """Serve a root with the agent on a free port, and return a client of it."""
    agent = root.parent / "agent.py"
    agent.write_text(AGENT)
    command = [sys.executable, "-m", "filetools", "serve", str(root), "--port", "0"]
    command += ["--agent", shlex.join([sys.executable, str(agent)])]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        try:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            token = (root / ".filetools" / "token").read_text().strip()
            yield httpx2.AsyncClient(base_url=found[0], headers={"Authorization": f"Bearer {token}"}, timeout=60)
        finally:
            server.terminate()


async def run(client: httpx2.AsyncClient) -> tuple[float, float]:
    """Run the agent, and return the seconds from its first line to its arrival, and those of all."""
    order = {"model": Path(sys.executable).name, "messages": [{"role": "user", "content": "x"}], "stream": True}
    began, first = time.perf_counter(), -1.0
    async with client.stream("POST", "/v1/chat/completions", json=order) as answer:
        async for line in answer.aiter_lines():
            now = time.time()
            data = line.removeprefix("data: ")
            if first < 0 and data.startswith("{"):
                text = json.loads(data)["choices"][0]["delta"].get("content")
                first = now - float(text) if text else first
    return first, time.perf_counter() - began


async def measured(client: httpx2.AsyncClient, rounds: int) -> list[measure.Row]:
    """Measure, and return the rows."""
    await run(client)
    alone = [await run(client) for _ in range(rounds)]
    began = time.perf_counter()
    crowd = await asyncio.gather(*(run(client) for _ in range(AT_ONCE)))
    whole = time.perf_counter() - began
    first, all_of_it = (statistics.median(each) for each in zip(*alone, strict=True))
    among = statistics.median(each for each, _ in crowd)
    await client.aclose()
    return [
        measure.Row(
            goal="-", name="first byte after the agent's first line", value=first, unit="s", limit=GOAL_SECONDS
        ),
        measure.Row(goal="-", name=f"the same, {AT_ONCE} runs at once", value=among, unit="s"),
        measure.Row(goal="-", name="a whole run of an agent that does nothing", value=all_of_it, unit="s"),
        measure.Row(goal="-", name=f"{AT_ONCE} of them at once, until all have ended", value=whole, unit="s"),
    ]


def main() -> None:
    measure.print_heading()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        with served(root) as client:
            for row in asyncio.run(measured(client, measure.dose(20))):
                measure.publish(row)


if __name__ == "__main__":
    main()
