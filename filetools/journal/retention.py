"""Retention: removes the oldest records and contents beyond the limits, never anything still needed.

Kept despite the limits: heads with their records and contents, records that are not applied or not synced yet with what they
replaced, the base text of each actor and path, the bases of open documents, everything in a checkpoint, and everything after
the oldest one. Automatic checkpoints expire to make room, oldest first.
Candidates are searched outside the gate, a little more than the limits require at a time, so that needed rows are not
scanned on every round; the gate is held only to remove a few rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from filetools.journal.checkpoints import Checkpoints, forget_checkpoints
from filetools.journal.seen_versions import tidy_seen_versions
from filetools.journal.storage.contents import IS_BLOB, IS_FREE, Contents
from filetools.journal.storage.database import Connection, Database, slices
from filetools.journal.storage.schema import FIRST_PENDING, NO_NUMBER, REMOVES_FOLDER
from filetools.journal.table import Table, release_bytes

SLICE: Final = 200
"""Records or contents removed in one transaction, so that writers wait a few milliseconds at most."""
SLACK: Final = 0.01
"""Share of a limit by which it may be exceeded before anything is removed; then the same share below it is freed."""
SWEEP_SECONDS: Final = 3600.0
_IS_REMOVABLE: Final = (
    # Not the newest one: the next number follows from it.
    "synced > 0 AND number < (SELECT max(number) FROM records)"
    f" AND number <= coalesce((SELECT min(number) FROM checkpoints), {NO_NUMBER})"
    " AND NOT EXISTS (SELECT 1 FROM heads WHERE heads.key = records.key AND heads.number = records.number)"
    # A folder move gave the head another key.
    " AND NOT EXISTS (SELECT 1 FROM heads WHERE heads.version = records.after AND heads.number = records.number)"
)
_REMOVABLE_RECORDS: Final = f"SELECT number FROM records WHERE number > ? AND {_IS_REMOVABLE} ORDER BY number LIMIT ?"
_UNMENTIONED: Final = (
    # Went with its folder, and no record of it is left.
    "kind = 'absent' AND number = 0 AND NOT EXISTS (SELECT 1 FROM records WHERE records.key = tree.key)"
)
_DROP_ASIDE: Final = (
    # Rows of forgotten deletions and, of finished deletions, files that were never read.
    "DELETE FROM tree_aside WHERE deletion < coalesce((SELECT min(number) FROM records INDEXED BY records_of_folders"
    f" WHERE {REMOVES_FOLDER}), {NO_NUMBER})"
    f" OR (version IS NULL AND kind <> 'directory' AND deletion < {FIRST_PENDING})"
)
LIVE_SECONDS: Final = 30 * 24 * 3600.0
"""Age of a base up to which its text is kept for merging."""
_IS_REMOVABLE_CONTENT: Final = (
    # Recovery may need what unsynced records use or have replaced.
    f"used < coalesce((SELECT min(number) FROM records INDEXED BY records_open WHERE synced = 0), {NO_NUMBER})"
    " AND hash NOT IN (SELECT before FROM records INDEXED BY records_open WHERE synced = 0 AND before IS NOT NULL)"
    f" AND {IS_FREE}"
)
_REMOVABLE_CONTENTS: Final = (
    f"SELECT id, size, used FROM contents INDEXED BY contents_by_use WHERE {_IS_REMOVABLE_CONTENT}"
    # Only here, outside the gate: a text is protected as a head until a record replaces it.
    f" AND used <= coalesce((SELECT min(number) FROM checkpoints), {NO_NUMBER}) AND hash NOT IN"
    " (SELECT before FROM records WHERE number > (SELECT min(number) FROM checkpoints) AND before IS NOT NULL)"
    " ORDER BY used, id"
)
MOST_READ_BYTES: Final = 256 * 1024 * 1024
"""Most bytes of texts kept only because an actor read them; beyond it the least recently used are removed."""
_READ_TEXTS: Final = (
    "SELECT id, size, used FROM (SELECT *, sum(size) OVER (ORDER BY seen DESC, id DESC) AS total FROM"
    " (SELECT id, size, used, (SELECT max(time) FROM seen_versions WHERE base = hash) AS seen"
    " FROM contents INDEXED BY contents_by_use WHERE used < 0)) WHERE total > ?"
)
"""Texts beyond a number of bytes, without the most recently used ones."""
_HELD: Final = (
    "SELECT (SELECT coalesce(sum(size), 0) FROM contents INDEXED BY contents_by_use), count(*),"
    " (SELECT name FROM checkpoints ORDER BY number, time LIMIT 1),"
    " coalesce(max(number) - (SELECT min(number) FROM checkpoints), 0) FROM records"
)


class Retained(Struct, frozen=True):
    """What a journal holds."""

    bytes: int
    """Bytes of contents."""
    records: int
    checkpoint: str | None
    """Name of the oldest checkpoint, after which nothing is removed."""
    held_records: int
    """Records since that checkpoint; 0 without one."""


Content = tuple[int, int, int]
"""Id, size, and use."""


class Retention:
    """Keeps one journal within limits; used by one thread at a time."""

    def __init__(self, database: Database, contents: Contents) -> None:
        self._database = database
        self._contents = contents
        self._checkpoints = Checkpoints(database)
        self._swept_at: float | None = None

    def collect(self, *, retention_bytes: int, retention_records: int) -> int:
        """Remove what exceeds the limits, oldest first, and periodically leftovers of crashed writers.

        If that is not enough, automatic checkpoints except the newest one expire, oldest first, until it is. The leader calls
        it periodically.

        Args:
            retention_bytes: Maximum bytes of contents; nothing is removed until it is exceeded by 1 %. Records likewise.
            retention_records: Maximum number of records.

        Returns:
            The number of records removed.
        """
        Table(self._database, "approvals").release(0, unused_since=time.time())
        self._database.change(_DROP_ASIDE)
        self._sweep()  # first: texts that were kept for seen versions alone may go now
        held = self.retained()
        if held.bytes > MOST_READ_BYTES:
            self._remove(self._database.rows(_READ_TEXTS, (MOST_READ_BYTES,)), "used < 0")
        removed = self._drop(held.records, retention_records, self._drop_records)
        self._drop(held.bytes, retention_bytes, self._drop_contents)
        return removed

    def retained(self) -> Retained:
        """Return what the journal holds now, and which checkpoint keeps retention from removing more."""
        return Retained(*self._database.row(_HELD))

    def _drop(self, held: int, limit: int, drop: Callable[[int], int]) -> int:
        """Drop what exceeds a limit, expiring automatic checkpoints if needed; returns the amount."""
        slack = int(limit * SLACK)
        surplus = held - limit + slack
        if surplus <= 2 * slack:
            return 0
        dropped = drop(surplus)
        while dropped < surplus and self._checkpoints.expire():
            dropped += drop(surplus - dropped)
        return dropped

    def _drop_records(self, surplus: int) -> int:
        removed = after = 0
        while doomed := self._database.rows(_REMOVABLE_RECORDS, (after, min(SLICE, surplus - removed))):
            removed += self._database.change(
                f"DELETE FROM records WHERE number = ? AND {_IS_REMOVABLE}", doomed, may_use_reserve=True
            )
            (after,) = doomed[-1]
        return removed

    def _drop_contents(self, surplus: int) -> int:
        live_since = time.time() - LIVE_SECONDS
        # Before any recorded version: a large result must not cost undo history.
        for space in ("descriptors", "runs"):
            release = partial(release_bytes, space=space, surplus=surplus, is_freed=True)
            self._database.write(release, durable=False, may_use_reserve=True)
        found, doomed = 0, []
        with self._database.reading() as connection:
            rows = connection.execute(_REMOVABLE_CONTENTS, (live_since,))
            for content in rows:
                if found >= surplus:
                    break
                found += content[1]
                doomed.append(content)
            rows.close()
        self._remove(doomed, _IS_REMOVABLE_CONTENT, live_since)
        return found

    def _remove(self, doomed: Sequence[Content], condition: str, *values: float) -> None:
        """Remove contents that still meet a condition, and were not used since they were found."""

        def work(some: list[Content], connection: Connection) -> list[str]:
            those = f"id IN ({','.join('?' * len(some))}) AND used <= ?"
            query = f"DELETE FROM contents WHERE {those} AND {condition} RETURNING hash, {IS_BLOB}"
            gone = connection.execute(query, (*(number for number, *_ in some), max(use for *_, use in some), *values))
            return [digest.hex() for digest, is_blob in gone.fetchall() if is_blob]

        for some in slices(doomed, SLICE):
            # Still behind the gate: a commit that relies on one of these files looks for it there, and writes it again.
            self._database.write(
                partial(work, some), durable=False, afterwards=self._contents.blobs.remove, may_use_reserve=True
            )

    def _sweep(self) -> None:
        now = time.monotonic()
        if self._swept_at is not None and now - self._swept_at < SWEEP_SECONDS:
            return
        self._swept_at = now
        tidy_seen_versions(self._database, time.time() - LIVE_SECONDS)
        # Unnamed checkpoints of this age are left from failed saves.
        unfinished = partial(forget_checkpoints, "name IS NULL AND time < ?", time.time() - SWEEP_SECONDS)
        self._database.write(unfinished, durable=False, may_use_reserve=True)
        keys = self._database.rows(f"SELECT key FROM tree WHERE {_UNMENTIONED}")
        self._database.change(f"DELETE FROM tree WHERE key = ? AND {_UNMENTIONED}", keys, may_use_reserve=True)
        for names in slices(self._contents.blobs.sweep(), SLICE):
            self._contents.remove_unused(map(bytes.fromhex, names))
