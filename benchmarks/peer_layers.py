"""The file layers that `make bench-peers` compares, each at work in a process of its own and called as its documents say.

python -m benchmarks.peer_layers LAYER edit ROOT FIRST EDITORS ROUNDS    edits shared.txt when it is told to go, and ends
python -m benchmarks.peer_layers LAYER write SIZE_BYTES    rewrites shared.txt in each folder it is told, until killed there
python -m benchmarks.peer_layers LAYER time ROOT    takes the time of the calls that it is told, one line of JSON each
It says what it does in lines of JSON. What comes from a package is imported where it is used: not all of them need be there.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import TEXT_LINE, text_of
from tests.support.node import FILE_SERVER, installed_program

FILE: Final = "shared.txt"
EDITORS: Final = 8
"""All at once, each at lines of its own."""
_MOST_WRITES: Final = 10_000
_HARNESS_SUCCESS: Final = ("Edited ", "Wrote ")
_ALL: Final = 10**9
FOLDER: Final = "many"
FILES: Final = 1_000
NEEDLE: Final = "needle in hay"
NEEDLES: Final = 10
"""In so many of the files."""


class RefusedError(Exception):
    """Raised when a layer reports that it has not done what was asked."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Calls that return when success was reported; everything raised counts as refused."""

    edit: Callable[[int, str, str], Awaitable[None]]
    """By an editor: replace a text, which stands there once, by another."""
    write: Callable[[str], Awaitable[None]]
    read: Callable[[str], Awaitable[str]]
    """Return the whole text of a file."""
    list: Callable[[str], Awaitable[str]]
    """Return the names of a folder's files, in whatever form."""
    grep: Callable[[str], Awaitable[str]] | None = None
    """Return the lines below the root that hold a text, in whatever form; None where the layer has no such call."""


@asynccontextmanager
async def ours(root: Path) -> AsyncIterator[Layer]:
    """`filetools.open()`, each editor an actor."""
    import filetools

    def agent(number: int) -> filetools.FileToolsFacade:
        return files.for_actor(filetools.Actor(kind="agent", id=f"agent-{number}"))

    async def edit(editor: int, old: str, new: str) -> None:
        await agent(editor).edit_file(FILE, old=old, new=new)

    async def write(text: str) -> None:
        await agent(0).write_file(FILE, text)

    async def read(path: str) -> str:
        return (await files.read_file(path)).content

    async def names(folder: str) -> str:
        return " ".join(entry.path for entry in (await files.list_files(folder)).entries)

    async def grep(text: str) -> str:
        return " ".join(match.path for match in (await files.grep_files(text, literal=True)).matches)

    async with filetools.open(root) as files:
        yield Layer(edit, write, read, names, grep)


@asynccontextmanager
async def ours_over_mcp(root: Path) -> AsyncIterator[Layer]:
    """`filetools mcp` with the tools of the official server, called in the same way; texts of any length come at once."""
    command = [sys.executable, "-m", "filetools", "mcp", str(root), "--dialect", "mcp-filesystem"]
    whole = {"FILETOOLS_MAX_TEXT_CHARACTERS": str(_ALL), "FILETOOLS_MAX_TEXT_LINES": str(_ALL)}
    async with over_mcp(root, command, whole) as layer:
        yield layer


@asynccontextmanager
async def official(root: Path) -> AsyncIterator[Layer]:
    """The official file server of MCP."""
    async with over_mcp(root, [*installed_program(FILE_SERVER, "dist/index.js"), str(root)], None) as layer:
        yield layer


