"""The contract of every journal: comparisons, refusals and records of a commit."""

from __future__ import annotations

import pytest
from msgspec import structs

from filetools.journal.backlog import BacklogEntry
from filetools.journal.journal import Head, Journal
from filetools.models.records import EXTERNAL, ChangeRecord, Operation, RecordState
from tests.support.inside import heads_below
from tests.support.journals import ALICE, delete_folder, draft, folder, head_version, move_folder, put
from tests.support.journals import version as v


@pytest.mark.parametrize("key", ["d/a", "d/e/a"])
def test_a_view_below_a_folder_being_deleted_is_blocked(journal: Journal, key: str) -> None:
    journal.commit([delete_folder("d")], ALICE)
    assert journal.view(key).blocked


@pytest.mark.parametrize("key", ["d/a", "t/a"])
def test_a_view_below_either_end_of_a_folder_being_moved_is_blocked(journal: Journal, key: str) -> None:
    journal.commit([move_folder("d", "t")], ALICE)
    assert journal.view(key).blocked


def test_absent_rows_of_a_moved_folder_replace_nothing_in_the_new_one(journal: Journal) -> None:
    for path in ("d/a", "d/b", "d/c", "n/a"):
        put(journal, path, path.encode())
    for path in ("d/a", "d/c"):
        put(journal, path, None)
    journal.commit([folder(Operation.MOVE_DIRECTORY, "n", "d", applied=True, external=True)], ALICE)
    assert {path: head_version(journal, path) for path in ("n/a", "n/b", "n/c")} == {
        "n/a": v(b"n/a"),
        "n/b": v(b"d/b"),
        "n/c": None,
    }


def test_several_changes_form_one_transaction(journal: Journal) -> None:
    put(journal, "x", b"alone")
    records = journal.commit([draft(journal, key, key.encode()) for key in ("a", "b", "c")], ALICE)
    first = records[0].number
    assert [record.number for record in records] == [first, first + 1, first + 2]
    assert [record.transaction for record in records] == [first, first, first]
    journal.marks.applied(record.number for record in records)
    assert journal.records(since=first - 1) == [
        structs.replace(record, state=RecordState.APPLIED) for record in records
    ]


def test_a_record_says_everything_of_its_change(journal: Journal) -> None:
    put(journal, "a", b"1")
    (record,) = journal.commit([draft(journal, "a", b"22")], ALICE)
    assert record == ChangeRecord(
        number=2, operation=Operation.MODIFY, path="a", before=v(b"1"), after=v(b"22"), size=2, mode=0o644, actor=ALICE,
        time=record.time, state=RecordState.PENDING,
    )  # fmt: skip
    assert journal.records(newest_first=True, limit=1) == [record]


def test_a_foreign_change_is_the_external_actors_whoever_commits(journal: Journal) -> None:
    found = draft(journal, "a", b"0", operation=Operation.FOUND, applied=True, external=True)
    mine = draft(journal, "a", b"1", before=v(b"0"))
    records = journal.commit([found, mine], ALICE)
    assert [(record.actor, record.state) for record in records] == [
        (EXTERNAL, RecordState.APPLIED),
        (ALICE, RecordState.PENDING),
    ]
    assert journal.view("a").head == Head(
        key="a", path="a", version=v(b"1"), size=1, mode=0o644, number=records[1].number, applied=False
    )


def test_a_version_kept_aside_never_becomes_the_head(journal: Journal) -> None:
    record = put(journal, "a", b"1")
    journal.mirrors.register("m")
    (aside,) = journal.commit([draft(journal, "a", b"odd", aside=True, external=True, before=None)], ALICE)
    assert (aside.state, aside.actor) == (RecordState.ABORTED, EXTERNAL)
    assert journal.view("a").head == Head(
        key="a", path="a", version=v(b"1"), size=1, mode=0o644, number=record.number, applied=True
    )
    assert journal.contents.get(v(b"odd")) == b"odd"
    assert journal.backlog.count("m") == 0
    assert aside in journal.records(key="a")


def test_compensation_aborts_the_record_and_sets_the_head_back(journal: Journal) -> None:
    put(journal, "a", b"1")
    pending = put(journal, "a", b"2", noted=False)
    back = draft(journal, "a", b"1", content=None, before=v(b"2"), applied=True, compensates=pending.number)
    journal.mirrors.register("m")
    (record,) = journal.commit([back], ALICE)
    assert record.state is RecordState.ABORTED
    assert journal.view("a").head == Head(
        key="a", path="a", version=v(b"1"), size=1, mode=0o644, number=record.number, applied=True
    )
    assert journal.marks.unfinished("pending") == []
    assert [(each.after, each.state) for each in journal.records()] == [
        (v(b"1"), RecordState.APPLIED),
        (v(b"2"), RecordState.ABORTED),
        (v(b"1"), RecordState.ABORTED),
    ]
    assert journal.backlog.since(pending.number)[0] == [BacklogEntry(key="a", path="a", number=record.number)]


