"""Rows of the read tracker: the versions of each path that each actor has seen or was reported; kept across restarts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from msgspec import Struct

from filetools.journal.storage.contents import digest_of, version_from
from filetools.journal.storage.database import Connection, Database, TableAccess, slices
from filetools.models.records import Actor

MOST_SEEN: Final = 10_000
"""Rows kept of one actor; the oldest are removed first."""
MOST_SEEN_OF_PATH: Final = 64
"""Rows kept of one actor and path; the oldest are removed first."""
_BOUND: Final = (
    "DELETE FROM seen_versions WHERE owner = ?1 AND key = ?2 AND time < (SELECT time FROM seen_versions"
    f" WHERE owner = ?1 AND key = ?2 ORDER BY time DESC LIMIT 1 OFFSET {MOST_SEEN_OF_PATH - 1})"
)
_DOOMED: Final = (
    "SELECT owner, key, version, time FROM (SELECT owner, key, version, time,"
    " row_number() OVER (PARTITION BY owner ORDER BY time DESC) AS place FROM seen_versions) WHERE time <= ? OR place > ?"
)
_HEADS: Final = (
    "SELECT heads.key, heads.path, heads.version, actor_kind, actor_id, session FROM heads"
    " JOIN records ON records.number = heads.number"
    " WHERE heads.key IN (SELECT key FROM seen_versions WHERE owner = ?) ORDER BY heads.number"
)


class SeenVersion(Struct, frozen=True, kw_only=True):
    """A version of a path that an actor can name, and the text that it knows for it."""

    version: str
    base: str
    """Version of the text that the actor knows: `version` itself if it has seen that. If a result only reported `version`,
    which contains text of others, the version that the actor had sent or seen before."""
    is_whole: bool = True
    """False if only some lines of the base were read; then it serves only as a base for merging."""
    time: float = 0.0
    """Seconds since the epoch."""
    encoding: str | None = None
    """Codec that the actor named for the text; None if it follows from the bytes."""


class SeenVersions(TableAccess):
    """The read tracker's rows in an embedded journal."""

    def of(self, owner: str) -> list[tuple[str, SeenVersion]]:
        """Return an actor's (key, row) pairs, the oldest first."""
        rows = self._database.rows(
            "SELECT key, version, base, whole, time, encoding FROM seen_versions WHERE owner = ?"
            " ORDER BY time DESC LIMIT ?",
            (owner, MOST_SEEN),
        )
        return [
            (key, SeenVersion(
                version=version_from(version) or "", base=version_from(base) or "", is_whole=bool(whole), time=when,
                encoding=encoding,
            ))
            for key, version, base, whole, when, encoding in reversed(rows)
        ]  # fmt: skip

    def heads(self, owner: str) -> list[tuple[str, str, Actor, str | None]]:
        """Return (key, path, actor, version) of the newest change of every path that an actor knows, newest last."""
        return [
            (key, path, Actor(kind=kind, id=name, session=session), version_from(version))
            for key, path, version, kind, name, session in self._database.rows(_HEADS, (owner,))
        ]

    def save(self, changes: Iterable[tuple[str, str, SeenVersion | None]]) -> None:
        """Store (owner, key, row) in this order; None for a row removes all rows of the path."""
        for several in slices(changes):
            # Unsynced: after a power cut an actor knows less, and a stale write is refused instead of merged.
            self._database.write(partial(_save, several), durable=False)

    def forget(self, owners: Iterable[str]) -> None:
        """Drop all rows of some actors."""
        self._database.change("DELETE FROM seen_versions WHERE owner = ?", [(owner,) for owner in owners])


def _save(changes: list[tuple[str, str, SeenVersion | None]], connection: Connection) -> None:
    for owner, key, row in changes:
        if row is None:
            connection.execute("DELETE FROM seen_versions WHERE owner = ? AND key = ?", (owner, key))
        else:
            values = (digest_of(row.version), digest_of(row.base), row.is_whole, row.time, row.encoding)
            connection.execute(
                "INSERT OR REPLACE INTO seen_versions VALUES (?, ?, ?, ?, ?, ?, ?)", (owner, key, *values)
            )
    connection.executemany(_BOUND, {(owner, key) for owner, key, _ in changes})


def tidy_seen_versions(database: Database, oldest_kept: float) -> None:
    """Remove rows that are too old or beyond their actor's limit.

    Args:
        database: The database.
        oldest_kept: Time of the oldest row to keep; seconds since the epoch.
    """
    database.change(
        # A row recorded again since the query has another time, and stays.
        "DELETE FROM seen_versions WHERE owner = ? AND key = ? AND version = ? AND time = ?",
        database.rows(_DOOMED, (oldest_kept, MOST_SEEN)),
    )
