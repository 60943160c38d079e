"""`make bench-peers`: edits lost, files torn and times of calls of filetools and other file layers for agents, in one run.

Prints two tables and writes them into the documents that have a place for them; benchmarks/results/ gets them as JSON. Each
layer works in a process of its own, called as its documents say, that answers in lines of JSON:

python -m benchmarks.peers LAYER edit ROOT FIRST EDITORS ROUNDS    edits shared.txt once it is told to start
python -m benchmarks.peers LAYER write ROOT SIZE_BYTES    rewrites shared.txt until it is killed
python -m benchmarks.peers LAYER time ROOT    times the calls that the lines of its input name
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import platform
import random
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import text_of
from benchmarks.page import file_system_of
from filetools.distribution import installed_version
from tests.support import node
from tests.support.declared import REPOSITORY

FILE: Final = "shared.txt"
EDITORS: Final = 8
ROUNDS: Final = 30
LINES: Final = 2_000
KILLS: Final = 20
KILLS_AT_ONCE: Final = 2
SIZE_BYTES: Final = 5_000_000
STEP_SECONDS: Final = 90
"""Limit for one count of one layer."""
TURNS: Final = 5
SETTLED_SECONDS: Final = 2.0
COLUMNS: Final = ("", "lost, one process", "refused", "lost, two processes", "refused", f"torn in {KILLS} kills")
CALLS: Final = {
    "read 1 KB": ("read", 1024, 30),
    "read 64 KB": ("read", 65536, 15),
    "read 1 MB": ("read", 1024 * 1024, 4),
    "write 64 KB": ("write", 65536, 10),
    "write 1 MB": ("write", 1024 * 1024, 3),
    "edit 64 KB": ("edit", 65536, 8),
}
"""The timed calls: kind, size of the file, and calls a round."""
BEGIN, END = "<!-- Made by `make bench-peers`; do not edit. -->\n", "<!-- The end of it. -->\n"
PAGES: Final = (REPOSITORY / "docs" / "comparison.md", REPOSITORY / "README.md")
RESULTS: Final = REPOSITORY / "benchmarks" / "results" / "peers.json"
_HARNESS_SUCCESS: Final = ("Edited ", "Wrote ")
_ALL: Final = 10**9


class NoResultError(Exception):
    """Raised when a layer could not be measured."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Calls that return when the layer reports success; everything raised counts as refused."""

    edit: Callable[[int, str, str], Awaitable[object]]
    """Given the editor's number, a text that the file contains once, and the new text."""
    write: Callable[[str], Awaitable[object]]
    read: Callable[[str], Awaitable[str]]


def accept(answer: str, *, is_done: bool) -> str:
    """Return the answer of a call that reported success."""
    if not is_done:
        raise ValueError(answer)
    return answer


@asynccontextmanager
async def ours(root: Path) -> AsyncIterator[Layer]:
    import filetools

    def agent(number: int) -> filetools.FileToolsFacade:
        return files.for_actor(filetools.Actor(kind="agent", id=f"agent-{number}"))

    async def read(path: str) -> str:
        return (await files.read_file(path)).content

    async with filetools.open(root) as files:
        yield Layer(
            lambda editor, old, new: agent(editor).edit_file(FILE, old=old, new=new),
            lambda text: agent(0).write_file(FILE, text),
            read,
        )


@asynccontextmanager
async def over_mcp(root: Path, *, is_ours: bool) -> AsyncIterator[Layer]:
    """The official file server, or ours with the same tools; one client for all editors."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    async def call(tool: str, path: str, **arguments: Any) -> str:
        answer = await client.call_tool(tool, {"path": str(root / path), **arguments})
        return accept("".join(str(getattr(each, "text", "")) for each in answer.content), is_done=not answer.is_error)

    if not is_ours:
        command, environment = [*node.installed_program(node.FILE_SERVER, "dist/index.js"), str(root)], None
    else:
        command = [sys.executable, "-m", "filetools", "mcp", str(root), "--dialect", "mcp-filesystem"]
        environment = {"FILETOOLS_MAX_TEXT_CHARACTERS": str(_ALL), "FILETOOLS_MAX_TEXT_LINES": str(_ALL)}
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with Client(server, mode="legacy") as client:
        yield Layer(
            lambda _, old, new: call("edit_file", FILE, edits=[{"oldText": old, "newText": new}]),
            lambda text: call("write_file", FILE, content=text),
            partial(call, "read_text_file"),
        )


@asynccontextmanager
async def deepagents(root: Path) -> AsyncIterator[Layer]:
    """One backend for all editors: the calls of its agents' tools."""
    from deepagents.backends import FilesystemBackend

    backend = FilesystemBackend(root_dir=root)

    async def done(result: Awaitable[Any]) -> str:
        answer = await result
        accept(str(answer.error), is_done=answer.error is None)
        return str(getattr(answer, "file_data", ""))

    yield Layer(
        lambda _, old, new: done(backend.aedit(f"/{FILE}", old, new)),
        lambda text: done(backend.awrite(f"/{FILE}", text)),
        lambda path: done(backend.aread(f"/{path}", limit=_ALL)),
    )


