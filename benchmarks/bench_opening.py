"""Starting: import, commands, opening a large root, recovering what a dead process left; and how long the loop stands still.

Goals 19 and 21. Processor time is that of a process and its children, from its start to its end, and is compared with that of
`python -c pass` in the same run. Whoever opens the root of 100,000 files scans nothing.

Usage: python -m benchmarks.bench_opening [FILES]
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import filetools
from benchmarks.bench_listing import walked, whole
from benchmarks.measure import Times, compared, dose, print_heading, publish, settle, text_of, timed
from benchmarks.stalls import publish_worst
from benchmarks.trees import FILE, tree
from filetools.content.version import version_of
from filetools.journal.changes import Change
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import Actor, Operation
from filetools.paths.workspace_path import WorkspacePath

PENDING: Final = 100
ROUNDS: Final = 9
STALLS: Final = 5
LARGE_BYTES: Final = 10 * 1000 * 1000
"""Below `max_read_bytes`, so that it is read whole."""
DYING: Final = Actor(kind="agent", id="dying")
IMPORT: Final = "import time; began = time.perf_counter(); import filetools; print(time.perf_counter() - began)"


def measure_commands(root: Path) -> None:
    """Take the commands in turns, compiled files kept as every installation keeps them."""
    filetools_command = (sys.executable, "-m", "filetools")
    commands: dict[str, tuple[Sequence[str], float | None]] = {
        "python -c pass": ((sys.executable, "-c", "pass"), None),
        "import filetools": ((sys.executable, "-c", IMPORT), 8.0),
        "filetools --version": ((*filetools_command, "--version"), 10.0),
        "filetools ls": ((*filetools_command, "ls", "--root", str(root)), 20.0),
    }
    used: dict[str, list[tuple[float, ...]]] = {name: [] for name in commands}
    imports: list[tuple[float, ...]] = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for number in range(ROUNDS + 1):
        for name, (command, _) in commands.items():
            with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                said = process.stdout.read()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, command
            if number:
                used[name].append((usage.ru_utime + usage.ru_stime,))
                imports += [(float(said),)] if name == "import filetools" else []
    times = {name: Times(tuple(found)) for name, found in used.items()}
    publish(timed("21", "import filetools", Times(tuple(imports)), limit=0.150))
    for name, (_, limit) in commands.items():
        if limit is not None:
            told = f"processor time of {name} / python -c pass"
            floor = times["python -c pass"]
            publish(compared("21", told, times[name], floor, limit=limit, floor_name="python -c pass"))


async def measure_opening(root: Path, files: int) -> None:
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        async with filetools.open(root) as opened:
            taken.append((time.perf_counter() - began,))
            assert await opened.exists(FILE)
    publish(timed("21", f"open a root of {files:,} files", Times(tuple(taken)), limit=0.050))


async def measure_recovery() -> None:
    taken = []
    for _ in range(3):
        with tempfile.TemporaryDirectory(prefix="bench-recovery-") as folder:
            place = Path(folder)
            await leave_pending(place)
            began = time.perf_counter()
            async with filetools.open(place) as files:
                # Recovery does not hold up the opening; a call on a path that needs it settles that path first.
                while (await files.status())["pending"]:
                    await asyncio.sleep(0.001)
                taken.append((time.perf_counter() - began,))
            assert all((place / f"{index}.txt").read_text() == text_of(1024, index + 1) for index in range(PENDING))
    publish(timed("21", f"open and recover {PENDING} pending entries", Times(tuple(taken)), limit=1.0))


async def leave_pending(root: Path) -> None:
    """Commit changes and die before any of them is made."""
    async with filetools.open(root) as files:
        for index in range(PENDING):
            await files.write_file(f"{index}.txt", text_of(1024, 0))
    journal = SqliteJournal(root / ".filetools")
    for index in range(PENDING):
        key, content = f"{index}.txt", text_of(1024, index + 1).encode()
        view = journal.view(key)
        assert view.head is not None
        change = Change(
            operation=Operation.MODIFY, path=WorkspacePath(key), key=key, before=view.head.version,
            after=version_of(content), content=content, size=len(content), mode=0o644, view=view,
        )  # fmt: skip
        journal.commit([change], DYING)
    journal.close()


async def measure_stalls_of_trees(root: Path, files: int) -> None:
    async with filetools.open(root) as opened:
        await settle()
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "pages of 1,000 of the whole tree": partial(whole, opened),
            "walk over the whole tree": partial(walked, opened),
            "search of names": partial(opened.search_files, "*.none"),
            "grep": partial(opened.grep_files, "needle_in_hay"),
        }
        for name, call in calls.items():
            await publish_worst(f"{name}, {files:,} files", call, rounds=STALLS)


async def measure_stalls_of_texts() -> None:
    numbers = count()
    with tempfile.TemporaryDirectory(prefix="bench-stalls-") as folder:
        (Path(folder) / "root").mkdir()
        async with filetools.open(Path(folder) / "root", mirror=Path(folder) / "mirror") as opened:

            async def write() -> None:
                await opened.write_file("large.txt", text_of(LARGE_BYTES, next(numbers)))

            async def edit() -> None:
                number = next(numbers)
                edited = filetools.Edit(old=f"{number - 1:015d}\n", new=f"{number:015d}\n")
                await opened.edit_file("large.txt", [edited])

            await write()
            await settle()
            calls: dict[str, tuple[Callable[[], Awaitable[Any]], bool]] = {
                "nothing, the machine itself": (partial(asyncio.sleep, 0.5), False),
                "read of 10 MB": (partial(opened.read_file, "large.txt"), True),
                "100 lines of 10 MB": (partial(opened.read_file, "large.txt", offset=-100, limit=100), True),
                "write of 10 MB": (write, True),
                "edit of 10 MB": (edit, True),
                "grep in 10 MB": (partial(opened.grep_files, "needle_in_hay", path="large.txt"), True),
            }
            for name, (call, is_judged) in calls.items():
                await publish_worst(name, call, rounds=STALLS, is_judged=is_judged)


async def main(files: int) -> None:
    """Measure everything."""
    print_heading()
    with tempfile.TemporaryDirectory(prefix="bench-opening-") as folder:
        (Path(folder) / "text.txt").write_text("text")
        measure_commands(Path(folder))
    await measure_recovery()
    with tree(files) as root:
        await measure_opening(root, files)
        await measure_stalls_of_trees(root, files)
    await measure_stalls_of_texts()


if __name__ == "__main__":
    asyncio.run(main(dose(100_000)))
