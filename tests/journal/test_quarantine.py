"""A damaged record is left out and reported, and everything else goes on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from filetools.journal.examination import examine_journal
from filetools.journal.sqlite import SqliteJournal
from tests.support.journals import put

SPOIL = {
    "value": "UPDATE records SET size = size + 1 WHERE number = ?",
    "state": "UPDATE records SET state = 'nonsense' WHERE number = ?",
    "operation": "UPDATE records SET operation = 'nonsense' WHERE number = ?",
    "not text": "UPDATE records SET path = CAST(x'ff41' AS TEXT) WHERE number = ?",
    "type": "UPDATE records SET after = 'text' WHERE number = ?",
}


def spoil(state: Path, how: str, *numbers: int) -> None:
    database = sqlite3.connect(state / "journal.db", timeout=5)
    with database:
        database.executemany(SPOIL[how], [(number,) for number in numbers])
    database.close()


def seen(journal: SqliteJournal, *, since: int = 0, limit: int = 100) -> list[int]:
    return [record.number for record in journal.records(since=since, limit=limit)]


@pytest.mark.parametrize("how", SPOIL)
def test_the_feed_goes_on_past_a_damaged_record(state: Path, relaxed: SqliteJournal, how: str) -> None:
    for index in range(5):
        put(relaxed, f"f{index}", b"x")
    spoil(state, how, 3)
    assert seen(relaxed) == [1, 2, 4, 5]
    relaxed.checkpoint()
    assert seen(relaxed) == [1, 2, 4, 5]
    assert put(relaxed, "f0", b"y").number == 6


def test_a_damaged_pending_record_does_not_hold_up_the_feed_for_ever(state: Path, relaxed: SqliteJournal) -> None:
    put(relaxed, "a", b"1", noted=False)
    put(relaxed, "b", b"2")
    spoil(state, "value", 1)
    assert seen(relaxed) == []
    assert relaxed.marks.pending() == []
    relaxed.checkpoint()
    assert seen(relaxed) == [2]


def test_what_is_in_quarantine_can_be_examined(state: Path, relaxed: SqliteJournal) -> None:
    put(relaxed, "a", b"1")
    put(relaxed, "b", b"2")
    spoil(state, "not text", 1)
    report = examine_journal(state)
    assert report is not None
    assert (report.problem, report.records, report.damaged) == (None, 1, 1)
    relaxed.records()
    relaxed.checkpoint()
    row = relaxed._database.row("SELECT number, reason, row FROM quarantine")
    assert row[0] == 1
    assert "checksum" in row[1]
    report = examine_journal(state)
    assert report is not None
    assert (report.problem, report.records, report.damaged) == (None, 1, 1)
    assert relaxed.marks.kept([1, 2]) == {1, 2}


def test_recovery_and_retention_go_on_past_a_damaged_record(state: Path, relaxed: SqliteJournal) -> None:
    for index in range(6):
        put(relaxed, "a", b"%d" % index)
    spoil(state, "value", 3)
    assert [record.number for record in relaxed.marks.unsettled("a")] == [6, 5, 4, 2, 1]
    assert [record.number for record in relaxed.marks.unsynced()] == [1, 2, 4, 5, 6]
    relaxed.marks.synced(range(1, 7))
    assert relaxed.maintain(retention_bytes=10**6, retention_records=1) == 4
    assert seen(relaxed) == [6]
