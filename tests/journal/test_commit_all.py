"""Several drafts in one transaction: one sync, and a failing draft does not affect the others."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import structs

from filetools.content.formats import UTF8
from filetools.errors import LockTimeoutError, StateDamagedError
from filetools.journal.commit import CommitDraft, HeadMovedError
from filetools.journal.documents import Document
from filetools.journal.journal import Journal
from filetools.models.records import ChangeRecord
from tests.support.inside import heads_below
from tests.support.journals import ALICE, draft, put, traced, worker

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
def test_sixteen_drafts_share_one_sync(state: Path, tmp_path: Path) -> None:
    trace = traced(state, tmp_path / "trace", "group", "16", "20", "2")
    assert syncs_between(trace, "begin", "end") == 20


def drafts_of(journal: Journal, count: int) -> list[CommitDraft]:
    changes = [draft(journal, f"f{index}", b"%d" % index) for index in range(count)]
    return [CommitDraft(changes=[change], actor=ALICE) for change in changes]


def test_a_refused_draft_does_not_disturb_the_others(journal: Journal) -> None:
    drafts = drafts_of(journal, 8)
    closing = Document(id="no such document", key="late", path="late", base=None, text_format=UTF8)
    late = structs.replace(draft(journal, "late", b"mine"), document=closing)
    outcomes = journal.commit_all([*drafts[:4], CommitDraft(changes=[late], actor=ALICE), *drafts[4:]])
    assert isinstance(outcomes.pop(4), HeadMovedError)
    made = [outcome[0].after for outcome in outcomes if isinstance(outcome, tuple)]
    assert made == [one.changes[0].after for one in drafts]
    assert sorted(heads_below(journal, "")) == sorted(
        (one.changes[0].path, str(one.changes[0].after)) for one in drafts
    )


def test_a_name_that_is_not_text_fails_alone(journal: Journal) -> None:
    first, second = drafts_of(journal, 2)
    bad = CommitDraft(changes=[draft(journal, "b", b"2", path="bad-\udc80")], actor=ALICE)
    outcomes = journal.commit_all([first, bad, second])
    assert [isinstance(outcome, tuple) for outcome in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], UnicodeEncodeError)
    assert [path for path, _ in heads_below(journal, "")] == ["f0", "f1"]


def test_a_vanished_journal_fails_all_and_takes_nothing(state: Path, journal: Journal) -> None:
    put(journal, "a", b"1")
    drafts = drafts_of(journal, 4)
    (state / "journal.db").rename(state / "elsewhere.db")
    assert [type(outcome) for outcome in journal.commit_all(drafts)] == [StateDamagedError] * 4
    (state / "elsewhere.db").rename(state / "journal.db")
    assert journal.positions().newest == 1
    assert put(journal, "f0", b"0").number == 2


def test_a_waiting_commit_times_out(state: Path) -> None:
    journal = Journal(state, durability="relaxed", timeout_seconds=0.3)
    with worker(state, "hold") as holder:
        assert holder.said() == "holding"
        assert [type(outcome) for outcome in journal.commit_all(drafts_of(journal, 3))] == [LockTimeoutError] * 3
        holder.tell()
        assert holder.said() == "left"
    assert journal.positions().newest == 0
    assert put(journal, "a", b"1").number == 1
    journal.close()


def test_many_threads_lose_nothing(journal: Journal) -> None:
    def work(name: str) -> list[ChangeRecord]:
        return [put(journal, f"{name}/{turn}", b"x", noted=turn % 2 == 0) for turn in range(10)]

    with ThreadPoolExecutor(16) as pool:
        records = [record for found in pool.map(work, [f"t{index}" for index in range(16)]) for record in found]
    assert sorted(record.number for record in records) == list(range(1, 161))
    assert len(list(heads_below(journal, ""))) == 160
    assert len(journal.marks.unfinished("pending")) == 80