@asynccontextmanager
async def harness_shared(root: Path) -> AsyncIterator[Layer]:
    """One toolset on one workspace for all editors: "a tool method yourself, outside a run"."""
    from pydantic_ai.workspaces import LocalWorkspaceBackend
    from pydantic_ai_harness.filesystem import FileSystem, FileSystemToolset

    tools = FileSystem(max_read_lines=_ALL, max_read_chars=None).get_toolset()
    workspace = LocalWorkspaceBackend(root)
    assert isinstance(tools, FileSystemToolset)

    async def read(path: str) -> str:
        return str(await tools.read_file(path, workspace=workspace))

    async def changed(answer: Awaitable[str]) -> str:
        text = await answer
        return accept(text, is_done=text.startswith(_HARNESS_SUCCESS))

    yield Layer(
        lambda _, old, new: changed(tools.edit_file(FILE, old, new, workspace=workspace)),
        lambda text: changed(tools.write_file(FILE, text, workspace=workspace)),
        read,
    )


@asynccontextmanager
async def harness_runs(root: Path) -> AsyncIterator[Layer]:
    """A run of an agent for each call, as in the first example of its documents; a script stands for the model."""
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

    async def change(tool: str, **arguments: str) -> str:
        answer = await run(tool, path=FILE, **arguments)
        return accept(answer, is_done=answer.startswith(_HARNESS_SUCCESS))

    yield Layer(
        lambda _, old, new: change("edit_file", old_text=old, new_text=new),
        lambda text: change("write_file", content=text),
        lambda path: run("read_file", path=path),
    )


@asynccontextmanager
async def unlocked(root: Path) -> AsyncIterator[Layer]:
    """The control: reads, gives way to others, and writes."""

    async def edit(_: int, old: str, new: str) -> None:
        text = await read(FILE)
        accept("not found", is_done=old in text)
        await asyncio.sleep(0)
        await write(text.replace(old, new))

    async def write(text: str) -> None:
        (root / FILE).write_text(text)

    async def read(path: str) -> str:
        return (root / path).read_text()

    yield Layer(edit, write, read)


LAYERS: Final[dict[str, Callable[[Path], AbstractAsyncContextManager[Layer]]]] = {
    "filetools": ours,
    "filetools-mcp": partial(over_mcp, is_ours=True),
    "official": partial(over_mcp, is_ours=False),
    "deepagents": deepagents,
    "harness-shared": harness_shared,
    "harness-runs": harness_runs,
    "unlocked": unlocked,
}


async def edit_rounds(layer: Layer, first: int, editors: int, rounds: int) -> None:
    """Edit a line for each editor at once, round after round; report what was acknowledged and what was refused."""

    async def edit(turn: int, editor: int) -> None:
        number = turn * EDITORS + editor
        new = f"line {number}: editor {editor} in round {turn}\n"
        try:
            await layer.edit(editor, f"line {number}: start\n", new)
        except Exception as error:  # foreign code: everything raised counts as refused  # noqa: BLE001
            refused.append(str(error)[:200])
        else:
            acknowledged.append(new)

    say(ready=True)
    await asyncio.to_thread(sys.stdin.readline)
    for turn in range(rounds):
        acknowledged, refused = list[str](), list[str]()
        await asyncio.gather(*(edit(turn, editor) for editor in range(first, first + editors)))
        say(acknowledged=acknowledged, refused=refused)


async def write_until_killed(layer: Layer, size_bytes: int) -> None:
    """Rewrite the file with another letter each time; before the third time, report how long the second took."""
    for number in itertools.count():
        began = time.monotonic()
        await layer.write(chr(97 + number % 26) * size_bytes)
        if number == 1:
            # A server in a session of its own outlives its client, so its number is reported, too.
            lists = [place.read_text().split() for place in Path("/proc/self/task").glob("*/children")]
            processes = [*(int(pid) for each in lists for pid in each), os.getpid()]
            say(writing=time.monotonic() - began, processes=processes)