@asynccontextmanager
async def over_mcp(root: Path, command: list[str], environment: dict[str, str] | None) -> AsyncIterator[Layer]:
    """A server on standard input and output, one client for all editors."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    async def call(tool: str, path: str, **arguments: Any) -> str:
        answer = await client.call_tool(tool, {"path": str(root / path), **arguments})
        text = "".join(str(getattr(each, "text", "")) for each in answer.content)
        accept(text, is_done=not answer.is_error)
        return text

    async def edit(editor: int, old: str, new: str) -> None:
        await call("edit_file", FILE, edits=[{"oldText": old, "newText": new}])

    async def write(text: str) -> None:
        await call("write_file", FILE, content=text)

    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=environment)
    async with Client(server, mode="legacy") as client:
        yield Layer(edit, write, partial(call, "read_text_file"), partial(call, "list_directory"))


@asynccontextmanager
async def deepagents(root: Path) -> AsyncIterator[Layer]:
    """The backend for files on a disk, one for all editors: what the tools of its agents call."""
    from deepagents.backends import FilesystemBackend

    backend = FilesystemBackend(root_dir=root)

    async def done(result: Awaitable[Any]) -> Any:
        answer = await result
        accept(str(answer.error), is_done=answer.error is None)
        return answer

    async def edit(editor: int, old: str, new: str) -> None:
        await done(backend.aedit(f"/{FILE}", old, new))

    async def write(text: str) -> None:
        await done(backend.awrite(f"/{FILE}", text))

    async def read(path: str) -> str:
        return str((await done(backend.aread(f"/{path}", limit=_ALL))).file_data["content"])

    async def names(folder: str) -> str:
        return str((await done(backend.als(f"/{folder}"))).entries)

    async def grep(text: str) -> str:
        return str((await done(backend.agrep(text, path="/"))).matches)

    yield Layer(edit, write, read, names, grep)


@asynccontextmanager
async def harness_shared(root: Path) -> AsyncIterator[Layer]:
    """The methods of one set of tools on one workspace, shared by all editors: "a tool method yourself, outside a run"."""
    from pydantic_ai.workspaces import LocalWorkspaceBackend
    from pydantic_ai_harness.filesystem import FileSystem, FileSystemToolset

    tools = FileSystem(max_read_lines=_ALL, max_read_chars=None).get_toolset()
    workspace = LocalWorkspaceBackend(root)
    assert isinstance(tools, FileSystemToolset)

    async def change(answer: Awaitable[str]) -> None:
        text = await answer
        accept(text, is_done=text.startswith(_HARNESS_SUCCESS))

    async def told(answer: Awaitable[Any]) -> str:
        return str(await answer)

    yield Layer(
        lambda editor, old, new: change(tools.edit_file(FILE, old, new, workspace=workspace)),
        lambda text: change(tools.write_file(FILE, text, workspace=workspace)),
        lambda path: told(tools.read_file(path, workspace=workspace)),
        lambda folder: told(tools.list_directory(folder, workspace=workspace)),
        lambda text: told(tools.search_files(text, workspace=workspace)),
    )


@asynccontextmanager
async def harness_runs(root: Path) -> AsyncIterator[Layer]:
    """An agent as the first example of its documents makes one, and a run for each call; a script stands for the model."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import LocalWorkspace
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_harness import FileSystem

    agent = Agent(capabilities=[LocalWorkspace(root), FileSystem(max_read_lines=_ALL, max_read_chars=None)])

    async def run(tool: str, **arguments: str) -> str:
        def model(messages: list[Any], _: Any) -> Any:
            call = ToolCallPart(tool, arguments)
            return ModelResponse(parts=[call if len(messages) == 1 else TextPart("done")])

        result = await agent.run("Go.", model=FunctionModel(model))
        parts = [part for message in result.all_messages() for part in message.parts]
        return next(str(part.content) for part in parts if isinstance(part, ToolReturnPart))

    async def change(tool: str, **arguments: str) -> None:
        answer = await run(tool, path=FILE, **arguments)
        accept(answer, is_done=answer.startswith(_HARNESS_SUCCESS))

    yield Layer(
        lambda editor, old, new: change("edit_file", old_text=old, new_text=new),
        lambda text: change("write_file", content=text),
        lambda path: run("read_file", path=path),
        lambda folder: run("list_directory", path=folder),
        lambda text: run("search_files", pattern=text),
    )


@asynccontextmanager
async def unlocked(root: Path) -> AsyncIterator[Layer]:
    """The control: reads, lets others in, and writes. A measure that does not see this one lose edits sees nothing."""

    async def edit(editor: int, old: str, new: str) -> None:
        text = await read(FILE)
        accept("not found", is_done=old in text)
        await asyncio.sleep(0)
        await write(text.replace(old, new))

    async def write(text: str) -> None:
        (root / FILE).write_text(text)

    async def read(path: str) -> str:
        return (root / path).read_text()

    async def names(folder: str) -> str:
        return " ".join(os.listdir(root / folder))

    async def grep(text: str) -> str:
        return " ".join(str(path) for path in sorted(root.rglob("*")) if path.is_file() and text in path.read_text())

    yield Layer(edit, write, read, names, grep)


def accept(answer: str, *, is_done: bool) -> None:
    """Raise RefusedError unless a layer says that it is done."""
    if not is_done:
        raise RefusedError(answer)


LAYERS: Final[dict[str, tuple[Callable[[Path], AbstractAsyncContextManager[Layer]], tuple[str, ...]]]] = {
    "filetools": (ours, ("filetools.app", "filetools.facade", "filetools.watch")),
    "filetools-mcp": (ours_over_mcp, ("mcp.client.stdio",)),
    "official": (official, ("mcp.client.stdio",)),
    "deepagents": (deepagents, ("deepagents.backends",)),
    "harness-shared": (harness_shared, ("pydantic_ai_harness.filesystem",)),
    "harness-runs": (harness_runs, ("pydantic_ai_harness.filesystem", "pydantic_ai.models.function")),
    "unlocked": (unlocked, ()),
}
"""What opens each, and the modules that take long to import."""


def line(turn: int, editor: int) -> tuple[str, str]:
    """Return the line that an editor changes in a round, before and after."""
    number = turn * EDITORS + editor
    return f"line {number}: start\n", f"line {number}: editor {editor} in round {turn}\n"


