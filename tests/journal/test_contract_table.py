"""The contract of every table: rows by key, compare-and-swap, and bytes released by last use."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from filetools.content.version import version_of
from filetools.journal.journal import Journal
from filetools.journal.table import Table, TableRow


class Kept:
    """A table, and texts to keep with its rows."""

    def __init__(self, table: Table, journal: Journal) -> None:
        self.table = table
        self._journal = journal

    def row(self, key: str, used: float, text: str = "") -> TableRow:
        """Put a row that keeps a text, and return the stored row."""
        version = None
        if text:
            version = version_of(text.encode())
            self._journal.contents.keep_all([(version, text.encode())])
        assert self.table.put([TableRow(key=key, value={}, version=version, size=len(text), used=used)])
        found = self.table.get(key)
        assert found is not None
        return found


@pytest.fixture
def kept(state: Path) -> Iterator[Kept]:
    journal = Journal(state, durability="relaxed", timeout_seconds=60)
    yield Kept(journal.descriptors, journal)
    journal.close()


@pytest.fixture
def table(kept: Kept) -> Table:
    return kept.table


def new(key: str, **fields: object) -> TableRow:
    return TableRow(**({"key": key, "value": {"n": 1}, "used": 1.0} | fields))  # type: ignore[arg-type]


def test_a_row_that_was_put_since_is_not_put_again(table: Table) -> None:
    assert table.put([new("a")])
    assert not table.put([new("a", value={"n": 2})])
    assert table.get("a") == new("a", revision=1)
    stale = new("a", revision=1)
    assert table.put([stale])
    assert not table.put([stale])


def test_all_rows_are_put_or_none(table: Table) -> None:
    assert table.put([new("a")])
    assert not table.put([new("b"), new("a")])
    assert table.get("b") is None


def test_a_row_that_was_put_since_is_not_removed(table: Table) -> None:
    gone = new("a", revision=1, is_gone=True)
    assert not table.put([gone])
    assert table.put([new("a")])
    assert table.put([new("a", value={"n": 2}, revision=1)])
    assert not table.put([new("b"), gone])
    assert [row.key for row in table.scan()] == ["a"]


def test_values_come_back_as_they_were_put(table: Table) -> None:
    value = {"text": "\ud800 \n\0", "number": 1.5, "list": [None, True], "nested": {"a": ""}}
    assert table.put([new('key " \\ ü', value=value)])
    found = table.get('key " \\ ü')
    assert found is not None
    assert found.value == value


def test_rows_are_scanned_in_order_of_their_keys(table: Table) -> None:
    assert table.put([new(key) for key in ("b/2", "a", "b/1", "b", "c", "b/\U0010fffe")])
    assert [row.key for row in table.scan()] == ["a", "b", "b/1", "b/2", "b/\U0010fffe", "c"]
    assert [row.key for row in table.scan("b/")] == ["b/1", "b/2", "b/\U0010fffe"]
    assert table.scan("d") == []


def test_one_of_many_concurrent_puts_succeeds(table: Table) -> None:
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda number: table.put([new("a", value={"n": number})]), range(8)))
    assert done.count(True) == 1


def test_rows_used_least_recently_let_go_of_their_bytes_first(kept: Kept) -> None:
    rows = {
        key: kept.row(key, used, text)
        for key, used, text in [("a", 2.0, "aaaa"), ("b", 1.0, "bbbb"), ("c", 3.0, "cccc")]
    }
    kept.table.release(8, unused_since=0.0)
    assert {key: kept.table.get(key) for key in rows} == rows | {"b": replace(rows["b"], version=None, revision=2)}


def test_bytes_that_several_rows_keep_count_once_and_go_from_all(kept: Kept) -> None:
    row = kept.row("a", 1.0, "text")
    assert kept.table.put([replace(row, key="b", revision=0, used=5.0)])
    kept.row("c", 3.0, "more")
    kept.table.release(8, unused_since=0.0)
    assert [row.version is None for row in kept.table.scan()] == [False, False, False]
    kept.table.release(4, unused_since=0.0)  # both count as used when the later one was
    assert [row.version is None for row in kept.table.scan()] == [False, False, True]
    kept.table.release(3, unused_since=0.0)
    assert [row.version is None for row in kept.table.scan()] == [True, True, True]


def test_rows_without_their_bytes_are_forgotten_after_a_while_and_no_others(kept: Kept) -> None:
    kept.row("counter", 0.0)
    kept.row("lost", 1.0, "text")
    kept.table.release(0, unused_since=1.0)
    assert [row.key for row in kept.table.scan()] == ["counter", "lost"]
    kept.row("held", 1.0, "other")
    kept.table.release(100, unused_since=2.0)
    assert [row.key for row in kept.table.scan()] == ["counter", "held"]
