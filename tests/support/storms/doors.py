"""The processes that serve one root in a storm, and the agents and followers before them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

import httpx2
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server
from tests.support.mcp_clients import process, text_of
from tests.support.schedules.tokens import tokens_in
from tests.support.storms.scene import CUT_OFF, Scene, changed_lines, number_of

PATIENCE_SECONDS: Final = 60.0
TRIES: Final = 3
"""How often a write under a condition is made anew on the text that stands there now."""
LONGEST_SECONDS: Final = 0.03
"""After which a call is given up."""
MOST_AT_ONCE: Final = 25
"""Changes that are read over one connection before it is cut, at most."""
_CODE: Final = re.compile(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b")
_NUMBERED: Final = re.compile(r"^\s*\d+[\t→](.*)$", re.MULTILINE)


class RefusedError(Exception):
    """A door has refused a call."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Door(Protocol):
    """A way to the files."""

    async def read(self, path: str) -> tuple[str, str]:
        """Return text and version."""

    async def write(self, path: str, text: str, version: str) -> None:
        """Write, as far as the door can tell under the condition that this version stands there."""

    async def edit(self, path: str, old: str, new: str) -> None:
        """Replace a line."""


@dataclass(frozen=True, slots=True)
class NativeDoor:
    """Our tools over MCP."""

    client: Client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        if result.is_error:
            found = _CODE.search(text_of(result))
            raise RefusedError(text_of(result) if found is None else found[0])
        return result.structured_content or {"text": text_of(result)}

    async def read(self, path: str) -> tuple[str, str]:
        found = await self.call("read_file", path=path)
        return found["content"], found["version"]

    async def write(self, path: str, text: str, version: str) -> None:
        await self.call("write_file", path=path, content=text, expected_version=version)

    async def edit(self, path: str, old: str, new: str) -> None:
        await self.call("edit_file", path=path, old_string=old, new_string=new)


class DialectDoor(NativeDoor):
    """The tools of Claude Code over MCP, whose writes name no version."""

    async def read(self, path: str) -> tuple[str, str]:
        found = await self.call("Read", file_path=path)
        return "".join(f"{line}\n" for line in _NUMBERED.findall(found["text"])), ""

    async def write(self, path: str, text: str, version: str) -> None:
        await self.call("Write", file_path=path, content=text)

    async def edit(self, path: str, old: str, new: str) -> None:
        await self.call("Edit", file_path=path, old_string=old, new_string=new)


@dataclass(frozen=True, slots=True)
class HttpDoor:
    """Whole files under a condition, parts, and tools over HTTP."""

    web: httpx2.AsyncClient

    async def ask(self, method: str, target: str, **options: Any) -> httpx2.Response:
        answer = await self.web.request(method, f"/v1/{target}", **options)
        if not answer.is_success:
            raise RefusedError(answer.json()["code"])
        return answer

    async def read(self, path: str) -> tuple[str, str]:
        while True:
            try:
                found = await self.ask("GET", f"files/{path}")
            except RefusedError as exc:
                if exc.code != "CHANGED_MEANWHILE":  # else another program wrote into the file at this moment
                    raise
            else:
                return found.content.decode(), found.headers["etag"]

    async def write(self, path: str, text: str, version: str) -> None:
        await self.ask("PUT", f"files/{path}", content=text.encode(), headers={"If-Match": version} if version else {})

    async def edit(self, path: str, old: str, new: str) -> None:
        await self.ask("PATCH", f"files/{path}", json={"edits": [{"old": old, "new": new}]})

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = (await self.ask("POST", f"tools/{tool}", json=arguments)).json()
        if not answer["success"]:
            raise RefusedError(answer["error_code"])
        found: dict[str, Any] = answer["data"]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """One root and what serves it, each in a process of its own."""

    root: Path
    server: HttpServer
    http: HttpDoor
    native: NativeDoor
    dialect: DialectDoor


@asynccontextmanager
async def opened_doors(root: Path) -> AsyncIterator[Doors]:
    """Start all processes on a root, and connect to each."""
    async with AsyncExitStack() as stack:
        server = stack.enter_context(http_server(root))
        web = await stack.enter_async_context(bearer.AsyncClient(base_url=server.address, timeout=PATIENCE_SECONDS))
        clients = []
        for options in (("--tools", "core,files", "--structured"), ("--dialect", "claude-code")):
            started = process(root, *options)
            relaxed = started.model_copy(update={"env": {**(started.env or {}), "FILETOOLS_DURABILITY": "relaxed"}})
            clients.append(await stack.enter_async_context(Client(relaxed)))
        native, dialect = NativeDoor(clients[0]), DialectDoor(clients[1])
        yield Doors(root=root, server=server, http=HttpDoor(web), native=native, dialect=dialect)


