"""The contract of every journal: the backlog of mirrors."""

from __future__ import annotations

import os

import pytest
from msgspec import structs

from filetools.journal.backlog import BacklogEntry
from filetools.journal.journal import Journal
from filetools.journal.storage.contents import LARGEST_ROW_BYTES
from filetools.models.records import Operation
from tests.support.journals import ALICE, draft, folder, move_folder, put, watched
from tests.support.journals import version as v


def lacked(key: str, path: str) -> BacklogEntry:
    return BacklogEntry(key=key, path=path, number=0)


def position(journal: Journal) -> int:
    return journal.mirrors.register("m").position


def test_a_mirror_lacks_what_is_recorded_after_its_position(journal: Journal) -> None:
    first = put(journal, "a", b"1", path="A", mirrors=["m", "n"])
    put(journal, "b", b"1", mirrors=["m"])
    (moved,) = journal.commit([move_folder("d", "e", applied=True)], ALICE)
    found = journal.backlog.since(position(journal))[0]
    assert [(each.key, each.path) for each in found] == [("a", "A"), ("b", "b"), ("e", "e"), ("d", "d")]
    assert journal.backlog.since(0, limit=1)[0] == [BacklogEntry(key="a", path="A", number=first.number)]
    assert (journal.backlog.count("m"), journal.backlog.count("other")) == (4, 0)
    journal.backlog.advance("m", moved.number, [])
    assert (position(journal), journal.backlog.count("m"), journal.backlog.count("n")) == (moved.number, 0, 4)


def files_of(journal: Journal, number: int) -> list[tuple[int, bytes]]:
    return [(number, file.content) for number, file in journal.backlog.since(number)[1].items()]


def test_new_entries_include_small_files_as_they_are_now(journal: Journal) -> None:
    first = put(journal, "a", b"older")
    second = put(journal, "a", b"newer")
    assert files_of(journal, first.number - 1) == [(first.number, b"newer"), (second.number, b"newer")]
    (file, _) = journal.backlog.since(first.number - 1)[1].values()
    assert (file.version, file.mode) == (v(b"newer"), 0o644)


def test_no_file_is_included_from_the_first_unapplied_one_on(journal: Journal) -> None:
    first = put(journal, "a", b"1")
    waiting = put(journal, "b", b"2", noted=False)
    last = put(journal, "c", b"3")
    assert files_of(journal, first.number - 1) == [(first.number, b"1")]
    journal.marks.applied([waiting.number])
    assert [number for number, _ in files_of(journal, first.number - 1)] == [first.number, waiting.number, last.number]


@pytest.mark.parametrize("is_moving", [False, True])
def test_no_file_is_included_after_a_folder_move_or_while_one_is_pending(journal: Journal, is_moving: bool) -> None:
    first = put(journal, "a", b"1")
    journal.commit([move_folder("d", "e", applied=not is_moving)], ALICE)
    put(journal, "b", b"2")
    assert files_of(journal, first.number - 1) == ([] if is_moving else [(first.number, b"1")])


@pytest.mark.parametrize("content", [b"", None, bytes(LARGEST_ROW_BYTES + 1)])
def test_empty_files_are_included_but_no_removed_or_large_ones(journal: Journal, content: bytes | None) -> None:
    put(journal, "a", b"1")
    number = put(journal, "a", content).number
    assert files_of(journal, number - 1) == ([(number, b"")] if content == b"" else [])


def test_of_many_files_only_the_first_come_at_once(journal: Journal) -> None:
    numbers = [put(journal, f"f{index}", b"%d" % index).number for index in range(40)]
    entries, files = journal.backlog.since(numbers[0] - 1)
    assert (len(entries), len(files)) == (40, 32)


def test_records_that_mirrors_need_not_follow_do_not_count(journal: Journal) -> None:
    before = journal.positions().newest
    journal.mirrors.register("m")
    found = draft(journal, "a", b"0", operation=Operation.FOUND, applied=True, external=True)
    journal.commit([found, draft(journal, "a", b"odd", aside=True, external=True, before=None)], ALICE)
    assert (journal.backlog.since(before)[0], journal.backlog.count("m")) == ([], 0)


def test_a_position_stays_while_the_move_of_a_folder_waits(journal: Journal) -> None:
    inside = put(journal, "d/x", b"1", mirrors=["m"])
    (moved,) = journal.commit([move_folder("d", "e", applied=True)], ALICE)
    journal.backlog.advance("m", inside.number, [])
    assert position(journal) < inside.number
    assert journal.backlog.below("m", "d") == ["d/x"]
    journal.backlog.advance("m", moved.number, [])
    assert (position(journal), journal.backlog.below("m", "d")) == (moved.number, [])
    journal.backlog.advance("m", inside.number, [])
    assert position(journal) == moved.number


def test_many_paths_are_added_in_slices_between_which_others_commit(journal: Journal) -> None:
    with watched(journal) as (statements, _):
        journal.backlog.add("m", [lacked(f"{number}", f"{number}") for number in range(5000)])
    assert (statements.count("BEGIN IMMEDIATE"), journal.backlog.count("m")) == (3, 5000)


def test_what_lies_below_a_folder_counts_as_new_or_refused_names(journal: Journal) -> None:
    journal.backlog.add("m", [lacked("d/r", "d/r"), lacked("d0", "d0")])
    journal.backlog.add("n", [lacked("d/n", "d/n")])
    put(journal, "d/x", b"1", mirrors=["m"])
    move = draft(journal, "b", b"1", operation=Operation.MOVE, content=None, old_path="d/y", old_key="d/y")
    journal.commit([move, folder(Operation.CREATE_DIRECTORY, "d/z", applied=True)], ALICE)
    assert sorted(journal.backlog.below("m", "d")) == ["d/r", "d/x", "d/y", "d/z"]


def test_a_path_that_is_there_stays_behind_if_it_was_refused_or_differs_since(journal: Journal) -> None:
    backlog = journal.backlog
    lacking = BacklogEntry(key="a", path="A", number=3)
    refused = structs.replace(lacking, tries=1, reason="INVALID_PATH: no")
    backlog.add("m", [refused])
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=2), BacklogEntry(key="a", path="A", number=0)])
    assert backlog.behind("m") == [refused]
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=4)])
    assert backlog.get("m", "a") is None
    backlog.add("m", [lacked("a", "A")])
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=4)])
    backlog.add("m", [lacking])
    assert backlog.get("m", "a") == lacking
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=0)])
    assert backlog.get("m", "a") == lacking


def test_refusals_are_counted_until_they_are_reset(journal: Journal) -> None:
    backlog, bad = journal.backlog, os.fsdecode(b"b-\xff")
    backlog.add("m", [lacked("a", "a"), lacked(bad, bad)])
    (first, second) = backlog.behind("m")
    assert (first.key, second.path, second.tries) == ("a", bad, 0)
    assert backlog.behind("m", "a", limit=5) == [second]
    backlog.add("m", [structs.replace(second, tries=1, reason="INVALID_PATH: not here")])
    backlog.add("m", [lacked(bad, bad)])
    assert [(each.tries, each.reason) for each in backlog.behind("m")] == [(0, None), (1, "INVALID_PATH: not here")]
    backlog.reset("m")
    assert backlog.behind("m") == [first, second]
    journal.mirrors.remove("m")
    assert backlog.behind("m") == []
