"""The file layers that `make bench-peers` compares, each at work in a process of its own and called as its documents say.

python -m benchmarks.peer_layers LAYER edit ROOT FIRST EDITORS ROUNDS    edits shared.txt when it is told to go, and ends
python -m benchmarks.peer_layers LAYER write SIZE_BYTES    rewrites shared.txt in each folder it is told, until killed there
It says what it does in lines of JSON. What comes from a package is imported where it is used: not all of them need be there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tests.support.node import FILE_SERVER, installed_program

FILE: Final = "shared.txt"
EDITORS: Final = 8
"""All at once, each at lines of its own."""
_MOST_WRITES: Final = 10_000
_HARNESS_SUCCESS: Final = ("Edited ", "Wrote ")


class RefusedError(Exception):
    """Raised when a layer reports that it has not done what was asked."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Calls that return when success was reported; everything raised counts as refused."""

    edit: Callable[[int, str, str], Awaitable[None]]
    """By an editor: replace a text, which stands there once, by another."""
    write: Callable[[str], Awaitable[None]]


@asynccontextmanager
async def ours(root: Path) -> AsyncIterator[Layer]:
    """`filetools.open()`, each editor an actor."""
    import filetools

    async def edit(editor: int, old: str, new: str) -> None:
        await files.for_actor(filetools.Actor(kind="agent", id=f"agent-{editor}")).edit_file(FILE, old=old, new=new)

    async def write(text: str) -> None:
        await files.write_file(FILE, text)

    async with filetools.open(root) as files:
        yield Layer(edit, write)


@asynccontextmanager
async def official(root: Path) -> AsyncIterator[Layer]:
    """A server on standard input and output, one client for all editors."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    async def call(tool: str, **arguments: Any) -> None:
        answer = await client.call_tool(tool, {"path": str(root / FILE), **arguments})
        accept(str(answer.content), is_done=not answer.is_error)

    async def edit(editor: int, old: str, new: str) -> None:
        await call("edit_file", edits=[{"oldText": old, "newText": new}])

    program, *arguments = installed_program(FILE_SERVER, "dist/index.js")
    async with Client(StdioServerParameters(command=program, args=[*arguments, str(root)]), mode="legacy") as client:
        yield Layer(edit, lambda text: call("write_file", content=text))


@asynccontextmanager
async def deepagents(root: Path) -> AsyncIterator[Layer]:
    """The backend for files on a disk, one for all editors: what the tools of its agents call."""
    from deepagents.backends import FilesystemBackend

    backend = FilesystemBackend(root_dir=root)

    async def done(result: Awaitable[Any]) -> None:
        error = (await result).error
        accept(str(error), is_done=error is None)

    yield Layer(
        lambda editor, old, new: done(backend.aedit(f"/{FILE}", old, new)),
        lambda text: done(backend.awrite(f"/{FILE}", text)),
    )


@asynccontextmanager
async def harness_shared(root: Path) -> AsyncIterator[Layer]:
    """The methods of one set of tools on one workspace, shared by all editors: "a tool method yourself, outside a run"."""
    from pydantic_ai.workspaces import LocalWorkspaceBackend
    from pydantic_ai_harness.filesystem import FileSystem, FileSystemToolset

    tools, workspace = FileSystem().get_toolset(), LocalWorkspaceBackend(root)
    assert isinstance(tools, FileSystemToolset)

    async def done(answer: Awaitable[str]) -> None:
        text = await answer
        accept(text, is_done=text.startswith(_HARNESS_SUCCESS))

    yield Layer(
        lambda editor, old, new: done(tools.edit_file(FILE, old, new, workspace=workspace)),
        lambda text: done(tools.write_file(FILE, text, workspace=workspace)),
    )


@asynccontextmanager
async def harness_runs(root: Path) -> AsyncIterator[Layer]:
    """An agent as the first example of its documents makes one, and a run for each call; a script stands for the model."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import LocalWorkspace
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_harness import FileSystem

    agent = Agent(capabilities=[LocalWorkspace(root), FileSystem()])

    async def run(tool: str, **arguments: str) -> None:
        def model(messages: list[Any], _: Any) -> Any:
            call = ToolCallPart(tool, {"path": FILE, **arguments})
            return ModelResponse(parts=[call if len(messages) == 1 else TextPart("done")])

        result = await agent.run("Go.", model=FunctionModel(model))
        parts = [part for message in result.all_messages() for part in message.parts]
        answer = next(str(part.content) for part in parts if isinstance(part, ToolReturnPart))
        accept(answer, is_done=answer.startswith(_HARNESS_SUCCESS))

    yield Layer(
        lambda editor, old, new: run("edit_file", old_text=old, new_text=new),
        lambda text: run("write_file", content=text),
    )


@asynccontextmanager
async def unlocked(root: Path) -> AsyncIterator[Layer]:
    """The control: reads, lets others in, and writes. A measure that does not see this one lose edits sees nothing."""

    async def edit(editor: int, old: str, new: str) -> None:
        text = (root / FILE).read_text()
        accept("not found", is_done=old in text)
        await asyncio.sleep(0)
        await write(text.replace(old, new))

    async def write(text: str) -> None:
        (root / FILE).write_text(text)

    yield Layer(edit, write)


def accept(answer: str, *, is_done: bool) -> None:
    """Raise RefusedError unless a layer says that it is done."""
    if not is_done:
        raise RefusedError(answer)


LAYERS: Final[dict[str, tuple[Callable[[Path], AbstractAsyncContextManager[Layer]], tuple[str, ...]]]] = {
    "filetools": (ours, ("filetools.app", "filetools.facade", "filetools.watch")),
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
    else:
        root, first, editors, rounds = arguments
        asyncio.run(work(name, root, lambda layer: edit_rounds(layer, int(first), int(editors), int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
