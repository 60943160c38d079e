"""Which rows of a damaged journal are there to be read, and which of them can be believed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from filetools.errors import StateDamagedError
from filetools.journal.carving import Pages, Value
from filetools.journal.changes import DIRECTORY_REMOVALS
from filetools.journal.contents import inflated
from filetools.journal.rows import RECORD_COLUMNS, Fixed, lenient_text, record_from

Row = tuple[Any, ...]
COLUMNS: Final = {
    "records": f"{RECORD_COLUMNS}, synced",
    "contents": "hash, size, used, bytes, segment, start",
    "heads": "key, path, version, size, mode, number, applied",
    "debts": "mirror, key, path, number, tries",
    "mirrors": "place, identity, root",  # without the position: each is compared as a whole
    "seen_versions": "owner, key, version, base, whole, time, encoding",
    "quarantine": "number, found, reason, row",
    "relations": "number, kind, target",
    "checkpoints": "name, number, time, snapshot, files, bytes, rows, automatic",
    "snapshot_rows": "key, path, kind, size, mode, version, first, last",
    "documents": "id, key, path, base, encoding, bom, version, dirty, parents",
    "document_texts": "id, version, text",
    "document_edits": "id, version, edits, removed, reason, actor_kind, actor_id, session, time, change_id",
    "descriptors": "key, value, version, size, used, revision",
    "registry": "key, value, version, size, used, revision",
    "runs": "key, value, version, size, used, revision",
}
"""What is taken over from each table; the rest, the epoch above all, begins anew."""
MOST_PROBES: Final = 1_000_000
HOPELESS_PROBES: Final = 10_000
"""Rows in a row that cannot be read, after which the rest of a table is given up."""
_NUMBERED: Final = ("records", "contents", "quarantine")
_KEYS: Final = {
    "heads": ("key",),
    "debts": ("mirror", "key"),
    "mirrors": ("place",),
    "seen_versions": ("owner", "key", "version"),
    "relations": ("number", "kind", "target"),
    "checkpoints": ("name",),
    "snapshot_rows": ("key", "first"),
    "documents": ("id",),
    "document_texts": ("id",),
    "document_edits": ("id", "version"),
    "descriptors": ("key",),
    "registry": ("key",),
    "runs": ("key",),
}
_RECORD_VALUES: Final = len(Fixed._fields) + 4
_CONTENT_VALUES: Final = 6
_TIME: Final = Fixed._fields.index("time")

_FILE_RECORDS: Final = (
    "operation NOT LIKE '%_directory' AND operation != 'link' AND state != 'buffer'"
    # What set a record back carries the head, although it counts as aborted, too.
    " AND (state != 'aborted' OR (synced < 2 AND actor_kind = 'system'))"
)
_NEWEST_OF_EACH_KEY: Final = (
    "SELECT key, path, after, size, mode, max(number), 1 FROM ("
    f"SELECT key, path, after, size, mode, number FROM records WHERE {_FILE_RECORDS}"
    " UNION ALL SELECT old_key, old_path, NULL, NULL, NULL, number FROM records"
    f" WHERE {_FILE_RECORDS} AND old_key IS NOT NULL AND old_key != key) GROUP BY key"
)


class ReadableRows(Iterator[Row]):
    """The rows of a table that SQLite can read, those around damaged pages included; some may come twice."""

    def __init__(self, source: sqlite3.Connection, table: str) -> None:
        self.is_whole = True
        """Whether nothing was in the way; known at the end."""
        source.text_factory = lenient_text
        self._source = source
        self._table = table
        self._rows = self._by_number() if table in _NUMBERED else self._from_both_ends()

    def __next__(self) -> Row:
        return next(self._rows)

    def _from_both_ends(self) -> Iterator[Row]:
        for order in ("ASC", "DESC"):
            ordered = ", ".join(f"{column} {order}" for column in _KEYS[self._table])
            try:
                yield from self._source.execute(f"SELECT {COLUMNS[self._table]} FROM {self._table} ORDER BY {ordered}")
            except sqlite3.DatabaseError:
                self.is_whole = False
            else:
                return

    def _by_number(self) -> Iterator[Row]:
        """Read from both ends to the damage, then each number between on its own."""
        select = f"SELECT rowid, {COLUMNS[self._table]} FROM {self._table} NOT INDEXED"
        low, high = 0, None
        for order in ("ASC", "DESC"):
            try:
                for number, *row in self._source.execute(f"{select} ORDER BY rowid {order}"):
                    low, high = (number, high) if order == "ASC" else (low, number)
                    yield tuple(row)
            except sqlite3.DatabaseError:
                self.is_whole = False
            else:
                return
        failures = 0
        for number in range(low + 1, high if high is not None else low + MOST_PROBES):
            found = None
            with suppress(sqlite3.DatabaseError):
                found = self._source.execute(f"{select} WHERE rowid = ?", (number,)).fetchone()
            failures = 0 if found else failures + 1
            if found:
                yield tuple(found[1:])
            if failures > HOPELESS_PROBES:
                return


def is_intact(table: str, row: Row) -> bool:
    """Whether a row can be believed, as far as it can prove itself."""
    if table == "records":
        return _is_record(row[:-1])
    if table == "contents":
        return _is_content(row)
    return all(_is_text(value) for value in row if isinstance(value, str))


def carved_records(pages: Pages) -> Iterator[Row]:
    """Yield the records found in raw pages, as `COLUMNS` has them."""
    for number, (_, *values, checksum, state, synced) in pages.rows(_RECORD_VALUES):
        fixed: list[Value] = list(values)
        if isinstance(when := fixed[_TIME], int):
            fixed[_TIME] = float(when)  # stored as an integer where it has no fraction
        row = (number, state, checksum, *fixed)
        if _is_record(row):
            yield (*row, synced)


def carved_contents(pages: Pages) -> Iterator[tuple[Value, ...]]:
    """Yield the contents found in raw pages whose bytes have their hash; those beside the database prove themselves."""
    found = (row for _, row in pages.rows(_CONTENT_VALUES))
    return (row[:4] for row in found if _is_content(row) and row[3] is not None)


def heads_from_records(target: sqlite3.Connection) -> list[Row]:
    """Return the heads that the records of a journal lead to, as `COLUMNS` has them."""
    is_removed = _removals(target)
    rows = target.execute(_NEWEST_OF_EACH_KEY).fetchall()
    return [row for row in rows if not is_removed(row[0], row[5])]


def heads_below_removed(target: sqlite3.Connection) -> list[tuple[str]]:
    """Return the keys of heads that lie below a folder that was deleted or moved after they were made."""
    is_removed = _removals(target)
    rows = target.execute("SELECT key, number FROM heads").fetchall()
    return [(key,) for key, number in rows if is_removed(key, number)]


def _removals(target: sqlite3.Connection) -> Callable[[str, int], bool]:
    query = "SELECT coalesce(old_key, key), max(number) FROM records WHERE operation IN (?, ?) AND state != 'aborted'"
    operations = tuple(operation.value for operation in DIRECTORY_REMOVALS)
    removed = dict(target.execute(f"{query} GROUP BY 1", operations).fetchall())

    def is_removed(key: str, number: int) -> bool:
        parts = key.split("/")
        return any(removed.get("/".join(parts[:depth]), 0) > number for depth in range(1, len(parts)))

    return is_removed


def _is_record(row: Row) -> bool:
    try:
        record_from(row)
    except (StateDamagedError, ValueError, TypeError, UnicodeError):
        return False
    return True


def _is_content(row: Row) -> bool:
    digest, size, used, content = row[:4]
    if not isinstance(digest, bytes) or len(digest) != 32 or not isinstance(size, int) or not isinstance(used, int):
        return False
    return content is None or (
        isinstance(content, bytes) and hashlib.sha256(inflated(content, size)).digest() == digest
    )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