@dataclass
class Agent:
    """An agent before a door: it picks lines of the text that it has read last, however old."""

    scene: Scene
    letter: str
    door: NativeDoor | HttpDoor
    known: dict[str, str] = field(default_factory=dict)
    chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = self.scene.chance(self.letter)

    async def act(self) -> None:
        """Do something."""
        path = self.scene.path(self.chance)
        acts = (self._write, self._edit, self._cancel, self._append)
        await self.chance.choices(acts, (4, 4, 2, 0 if isinstance(self.door, DialectDoor) else 2))[0](path)

    async def _read(self, path: str) -> str:
        self.known[path], version = await self.door.read(path)
        return version

    async def _write(self, path: str) -> None:
        for _ in range(TRIES):
            version = await self._read(path)
            known = self.known.pop(path)  # refused or merged, what stands there now has to be read
            text = changed_lines(self.scene, self.chance, self.letter, known)
            if await self._tried(f"write {path}", self.door.write(path, text, version), known, text):
                return

    async def _edit(self, path: str) -> None:
        if path not in self.known or self.chance.random() < 0.2:
            await self._read(path)
        lines = [line for line in self.known[path].splitlines() if line.strip()]
        old, line = self.chance.choice(lines), self.scene.mint.line(self.letter)
        new = line if self.chance.random() < 0.3 else f"{old}\n{line}"
        is_done = await self._tried(f"edit {path} {old!r} -> {new!r}", self.door.edit(path, old, new), old, new)
        if isinstance(self.door, DialectDoor):
            self.known.pop(path)
        # Only what adds and removes nothing is taken back: by whom else a line was known meanwhile, nobody can say.
        elif is_done and old in new and isinstance(self.door, NativeDoor) and self.chance.random() < 0.3:
            await self._tried(f"undo {new!r}", self.door.call("undo_changes"), new, old)

    async def _cancel(self, path: str) -> None:
        """Give up a call at some moment: it is done, or not."""
        await self._read(path)
        old, line = self.known.pop(path).splitlines()[0], self.scene.mint.line(self.letter)
        call = asyncio.create_task(self.door.edit(path, old, f"{old}\n{line}"))
        await asyncio.wait([call], timeout=self.chance.random() * LONGEST_SECONDS)
        call.cancel()
        refusal: str | None = CUT_OFF
        with suppress(asyncio.CancelledError, MCPError, RefusedError):
            await call
            refusal = None
        self.scene.note(self.letter, f"give up {line!r} in {path}", refusal, tokens_in(line), may_be_done=True)

    async def _append(self, path: str) -> None:
        line = self.scene.mint.line(self.letter) + "\n"
        await self._tried(f"append {path}", self.door.call("append_file", path=path, content=line), "", line)

    async def _tried(self, what: str, call: Awaitable[object], had: str, has: str) -> bool:
        """Make a change from one text to another, and enter what was answered."""
        refusal = None
        try:
            await call
        except RefusedError as exc:
            refusal = exc.code
        return self.scene.note(self.letter, what, refusal, tokens_in(has), tokens_in(had))


async def follow_stream(scene: Scene, doors: Doors, since: str, heard: list[int]) -> None:
    """Read server-sent events until cancelled; the connection is cut now and then, and goes on from the last one read."""
    chance = scene.chance("stream")
    while True:
        headers, left = {"Accept": "text/event-stream", "Last-Event-ID": since}, chance.randint(1, MOST_AT_ONCE)
        async with doors.http.web.stream("GET", "/v1/changes", headers=headers) as answer:
            event: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                event[name] = value
                if line:
                    continue
                if event.get("event") == "resync":
                    scene.faults.append(f"the stream was told to begin anew after {since}")
                since = event.get("id", since)
                heard += [number_of(since)] if event.get("event") == "change" else []
                event, left = {}, left - 1
                if not left:
                    break


async def follow_pages(scene: Scene, doors: Doors, since: str, heard: list[int]) -> None:
    """Call watch_changes over MCP until cancelled, each time from where the last page ended."""
    chance = scene.chance("pages")
    while True:
        limit = chance.randint(1, MOST_AT_ONCE)
        page = await doors.native.call("watch_changes", since=since, wait_seconds=20, limit=limit)
        if page["resync"]:
            scene.faults.append(f"watch_changes was told to begin anew after {since}")
        since = page["position"]
        heard += [change["number"] for change in page["changes"]]
