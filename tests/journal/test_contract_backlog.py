"""The contract of every journal: what mirrors owe."""

from __future__ import annotations

from filetools.journal.changes import BacklogEntry
from filetools.journal.journal import Journal
from filetools.models.records import Operation
from tests.support.journals import ALICE, folder, move_folder, put


def owed(journal: Journal, mirror: str = "m") -> dict[str, int]:
    return {entry.key: entry.number for entry in journal.backlog.of(mirror)}


def test_a_commit_owes_its_paths_to_each_mirror(journal: Journal) -> None:
    record = put(journal, "a", b"1", path="A", mirrors=["m", "n"])
    entry = BacklogEntry(mirror="m", key="a", path="A", number=record.number, tries=0)
    assert journal.backlog.of("m") == [entry]
    assert journal.backlog.get("m", "a") == entry
    assert journal.backlog.count("n") == 1
    assert journal.backlog.get("m", "b") is None
    assert journal.backlog.of("other") == []


def test_entries_come_oldest_first_and_as_many_as_asked(journal: Journal) -> None:
    for key in ("c", "a", "b"):
        put(journal, key, b"1", mirrors=["m"])
    assert [entry.key for entry in journal.backlog.of("m")] == ["c", "a", "b"]
    assert [entry.key for entry in journal.backlog.of("m", limit=2)] == ["c", "a"]


def test_paying_an_older_number_pays_nothing(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m"])
    old = journal.backlog.of("m")
    newer = put(journal, "a", b"2", mirrors=["m"])
    journal.backlog.remove(old)
    assert owed(journal) == {"a": newer.number}
    journal.backlog.remove(journal.backlog.of("m"))
    assert owed(journal) == {}
    journal.backlog.remove([])


def test_a_folder_that_comes_where_something_is_owed_is_to_be_compared_as_a_whole(journal: Journal) -> None:
    journal.mirrors.register("m")
    (made,) = journal.commit([folder(Operation.CREATE_DIRECTORY, "a", applied=True)], ALICE)
    assert owed(journal) == {"a": made.number}
    (moved,) = journal.commit([move_folder("a", "b", applied=True)], ALICE)
    looked_at = journal.backlog.of("m")
    assert [(each.key, each.number, each.below) for each in looked_at] == [
        ("a", moved.number, True), ("b", moved.number, False),
    ]  # fmt: skip
    (again,) = journal.commit([folder(Operation.CREATE_DIRECTORY, "a", applied=True)], ALICE)
    journal.backlog.remove(looked_at)
    assert owed(journal) == {"a": again.number}
    assert journal.backlog.below("m", "a") == []
    inside = put(journal, "a/x", b"1", mirrors=["m"])
    assert [each.number for each in journal.backlog.below("m", "a")] == [inside.number]
    journal.backlog.remove(journal.backlog.of("m"))
    assert owed(journal) == {}


def test_a_debt_that_failed_too_often_steps_back_until_it_is_reset(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m"])
    put(journal, "b", b"1", mirrors=["m"])
    (entry, _) = journal.backlog.of("m")
    for _ in range(5):
        journal.backlog.fail(entry, "INVALID_PATH: not here")
    assert owed(journal) == {"b": 2}
    assert journal.backlog.count("m") == 2
    assert [(each.tries, each.reason) for each in journal.backlog.of("m", max_tries=6)] == [
        (5, "INVALID_PATH: not here"), (0, None),
    ]  # fmt: skip
    assert journal.backlog.count("m", refused_only=True) == 1
    journal.backlog.reset("m")
    assert owed(journal) == {"a": 1, "b": 2}


def test_owing_keeps_what_is_owed_already(journal: Journal) -> None:
    put(journal, "a", b"1", mirrors=["m"])
    journal.backlog.add("m", [("a", "a"), ("b", "B")])
    assert journal.backlog.of("m") == [
        BacklogEntry(mirror="m", key="b", path="B", number=0, tries=0),
        BacklogEntry(mirror="m", key="a", path="a", number=1, tries=0),
    ]
