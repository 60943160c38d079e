"""Many plain changes of one commit are recorded with a statement for each table: in the end every table is as if one by one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from filetools.journal.changes import Change
from filetools.journal.sqlite import SqliteJournal
from filetools.models.records import Operation
from tests.support.journals import ALICE, draft, folder, put
from tests.support.journals import version as v

LARGE = b"x" * 200_000


def changes(journal: SqliteJournal) -> list[Change]:
    """What may come together: our own and foreign, plain and not, on top of what is synced and of what is not."""
    foreign: dict[str, Any] = {"applied": True, "external": True}
    first = draft(journal, "chain", b"1", **foreign)
    return [
        draft(journal, "new", b"new", **foreign),
        draft(journal, "synced", b"changed", **foreign),
        draft(journal, "unsynced", b"changed", **foreign),
        draft(journal, "gone", None, **foreign),
        draft(journal, "large", LARGE, **foreign),
        draft(journal, "bytes not kept", b"?", content=None, **foreign),
        draft(journal, "found", b"found", operation=Operation.FOUND, **foreign),
        folder(Operation.CREATE_DIRECTORY, "d", **foreign),
        draft(journal, "d/a", b"in the folder", **foreign),
        draft(journal, "d/b", b"while nobody watched", between=(1.0, 2.0), **foreign),
        first,
        replace(first, before=v(b"1"), after=v(b"2"), content=b"2", view=None),
        draft(journal, "ours", b"ours"),
        draft(journal, "ours too", b"same"),
        draft(journal, "ours three", b"same"),
    ]


def tables(state: Path, drafts: Sequence[int] | None = None) -> dict[str, list[tuple[Any, ...]]]:
    connection = sqlite3.connect(state / "journal.db")
    queries = {
        "records": "SELECT number, operation, path, key, old_path, before, before_unknown, after, size, mode, actor_kind,"
        " actor_id, batch, state, synced FROM records",
        "heads": "SELECT * FROM heads",
        "contents": "SELECT hash, size, used, typeof(bytes) FROM contents ORDER BY hash",
        "debts": "SELECT * FROM debts",
        "spans": "SELECT * FROM spans",
        "tree_index": "SELECT * FROM tree_index",
        "sequence": "SELECT seq FROM sqlite_sequence WHERE name = 'records'",
    }
    found = {name: connection.execute(query).fetchall() for name, query in queries.items()}
    connection.close()
    return found


def recorded(state: Path) -> tuple[dict[str, list[tuple[Any, ...]]], list[Any]]:
    state.mkdir()
    journal = SqliteJournal(state, durability="relaxed")
    journal.mirrors.register("m")
    journal.mirrors.register("n")
    for path in ("synced", "unsynced", "gone"):
        put(journal, path, b"before")
    journal.marks.synced([1])
    journal.contents.keep(b"kept", v(b"kept"))
    records = journal.commit(changes(journal), ALICE)
    fed = [replace(record, time=0.0) for record in journal.records(newest_first=True)]
    journal.close()
    assert [replace(record, time=0.0) for record in records] == fed[: len(records)][::-1]
    return tables(state), fed


def test_all_tables_are_as_if_recorded_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = recorded(tmp_path / "together")
    monkeypatch.setattr("filetools.journal.commit._is_plain", lambda change, work: False)
    assert recorded(tmp_path / "one by one") == together


def test_two_changes_of_one_path_are_recorded_one_after_the_other(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path, durability="relaxed")
    first = draft(journal, "a", b"1", applied=True, external=True)
    second = draft(journal, "a", b"2", applied=True, external=True)
    journal.commit([first, second], ALICE)
    head = journal.view("a").head
    assert head is not None
    assert (head.version, head.number) == (v(b"2"), 2)
    journal.close()
