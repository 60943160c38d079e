"""Examines an embedded journal without opening it for work: whether it is sound, its size, what is pending."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct, field, structs

from filetools.errors import FileToolsError, StateDamagedError
from filetools.journal.backlog import added_mirrors, backlog_counts
from filetools.journal.changes import MirrorRow
from filetools.journal.rows import SELECT_RECORD, record_from
from filetools.journal.storage.birth import PARTS, connect, has_database, refuse_others
from filetools.journal.storage.schema import schema_of
from filetools.journal.storage.translation import TRANSLATED


class JournalReport(Struct, frozen=True, kw_only=True):
    """What an examination found."""

    database_bytes: int = 0
    wal_bytes: int = 0
    """Size of the write-ahead file."""
    problem: FileToolsError | None = None
    """Why the journal cannot be used, or None; a repair can mend a `StateDamagedError`."""
    schema: int = 0
    records: int = 0
    pending: int = 0
    """Records that are committed but not applied; the next opening settles them."""
    unrestored: int = 0
    """Records that a power cut may have undone in the files, and that could not be restored yet."""
    contents: int = 0
    backlog: dict[str, int] = field(default_factory=dict)
    """Number of paths that each mirror lacks."""
    mirrors: tuple[MirrorRow, ...] = ()
    """The mirrors that were added to the root."""


def examine_journal(directory: Path) -> JournalReport | None:
    """Read a whole journal, changing nothing; None if there is none yet. Takes seconds if it is large."""
    sizes = JournalReport(database_bytes=_size(directory / PARTS[0]), wal_bytes=_size(directory / PARTS[1]))
    try:
        with TRANSLATED:
            if not has_database(directory):
                return None
            refuse_others(directory)
            with closing(connect(directory / PARTS[0], mode="ro")) as connection:
                return _examined(connection, sizes)
    except FileToolsError as exc:
        return structs.replace(sizes, problem=exc)


def _examined(connection: sqlite3.Connection, sizes: JournalReport) -> JournalReport:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StateDamagedError(str(verdict))
    are_pending = [record_from(row).state == "pending" for row in connection.execute(SELECT_RECORD)]
    return structs.replace(
        sizes, schema=schema_of(connection), records=len(are_pending), pending=sum(are_pending),
        contents=connection.execute("SELECT count(*) FROM contents").fetchone()[0],
        backlog=backlog_counts(connection),
        unrestored=connection.execute("SELECT count(*) FROM unrestored JOIN records USING (number)").fetchone()[0],
        mirrors=added_mirrors(connection),
    )  # fmt: skip


def registered_in(directory: Path) -> list[str]:
    """Return the folders that a journal lists as projects of its root; none if they cannot be read."""
    if not (directory / PARTS[0]).is_file():
        return []
    with suppress(OSError, ValueError, sqlite3.Error), closing(connect(directory / PARTS[0], mode="ro")) as connection:
        rows = connection.execute("SELECT value FROM rows WHERE space = 'registry' AND key LIKE 'project%'").fetchall()
        return sorted(str(json.loads(value).get("path")) for (value,) in rows)
    return []


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
