"""`make bench-peers`: edits lost, files torn and times of calls, of filetools and of other file layers for agents, in one run.

Prints tables, and writes them into README.md, docs/comparison.md and docs/performance.md, which also gets a plot of the times.
What was found also goes, as JSON, into benchmarks/results/.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import random
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import invalidate_caches
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import plots
from benchmarks.machine import file_system_of
from benchmarks.measure import text_of
from benchmarks.page import BEGIN, END, PEERS_PICTURE, PICTURES, made_by_peers
from benchmarks.peer_layers import EDITORS, FILE, FILES, FOLDER, NEEDLE, NEEDLES
from filetools.distribution import installed_version
from tests.support import node
from tests.support.declared import REPOSITORY, project

ROUNDS: Final = 30
LINES: Final = 2_000
KILLS: Final = 20
SIZE_BYTES: Final = 5_000_000
STEP_SECONDS: Final = 90
"""For one count of one layer."""
RUN_SECONDS: Final = 330
"""For all counts; what is not counted by then has no result."""
SETTLED_SECONDS: Final = 2.0
"""After which what a layer begins with its opening is done."""
_AT_ONCE: Final = 2
"""Processes that are killed at a time; starting them takes longest."""
_COLUMNS: Final = ("", "lost, one process", "refused", "lost, two processes", "refused", f"torn in {KILLS} kills")
CALLS: Final = {
    "read 1 KB": ("read", 1024, 30),
    "read 64 KB": ("read", 65536, 15),
    "read 1 MB": ("read", 1024 * 1024, 4),
    "write 64 KB": ("write", 65536, 10),
    "write 1 MB": ("write", 1024 * 1024, 3),
    "edit 64 KB": ("edit", 65536, 8),
    f"list {FILES:,}": ("list", 0, 4),
    "grep 10 MB": ("grep", 0, 2),
}
"""What is timed: the call, the bytes of the file, and how often a round."""
FILE_BYTES: Final = 10_000
"""Of each file that is searched."""
TURNS: Final = 5
"""Rounds; one more warms up. In each, the layers take turns."""
PERFORMANCE: Final = REPOSITORY / "docs" / "performance.md"
PAGES: Final = (REPOSITORY / "docs" / "comparison.md", REPOSITORY / "README.md", PERFORMANCE)
PICTURE: Final = REPOSITORY / "docs" / PICTURES / "peers.svg"
RESULTS: Final = REPOSITORY / "benchmarks" / "results" / "peers.json"

Advance = Callable[[], None]


class NoResultError(Exception):
    """Raised when a layer could not be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """What became of parallel edits of one file."""

    acknowledged: int
    lost: int
    refused: int