def test_compensation_leaves_foreign_changes_new_folders_and_other_steps_alone(journal: Journal) -> None:
    records = journal.commit(
        [draft(journal, "a", b"0", operation=Operation.FOUND, applied=True, external=True),
        folder(Operation.CREATE_DIRECTORY, "n", applied=True), draft(journal, "b", b"other"),
        draft(journal, "a", b"1")], ALICE,
    )  # fmt: skip
    put(journal, "c", b"later")
    back = draft(journal, "a", b"0", content=None, applied=True, compensates=records[3].number)
    journal.commit([back], ALICE)
    states = [record.state for record in sorted(journal.records(newest_first=True), key=lambda one: one.number)]
    applied, pending, aborted = RecordState.APPLIED, RecordState.PENDING, RecordState.ABORTED
    assert states == [applied, applied, pending, aborted, applied, aborted]


def test_compensation_of_a_move_aborts_the_deletion_of_what_it_replaced(journal: Journal) -> None:
    put(journal, "a", b"1")
    put(journal, "b", b"2")
    before = journal.positions().newest
    replaced = draft(journal, "b", None)
    move = draft(
        journal, "b", b"1", operation=Operation.MOVE, content=None, old_path="a", old_key="a",
        before=v(b"1"),
    )  # fmt: skip
    records = journal.commit([replaced, move], ALICE)
    assert (head_version(journal, "a"), head_version(journal, "b")) == (None, v(b"1"))
    number = records[1].number
    back = [
        draft(journal, "a", b"1", content=None, applied=True, compensates=number),
        draft(journal, "b", b"2", content=None, applied=True, compensates=number),
    ]
    journal.commit(back, ALICE)
    assert (head_version(journal, "a"), head_version(journal, "b")) == (v(b"1"), v(b"2"))
    assert {record.state for record in journal.records(since=before)} == {RecordState.ABORTED}


def test_a_file_move_takes_the_head_along(journal: Journal) -> None:
    put(journal, "a", b"1")
    move = draft(
        journal, "b", b"1", operation=Operation.MOVE, content=None, old_path="a", old_key="a",
    )  # fmt: skip
    journal.mirrors.register("m")
    (record,) = journal.commit([move], ALICE)
    assert (head_version(journal, "a"), head_version(journal, "b")) == (None, v(b"1"))
    lacking = journal.backlog.since(record.number - 1)[0]
    assert {entry.key: entry.number for entry in lacking} == {"a": record.number, "b": record.number}
    journal.marks.applied([record.number])
    assert all((head := journal.view(key).head) is not None and head.applied for key in ("a", "b"))


def test_a_folder_move_moves_all_heads_below_and_no_others(journal: Journal) -> None:
    for key in ("d/a", "d/e/b", "d.txt", "dd/c", "d0"):
        put(journal, key, key.encode())
    journal.mirrors.register("m")
    (moved,) = journal.commit([move_folder("d", "t/u")], ALICE)
    assert dict(heads_below(journal, "")) == {
        "t/u/a": v(b"d/a"), "t/u/e/b": v(b"d/e/b"), "d.txt": v(b"d.txt"), "dd/c": v(b"dd/c"), "d0": v(b"d0"),
    }  # fmt: skip
    assert journal.view("d/a").head is None
    assert list(heads_below(journal, "t/u/e")) == [("t/u/e/b", v(b"d/e/b"))]
    lacking = journal.backlog.since(moved.number - 1)[0]
    assert {entry.key: entry.number for entry in lacking} == {"d": moved.number, "t/u": moved.number}


def test_a_folder_deletion_forgets_the_heads_below(journal: Journal) -> None:
    for key in ("d/a", "d/e/b", "dd/c"):
        put(journal, key, b"1")
    journal.commit([delete_folder("d")], ALICE)
    assert [path for path, _ in heads_below(journal, "")] == ["dd/c"]
    assert journal.contents.has(v(b"1"))


def test_a_folder_move_set_back_brings_the_heads_back(journal: Journal) -> None:
    put(journal, "d/a", b"1")
    (moved,) = journal.commit([move_folder("d", "t")], ALICE)
    back = folder(Operation.MOVE_DIRECTORY, "d", "t", applied=True, compensates=moved.number)
    journal.commit([back], ALICE)
    assert list(heads_below(journal, "")) == [("d/a", v(b"1"))]
