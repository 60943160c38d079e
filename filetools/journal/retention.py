"""What the journal forgets: the oldest records and contents beyond the limits, never anything still needed.

Kept whatever the limits say: heads with their records and contents, what is not applied or not synced yet with what it
replaced, the one text that an actor knows of a path, what open documents are based on, what is in a checkpoint, and all that
came after the oldest. Checkpoints that nobody named expire for it, the oldest first.
What may go is looked for outside the gate, a little more than the limits ask for at a time, so that what must stay is
passed over once in a while and not on every round; the gate is held only to remove a few rows.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from msgspec import Struct

from filetools.journal.blobs import BlobFolder
from filetools.journal.checkpoints import Checkpoints, oldest_kept
from filetools.journal.contents import IS_BLOB, IS_FREE, remove_unused
from filetools.journal.database import Database
from filetools.journal.seen_versions import tidy_seen_versions
from filetools.journal.table import release_bytes
from filetools.journal.tree_index import slices

SLICE: Final = 200
"""Records or contents removed in one transaction, so that writers wait a few milliseconds at most."""
SLACK: Final = 0.01
"""Share of a limit by which it is exceeded before anything is removed, and then removed beyond it."""
SWEEP_SECONDS: Final = 3600.0
MOST_FREE_PAGES: Final = 256
"""Free pages that are never given back: 1 MiB."""
FREE_SHARE: Final = 0.125
"""Free pages that are not given back, for each that is used: a journal at its limit gives and takes all the time."""
_NO_NUMBER: Final = 2**63 - 1
_IS_HEAD: Final = (
    "(EXISTS (SELECT 1 FROM heads WHERE heads.key = records.key AND heads.number = records.number)"
    # A folder move gave the head another key.
    " OR EXISTS (SELECT 1 FROM heads WHERE heads.version = records.after AND heads.number = records.number))"
)
_REMOVABLE_RECORDS: Final = (
    "SELECT number, time FROM records WHERE number > ? AND number <= ? AND synced > 0 AND state != 'pending'"
    f" AND NOT {_IS_HEAD} ORDER BY number LIMIT ?"
)
_UNMENTIONED: Final = (
    # Went with its folder, and no record of it is left.
    "kind = 'absent' AND number = 0 AND NOT EXISTS (SELECT 1 FROM records WHERE records.key = tree.key)"
)
_REMOVE_RECORD: Final = f"DELETE FROM records WHERE number = ? AND synced > 0 AND state != 'pending' AND NOT {_IS_HEAD}"
LIVE_SECONDS: Final = 30 * 24 * 3600.0
"""Age of a base up to which its text is kept for merging."""
_REMOVABLE_CONTENTS: Final = (
    f"SELECT hash, size, used, {IS_BLOB} FROM contents INDEXED BY contents_by_use"
    f" WHERE used < ? AND {IS_FREE} ORDER BY used"
)
MOST_READ_BYTES: Final = 256 * 1024 * 1024
"""Bytes of texts that are kept only because somebody has read them; beyond it those not used longest go."""
_READ_TEXTS: Final = (
    f"SELECT hash, size, used, {IS_BLOB} FROM contents INDEXED BY contents_by_use WHERE used < 0"
    " ORDER BY (SELECT max(time) FROM seen_versions WHERE base = hash) DESC, rowid DESC"
)
_REMOVE_READ_TEXT: Final = "DELETE FROM contents WHERE hash = ?1 AND used = ?2 AND used < 0 AND ?3"
_REMOVE_CONTENT: Final = f"DELETE FROM contents WHERE hash = ? AND used = ? AND {IS_FREE}"
_REMOVE_RELATIONS: Final = (
    "DELETE FROM relations WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM records WHERE number = ?1)"
)
_REMOVE_UNDONE: Final = "DELETE FROM undone WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM records WHERE number = ?1)"
_REPLACED_SINCE: Final = "SELECT DISTINCT before FROM records WHERE number > ? AND before IS NOT NULL"
_FIRST_UNSYNCED: Final = "SELECT min(number) FROM records INDEXED BY records_unsynced WHERE synced = 0"
_REPLACED_BY_UNSYNCED: Final = (
    "SELECT DISTINCT before FROM records INDEXED BY records_unsynced WHERE synced = 0 AND before IS NOT NULL"
)


class RetentionLimits(Struct, frozen=True, kw_only=True):
    """What a journal may hold."""

    bytes: int
    """Bytes of contents."""
    records: int
    seconds: float | None = None
    """Age; None keeps records whatever their age."""


class Retained(Struct, frozen=True, kw_only=True):
    """What a journal holds."""

    bytes: int
    """Bytes of contents."""
    records: int
    checkpoint: str | None
    """Name of the oldest checkpoint, after which nothing is removed."""
    held_records: int
    """Records since that checkpoint; 0 without one."""


class _Content(NamedTuple):
    digest: bytes
    size: int
    used: int
    is_blob: int


class Retention:
    """Keeps one journal within limits. Lives as long as the journal; one thread at a time calls."""

    def __init__(self, database: Database, blobs: BlobFolder, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._blobs = blobs
        self._checkpoints = Checkpoints(database)
        self._clock = clock
        self._swept_at: float | None = None
        self._tidied_at: float | None = None
        self._fell_short: dict[str, int] = {}
        self._last = _NO_NUMBER

    def collect(self, limits: RetentionLimits) -> int:
        """Remove what exceeds the limits, oldest first, and now and then what dead writers left.

        Where that is not enough, automatic checkpoints expire, the oldest first, until it is; the newest one stays.

        Returns:
            How many records were removed.
        """
        self._drop_seen_versions()  # first: texts that were kept for them alone may go now
        with self._database.reading() as connection:
            records, (contents, newest) = count_records(connection), sum_contents(connection)
            (position,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
        if limits.seconds is not None:
            while self._checkpoints.expire(self._clock() - limits.seconds):
                pass
        # Summed here and not behind the gate, where only the note is written; nobody else removes contents meanwhile.
        self._database.write(lambda connection: note_contents(connection, contents, newest), durable=False)
        last = self._last_removable()
        if last != self._last:
            self._last, self._fell_short = last, {}  # with a checkpoint gone, what was in vain makes sense again
        removed = 0
        if limits.seconds is not None:
            removed += self._drop_aged(self._clock() - limits.seconds)
        removed += self._drop("records", records - removed, limits.records, position, self._drop_records)
        if contents > MOST_READ_BYTES:
            self._drop_read_texts()
        self._drop("contents", contents, limits.bytes, position, self._drop_contents)
        self._sweep()
        self._give_back_pages()
        return removed

    def retained(self) -> Retained:
        """Return what the journal holds now, and which checkpoint keeps retention from removing more."""
        with self._database.reading() as connection:
            records, (contents, _) = count_records(connection), sum_contents(connection)
            (position,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
            oldest = connection.execute("SELECT name, number FROM checkpoints ORDER BY number, time LIMIT 1").fetchone()
        name, number = oldest or (None, position)
        return Retained(bytes=contents, records=records, checkpoint=name, held_records=position - number)

    def _give_back_pages(self) -> None:
        """Make the database's file smaller by what nothing needs, with a share left for what comes."""
        with self._database.reading() as connection:
            (total,), (free,) = (
                connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count")
            )
        surplus = free - max(MOST_FREE_PAGES, int((total - free) * FREE_SHARE))
        if surplus <= 0:
            return
        for start in range(0, surplus, SLICE):
            work = partial(_vacuum, min(SLICE, surplus - start))
            self._database.write(work, durable=False, may_use_reserve=lambda: True)
        self._database.checkpoint(at_least_bytes=0)

    def _drop_seen_versions(self) -> None:
        now = time.monotonic()
        if self._tidied_at is None or now - self._tidied_at >= SWEEP_SECONDS:
            self._tidied_at = now
            tidy_seen_versions(self._database, self._clock() - LIVE_SECONDS)

    def _drop(self, what: str, held: int, limit: int, position: int, drop: Callable[[int], int]) -> int:
        """Drop what exceeds a limit, and what only automatic checkpoints keep; returns how much."""
        surplus = held - _target(limit)
        if not self._is_due(what, surplus, limit, position):
            return 0
        dropped = drop(surplus)
        while dropped < surplus and self._checkpoints.expire():
            self._last = self._last_removable()
            dropped += drop(surplus - dropped)
        self._note_try(what, position, fell_short=dropped < surplus)
        return dropped

    def _is_due(self, what: str, surplus: int, limit: int, position: int) -> bool:
        """Whether a limit is exceeded by its slack, and so much is new since looking was in vain that it makes sense."""
        if surplus <= 2 * int(limit * SLACK):
            return False
        return what not in self._fell_short or position - self._fell_short[what] >= SLICE

    def _note_try(self, what: str, position: int, *, fell_short: bool) -> None:
        if fell_short:
            self._fell_short[what] = position
        else:
            self._fell_short.pop(what, None)

    def _drop_aged(self, oldest_kept: float) -> int:
        removed = after = 0
        while True:
            rows = self._database.rows(_REMOVABLE_RECORDS, (after, self._last, SLICE))
            aged = [number for number, when in rows if when < oldest_kept]
            removed += self._remove_records(aged)
            # Clocks jump, so one young record says little about those after it; a whole slice does.
            if not aged or len(rows) < SLICE:
                return removed
            after = rows[-1][0]

    def _drop_records(self, surplus: int) -> int:
        removed = after = 0
        while removed < surplus:
            rows = self._database.rows(_REMOVABLE_RECORDS, (after, self._last, min(SLICE, surplus - removed)))
            if not rows:
                break
            removed += self._remove_records([number for number, _ in rows])
            after = rows[-1][0]
        return removed

    def _last_removable(self) -> int:
        with self._database.reading() as connection:
            kept = oldest_kept(connection)
        return _NO_NUMBER if kept is None else kept

    def _remove_records(self, numbers: list[int]) -> int:
        def work(connection: sqlite3.Connection) -> int:
            count = connection.executemany(_REMOVE_RECORD, [(number,) for number in numbers]).rowcount
            connection.executemany(_REMOVE_RELATIONS, [(number,) for number in numbers])
            connection.executemany(_REMOVE_UNDONE, [(number,) for number in numbers])
            note_removed(connection, count)
            connection.execute(
                "INSERT INTO meta (name, value) VALUES ('forgotten', ?) ON CONFLICT (name)"
                " DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))",
                (str(max(numbers)),),
            )
            return count

        return self._database.write(work, durable=False, may_use_reserve=lambda: True) if numbers else 0

    def _drop_contents(self, surplus: int) -> int:
        live_since = self._clock() - LIVE_SECONDS
        # Before any version that was recorded: a large result never costs undo history.
        for name in ("descriptors", "runs"):
            release = partial(release_bytes, name=name, surplus=surplus, is_freed=True)
            self._database.write(release, durable=False, may_use_reserve=lambda: True)
        doomed = self._removable_contents(surplus, live_since)
        self._remove(doomed, _REMOVE_CONTENT, live_since)
        return sum(content.size for content in doomed)

    def _drop_read_texts(self) -> None:
        kept, doomed = 0, []
        for content in map(_Content._make, self._database.rows(_READ_TEXTS)):
            kept += content.size
            if kept > MOST_READ_BYTES:
                doomed.append(content)
        self._remove(doomed, _REMOVE_READ_TEXT, live_since=1.0)

    def _remove(self, doomed: list[_Content], statement: str, live_since: float) -> None:
        for start in range(0, len(doomed), SLICE):
            some = doomed[start : start + SLICE]
            # Still behind the gate: a commit that relies on one of these files looks for it there, and writes it again.
            work = partial(_remove_contents, some, statement, live_since)
            self._database.write(work, durable=False, afterwards=self._give_back, may_use_reserve=lambda: True)

    def _removable_contents(self, surplus: int, live_since: float) -> list[_Content]:
        """Return what may go, oldest first, until the surplus is covered."""
        with self._database.reading() as connection:
            first_unsynced, replaced = _needed(connection)
            kept = oldest_kept(connection)
            if kept is not None:
                # Once, and not behind the gate as the others: a text that a later record replaces is a head until then.
                replaced |= {digest for (digest,) in connection.execute(_REPLACED_SINCE, (kept,))}
                first_unsynced = min(first_unsynced, kept + 1)
            rows = connection.execute(_REMOVABLE_CONTENTS, (first_unsynced, live_since))
            doomed: list[_Content] = []
            found = 0
            for content in map(_Content._make, rows):
                if found >= surplus:
                    break
                if content.digest not in replaced:
                    found += content.size
                    doomed.append(content)
            rows.close()
        return doomed

    def _give_back(self, names: list[str]) -> None:
        for name in names:
            self._blobs.remove(name)

    def _sweep(self) -> None:
        now = time.monotonic()
        if self._swept_at is not None and now - self._swept_at < SWEEP_SECONDS:
            return
        self._swept_at = now
        for keys in slices(self._database.rows(f"SELECT key FROM tree WHERE {_UNMENTIONED}")):
            self._database.write(partial(_forget_rows, keys), durable=False, may_use_reserve=lambda: True)
        self._blobs.sweep()
        orphans = [bytes.fromhex(name) for name in self._blobs.old_names()]
        for start in range(0, len(orphans), SLICE):
            remove_unused(self._database, self._blobs, orphans[start : start + SLICE])


