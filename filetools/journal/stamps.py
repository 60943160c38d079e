"""Stamps of the embedded journal: which text each actor knows of each path, over restarts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from filetools.journal.contents import digest_of, version_from
from filetools.journal.database import Database

MOST_STAMPS: Final = 10_000
"""Stamps kept of one actor; the oldest go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The text that an actor knows of a path."""

    version: str
    is_whole: bool
    """False if only some lines were read; then it is a base for merging and no more."""
    time: float
    """Seconds since the epoch, when the actor got to know it."""


class SqliteStamps:
    """Stamps of an embedded journal; implements `Stamps`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, owner: str) -> dict[str, Stamp]:
        """Return the stamps of an actor by key, the oldest first."""
        rows = self._database.rows(
            "SELECT key, version, whole, time FROM stamps WHERE owner = ? ORDER BY time DESC LIMIT ?",
            (owner, MOST_STAMPS),
        )
        return {
            key: Stamp(version=version_from(version) or "", is_whole=bool(whole), time=when)
            for key, version, whole, when in reversed(rows)
        }

    def save(self, stamps: Iterable[tuple[str, str, Stamp | None]]) -> None:
        """Keep (owner, key, stamp) rows; None removes the stamp of a key."""
        rows = list(stamps)
        kept = [
            (owner, key, digest_of(stamp.version), int(stamp.is_whole), stamp.time)
            for owner, key, stamp in rows
            if stamp is not None
        ]
        gone = [(owner, key) for owner, key, stamp in rows if stamp is None]
        if rows:
            # Unsynced: after a power cut an actor knows less, and a stale write is refused instead of merged.
            self._database.write(
                lambda connection: (
                    connection.executemany("INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?, ?)", kept),
                    connection.executemany("DELETE FROM stamps WHERE owner = ? AND key = ?", gone),
                ),
                durable=False,
            )
