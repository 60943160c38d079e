"""Rows of runs: how they begin, change and end, and what becomes of those whose process died."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import DiskFullError, InvalidArgumentError, RunNotFoundError
from filetools.journal.journal import Journal
from filetools.journal.table import TableRow
from filetools.models.records import Actor
from filetools.sessions.runs import MOST_RUNS, Run, Runs
from tests.support.declared import REPOSITORY

START = 1_700_000_000.0
ALICE = Actor(kind="agent", id="alice")


class World:
    """Runs in a journal of their own, whose clock stands still until it is set."""

    def __init__(self, folder: Path) -> None:
        self.now = START
        self.folder = folder
        self.journal = Journal(folder)
        self.runs = Runs(self.journal.runs, keep=self.journal.contents.keep, clock=lambda: self.now)

    def begin(self, run_id: str = "run-1", session: str | None = None, **facts: str) -> Run:
        given = {"command": "agent", "prompt": "Do it", "first": "e:1"} | facts
        return self.runs.begin(run_id, ALICE, session=session, outputs=["claudedocs"], **given)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.journal.close()


def test_what_there_is_no_run_of_is_refused(world: World) -> None:
    for ask in (
        world.runs.get,
        lambda run_id: world.runs.alter(run_id, step="x"),
        lambda run_id: world.runs.note_turn(run_id, ""),
    ):
        with pytest.raises(RunNotFoundError, match="Run not found: run-9"):
            ask("run-9")
    assert world.runs.of_session("s") is None


def test_a_session_has_one_run_at_a_time(world: World) -> None:
    world.begin("run-1", "s")
    with pytest.raises(InvalidArgumentError, match="A run of the session 's' is under way already"):
        world.begin("run-2", "s")
    world.runs.alter("run-1", status="completed", ended=world.now)
    assert world.begin("run-2", "s") == world.runs.of_session("s")


def test_a_run_is_told_without_what_is_unknown(world: World) -> None:
    run = world.begin(prompt="p" * 300)
    assert run.to_dict() == {
        "id": "run-1", "session": "run-1", "actor": {"kind": "agent", "id": "alice"}, "command": "agent", "prompt": "p" * 200,
        "started": "2023-11-14T22:13:20.000Z", "status": "running", "first": "e:1", "outputs": ("claudedocs",), "turns": 0,
    }  # fmt: skip
    assert world.runs.get("run-1") == run


def test_a_run_that_ended_keeps_what_it_said(world: World) -> None:
    world.begin()
    world.now += 60
    world.runs.note_turn("run-1", "Step 1/9")
    world.now += 60
    ended = world.runs.alter(
        "run-1", messages=b'{"type":"result"}\n', status="failed", exit_code=1, ended=world.now, last="e:7"
    )
    assert world.runs.get("run-1") == ended
    assert ended.messages is not None
    assert world.journal.contents.get(ended.messages) == b'{"type":"result"}\n'
    told = {"status": "failed", "exit_code": 1, "ended": "2023-11-14T22:15:20.000Z", "step": "Step 1/9", "turns": 1}
    assert ended.to_dict() == world.runs.get("run-1").to_dict() | told | {"last": "e:7", "messages": ended.messages}


def test_runs_live_beside_those_whose_time_they_share(world: World) -> None:
    def lived(run_id: str, began: float, ended: float | None) -> Run:
        world.now = began
        world.begin(run_id)
        return world.runs.alter(run_id, ended=ended)

    run, before, meeting, after = (
        lived("run-1", 10, 20), lived("run-2", 1, 9), lived("run-3", 5, 10), lived("run-4", 21, None)
    )  # fmt: skip
    assert [run.lived_beside(each) for each in (run, before, meeting, after)] == [False, False, True, False]
    assert meeting.lived_beside(run)
    assert not after.lived_beside(run)


def test_the_newest_run_comes_first_and_old_ones_go(world: World) -> None:
    old = [
        TableRow(key=f"run-{number:04}", used=START, value=_value(f"run-{number:04}", "completed"))
        for number in range(MOST_RUNS - 1)
    ]
    alive = TableRow(key="run-", used=START, value=_value("run-", "running"))
    assert world.journal.runs.put([*old, alive])
    world.begin("run-a")
    listed = [run.id for run in world.runs.list()]
    assert listed == ["run-a", *(row.key for row in reversed(old)), "run-"]
    world.begin("run-b")
    assert [run.id for run in world.runs.list()] == ["run-b", *listed[:-2], "run-"]  # the oldest that has ended


def _value(run_id: str, status: str) -> dict[str, object]:
    return {
        "id": run_id, "session": run_id, "actor": ["agent", "a"], "command": "", "prompt": "", "started": START,
        "first": "e:0", "status": status, "pid": 0, "mark": "0-0-0",
    }  # fmt: skip


def begin_and_die(world: World) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.sessions.test_runs import World\n"
        "world = World(Path(sys.argv[1])); world.begin(); world.journal.close()"
    )
    subprocess.run([sys.executable, "-c", program, str(world.folder)], cwd=REPOSITORY, check=True)
    world.now += 5


def test_a_run_fails_with_the_process_that_looked_after_it_also_on_a_full_disk(world: World) -> None:
    class Full:
        """The rows, on a disk that takes no more."""

        def put(self, rows: Sequence[TableRow], *, durable: bool = True) -> bool:
            raise DiskFullError("journal.db")

        def __getattr__(self, name: str) -> Any:
            return getattr(world.journal.runs, name)

    begin_and_die(world)
    full: Any = Full()
    for found in (Runs(full, keep=world.journal.contents.keep, clock=lambda: world.now).list(), world.runs.list()):
        assert [(run.status, run.ended) for run in found] == [("failed", START + 5)]
    assert world.runs.get("run-1") == found[0]


def test_messages_go_and_the_row_stays(world: World) -> None:
    world.begin()
    world.runs.alter("run-1", messages=b"x" * 1000)
    world.journal.runs.release(0, unused_since=0)
    run = world.runs.get("run-1")
    assert run.messages is None
    assert run.id == "run-1"
