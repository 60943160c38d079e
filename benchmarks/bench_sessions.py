"""Logs of coding agents, and the metadata of runs (goal 22).

Usage: python -m benchmarks.bench_sessions [ROUNDS]
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from pydantic_core import from_json

import filetools
from benchmarks.measure import against, dose, interleaved, seconds, workspace
from filetools.sessions.agent_messages import LoggedCall
from filetools.sessions.discovery import RunScope, from_records, metadata
from filetools.sessions.feedback import collect_feedback
from filetools.sessions.log_folders import encode_project_path
from tests.support.agent_logs import PROJECT, write_bulk

LOG_BYTES: Final = 100 * 1024 * 1024
RECORDS: Final = 1000


def collect(logs: Path) -> None:
    assert list(collect_feedback(PROJECT, logs=logs))


def parse_all(logs: Path) -> None:
    """Parse every line and keep nothing."""
    for path in sorted((logs / encode_project_path(PROJECT)).iterdir()):
        with path.open("rb") as file:
            for line in file:
                try:
                    from_json(line)
                except ValueError:
                    continue


async def logs_of_agents(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-logs-") as folder:
        logs = Path(os.path.realpath(folder))
        write_bulk(logs / encode_project_path(PROJECT), LOG_BYTES)
        ours, floor = partial(collect, logs), partial(parse_all, logs)
        await against(22, "feedback of 100 MiB / parsing it", 3.0, ours, floor, rounds=rounds, calls=1)


async def metadata_of_a_run(rounds: int) -> None:
    """Describe a run that created files and changed them, with its tool calls."""
    calls = [
        LoggedCall(
            name="Write", id=str(number), path=f"/root/docs/{number % (RECORDS // 2)}.md", cwd="/root", turn=number
        )
        for number in range(RECORDS)
    ]
    async with workspace(has_mirror=False) as (files, _):
        agent = files.for_actor(filetools.Actor(kind="agent", id="agent", session="run-1"))
        for number in range(RECORDS):
            await agent.write_file(f"docs/{number % (RECORDS // 2)}.md", f"{number}\n")
        records = (await files.changes(limit=RECORDS)).records
    assert len(records) == RECORDS
    scope = RunScope(session="run-1", outputs=("docs",), roots=("/root",))

    def describe() -> None:
        found = metadata(from_records(records, scope, calls), session="run-1", root="/root")
        assert len(found["files_created"]) == RECORDS // 2

    taken = await interleaved({"ours": describe}, rounds=rounds, calls=3)
    seconds(22, "metadata of 1,000 records", 0.02, taken["ours"])


async def main(rounds: int) -> None:
    await logs_of_agents(rounds)
    await metadata_of_a_run(2 * rounds)


if __name__ == "__main__":
    logging.getLogger("filetools").setLevel(logging.ERROR)  # each malformed line costs a warning
    asyncio.run(main(dose(3)))
