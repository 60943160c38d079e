"""What the journal forgets: the oldest records and contents beyond the limits, never anything still needed.

Kept whatever the limits say: heads, unapplied and unsynced records, and what debts refer to.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import Final

from filetools.journal.blobs import BlobFolder
from filetools.journal.database import Database

_SLICE: Final = 1000
"""Records or contents removed in one transaction, so that writers wait a few milliseconds at most."""
_NEEDED_CONTENT: Final = (
    "EXISTS (SELECT 1 FROM heads WHERE heads.version = contents.hash)"
    " OR contents.used >= (SELECT coalesce(min(number), 9223372036854775807) FROM records"
    " WHERE synced = 0 OR state = 'pending')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Limits of a journal."""

    bytes: int
    """Bytes of contents."""
    records: int
    seconds: float | None = None
    """Age; None keeps records whatever their age."""

    def collect(self, database: Database, blobs: BlobFolder) -> int:
        """Remove what exceeds the limits, in slices.

        Returns:
            How many records were removed.
        """
        removed = 0
        while count := database.write(self._drop_records, durable=False):
            removed += count
        while dropped := database.write(self._drop_contents, durable=False):
            for name in dropped:
                blobs.remove(name)
        return removed

    def _drop_records(self, connection: sqlite3.Connection) -> int:
        (count,) = connection.execute("SELECT count(*) FROM records").fetchone()
        oldest_kept = 0.0 if self.seconds is None else time.time() - self.seconds
        surplus = max(0, count - self.records)
        doomed = connection.execute(
            "SELECT number FROM records WHERE synced = 1 AND state != 'pending'"
            " AND NOT EXISTS (SELECT 1 FROM heads WHERE heads.key = records.key AND heads.number = records.number)"
            " ORDER BY number LIMIT ?",
            (min(surplus, _SLICE),),
        ).fetchall()
        if self.seconds is not None and len(doomed) < _SLICE:
            doomed += connection.execute(
                "SELECT number FROM records WHERE time < ? AND synced = 1 AND state != 'pending'"
                " AND NOT EXISTS (SELECT 1 FROM heads WHERE heads.key = records.key AND heads.number = records.number)"
                " ORDER BY number LIMIT ?",
                (oldest_kept, _SLICE - len(doomed)),
            ).fetchall()
        numbers = list({number for (number,) in doomed})
        connection.executemany("DELETE FROM records WHERE number = ?", [(number,) for number in numbers])
        if numbers:
            connection.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('forgotten', ?)", (str(max(numbers)),)
            )
        return len(numbers)

    def _drop_contents(self, connection: sqlite3.Connection) -> list[str]:
        (total,) = connection.execute("SELECT coalesce(sum(size), 0) FROM contents").fetchone()
        surplus = total - self.bytes
        if surplus <= 0:
            return []
        rows = connection.execute(
            f"SELECT hash, size FROM contents WHERE NOT ({_NEEDED_CONTENT}) ORDER BY used LIMIT ?",
            (_SLICE,),
        )
        dropped: list[bytes] = []
        for digest, size in rows:
            if surplus <= 0:
                break
            dropped.append(digest)
            surplus -= size
        connection.executemany("DELETE FROM contents WHERE hash = ?", [(digest,) for digest in dropped])
        return [digest.hex() for digest in dropped]