@asynccontextmanager
async def worker(layer: str, *arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a layer in a process of its own; at the end it is killed, with its children."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.peer_layers", layer, *map(str, arguments), cwd=REPOSITORY,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def heard(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """Return the next line that a layer's process says."""
    assert process.stdout is not None
    said: dict[str, Any] = json.loads(await process.stdout.readline() or '{"failed": "it ended"}')
    if "failed" in said:
        raise NoResultError(said["failed"])
    return said


async def edits(layer: str, processes: int, *, rounds: int = ROUNDS, advance: Advance = lambda: None) -> Edits:
    """Let all editors, shared out among processes, edit lines of their own in one file at once; look on the disk for them."""
    with tempfile.TemporaryDirectory() as folder:
        file, share = Path(folder) / FILE, EDITORS // processes
        file.write_text("".join(f"line {number}: start\n" for number in range(LINES)))
        async with asyncio.timeout(STEP_SECONDS), AsyncExitStack() as stack:
            workers = [
                await stack.enter_async_context(worker(layer, "edit", file.parent, first, share, rounds))
                for first in range(0, EDITORS, share)
            ]
            for each in workers:
                await heard(each)
            for each in workers:
                assert each.stdin is not None
                each.stdin.write(b"go\n")
            answers = []
            for each in workers:
                for _ in range(rounds):
                    answers.append(await heard(each))
                    advance()
            for each in workers:
                await each.wait()  # each may finish what it has acknowledged
        there = set(file.read_bytes().decode(errors="replace").splitlines(keepends=True))
    acknowledged = [line for answer in answers for line in answer["acknowledged"]]
    refused = [reason for answer in answers for reason in answer["refused"]]
    if not acknowledged:  # more likely called wrongly than that careful
        raise NoResultError(f"no edit was acknowledged: {refused[0]}")
    return Edits(acknowledged=len(acknowledged), lost=len(set(acknowledged) - there), refused=len(refused))


async def torn(layer: str, *, kills: int = KILLS, advance: Advance = lambda: None) -> int:
    """Return after how many kills at a random moment of a write the file is neither the old one nor the new one."""

    async def some(moments: list[float]) -> int:
        found = 0
        async with worker(layer, "write", SIZE_BYTES) as process:
            for moment in moments:
                with tempfile.TemporaryDirectory() as folder:
                    assert process.stdin is not None
                    process.stdin.write(f"{folder}\n".encode())
                    said = await heard(process)
                    await asyncio.sleep(moment * said["writing"])
                    await killed(said["processes"])
                    file = Path(folder) / FILE
                    found += not is_whole(file.read_bytes() if file.exists() else b"")
                advance()
        return found

    moments = [random.random() for _ in range(kills)]
    async with asyncio.timeout(STEP_SECONDS):
        return sum(await asyncio.gather(*(some(moments[first::_AT_ONCE]) for first in range(_AT_ONCE))))


async def killed(processes: list[int]) -> None:
    """Kill processes, and return when none of their threads is at work any more."""
    descriptors = [os.pidfd_open(process) for process in processes]
    for each in descriptors:
        signal.pidfd_send_signal(each, signal.SIGKILL)
    for each in descriptors:
        await asyncio.to_thread(select.select, [each], [], [])
        os.close(each)


def is_whole(content: bytes) -> bool:
    """Return whether it is all that one write has written."""
    return len(content) == SIZE_BYTES and content == content[:1] * SIZE_BYTES


async def counted(layer: str, end: float, advance: Advance) -> list[str]:
    """Return the cells of what a layer loses and tears, or why there are none; `end` is a time of the loop's clock."""
    try:
        async with asyncio.timeout_at(end):
            counts = [await edits(layer, processes, advance=advance) for processes in (1, 2)]
            shown = [cell for each in counts for cell in (f"{each.lost} of {each.acknowledged}", str(each.refused))]
            return [*shown, str(await torn(layer, advance=advance))]
    except TimeoutError:
        return ["no result in time"]
    except NoResultError as error:
        return [f"no result: {error}"]


def plant(root: Path) -> None:
    """Make the files that are read, listed and searched."""
    for call, size, _ in CALLS.values():
        if call == "read":
            (root / f"{size}.txt").write_text(text_of(size, size))
    (root / FOLDER).mkdir()
    for number in range(FILES):
        mark = f"{NEEDLE}\n" if number % (FILES // NEEDLES) == 0 else ""
        (root / FOLDER / f"file{number:04d}.txt").write_text(text_of(FILE_BYTES, number) + mark)


async def times(
    layers: Sequence[str], *, turns: int = TURNS, advance: Advance = lambda: None
) -> dict[str, dict[str, float | None]]:
    """Return the median seconds of each call by name of the call and the layer; None where a layer has no such call."""
    async with AsyncExitStack() as stack:
        workers = {}
        can: dict[str, list[str]] = {}
        for layer in layers:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            plant(Path(folder))
            workers[layer] = await stack.enter_async_context(worker(layer, "time", folder))
            can[layer] = (await asked(workers[layer]))["calls"]
        await asyncio.sleep(SETTLED_SECONDS)
        found: dict[str, dict[str, float | None]] = {}
        for name, order in CALLS.items():
            able = [layer for layer in layers if order[0] in can[layer]]
            rounds: dict[str, list[float]] = {layer: [] for layer in able}
            for turn in range(turns + 1):
                for layer in able[turn % len(able) :] + able[: turn % len(able)]:
                    try:
                        said = await asked(workers[layer], json.dumps(order))
                    except NoResultError as error:
                        raise NoResultError(f"{layer}, {name}: {error}") from error
                    if turn:
                        rounds[layer].append(statistics.median(said["seconds"]))
                    advance()
            found[name] = {layer: statistics.median(rounds[layer]) if layer in able else None for layer in layers}
    return found


async def asked(process: asyncio.subprocess.Process, line: str = "") -> dict[str, Any]:
    """Say something to a layer's process, unless it speaks by itself, and return its next line."""
    if line:
        assert process.stdin is not None
        process.stdin.write(f"{line}\n".encode())
    async with asyncio.timeout(STEP_SECONDS):
        return await heard(process)


def contenders(tell: Callable[[str], None]) -> list[tuple[str, str, str | None]]:
    """Install the peers; return the name, the layer and the version of each, None for what cannot be installed."""
    versions: dict[str, str | None] = {}
    for requirement in project()["optional-dependencies"]["peers"]:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
        is_done = not subprocess.run(pip, check=False).returncode
        invalidate_caches()
        name = re.split("[<>=]", requirement)[0]
        versions[name] = installed_version(name) if is_done else None
        if not is_done:
            tell(f"{requirement} cannot be installed; what pip says of it stands above")
    package, _, official = node.FILE_SERVER.rpartition("@")
    try:
        node.install(node.FILE_SERVER)
        versions[package] = official
    except (OSError, AssertionError, subprocess.CalledProcessError):
        tell(f"{node.FILE_SERVER} cannot be installed: there is no Node, or npm says why above")
    return [
        ("filetools", "filetools", installed_version()),
        ("filetools, over MCP", "filetools-mcp", installed_version()),
        ("MCP filesystem server", "official", versions.get(package)),
        ("deepagents", "deepagents", versions["deepagents"]),
        ("pydantic-ai-harness, shared tools", "harness-shared", versions["pydantic-ai-harness"]),
        ("pydantic-ai-harness, agents' runs", "harness-runs", versions["pydantic-ai-harness"]),
        ("no lock (control)", "unlocked", ""),
    ]


def section(counts: list[list[str]], timed: list[list[str]]) -> str:
    """Return what the documents say of a run."""
    disk, python = file_system_of(Path(tempfile.gettempdir())), platform.python_version()
    where = f"{platform.system()}, {disk}, {os.cpu_count()} cores, Python {python}"
    parts = ["", f"One run, on {datetime.now(UTC):%Y-%m-%d} ({where}). Edits lost, and files torn:", ""]
    parts += [*table(_COLUMNS, counts), "", "Milliseconds of a call, median:", "", *table(("", *CALLS), timed), "", ""]
    return "\n".join(parts)


def table(columns: Sequence[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table whose figures stand to the right."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def milliseconds(seconds: float | None) -> str:
    """Return a time as a cell."""
    return "-" if seconds is None else f"{seconds * 1000:.3g}"


async def main() -> int:
    """Run it all; the documents are written only if nothing is missing."""
    console = Console(markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with console.status("Installing the peers"):
        found = contenders(console.print)
    there = {layer: f"{name} {version or ''}".strip() for name, layer, version in found if version is not None}
    end = asyncio.get_running_loop().time() + RUN_SECONDS
    steps = 3 * ROUNDS + KILLS
    counts: dict[str, list[str]] = {}
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("times", total=len(CALLS) * (TURNS + 1) * len(there))
        seconds = await times(list(there), advance=lambda: progress.advance(bar))
        progress.update(bar, completed=progress.tasks[0].total)
        bar = progress.add_task("", total=len(there) * steps)
        for number, (layer, name) in enumerate(there.items(), 1):
            progress.update(bar, description=name)
            counts[layer] = await counted(layer, end, lambda: progress.advance(bar))
            progress.update(bar, completed=number * steps)
    counted_rows = [[name, *counts[layer]] for layer, name in there.items()]
    timed_rows = [[name, *(milliseconds(each[layer]) for each in seconds.values())] for layer, name in there.items()]
    for titles, rows in ((_COLUMNS, counted_rows), (("", *CALLS), timed_rows)):
        shown = Table()
        for title in titles:
            shown.add_column(title, min_width=0 if title else 20)
        for cells in rows:
            shown.add_row(*cells)
        console.print(shown)
    if len(there) < len(found) or any(len(cells) < len(_COLUMNS) for cells in counted_rows):
        console.print("Not all could be measured: the documents stay as they are.")
        return 1
    pictures = {name: {there[layer]: each[layer] for layer in there} for name, each in seconds.items()}
    write(section(counted_rows, timed_rows), has_picture=plots.draw_peers(pictures, PICTURE))
    RESULTS.parent.mkdir(exist_ok=True)
    plain = {"on": f"{datetime.now(UTC):%Y-%m-%d}", "layers": there, "counts": counts, "seconds": seconds}
    RESULTS.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return 0


def write(told: str, *, has_picture: bool) -> None:
    """Put what is told of a run into the documents, in place of that of the last one."""
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = before.replace(f"{BEGIN}{made_by_peers(before)}{END}", f"{BEGIN}{told}{END}")
        if has_picture and page == PERFORMANCE and PEERS_PICTURE not in after:
            after = after.replace(END, f"{END}{PEERS_PICTURE}")
        page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