def _needed(connection: sqlite3.Connection) -> tuple[int, set[bytes]]:
    """Return the first record that is not synced, and what such records replaced: it may have to be put back."""
    (first,) = connection.execute(_FIRST_UNSYNCED).fetchone()
    replaced = {digest for (digest,) in connection.execute(_REPLACED_BY_UNSYNCED)}
    return _NO_NUMBER if first is None else first, replaced


def _remove_contents(
    doomed: list[_Content], statement: str, live_since: float, connection: sqlite3.Connection
) -> list[str]:
    """Remove contents that are still not needed; returns the names of their files."""
    total, _ = sum_contents(connection)
    first_unsynced, replaced = _needed(connection)
    blobs = []
    for content in doomed:
        if content.used >= first_unsynced or content.digest in replaced:
            continue
        if connection.execute(statement, (content.digest, content.used, live_since)).rowcount:
            total -= content.size
            if content.is_blob:
                blobs.append(content.digest.hex())
    # The newest row may be among those gone, and its number given out again.
    (newest,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM contents").fetchone()
    note_contents(connection, total, newest)
    return blobs


def _forget_rows(keys: list[tuple[str]], connection: sqlite3.Connection) -> None:
    connection.executemany(f"DELETE FROM tree WHERE key = ? AND {_UNMENTIONED}", keys)


def _vacuum(pages: int, connection: sqlite3.Connection) -> None:
    for _ in range(pages):
        # One by one: the statement gives a row without columns for each page, and Python ends it after the first.
        connection.execute("PRAGMA incremental_vacuum(1)")


def _target(limit: int) -> int:
    return limit - int(limit * SLACK)


_PUT = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"


def count_records(connection: sqlite3.Connection) -> int:
    """Return the number of records kept: numbers are issued without gaps, so only removals have to be counted."""
    (issued,) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'"
    ).fetchone()
    return int(issued) - _value(connection, "removed")


def note_removed(connection: sqlite3.Connection, count: int) -> None:
    """Count records that were removed, inside the transaction that removes them."""
    connection.execute(_PUT, ("removed", str(_value(connection, "removed") + count)))


def sum_contents(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the bytes of all contents kept, and the last row that counts; reads only rows newer than the noted sum."""
    noted = _value(connection, "summed_to")
    newer = "SELECT coalesce(sum(size), 0), coalesce(max(rowid), ?1) FROM contents WHERE rowid > ?1"
    added, newest = connection.execute(newer, (noted,)).fetchone()
    return _value(connection, "content_bytes") + int(added), int(newest)


def note_contents(connection: sqlite3.Connection, total: int, newest: int) -> None:
    """Note a sum, inside a transaction; nobody may have removed contents since it was taken."""
    connection.executemany(_PUT, [("content_bytes", str(total)), ("summed_to", str(newest))])


def _value(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row[0])
