"""What a run has made: by 1,000 records, 1,000 messages, a scan of 10,000 files after a baseline; and what a run holds.

Usage: python -m benchmarks.bench_discovery [ROUNDS]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Row, as_act, dose, interleaved, print_heading, publish, text_of
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.paths.workspace import Workspace
from filetools.sessions.agent_messages import AgentMessages
from filetools.sessions.baseline import scan, take_baseline
from filetools.sessions.discovery import RunScope, from_records, metadata
from filetools.sessions.tool_calls import LoggedCall
from filetools.stores.folder import FolderStore

RECORDS: Final = 1000
FILES: Final = 10_000
FOLDERS: Final = 100
SIZE: Final = 20_000
LIMITS: Final = {"records": 0.02, "messages": 0.05, "scan": 0.2}
LIMIT_BYTES: Final = 5 * 1024 * 1024
_AGENT: Final = Actor(kind="agent", id="agent", session="run-1")


def records() -> list[ChangeRecord]:
    """Return records of a run that makes files and changes them, and of a person in between."""
    person = Actor(kind="editor", id="person", session="window")
    return [
        ChangeRecord(
            number=number, operation=Operation.MODIFY if number > RECORDS // 2 else Operation.CREATE,
            path=f"claudedocs/part{number % 10}/report{number % (RECORDS // 2)}.md",
            before=f"sha256:{number - RECORDS // 2:064x}" if number > RECORDS // 2 else None,
            after=f"sha256:{number:064x}", size=number, actor=person if number % 10 == 3 else _AGENT,
            time=1761748222.0 + number, state=RecordState.APPLIED,
        )
        for number in range(RECORDS)
    ]  # fmt: skip


def calls() -> list[LoggedCall]:
    """Return a call for each record."""
    return [
        LoggedCall(
            name="Write", id=str(number), input={"file_path": f"/root/claudedocs/part{number % 10}/report{number}.md"},
            timestamp="", session_id="", cwd="/root", turn=number,
        )
        for number in range(RECORDS)
    ]  # fmt: skip


def told(made: list[ChangeRecord], said: list[LoggedCall]) -> dict[str, Any]:
    """Return the metadata of the records."""
    scope = RunScope(session="run-1", outputs=("claudedocs",), others=(("notes",),), roots=("/root",))
    found = metadata(from_records(made, scope, said), session="run-1", session_dir="/root", root="/root")
    assert len(found["files_created"]) > RECORDS // 3
    return found


def messages() -> list[dict[str, Any]]:
    """Return messages as an agent sends them: a call, its result, a text."""
    found: list[dict[str, Any]] = []
    for number in range(RECORDS // 2):
        given = {"file_path": f"/root/claudedocs/report{number}.md", "content": text_of(SIZE, 0)}
        call = {"type": "tool_use", "id": f"c{number}", "name": "Write", "input": given}
        text = {"type": "text", "text": "Now the next report."}
        found.append({"type": "assistant", "message": {"id": f"m{number}", "content": [text, call]}})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "written"}
        found.append({"type": "user", "message": {"content": [result]}})
    return found


def remembered(said: list[dict[str, Any]]) -> AgentMessages:
    """Return what is remembered of messages."""
    memory = AgentMessages()
    for message in said:
        memory.read(message)
    assert len(memory.calls()) == RECORDS // 2
    return memory


def grow(root: Path) -> None:
    """Make the files, and wait until no clock takes them for young."""
    for number in range(FILES):
        folder = root / "claudedocs" / f"part{number % FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"report{number}.md").write_text("text\n")
    time.sleep(2.5)


def held(act: Callable[[], object]) -> int:
    """Return how many bytes what an act returns takes."""
    tracemalloc.start()
    kept = act()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert sys.getrefcount(kept)
    return size


async def measure(rounds: int) -> None:
    """Publish the rows."""
    made, said, spoken = records(), calls(), messages()
    with tempfile.TemporaryDirectory(prefix="bench-discovery-") as folder:
        grow(Path(folder))
        workspace = Workspace.open(folder)
        reads = FolderStore(workspace)
        before = take_baseline(reads, ["claudedocs"])

        def look() -> None:
            assert scan(reads, ["claudedocs"], time.time(), ["*"], baseline=before) == ({}, [])

        contenders = {
            "records": as_act(lambda: told(made, said)), "messages": as_act(lambda: remembered(spoken)),
            "scan": as_act(look),
        }  # fmt: skip
        taken = await interleaved(contenders, rounds=rounds, calls=3)
        sizes = {
            f"a baseline of {FILES:,} files": held(lambda: take_baseline(reads, ["claudedocs"])),
            f"{RECORDS:,} messages remembered": held(lambda: remembered(spoken)),
        }
        workspace.close()
    names = {
        "records": f"metadata of a run of {RECORDS:,} records", "messages": f"{RECORDS:,} messages, calls found",
        "scan": f"scan of {FILES:,} files after a baseline",
    }  # fmt: skip
    for key, name in names.items():
        median = taken[key].median
        publish(
            Row(goal="22", name=name, unit="s", limit=LIMITS[key], value=median, ours=median, ours_p99=taken[key].p99)
        )
    for name, size in sizes.items():
        publish(Row(goal="-", name=f"memory of {name}", unit="bytes", limit=LIMIT_BYTES, value=size))


if __name__ == "__main__":
    print_heading()
    asyncio.run(measure(dose(20)))
