"""What a run has made: by 1,000 records and by 1,000 messages.

Usage: python -m benchmarks.bench_discovery [ROUNDS]
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from benchmarks.measure import Row, as_act, dose, interleaved, print_heading, publish, text_of
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.sessions.agent_messages import LoggedCall, tool_calls
from filetools.sessions.discovery import RunScope, from_records, metadata
from filetools.sessions.log import entries_of

RECORDS: Final = 1000
SIZE: Final = 20_000
LIMITS: Final = {"records": 0.02, "messages": 0.05}
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
            name="Write", id=str(number), path=f"/root/claudedocs/part{number % 10}/report{number}.md", cwd="/root",
            turn=number,
        )
        for number in range(RECORDS)
    ]  # fmt: skip


def told(made: list[ChangeRecord], said: list[LoggedCall]) -> dict[str, Any]:
    """Return the metadata of the records."""
    scope = RunScope(session="run-1", outputs=("claudedocs",), others=(("notes",),), roots=("/root",))
    found = metadata(from_records(made, scope, said), session="run-1", root="/root")
    assert len(found["files_created"]) > RECORDS // 3
    return found


def messages() -> bytes:
    """Return messages as an agent sends them: a call, its result, a text."""
    found: list[dict[str, Any]] = []
    for number in range(RECORDS // 2):
        given = {"file_path": f"/root/claudedocs/report{number}.md", "content": text_of(SIZE, 0)}
        call = {"type": "tool_use", "id": f"c{number}", "name": "Write", "input": given}
        text = {"type": "text", "text": "Now the next report."}
        found.append({"type": "assistant", "message": {"id": f"m{number}", "content": [text, call]}})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "written"}
        found.append({"type": "user", "message": {"content": [result]}})
    return "\n".join(map(json.dumps, found)).encode()


async def measure(rounds: int) -> None:
    """Publish the rows."""
    made, said, spoken = records(), calls(), messages()

    def read() -> None:
        assert len(tool_calls(entries_of(spoken))) == RECORDS // 2

    contenders = {"records": as_act(lambda: told(made, said)), "messages": as_act(read)}
    taken = await interleaved(contenders, rounds=rounds, calls=3)
    names = {"records": f"metadata of a run of {RECORDS:,} records", "messages": f"{RECORDS:,} messages, calls found"}
    for key, name in names.items():
        median = taken[key].median
        publish(
            Row(goal="22", name=name, unit="s", limit=LIMITS[key], value=median, ours=median, ours_p99=taken[key].p99)
        )


if __name__ == "__main__":
    print_heading()
    asyncio.run(measure(dose(20)))
