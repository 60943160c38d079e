"""History queries: exclusions, authors, undo relations; and checkpoints."""

from __future__ import annotations

from filetools.journal.journal import Journal
from filetools.journal.records import Change, RecordFilter, Relation
from filetools.models.records import Actor, Operation
from tests.support.journals import ALICE, OpenJournal, draft, put, save

BOB = Actor(kind="agent", id="bob", session="t", call="d")


def undoing(*numbers: int) -> tuple[Relation, ...]:
    return tuple(Relation(kind="undoes", number=number) for number in numbers)


def numbers(journal: Journal, wanted: RecordFilter, **options: int) -> list[int]:
    return [record.number for record in journal.history.select(wanted, **options)]


def test_aborted_found_and_pending_records_are_not_in_the_history(journal: Journal) -> None:
    found = put(journal, "a", b"0", operation=Operation.FOUND, applied=True)
    failed = put(journal, "a", b"1", noted=False)
    back = put(journal, "a", b"0", compensates=failed.number, applied=True, relations=undoing(found.number))
    pending = put(journal, "b", b"2", noted=False)
    assert numbers(journal, RecordFilter()) == []
    assert journal.history.related([found.number], is_later=True) == {}
    journal.marks.applied([pending.number])
    assert numbers(journal, RecordFilter()) == [pending.number]
    assert journal.history.related([back.number], "undoes") == {back.number: [found.number]}


def test_records_are_selected_by_every_field_newest_first_and_by_pages(journal: Journal) -> None:
    first = put(journal, "a/x", b"1")
    second = put(journal, "b", b"2")
    (third,) = journal.commit([draft(journal, "ab", b"3", applied=True)], BOB)
    move = Change(
        operation=Operation.MOVE, path="c", key="c", old_path="b", old_key="b", before=second.after, after=second.after,
        size=1, applied=True,
    )  # fmt: skip
    (fourth,) = journal.commit([move], BOB)
    everything = [fourth.number, third.number, second.number, first.number]
    assert numbers(journal, RecordFilter()) == everything
    assert numbers(journal, RecordFilter(), limit=3) == everything[:3]
    assert numbers(journal, RecordFilter(until=everything[2] - 1)) == everything[3:]
    assert numbers(journal, RecordFilter(kind="agent", id="bob")) == everything[:2]
    assert numbers(journal, RecordFilter(session="s", call="c")) == everything[2:]
    assert numbers(journal, RecordFilter(since=second.number, until=third.number)) == everything[1:3]
    assert numbers(journal, RecordFilter(since_time=third.time, until_time=third.time)) == [third.number]
    assert numbers(journal, RecordFilter(key="a")) == [first.number]
    assert numbers(journal, RecordFilter(key="b")) == [fourth.number, second.number]
    assert numbers(journal, RecordFilter(moves_only=True)) == [fourth.number]
    assert numbers(journal, RecordFilter(numbers=(first.number, 999))) == [first.number]
    assert numbers(journal, RecordFilter(kind="editor")) == []
    assert [record.number for record in journal.history.of_file("c", [])] == [fourth.number]


def test_records_of_one_commit_are_distinguished_from_those_of_the_next(journal: Journal) -> None:
    put(journal, "a", b"1")
    groups = [
        journal.commit([draft(journal, key, key.encode(), applied=True) for key in keys], ALICE)
        for keys in (("b", "c"), ("d", "e"))
    ]
    put(journal, "f", b"6")
    for group in groups:
        assert numbers(journal, RecordFilter(transaction=group[1].transaction)) == [each.number for each in group[::-1]]


def test_relations_are_found_from_both_ends_for_any_number_of_records(journal: Journal) -> None:
    first = put(journal, "a", b"1")
    undo = put(journal, "a", b"0", relations=undoing(first.number, 7))
    save = put(journal, "a", b"2", relations=(Relation(kind="parent", number=first.number),))
    many = range(1, 3000)
    assert journal.history.related(many, is_later=True) == {first.number: [undo.number], 7: [undo.number]}
    assert journal.history.related(many, "undoes") == {undo.number: [first.number, 7]}
    assert journal.history.related(many, "parent") == {save.number: [first.number]}
    assert journal.history.related(many, "parent", is_later=True) == {first.number: [save.number]}


def test_a_checkpoint_has_the_number_of_its_moment_and_outlives_the_process(open_journal: OpenJournal) -> None:
    journal = open_journal()
    assert not journal.checkpoints.remove("x")
    assert (journal.checkpoints.get("x"), journal.checkpoints.all()) == (None, [])
    empty = save(journal, "empty", {}, journal.positions().newest)
    record = put(journal, "a", b"1")
    made = save(journal, "x", {}, journal.positions().newest)
    assert (empty is not None and empty.number, made is not None and made.number) == (0, record.number)
    put(journal, "a", b"2")
    assert save(journal, "x", {}, journal.positions().newest) is None
    other = open_journal()
    assert other.checkpoints.get("x") == made
    moved = save(other, "x", {}, other.positions().newest, replace=True)
    assert moved is not None
    assert [each.name for each in journal.checkpoints.all()] == ["empty", "x"]
    assert journal.checkpoints.get("x") == moved
    assert (journal.checkpoints.remove("x"), journal.checkpoints.get("x")) == (True, None)
