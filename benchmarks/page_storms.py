"""Who keeps the page of bench_page.py busy: agents that call tools over HTTP, and a server that tells 1,000 events a second.

Usage: python -m benchmarks.page_storms ROOT SECONDS    (serves ROOT; at SIGUSR1 tells events of its folder "many")
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import random
import signal
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import filetools
from filetools.servers.http.application import ServerApplication
from filetools.servers.http.options import HttpOptions
from filetools.servers.http.serving import listen, serve

AGENTS: Final = 2
RATE: Final = 1000
"""Events a second."""
BATCH: Final = 20
WRITTEN_FILES: Final = 500
"""How many of the folder's files change again and again."""
FIRST: Final = "first\n"


class Agent:
    """Calls tools of a server, over one connection."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)

    def does(self, tool: str, **arguments: Any) -> None:
        """Call a tool that must succeed."""
        self._connection.request(
            "POST", f"/v1/tools/{tool}", json.dumps(arguments), {"Content-Type": "application/json"}
        )
        answer = json.loads(self._connection.getresponse().read())
        assert answer["success"], answer


def edits(address: str, count: int) -> list[float]:
    """Edit the first line of notes.md again and again; return the times at which the calls began, as of `time.time`."""
    agent, began = Agent(address), []
    for number in range(count):
        time.sleep(random.uniform(0.06, 0.12))  # in no step with the frames
        began.append(time.time())
        agent.does("edit_file", path="notes.md", old_string=f"stamp {number};", new_string=f"stamp {number + 1};")
    return began


def changes(who: int) -> Iterator[tuple[str, bool]]:
    """Return one's changes of the folder without end: paths, and whether they are new, as one in ten is."""
    place = who
    while True:
        is_new = place // AGENTS % 10 == 9
        yield f"many/f{place % WRITTEN_FILES:06d}{f'-{place}' if is_new else ''}.txt", is_new
        place += AGENTS


def writes(address: str, who: int, seconds: float) -> int:
    """Write files of the folder at an agent's part of the rate, or as fast as it goes; return how many."""
    agent, began, written = Agent(address), time.monotonic(), 0
    mine, texts = changes(who), dict[str, str]()
    while time.monotonic() - began < seconds:
        items: list[dict[str, Any]] = []
        for path, is_new in islice(mine, BATCH):
            known = {} if is_new else {"expected_version": version(texts.get(path, FIRST))}
            texts[path] = f"{who} {written} {len(items)}\n"
            items.append({"path": path, "content": texts[path], **known})
        agent.does("write_multiple", items=items)
        written += BATCH
        time.sleep(max(0.0, began + written * AGENTS / RATE - time.monotonic()))
    return written


def version(text: str) -> str:
    """Return the version of a file with a text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


async def tell(application: ServerApplication, seconds: float) -> None:
    """Tell the connections of a server of changes that nobody made, as frames are told of real ones."""
    loop, mine = asyncio.get_running_loop(), changes(0)
    began, count = loop.time(), 0
    actor = {"kind": "agent", "id": "alice", "session": "s1"}
    while count < seconds * RATE:
        await asyncio.sleep(began + count / RATE - loop.time())
        for path, is_new in islice(mine, int((loop.time() - began) * RATE) + 1 - count):
            count += 1
            name = "file:created" if is_new else "file:modified"
            frame = {"type": "event", "event": name, "path": path, "seq": count, "version": version(path), "size": 6}
            application.shared.hub._tell(json.dumps(frame | {"actor": actor, "source": "agent", "time": time.time()}))


async def main(root: str, seconds: float) -> None:
    """Serve a root, print how to log in, and tell events when asked to."""
    listener, stormy = listen(HttpOptions(port=0)), list[asyncio.Task[None]]()

    def ready(application: ServerApplication) -> None:
        def start() -> None:
            stormy.append(asyncio.create_task(tell(application, seconds)))

        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, start)
        print(f"{listener.addresses[0]} {application.shared.logins.new_code()}", flush=True)

    async with filetools.open(root) as files:
        await serve(files, listener, ready)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
