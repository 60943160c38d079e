"""`make bench-peers`: edits lost and files torn, by filetools and by other file layers for agents, counted in one run.

Prints a table, and writes it into docs/comparison.md and README.md. Counts, not times.
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
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import invalidate_caches
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.machine import file_system_of
from benchmarks.peer_layers import EDITORS, FILE
from filetools.distribution import installed_version
from tests.support import node
from tests.support.declared import REPOSITORY, project

ROUNDS: Final = 30
LINES: Final = 2_000
KILLS: Final = 20
SIZE_BYTES: Final = 5_000_000
STEP_SECONDS: Final = 90
"""For one count of one layer."""
RUN_SECONDS: Final = 270
"""For all; what is not measured by then has no result."""
_AT_ONCE: Final = 2
"""Processes that are killed at a time; starting them takes longest."""
_BEGIN, _END = "<!-- Made by `make bench-peers`; do not edit. -->\n", "<!-- The end of it. -->\n"
_COLUMNS: Final = ("", "lost, one process", "refused", "lost, two processes", "refused", f"torn in {KILLS} kills")
PAGES: Final = (REPOSITORY / "docs" / "comparison.md", REPOSITORY / "README.md")

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


async def row(layer: str, end: float, advance: Advance) -> list[str]:
    """Return the cells of a layer's row, or why there are none; `end` is a time of the loop's clock."""
    try:
        async with asyncio.timeout_at(end):
            counts = [await edits(layer, processes, advance=advance) for processes in (1, 2)]
            shown = [cell for each in counts for cell in (f"{each.lost} of {each.acknowledged}", str(each.refused))]
            return [*shown, str(await torn(layer, advance=advance))]
    except TimeoutError:
        return ["no result in time"]
    except NoResultError as error:
        return [f"no result: {error}"]


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
        ("MCP filesystem server", "official", versions.get(package)),
        ("deepagents", "deepagents", versions["deepagents"]),
        ("pydantic-ai-harness, shared tools", "harness-shared", versions["pydantic-ai-harness"]),
        ("pydantic-ai-harness, agents' runs", "harness-runs", versions["pydantic-ai-harness"]),
        ("no lock (control)", "unlocked", ""),
    ]


def section(rows: list[list[str]]) -> str:
    """Return what the documents say of a run."""
    disk, python = file_system_of(Path(tempfile.gettempdir())), platform.python_version()
    where = f"{platform.system()}, {disk}, {os.cpu_count()} cores, Python {python}"
    table = [list(_COLUMNS), ["---", *["---:"] * (len(_COLUMNS) - 1)], *rows]
    lines = ["| " + " | ".join(cells) + " |" for cells in table]
    return "\n".join(["", f"One run, on {datetime.now(UTC):%Y-%m-%d} ({where}):", "", *lines, "", ""])


def made(page: str) -> str:
    """Return what stands on a page between the marks."""
    return page.partition(_BEGIN)[2].partition(_END)[0]


async def main() -> int:
    """Run it all; the documents are written only if nothing is missing."""
    console, rows = Console(markup=False), list[list[str]]()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with console.status("Installing the peers"):
        found = contenders(console.print)
    end = asyncio.get_running_loop().time() + RUN_SECONDS
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(found) * (3 * ROUNDS + KILLS))
        for number, (name, layer, version) in enumerate(found, 1):
            progress.update(bar, description=name)
            cells = ["not installed"] if version is None else await row(layer, end, lambda: progress.advance(bar))
            rows.append([f"{name} {version or ''}".strip(), *cells])
            progress.update(bar, completed=number * (3 * ROUNDS + KILLS))
    table = Table()
    for name in _COLUMNS:
        table.add_column(name, min_width=0 if name else 20)
    for cells in rows:
        table.add_row(*cells)
    console.print(table)
    if any(len(cells) < len(_COLUMNS) for cells in rows):
        console.print("Not all could be measured: docs/comparison.md and README.md stay as they are.")
        return 1
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        page.write_text(before.replace(f"{made(before)}{_END}", f"{section(rows)}{_END}"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
