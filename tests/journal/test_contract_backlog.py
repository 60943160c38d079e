"""The contract of every journal: what mirrors lack."""

from __future__ import annotations

import os

from filetools.journal.changes import BacklogEntry
from filetools.journal.journal import Journal
from filetools.models.records import Operation
from tests.support.journals import ALICE, draft, folder, move_folder, put


def lacked(key: str, path: str) -> BacklogEntry:
    return BacklogEntry(key=key, path=path, number=0)


def position(journal: Journal) -> int:
    return journal.mirrors.register("m").position


def test_a_mirror_lacks_what_is_recorded_after_its_position(journal: Journal) -> None:
    first = put(journal, "a", b"1", path="A", mirrors=["m", "n"])
    put(journal, "b", b"1", mirrors=["m"])
    (moved,) = journal.commit([move_folder("d", "e", applied=True)], ALICE)
    found = journal.backlog.since(position(journal))
    assert [(each.key, each.path) for each in found] == [("a", "A"), ("b", "b"), ("e", "e"), ("d", "d")]
    assert journal.backlog.since(0, limit=1) == [BacklogEntry(key="a", path="A", number=first.number)]
    assert (journal.backlog.count("m"), journal.backlog.count("other")) == (4, 0)
    journal.backlog.advance("m", moved.number, [])
    assert (position(journal), journal.backlog.count("m"), journal.backlog.count("n")) == (moved.number, 0, 4)


def test_what_mirrors_need_not_follow_counts_for_nothing(journal: Journal) -> None:
    before = journal.position()
    journal.mirrors.register("m")
    found = draft(journal, "a", b"0", operation=Operation.FOUND, applied=True, external=True)
    journal.commit([found, draft(journal, "a", b"odd", aside=True, external=True, before=None)], ALICE)
    assert (journal.backlog.since(before), journal.backlog.count("m")) == ([], 0)


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


def test_what_lies_below_a_folder_counts_as_new_or_refused_names(journal: Journal) -> None:
    journal.backlog.add("m", [lacked("d/r", "d/r"), lacked("d0", "d0")])
    journal.backlog.add("n", [lacked("d/n", "d/n")])
    put(journal, "d/x", b"1", mirrors=["m"])
    move = draft(journal, "b", b"1", operation=Operation.MOVE, content=None, old_path="d/y", old_key="d/y")
    journal.commit([move, folder(Operation.CREATE_DIRECTORY, "d/z", applied=True)], ALICE)
    assert sorted(journal.backlog.below("m", "d")) == ["d/r", "d/x", "d/y", "d/z"]


def test_a_path_that_is_there_stays_behind_if_it_was_refused_or_differs_since(journal: Journal) -> None:
    backlog = journal.backlog
    refused = BacklogEntry(key="a", path="A", number=3)
    backlog.refuse("m", refused, "INVALID_PATH: no")
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=2), BacklogEntry(key="a", path="A", number=0)])
    assert backlog.behind("m") == [BacklogEntry(key="a", path="A", number=3, tries=1, reason="INVALID_PATH: no")]
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=4)])
    assert backlog.get("m", "a") is None
    backlog.add("m", [lacked("a", "A")])
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=4)], [refused])
    assert backlog.get("m", "a") == BacklogEntry(key="a", path="A", number=0)
    backlog.advance("m", 0, [BacklogEntry(key="a", path="A", number=0)], [refused])
    assert backlog.get("m", "a") == refused


def test_refusals_are_counted_until_they_are_reset(journal: Journal) -> None:
    backlog, bad = journal.backlog, os.fsdecode(b"b-\xff")
    backlog.add("m", [lacked("a", "a"), lacked(bad, bad)])
    (first, second) = backlog.behind("m")
    assert (first.key, second.path, second.tries) == ("a", bad, 0)
    assert backlog.behind("m", "a", limit=5) == [second]
    backlog.refuse("m", second, "INVALID_PATH: not here")
    backlog.add("m", [lacked(bad, bad)])
    assert [(each.tries, each.reason) for each in backlog.behind("m")] == [(0, None), (1, "INVALID_PATH: not here")]
    backlog.reset("m")
    assert backlog.behind("m") == [first, second]
    journal.mirrors.remove("m")
    assert backlog.behind("m") == []
