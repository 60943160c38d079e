"""The cost of a call does not grow with the journal: every hot statement uses an index and reads few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from filetools.journal.journal import Journal
from filetools.journal.records import Change, RecordFilter
from filetools.models.records import Operation
from tests.support.inside import heads_below
from tests.support.journals import ALICE, delete_folder, draft, move_folder, put, watched
from tests.support.journals import version as v

STEPS_OF_SLACK = 1.3
"""A B-tree sometimes grows by a level; ten times the records must not cost more than this."""


def act(journal: Journal, name: str) -> object:
    """Run one of the frequent operations."""
    key = "d0/f0"
    acts: dict[str, Callable[[], object]] = {
        "view": lambda: journal.view(key),
        "commit": lambda: journal.commit([draft(journal, key, b"new")], ALICE),
        "commit several": lambda: journal.commit([draft(journal, f"n{index}", b"n") for index in range(3)], ALICE),
        "marks": lambda: note(journal, journal.positions().newest), "pending": lambda: journal.marks.unfinished("pending"),
        "unsynced": lambda: journal.marks.unfinished("unsynced", 10), "unsettled": lambda: journal.marks.unsettled(key),
        "synced": lambda: journal.marks.synced([journal.positions().newest]),
        "compensate": lambda: compensate(journal, key),
        "page": lambda: journal.records(journal.positions().newest - 20, limit=10),
        "newest": lambda: journal.records(newest_first=True, limit=10),
        "newest of one": lambda: journal.records(key=key, newest_first=True, limit=1),
        "page of one": lambda: journal.records(key=key, limit=5),
        "last of one": lambda: journal.history.select(RecordFilter(id="alice", standing=True, undos=False), limit=1),
        "of one call": lambda: journal.history.select(RecordFilter(id="alice", call="grown", standing=True), limit=5),
        "foreign": lambda: journal.records(journal.positions().newest - 20, limit=10, foreign_only=True),
        "positions": lambda: (journal.positions().newest, journal.positions().visible, journal.positions().forgotten),
        "heads below": lambda: list(heads_below(journal, "d0")),
        "folder move": lambda: journal.commit([move_folder("d1", "t", applied=True)], ALICE),
        "folder deletion": lambda: journal.commit([delete_folder("d2", applied=True)], ALICE),
        "contents": lambda: (journal.contents.get(v(b"same")), journal.contents.has(v(b"nothing"))),
        "backlog": lambda: remove(journal, key),
    }  # fmt: skip
    return acts[name]()


HOT = [
    "view", "commit", "commit several", "marks", "pending", "unsynced", "unsettled", "synced",
    "compensate",
    "page", "newest", "newest of one", "page of one", "foreign", "positions", "heads below", "folder move",
    "folder deletion", "contents", "backlog",
]  # fmt: skip


def note(journal: Journal, number: int) -> None:
    journal.marks.applied([number])


def remove(journal: Journal, key: str) -> None:
    backlog = journal.backlog
    found = backlog.since(journal.mirrors.register("m").position)[0]
    assert backlog.count("m") > len(backlog.below("m", key.partition("/")[0])) > 0
    backlog.advance("m", found[0].number, found[:1])


def compensate(journal: Journal, key: str) -> None:
    changes = [draft(journal, key, b"one"), draft(journal, "other", b"two")]
    records = journal.commit(changes, ALICE)
    for record in records:
        back = draft(journal, record.path, b"same", content=None, applied=True, compensates=record.number)
        journal.commit([back], ALICE)


def grown(state: Path, records: int) -> Journal:
    """Return a journal with this many settled records: many versions of some paths, and folders made and removed."""
    journal = Journal(state, durability="relaxed")
    for start in range(0, records, 500):
        changes = [_settled(start + index) for index in range(500)]
        journal.commit([*changes, delete_folder("gone", applied=True)], ALICE)
    journal.marks.synced(range(1, journal.positions().newest + 1))
    journal._database.checkpoint(at_least_bytes=0)
    journal.retention.collect(retention_bytes=10**9, retention_records=10**9)
    for index in range(3):
        put(journal, f"d{index}/f0", b"same", mirrors=["m"])
    return journal


def _settled(index: int) -> Change:
    # Ten folders of a hundred files, then a hundred thousand names that occur once.
    key = f"d{index % 10}/f{index % 100}" if index % 2 else f"once/{index}"
    content = b"%d" % index
    return Change(
        operation=Operation.MODIFY, path=key, key=key, after=v(content), content=content, size=5, applied=True, external=True
    )  # fmt: skip


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Journal, Journal]]:
    opened = (grown(tmp_path_factory.mktemp("small"), 500), grown(tmp_path_factory.mktemp("large"), 5_000))
    yield opened
    for journal in opened:
        journal.close()


@pytest.mark.parametrize("name", HOT)
def test_ten_times_the_records_cost_no_more_steps(journals: tuple[Journal, Journal], name: str) -> None:
    costs = []
    for journal in journals:
        with watched(journal) as (_, steps):
            act(journal, name)
        costs.append(steps[0])
    small, large = costs
    assert large <= small * STEPS_OF_SLACK + 20, costs
