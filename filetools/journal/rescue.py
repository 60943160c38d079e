"""Repairing a damaged journal: it is moved aside, and whatever can still be read becomes a fresh one.

The files of the workspace are not touched, now or by a later recovery: every rescued record counts as applied. What a
file holds that the rescued journal does not know is a foreign change of the next look at it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from filetools.errors import StateDamagedError
from filetools.journal.birth import DATABASE_NAME
from filetools.journal.blobs import BlobFolder, sync_directory
from filetools.journal.examination import open_for_reading
from filetools.journal.gate import Gate
from filetools.journal.rows import SELECT_RECORD, record_from
from filetools.journal.schema import migrate
from filetools.journal.translation import TRANSLATED

_PARTS: Final = ("", "-wal", "-shm")
_NOT_COPIED: Final = ("meta", "sqlite_sequence")
"""The numbering starts a new epoch, so that no follower takes new numbers for old ones."""
MOST_PROBES: Final = 1_000_000
HOPELESS_PROBES: Final = 10_000
"""Rows in a row that cannot be read, after which the rest of a table is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    """What was saved from a damaged journal."""

    records: int
    contents: int
    unapplied: tuple[str, ...]
    """Paths of records that were not applied yet; their files were left as they are, their bytes are kept."""


def rescue_journal(directory: Path, aside: Path) -> Rescue:
    """Move a damaged journal aside and put a fresh one with all that can be read in its place.

    Interrupted by an exception, everything is back in its old place; by a crash, the next opening finds no journal and
    makes an empty one, and what was damaged lies aside.

    Args:
        directory: The state directory; nobody may have its journal open.
        aside: A new directory inside it.

    Raises:
        LockTimeoutError: Somebody writes the journal.
        DiskFullError, AccessDeniedError, StateDamagedError: It could not be done; nothing was changed.
    """
    with TRANSLATED:
        gate = Gate(directory)
        try:
            with gate:
                aside.mkdir(mode=0o700)
                _move(directory, aside)
                try:
                    return _rebuild(directory, aside)
                except BaseException:
                    _move(aside, directory)
                    raise
        finally:
            gate.close()


def _move(source: Path, target: Path) -> None:
    for part in _PARTS:
        with suppress(FileNotFoundError):
            (source / f"{DATABASE_NAME}{part}").replace(target / f"{DATABASE_NAME}{part}")


def _rebuild(directory: Path, aside: Path) -> Rescue:
    fresh = aside / "fresh.db"
    with closing(sqlite3.connect(fresh, isolation_level=None)) as target:
        target.execute("BEGIN IMMEDIATE")
        migrate(target)
        with suppress(sqlite3.DatabaseError), closing(open_for_reading(aside / DATABASE_NAME)) as source:
            for table in _tables(target):
                _copy(source, target, table)
        _drop_false_records(target)
        _drop_false_contents(target, BlobFolder(directory / "blobs", durable=True))
        unapplied = _leave_files_alone(target)
        counts = [target.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("records", "contents")]
        target.execute("COMMIT")
    fresh.chmod(0o600)
    fresh.replace(directory / DATABASE_NAME)
    sync_directory(directory)
    return Rescue(records=counts[0], contents=counts[1], unapplied=unapplied)


def _tables(target: sqlite3.Connection) -> list[str]:
    rows = target.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [name for (name,) in rows if name not in _NOT_COPIED]


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    columns = _columns(target, table)
    with suppress(sqlite3.DatabaseError):
        known = _columns(source, table)
        columns = [column for column in columns if column in known]
        marks = ",".join("?" * len(columns))
        insert = f"INSERT OR IGNORE INTO {table} ({','.join(columns)}) VALUES ({marks})"
        rows = _rows_by_number if _has_numbers(target, table) else _rows_from_both_ends
        target.executemany(insert, rows(source, table, ",".join(columns)))


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _has_numbers(connection: sqlite3.Connection, table: str) -> bool:
    try:
        connection.execute(f"SELECT rowid FROM {table} LIMIT 0")
    except sqlite3.OperationalError:
        return False
    return True


def _rows_from_both_ends(source: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield rows of a table ordered by its key: upwards to the damage, then downwards to it; some come twice."""
    key = ",".join(row[1] for row in source.execute(f"PRAGMA table_info({table})") if row[5])
    for order in ("ASC", "DESC"):
        ordered = ",".join(f"{column} {order}" for column in key.split(","))
        with suppress(sqlite3.DatabaseError):
            yield from source.execute(f"SELECT {columns} FROM {table} ORDER BY {ordered}")


def _rows_by_number(source: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield rows of a table with row numbers: from both ends to the damage, then each number between on its own."""
    select = f"SELECT rowid, {columns} FROM {table} NOT INDEXED"
    low, high = 0, None
    for order in ("ASC", "DESC"):
        with suppress(sqlite3.DatabaseError):
            for number, *row in source.execute(f"{select} ORDER BY rowid {order}"):
                low, high = (number, high) if order == "ASC" else (low, number)
                yield tuple(row)
            return  # the end was reached, so that nothing lies between
    failures = 0
    for number in range(low + 1, high if high is not None else low + MOST_PROBES):
        try:
            found = source.execute(f"{select} WHERE rowid = ?", (number,)).fetchone()
            failures = 0 if found else failures + 1
        except sqlite3.DatabaseError:
            found, failures = None, failures + 1
        if found:
            yield tuple(found[1:])
        if failures > HOPELESS_PROBES:
            return


def _drop_false_records(target: sqlite3.Connection) -> None:
    for row in target.execute(SELECT_RECORD).fetchall():
        try:
            record_from(row)
        except (StateDamagedError, ValueError, TypeError):
            target.execute("DELETE FROM records WHERE number = ?", (row[0],))


def _drop_false_contents(target: sqlite3.Connection, blobs: BlobFolder) -> None:
    """Keep only contents whose bytes are there and have their hash; take up large ones that no row told of."""
    hashes = [digest for (digest,) in target.execute("SELECT hash FROM contents").fetchall()]
    for digest in hashes:
        (content,) = target.execute("SELECT bytes FROM contents WHERE hash = ?", (digest,)).fetchone()
        if content is None:
            content = _blob(blobs, digest.hex())
        if content is None or hashlib.sha256(content).digest() != digest:
            target.execute("DELETE FROM contents WHERE hash = ?", (digest,))
    (newest,) = target.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
    for name in sorted(blobs.names()):
        content = _blob(blobs, name)
        if content is not None and hashlib.sha256(content).hexdigest() == name:
            row = (bytes.fromhex(name), len(content), newest)
            target.execute("INSERT OR IGNORE INTO contents (hash, size, used, bytes) VALUES (?, ?, ?, NULL)", row)


def _blob(blobs: BlobFolder, name: str) -> bytes | None:
    try:
        return blobs.get(name)
    except OSError:
        return None


def _leave_files_alone(target: sqlite3.Connection) -> tuple[str, ...]:
    rows = target.execute("SELECT DISTINCT path FROM records WHERE state = 'pending' ORDER BY path").fetchall()
    target.execute("UPDATE records SET state = 'applied' WHERE state = 'pending'")
    target.execute("UPDATE records SET synced = 1")
    target.execute("UPDATE heads SET applied = 1")
    return tuple(path for (path,) in rows)