async def take_times(layer: Layer) -> None:
    """Do what each line of the input says, `[call, size, calls]`; report the seconds of each call."""
    numbers, current = itertools.count(1), 0
    say(ready=True)
    while order := await asyncio.to_thread(sys.stdin.readline):
        call, size, calls = json.loads(order)
        if call == "edit":
            current = next(numbers)
            await layer.write(text_of(size, current))
        seconds = []
        for _ in range(calls):
            old, current, text = current, next(numbers), ""
            new_text = text_of(size, current)
            began = time.perf_counter()
            if call == "read":
                text = await layer.read(f"{size}.txt")
            elif call == "write":
                await layer.write(new_text)
            else:
                await layer.edit(0, f"{old:015d}\n", f"{current:015d}\n")
            seconds.append(time.perf_counter() - began)
            assert call != "read" or len(text) >= size, "not the whole text"
        say(seconds=seconds)


def say(**told: object) -> None:
    print(json.dumps(told), flush=True)


async def work(name: str, act: str, root: str, *numbers: str) -> None:
    acts = {"edit": edit_rounds, "write": write_until_killed, "time": take_times}
    try:
        async with LAYERS[name](Path(root)) as layer:
            await acts[act](layer, *map(int, numbers))  # type: ignore[operator]
    except Exception as error:  # foreign code  # noqa: BLE001
        say(failed=f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Counts of parallel edits of one file."""

    acknowledged: int
    lost: int
    refused: int


@asynccontextmanager
async def worker(layer: str, *arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a layer in a process of its own, which is killed with its children at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.peers", layer, *map(str, arguments), cwd=REPOSITORY,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def asked(process: asyncio.subprocess.Process, line: str = "") -> dict[str, Any]:
    """Send a line to a layer's process, if there is one to send, and return its next answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n".encode() if line else b"")
    said: dict[str, Any] = json.loads(await process.stdout.readline() or '{"failed": "it ended"}')
    if "failed" in said:
        raise NoResultError(said["failed"])
    return said


async def edits(layer: str, processes: int, *, rounds: int = ROUNDS) -> Edits:
    """Share all editors out among processes, have them edit one file at once, and look for their edits on the disk."""
    with tempfile.TemporaryDirectory() as folder:
        file, share = Path(folder) / FILE, EDITORS // processes
        file.write_text("".join(f"line {number}: start\n" for number in range(LINES)))
        async with asyncio.timeout(STEP_SECONDS), AsyncExitStack() as stack:
            workers = [
                await stack.enter_async_context(worker(layer, "edit", folder, first, share, rounds))
                for first in range(0, EDITORS, share)
            ]
            for each in workers:
                await asked(each)
            answers = await asyncio.gather(*(asked(each, "go") for each in workers))
            answers += [await asked(each) for each in workers for _ in range(rounds - 1)]
            for each in workers:
                await each.wait()  # a layer may finish what it has acknowledged
        there = set(file.read_bytes().decode(errors="replace").splitlines(keepends=True))
    acknowledged = [line for answer in answers for line in answer["acknowledged"]]
    refused = [reason for answer in answers for reason in answer["refused"]]
    if not acknowledged:  # more likely that the benchmark calls it wrongly
        raise NoResultError(f"no edit was acknowledged: {refused[0]}")
    return Edits(acknowledged=len(acknowledged), lost=len(set(acknowledged) - there), refused=len(refused))


async def torn(layer: str, *, kills: int = KILLS) -> int:
    """Return after how many kills at a random moment of a write the file is neither the old one nor the new one."""
    limit = asyncio.Semaphore(KILLS_AT_ONCE)

    async def one() -> bool:
        async with limit, asyncio.timeout(STEP_SECONDS):
            with tempfile.TemporaryDirectory() as folder:
                async with worker(layer, "write", folder, SIZE_BYTES) as process:
                    said = await asked(process)
                    await asyncio.sleep(random.random() * said["writing"])
                    await killed(said["processes"])
                file = Path(folder) / FILE
                return not is_whole(file.read_bytes() if file.exists() else b"")

    return sum(await asyncio.gather(*(one() for _ in range(kills))))


async def killed(processes: list[int]) -> None:
    """Kill processes, and return when none of their threads works any more."""
    descriptors = [os.pidfd_open(process) for process in processes]
    for each in descriptors:
        signal.pidfd_send_signal(each, signal.SIGKILL)
    for each in descriptors:
        await asyncio.to_thread(select.select, [each], [], [])
        os.close(each)


def is_whole(content: bytes) -> bool:
    """True if one write has written all of it."""
    return len(content) == SIZE_BYTES and content == content[:1] * SIZE_BYTES


async def counted(layer: str) -> list[str]:
    """Return the cells of a layer's row of losses, or why there are none."""
    try:
        counts = [await edits(layer, processes) for processes in (1, 2)]
        shown = [cell for each in counts for cell in (f"{each.lost} of {each.acknowledged}", str(each.refused))]
        return [*shown, str(await torn(layer))]
    except TimeoutError:
        return ["no result in time"]
    except NoResultError as error:
        return [f"no result: {error}"]


async def times(layers: Sequence[str], *, turns: int = TURNS) -> dict[str, dict[str, float]]:
    """Return the median seconds of each call by its name and the layer."""
    async with AsyncExitStack() as stack:
        workers = {}
        for layer in layers:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            for _, size, _ in CALLS.values():
                (Path(folder) / f"{size}.txt").write_text(text_of(size, size))
            workers[layer] = await stack.enter_async_context(worker(layer, "time", folder))
            await asked(workers[layer])
        await asyncio.sleep(SETTLED_SECONDS)  # a layer may do something in the background after it was opened
        found = {}
        for name, order in CALLS.items():
            rounds: dict[str, list[float]] = {layer: [] for layer in layers}
            for turn in range(turns + 1):
                first = turn % len(layers)
                for layer in [*layers[first:], *layers[:first]]:
                    async with asyncio.timeout(STEP_SECONDS):
                        said = await asked(workers[layer], json.dumps(order))
                    if turn:
                        rounds[layer].append(statistics.median(said["seconds"]))
            found[name] = {layer: statistics.median(taken) for layer, taken in rounds.items()}
            print(f"timed: {name}", flush=True)
    return found


def contenders() -> dict[str, str]:
    """Return all layers with their names and versions; the environment has the extra `peers`."""
    node.install(node.FILE_SERVER)
    of = installed_version
    return {
        "filetools": f"filetools {of()}",
        "filetools-mcp": f"filetools, over MCP {of()}",
        "official": f"MCP filesystem server {node.FILE_SERVER.rpartition('@')[2]}",
        "deepagents": f"deepagents {of('deepagents')}",
        "harness-shared": f"pydantic-ai-harness, shared tools {of('pydantic-ai-harness')}",
        "harness-runs": f"pydantic-ai-harness, agents' runs {of('pydantic-ai-harness')}",
        "unlocked": "no lock (control)",
    }


def section(counts: list[list[str]], timed: list[list[str]]) -> str:
    """Return the text of a run for the documents."""

    def table(columns: Sequence[str], rows: list[list[str]]) -> list[str]:
        lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *rows]
        return ["| " + " | ".join(cells) + " |" for cells in lines]

    disk, python = file_system_of(Path(tempfile.gettempdir())), platform.python_version()
    where = f"{platform.system()}, {disk}, {os.cpu_count()} cores, Python {python}"
    parts = ["", f"One run, on {datetime.now(UTC):%Y-%m-%d} ({where}). Edits lost, and files torn:", ""]
    parts += [*table(COLUMNS, counts), "", "Milliseconds of a call, median:", "", *table(("", *CALLS), timed), "", ""]
    return "\n".join(parts)


async def main() -> int:
    """Measure all layers; the documents are written only if nothing is missing."""
    there = contenders()
    seconds = await times(list(there))
    counts = {}
    for layer, name in there.items():
        counts[layer] = await counted(layer)
        print(f"counted: {name}: {', '.join(counts[layer])}", flush=True)
    timed = [[name, *(f"{each[layer] * 1000:.3g}" for each in seconds.values())] for layer, name in there.items()]
    told = section([[name, *counts[layer]] for layer, name in there.items()], timed)
    print(told)
    if any(len(cells) < len(COLUMNS) - 1 for cells in counts.values()):
        print("Not all could be measured: the documents stay as they are.")
        return 1
    for page in PAGES:
        head, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        if begin:
            page.write_text(f"{head}{BEGIN}{told}{END}{rest.partition(END)[2]}", encoding="utf-8")
    RESULTS.parent.mkdir(exist_ok=True)
    plain = {"on": f"{datetime.now(UTC):%Y-%m-%d}", "layers": there, "counts": counts, "seconds": seconds}
    RESULTS.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(work(*sys.argv[1:]))
    else:
        sys.exit(asyncio.run(main()))
