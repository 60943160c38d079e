"""Looking at an embedded journal without opening it for work: is it sound, how large is it, what waits in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from filetools.errors import FileToolsError, StateDamagedError, StateTooNewError
from filetools.journal.birth import DATABASE_NAME
from filetools.journal.rows import SELECT_RECORD, record_from
from filetools.journal.schema import SCHEMA_VERSION, schema_of
from filetools.journal.translation import TRANSLATED


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalReport:
    """What an examination found."""

    database_bytes: int = 0
    wal_bytes: int = 0
    """Size of the write-ahead file."""
    problem: FileToolsError | None = None
    """Why the journal cannot be used, or None; `StateDamagedError` is what a repair is for."""
    schema: int = 0
    records: int = 0
    pending: int = 0
    """Records that are committed but not applied; the next opening settles them."""
    contents: int = 0
    debts: dict[str, int] = field(default_factory=dict)
    """For each mirror how many paths it lacks."""


def examine_journal(directory: Path) -> JournalReport | None:
    """Read a whole journal, changing nothing; None if there is none yet. Takes seconds where it is large."""
    database = directory / DATABASE_NAME
    try:
        sizes = JournalReport(
            database_bytes=database.stat().st_size, wal_bytes=_size(directory / f"{DATABASE_NAME}-wal")
        )
    except FileNotFoundError:
        return None
    try:
        with TRANSLATED, closing(open_for_reading(database)) as connection:
            return _examined(connection, sizes)
    except FileToolsError as exc:
        return replace(sizes, problem=exc)


def open_for_reading(database: Path) -> sqlite3.Connection:
    """Return a connection that cannot change a database, not even tidy it up when it is closed."""
    return sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True, isolation_level=None)


def _examined(connection: sqlite3.Connection, sizes: JournalReport) -> JournalReport:
    schema = schema_of(connection)
    if schema > SCHEMA_VERSION:
        return replace(sizes, problem=StateTooNewError(schema, SCHEMA_VERSION), schema=schema)
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StateDamagedError(str(verdict))
    if schema < SCHEMA_VERSION:
        return replace(sizes, schema=schema)
    records = pending = 0
    for row in connection.execute(SELECT_RECORD):
        record = record_from(row)
        records += 1
        pending += record.state == "pending"
    (contents,) = connection.execute("SELECT count(*) FROM contents").fetchone()
    debts = dict(connection.execute("SELECT mirror, count(*) FROM debts GROUP BY mirror").fetchall())
    return replace(sizes, schema=schema, records=records, pending=pending, contents=contents, debts=debts)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