async def edit_rounds(layer: Layer, first: int, editors: int, rounds: int) -> None:
    """Let some of the editors edit at once, round after round, and say in each what was acknowledged, and why not."""

    async def edit(turn: int, editor: int) -> None:
        old, new = line(turn, editor)
        try:
            await layer.edit(editor, old, new)
        except Exception as error:  # foreign code: whatever it raises is no success  # noqa: BLE001
            refused.append(str(error)[:200])
        else:
            acknowledged.append(new)

    say(ready=True)
    await asyncio.to_thread(sys.stdin.readline)
    for turn in range(rounds):
        acknowledged: list[str] = []
        refused: list[str] = []
        await asyncio.gather(*(edit(turn, editor) for editor in range(first, first + editors)))
        say(acknowledged=acknowledged, refused=refused)


class Timing:
    """The calls whose time is taken, and whether they gave what they should. Lives as long as the process."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._numbers = itertools.count(1)
        self._edited = 0

    async def prepare(self, call: str, size: int) -> None:
        """Before edits, write the text that is edited; what the time of calls is taken of is hot after a first call."""
        if call == "edit":
            self._edited = next(self._numbers)
            await self._layer.write(text_of(size, self._edited))

    async def once(self, call: str, size: int) -> float:
        """Do it once; return the seconds."""
        began = time.perf_counter()
        check = await getattr(self, f"_{call}")(size)
        taken = time.perf_counter() - began
        assert check(), f"{call} did not give what it should"
        return taken

    async def _read(self, size: int) -> Callable[[], bool]:
        found = await self._layer.read(f"{size}.txt")
        # Some number the lines, and some begin with a heading: every line must be there.
        return lambda: len(found) >= size and found.count(TEXT_LINE) == text_of(size, 0).count(TEXT_LINE)

    async def _write(self, size: int) -> Callable[[], bool]:
        await self._layer.write(text_of(size, next(self._numbers)))
        return lambda: True

    async def _edit(self, size: int) -> Callable[[], bool]:
        old, self._edited = self._edited, next(self._numbers)
        await self._layer.edit(0, f"{old:015d}\n", f"{self._edited:015d}\n")
        return lambda: True

    async def _list(self, size: int) -> Callable[[], bool]:
        found = await self._layer.list(FOLDER)
        return lambda: found.count(".txt") >= FILES

    async def _grep(self, size: int) -> Callable[[], bool]:
        assert self._layer.grep is not None
        found = await self._layer.grep(NEEDLE)
        return lambda: found.count(".txt") >= NEEDLES


async def take_times(layer: Layer) -> None:
    """Do what each line of the input says, `[call, size, calls]`, and say the seconds of each call."""
    timing = Timing(layer)
    say(ready=True, calls=["read", "write", "edit", "list", *(["grep"] if layer.grep else [])])
    while order := await asyncio.to_thread(sys.stdin.readline):
        call, size, calls = json.loads(order)
        await timing.prepare(call, size)
        say(seconds=[await timing.once(call, size) for _ in range(calls)])


async def write_until_killed(layer: Layer, size_bytes: int) -> None:
    """Rewrite the file with another letter each time; before the third, say how long the second took, and whom to kill."""
    for number in range(_MOST_WRITES):
        began = time.monotonic()
        await layer.write(chr(97 + number % 26) * size_bytes)
        if number == 1:
            say(writing=time.monotonic() - began, processes=[*_started(), os.getpid()])


def _started() -> list[int]:
    """Return the processes that this one has started: a server in a session of its own outlives its client."""
    return [int(pid) for place in Path("/proc/self/task").glob("*/children") for pid in place.read_text().split()]


def write_everywhere(name: str, size_bytes: int) -> None:
    """For each folder in a line of the input, write there in a child until it is killed: imports are paid once."""
    for module in LAYERS[name][1]:
        import_module(module)
    for folder in sys.stdin:
        if os.fork() == 0:
            asyncio.run(work(name, folder.strip(), lambda layer: write_until_killed(layer, size_bytes)))
            os._exit(0)
        os.wait()


def say(**told: object) -> None:
    """Print a line for the process that has started this one."""
    print(json.dumps(told), flush=True)


async def work(name: str, root: str, act: Callable[[Layer], Awaitable[None]]) -> None:
    """Open a layer and do something with it; a failure is told in a line."""
    try:
        async with LAYERS[name][0](Path(root)) as layer:
            await act(layer)
    except Exception as error:  # foreign code  # noqa: BLE001
        say(failed=f"{type(error).__name__}: {error}")


def main(name: str, act: str, *arguments: str) -> None:
    """Do what the arguments say."""
    if act == "write":
        write_everywhere(name, int(arguments[0]))
    elif act == "time":
        asyncio.run(work(name, arguments[0], take_times))
    else:
        root, first, editors, rounds = arguments
        asyncio.run(work(name, root, lambda layer: edit_rounds(layer, int(first), int(editors), int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
