"""Stamps of the embedded journal: which text each actor knows of each path, over restarts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from filetools.journal.contents import digest_of, version_from
from filetools.journal.database import Database
from filetools.journal.readers import Row
from filetools.models import Actor

MOST_STAMPS: Final = 10_000
"""Stamps kept of one actor; the oldest go first."""
SLICE: Final = 200
"""Stamps removed in one transaction, so that writers wait a few milliseconds at most."""
_AGED: Final = (
    "SELECT owner, key, time FROM stamps WHERE (owner, key) > (?, ?) AND time <= ? ORDER BY owner, key LIMIT ?"
)
_OWNERS_OF_MANY: Final = "SELECT owner FROM stamps GROUP BY owner HAVING count(*) > ?"
_SURPLUS: Final = "SELECT owner, key, time FROM stamps WHERE owner = ? ORDER BY time DESC LIMIT -1 OFFSET ?"
_MOVED_ON: Final = (
    "SELECT stamps.key, heads.path, heads.version, actor_kind, actor_id, session FROM stamps"
    " JOIN heads ON heads.key = stamps.key JOIN records ON records.number = heads.number"
    " WHERE stamps.owner = ? AND heads.version IS NOT stamps.version ORDER BY heads.number DESC LIMIT ?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The text that an actor knows of a path."""

    version: str
    is_whole: bool
    """False if only some lines were read; then it is a base for merging and no more."""
    time: float
    """Seconds since the epoch, when the actor got to know it."""
    encoding: str | None = None
    """Codec that the actor named for it; None if it took the text as the bytes say."""


class SqliteStamps:
    """Stamps of an embedded journal; implements `Stamps`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, owner: str) -> dict[str, Stamp]:
        """Return the stamps of an actor by key, the oldest first."""
        rows = self._database.rows(
            "SELECT key, version, whole, time, encoding FROM stamps WHERE owner = ? ORDER BY time DESC LIMIT ?",
            (owner, MOST_STAMPS),
        )
        return {
            key: Stamp(version=version_from(version) or "", is_whole=bool(whole), time=when, encoding=encoding)
            for key, version, whole, when, encoding in reversed(rows)
        }

    def moved_on(self, owner: str) -> list[tuple[str, str, Actor, str | None]]:
        """Return (key, path, who, version) of what stands where an actor knows another version, the newest change last."""
        rows = self._database.rows(_MOVED_ON, (owner, MOST_STAMPS))
        return [
            (key, path, Actor(kind=kind, id=name, session=session), version_from(version))
            for key, path, version, kind, name, session in reversed(rows)
        ]

    def save(self, stamps: Iterable[tuple[str, str, Stamp | None]]) -> None:
        """Keep (owner, key, stamp) rows; None removes the stamp of a key."""
        rows = list(stamps)
        kept = [
            (owner, key, digest_of(stamp.version), int(stamp.is_whole), stamp.time, stamp.encoding)
            for owner, key, stamp in rows
            if stamp is not None
        ]
        gone = [(owner, key) for owner, key, stamp in rows if stamp is None]
        if rows:
            # Unsynced: after a power cut an actor knows less, and a stale write is refused instead of merged.
            self._database.write(
                lambda connection: (
                    connection.executemany("INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?, ?, ?)", kept),
                    connection.executemany("DELETE FROM stamps WHERE owner = ? AND key = ?", gone),
                ),
                durable=False,
            )


def tidy_stamps(database: Database, oldest_kept: float) -> int:
    """Remove the stamps that are too old, and of each actor those beyond the most; a slice behind the gate at a time.

    Args:
        database: Where they are.
        oldest_kept: When the oldest stamp that stays was noted; seconds since the epoch.

    Returns:
        How many were removed. The texts that were kept for them alone are free from now on.
    """
    removed, place = 0, ("", "")
    while aged := database.rows(_AGED, (*place, oldest_kept, SLICE)):
        removed += _remove(database, aged)
        place = aged[-1][:2]
    for (owner,) in database.rows(_OWNERS_OF_MANY, (MOST_STAMPS,)):
        surplus = database.rows(_SURPLUS, (owner, MOST_STAMPS))
        removed += sum(_remove(database, surplus[at : at + SLICE]) for at in range(0, len(surplus), SLICE))
    return removed


def _remove(database: Database, rows: list[Row]) -> int:
    # One that was noted anew since it was looked at has another time, and stays.
    statement = "DELETE FROM stamps WHERE owner = ? AND key = ? AND time = ?"
    return database.write(lambda connection: connection.executemany(statement, rows).rowcount, durable=False)
