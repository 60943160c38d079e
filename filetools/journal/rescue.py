"""Repairing a damaged journal: whatever can still be read becomes a fresh one, and the damaged one is kept aside.

The files of the workspace are not touched, now or by a later recovery: every rescued record counts as applied. What a
file holds that the rescued journal does not know is a foreign change of the next look at it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from filetools.journal.birth import DATABASE_NAME, PARTS, connect, connect_to_empty, create_empty, install, keep_mark
from filetools.journal.blobs import BlobFolder
from filetools.journal.carving import Pages
from filetools.journal.contents import IS_BLOB
from filetools.journal.gate import Gate
from filetools.journal.position import noted_position
from filetools.journal.salvage import (
    COLUMNS,
    ReadableRows,
    carved_contents,
    carved_records,
    heads_below_removed,
    heads_from_records,
    is_intact,
)
from filetools.journal.schema import create_tables
from filetools.journal.segments import SegmentFolder
from filetools.journal.translation import TRANSLATED
from filetools.journal.undone import note_all_undone
from filetools.journal.walfile import goes_on_after_damage, is_header_damaged

GATE_SECONDS: Final = 30.0
_FRESH: Final = "fresh.db"


class Rescue(Struct, frozen=True, kw_only=True):
    """What was saved from a damaged journal."""

    records: int
    contents: int
    unapplied: tuple[str, ...]
    """Paths of records that were not applied yet; their files were left as they are, their bytes are kept."""
    heads: int = 0
    """Paths whose newest version is known; the others will be found anew."""
    lost_records: int = 0
    """Records that had been there and cannot be read; those that retention had removed are not counted, if that is known."""


def rescue_journal(directory: Path, aside: Path) -> Rescue:
    """Put a fresh journal with all that can be read into the place of a damaged one, which is kept aside.

    Interrupted before the exchange, nothing was changed; the damaged files lie aside as a whole before the first of them
    leaves its place.

    Args:
        directory: The state directory; nobody may have its journal open.
        aside: A directory inside it, made if it is missing.

    Raises:
        LockTimeoutError: Somebody writes the journal.
        DiskFullError, AccessDeniedError, StateDamagedError: It could not be done; nothing was changed.
    """
    with TRANSLATED:
        gate = Gate(directory, timeout_seconds=GATE_SECONDS)
        try:
            with gate:
                aside.mkdir(mode=0o700, exist_ok=True)
                try:
                    rescue = _rebuild(directory, aside / _FRESH)
                except BaseException:
                    (aside / _FRESH).unlink(missing_ok=True)
                    with suppress(OSError):
                        aside.rmdir()
                    raise
                _exchange(directory, aside)
                return rescue
        finally:
            gate.close()


def _exchange(directory: Path, aside: Path) -> None:
    for part in PARTS:
        if (directory / part).is_file() and not (directory / part).is_symlink():
            os.link(directory / part, aside / part)
        elif os.path.lexists(directory / part):
            (directory / part).rename(aside / part)  # a planted link or directory
    # The database last: a fresh one beside the old write-ahead file would take over its pages.
    for part in reversed(PARTS[1:]):
        (directory / part).unlink(missing_ok=True)
    install(aside / _FRESH, directory)


def _rebuild(directory: Path, fresh: Path) -> Rescue:
    create_empty(fresh)
    reached = noted_position(directory)
    with closing(connect_to_empty(fresh)) as target:
        target.execute("BEGIN IMMEDIATE")
        create_tables(target)
        keep_mark(target, directory)
        blobs, segments = (
            BlobFolder(directory / "blobs", durable=True),
            SegmentFolder(directory / "segments", durable=True),
        )
        removed, is_whole = _copy(directory, target)
        if not is_whole or _newest(target) < reached:
            _carve(directory, target)
        _take_entries(target, segments)
        _take_blobs(target, blobs)
        rescue = _settle(target, reached, removed)
        target.execute("COMMIT")
    return rescue


def _copy(directory: Path, target: sqlite3.Connection) -> tuple[int | None, bool]:
    """Copy what SQLite can read; returns how many records retention had removed, if known, and whether that was all."""
    place = directory / DATABASE_NAME
    if place.is_symlink() or not place.is_file() or place.stat().st_size == 0:
        return None, False  # SQLite would throw away the write-ahead file of an empty database
    with closing(connect(place, mode="ro")) as source:
        try:
            # Else it refuses to read a file that is shorter than its header says.
            source.execute("PRAGMA writable_schema = ON")
            is_whole = not is_header_damaged(directory) and not goes_on_after_damage(directory)
            for table in COLUMNS:
                rows = ReadableRows(source, table)
                _insert(target, table, COLUMNS[table], (row for row in rows if is_intact(table, row)))
                is_whole = is_whole and rows.is_whole
            row = source.execute("SELECT value FROM meta WHERE name = 'removed'").fetchone()
        except sqlite3.DatabaseError:
            return None, False
        return None if row is None else int(row[0]), is_whole


def _carve(directory: Path, target: sqlite3.Connection) -> None:
    """Add what the pages hold beyond that; heads that could be read may be older than records that could not."""
    with closing(Pages(directory)) as pages:
        _insert(target, "records", COLUMNS["records"], carved_records(pages))
        _insert(target, "contents", "hash, size, used, bytes", carved_contents(pages))
    heads = heads_from_records(target)
    read = dict(target.execute("SELECT key, number FROM heads").fetchall())
    stale = [(row[0],) for row in heads if row[5] > read.get(row[0], row[5])]
    target.executemany("DELETE FROM heads WHERE key = ?", [*stale, *heads_below_removed(target)])
    _insert(target, "heads", COLUMNS["heads"], heads)


def _newest(target: sqlite3.Connection) -> int:
    (number,) = target.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
    return int(number)


def _insert(target: sqlite3.Connection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    marks = ",".join("?" * (columns.count(",") + 1))
    target.executemany(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", rows)


def _take_entries(target: sqlite3.Connection, segments: SegmentFolder) -> None:
    """Have rows tell where the intact entries of segments are, whether they did before or not."""
    target.execute("UPDATE contents SET segment = NULL, start = NULL")
    put = (
        "INSERT INTO contents (hash, size, used, segment, start) VALUES (?, ?, 0, ?, ?) ON CONFLICT (hash)"
        " DO UPDATE SET segment = excluded.segment, start = excluded.start WHERE typeof(bytes) = 'null'"
    )
    for digest, size, place in segments.intact_entries():
        target.execute(put, (digest, size, *place))


def _take_blobs(target: sqlite3.Connection, blobs: BlobFolder) -> None:
    """Keep contents whose file is there and has its hash, whether a row told of it or not; others that had one go."""
    told = {digest.hex() for (digest,) in target.execute(f"SELECT hash FROM contents WHERE {IS_BLOB}").fetchall()}
    standing = {name: size for name in blobs.names() if (size := blobs.intact_size(name)) is not None}
    lost = [(bytes.fromhex(name),) for name in told if name not in standing]
    target.executemany("DELETE FROM contents WHERE hash = ?", lost)
    found = [(bytes.fromhex(name), size) for name, size in standing.items()]
    target.executemany("INSERT OR IGNORE INTO contents (hash, size, used, bytes) VALUES (?, ?, 0, NULL)", found)


def _settle(target: sqlite3.Connection, reached: int, removed: int | None) -> Rescue:
    """Leave the files alone, and go on behind every number that was ever issued."""
    rows = target.execute("SELECT DISTINCT path FROM records WHERE state = 'pending' ORDER BY path").fetchall()
    target.execute("UPDATE records SET state = 'applied' WHERE state = 'pending'")
    target.execute("UPDATE records SET synced = 1 WHERE synced = 0")
    note_all_undone(target)
    target.execute("UPDATE heads SET applied = 1")
    target.execute(
        "UPDATE contents SET used = coalesce((SELECT max(number) FROM records WHERE after = contents.hash), used)"
        " WHERE used = 0 AND typeof(bytes) = 'null'"
    )
    counts = [
        target.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("records", "contents", "heads")
    ]
    issued = max(_newest(target), reached)
    target.execute("DELETE FROM sqlite_sequence WHERE name = 'records'")
    target.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('records', ?)", (issued,))
    target.execute("INSERT OR REPLACE INTO meta VALUES ('removed', ?)", (str(issued - counts[0]),))
    return Rescue(
        records=counts[0],
        contents=counts[1],
        unapplied=tuple(path for (path,) in rows),
        heads=counts[2],
        lost_records=max(0, issued - counts[0] - (removed or 0)),
    )
