"""The contract of every journal: marks, and which records they let the feed deliver."""

from __future__ import annotations

from pathlib import Path

from filetools.journal.journal import Journal
from filetools.models.records import ChangeRecord, RecordState
from tests.support.journals import ALICE, OpenJournal, draft, is_applied, put, rebooted


def numbers(records: list[ChangeRecord]) -> list[int]:
    return [record.number for record in records]


def test_a_committed_record_is_pending_until_it_is_noted(journal: Journal) -> None:
    record = put(journal, "a", b"1", noted=False)
    assert journal.marks.unfinished("pending") == [record]
    journal.marks.applied([record.number])
    assert journal.marks.unfinished("pending") == []
    head = journal.view("a").head
    assert head is not None
    assert head.applied


def test_a_note_does_not_revive_what_was_set_back(journal: Journal) -> None:
    record = put(journal, "a", b"1", noted=False)
    back = draft(journal, "a", None, applied=True, compensates=record.number)
    journal.commit([back], ALICE)
    journal.marks.applied([record.number])
    assert [each.state for each in journal.records()] == [RecordState.ABORTED, RecordState.ABORTED]


def test_an_old_note_does_not_mark_a_newer_head(journal: Journal) -> None:
    old = put(journal, "a", b"1", noted=False)
    put(journal, "a", b"2", noted=False)
    journal.marks.applied([old.number])
    head = journal.view("a").head
    assert head is not None
    assert not head.applied


def test_applied_records_are_unsynced_until_they_are_synced(journal: Journal) -> None:
    first, second = put(journal, "a", b"1"), put(journal, "b", b"2")
    pending = put(journal, "c", b"3", noted=False)
    assert numbers(journal.marks.unfinished("unsynced")) == [first.number, second.number]
    assert numbers(journal.marks.unfinished("unsynced", 1)) == [first.number]
    journal.marks.synced([first.number])
    assert numbers(journal.marks.unfinished("unsynced")) == [second.number]
    assert numbers(journal.marks.unfinished("pending")) == [pending.number]


def test_unsettled_goes_back_to_the_last_synced_record(journal: Journal) -> None:
    records = [put(journal, "a", content) for content in (b"1", b"2", b"3")]
    assert numbers(journal.marks.unsettled("a")) == [3, 2, 1]
    journal.marks.synced([records[1].number])
    assert numbers(journal.marks.unsettled("a")) == [3, 2]
    assert journal.marks.unsettled("b") == []


def test_the_feed_stops_before_the_first_pending_record(journal: Journal) -> None:
    put(journal, "a", b"1")
    pending = put(journal, "b", b"2", noted=False)
    put(journal, "c", b"3")
    assert (numbers(journal.records()), journal.positions().visible, journal.positions().newest) == ([1], 1, 3)
    journal.marks.applied([pending.number])
    assert (numbers(journal.records()), journal.positions().visible) == ([1, 2, 3], 3)


def test_pages_follow_each_other(journal: Journal) -> None:
    for index in range(7):
        put(journal, f"f{index}", b"x")
    assert numbers(journal.records(limit=3)) == [1, 2, 3]
    assert numbers(journal.records(since=3, limit=3)) == [4, 5, 6]
    assert numbers(journal.records(since=6, limit=3)) == [7]
    assert numbers(journal.records(newest_first=True, limit=2)) == [7, 6]
    assert numbers(journal.records(since=5, newest_first=True)) == [7, 6]


def test_foreign_only_leaves_out_what_was_committed_here(open_journal: OpenJournal) -> None:
    ours, theirs = open_journal(), open_journal()
    put(ours, "a", b"1")
    put(theirs, "b", b"2")
    put(ours, "c", b"3")
    assert numbers(ours.records(foreign_only=True)) == [2]
    assert numbers(theirs.records(foreign_only=True)) == [1, 3]


def test_listeners_are_notified_when_the_feed_has_grown(open_journal: OpenJournal) -> None:
    told: list[int] = []
    journal = open_journal(on_visible=lambda: told.append(journal.positions().visible))
    record = put(journal, "a", b"1", noted=False)
    assert told == []
    journal.marks.applied([record.number])
    assert told == [1]
    journal.commit([draft(journal, "b", b"2", applied=True, external=True)], ALICE)
    assert told == [1, 2]


def test_reopening_finds_everything_in_the_same_epoch(open_journal: OpenJournal) -> None:
    first = open_journal()
    records = [put(first, f"f{index}", b"%d" % index) for index in range(5)]
    epoch = first.epoch
    first.close()
    first.close()
    second = open_journal()
    assert second.epoch == epoch
    assert numbers(second.records()) == numbers(records)
    assert put(second, "f0", b"again").number == 6


def test_what_must_be_restored_is_not_synced_and_its_head_is_not_certain(
    open_journal: OpenJournal, state: Path
) -> None:
    journal = open_journal()
    first, second = put(journal, "a", b"1"), put(journal, "b", b"2")
    journal.marks.synced([second.number])
    journal.close()
    rebooted(state)
    journal = open_journal()
    third = put(journal, "c", b"3")
    assert [numbers(journal.marks.unfinished(what)) for what in ("unrestored", "unsynced", "open")] == [
        [first.number], [third.number], [first.number, third.number],
    ]  # fmt: skip
    assert [is_applied(journal, key) for key in "ab"] == [False, True]


def test_a_foreign_save_after_an_unsynced_change_is_not_synced_either(journal: Journal) -> None:
    journal.marks.synced([put(journal, "a", b"1").number])
    second = put(journal, "a", b"2")
    (third,) = journal.commit([draft(journal, "a", b"3", applied=True, external=True)], ALICE)
    assert numbers(journal.marks.unfinished("unsynced")) == [second.number, third.number]
    assert numbers(journal.marks.unsettled("a")) == [3, 2, 1]
