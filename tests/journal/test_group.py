"""Group commit: few syncs for many writers, and nobody pays for another's draft."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from filetools.errors import LockTimeoutError, StateDamagedError
from filetools.journal.changes import HeadMovedError
from filetools.journal.gate import Gate
from filetools.journal.journal import Journal
from filetools.models.records import ChangeRecord
from tests.support.journals import ALICE, draft, put, traced, worker
from tests.support.journals import version as v

MB = 1024 * 1024
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace counts the syncs")


def syncs_between(trace: str, start: str, end: str) -> int:
    body = trace[trace.index(f'"{start}') : trace.rindex(f'"{end}')]
    return body.count("fsync(") + body.count("fdatasync(")


@needs_strace
@pytest.mark.parametrize(("durability", "size", "syncs"), [("commit", 300, 10), ("commit", MB, 30), ("relaxed", MB, 0)])
def test_a_lone_commit_costs_one_sync_and_two_more_if_it_is_large_or_none(
    state: Path, tmp_path: Path, durability: str, size: int, syncs: int
) -> None:
    trace = traced(state, tmp_path / "trace", "commit", durability, "11", str(size))
    # The first commit of a write-ahead file syncs its header, too.
    assert syncs_between(trace, "committed 1\\n", "committed 11\\n") == syncs


@needs_strace
def test_sixteen_waiting_writers_share_their_syncs(state: Path, tmp_path: Path) -> None:
    trace = traced(state, tmp_path / "trace", "group", "16", "20", "2")
    assert syncs_between(trace, "begin", "end") / (16 * 20) <= 0.25


class Crowd:
    """Drafts that wait together: all are queued while the gate is held, so that one leader takes them all."""

    def __init__(self, journal: Journal, state: Path) -> None:
        self._journal = journal
        self._gate = Gate(state)

    def commit(self, *works: Callable[[], object]) -> list[object]:
        """Run works at once in threads of their own; returns what each returned or raised."""
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(len(works)))
            self._gate.enter()
            try:
                futures = [pool.submit(work) for work in works]
                deadline = time.monotonic() + 60
                # One leads and stands at the gate; the others are in the queue.
                while len(self._journal._group._waiting) < len(works) - 1 and time.monotonic() < deadline:
                    threading.Event().wait(0.001)
            finally:
                self._gate.leave()
            outcomes = [future.exception() or future.result() for future in futures]
        self._gate.close()
        return outcomes


def test_a_refused_draft_does_not_disturb_the_others(state: Path, relaxed: Journal) -> None:
    late = draft(relaxed, "late", b"mine")
    put(relaxed, "late", b"moved")
    drafts = [draft(relaxed, f"f{index}", b"%d" % index) for index in range(8)]
    works = [lambda one=one: relaxed.commit([one], ALICE) for one in (*drafts[:4], late, *drafts[4:])]
    outcomes = Crowd(relaxed, state).commit(*works)
    assert isinstance(outcomes.pop(4), HeadMovedError)
    assert [outcome[0].after for outcome in outcomes if isinstance(outcome, tuple)] == [one.after for one in drafts]
    assert sorted(relaxed.heads_below("")) == sorted(
        [("late", v(b"moved")), *((one.path, str(one.after)) for one in drafts)]
    )


def test_a_vanished_journal_fails_everybody_and_takes_nothing(state: Path, relaxed: Journal) -> None:
    put(relaxed, "a", b"1")
    drafts = [draft(relaxed, f"f{index}", b"%d" % index) for index in range(4)]
    (state / "journal.db").rename(state / "elsewhere.db")
    outcomes = Crowd(relaxed, state).commit(*(lambda one=one: relaxed.commit([one], ALICE) for one in drafts))
    assert [type(outcome) for outcome in outcomes] == [StateDamagedError] * 4
    (state / "elsewhere.db").rename(state / "journal.db")
    assert relaxed.position() == 1
    assert put(relaxed, "f0", b"0").number == 2


def test_everybody_in_the_queue_gives_up_in_time(state: Path) -> None:
    journal = Journal(state, durability="relaxed", timeout_seconds=0.3)
    with worker(state, "hold") as holder:
        assert holder.said() == "holding"
        with ThreadPoolExecutor(8) as pool:
            seen = journal.view("x")
            drafts = [draft(journal, "x", b"1", key=f"k{index}", view=seen) for index in range(8)]
            futures = [pool.submit(journal.commit, [one], ALICE) for one in drafts]
            errors = [future.exception() for future in futures]
        assert {type(error) for error in errors} == {LockTimeoutError}
        holder.tell()
        assert holder.said() == "left"
    assert journal.position() == 0
    assert put(journal, "a", b"1").number == 1
    journal.close()


def test_many_threads_lose_nothing(relaxed: Journal) -> None:
    def work(name: str) -> list[ChangeRecord]:
        return [put(relaxed, f"{name}/{turn}", b"x", noted=turn % 2 == 0) for turn in range(10)]

    with ThreadPoolExecutor(16) as pool:
        records = [record for found in pool.map(work, [f"t{index}" for index in range(16)]) for record in found]
    assert sorted(record.number for record in records) == list(range(1, 161))
    assert len(list(relaxed.heads_below(""))) == 160
    assert len(relaxed.marks.pending()) == 80


def test_notes_survive_a_transaction_that_fails(relaxed: Journal) -> None:
    record = put(relaxed, "a", b"1", noted=False)
    relaxed.marks.applied([record.number])
    with pytest.raises(UnicodeEncodeError):
        relaxed.commit([draft(relaxed, "b", b"2", path="bad-\udc80")], ALICE)
    assert not relaxed.marks.is_pending(record.number)
    assert relaxed.marks.flush()
    assert relaxed.marks.pending() == []
