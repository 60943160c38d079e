"""Mirrors of the embedded journal: which ones the root has, and which paths each of them does not hold durably yet."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from filetools.journal.changes import BacklogEntry, MirrorRow
from filetools.journal.database import Database

_SELECT: Final = "SELECT mirror, key, path, number, tries, below, reason FROM debts"
MAX_TRIES: Final = 5
"""A path that was refused so often is left until somebody asks for a synchronisation."""
_SELECT_MIRROR: Final = "SELECT place, identity, position, root FROM mirrors"


class Backlog:
    """Backlogs in an embedded journal; implements `Backlog`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(
        self, mirror: str, after: tuple[int, str] = (-1, ""), *, limit: int = 1000, max_tries: int = MAX_TRIES
    ) -> list[BacklogEntry]:
        """Return entries of a mirror in the order of (number, key), those after the given pair.

        Args:
            mirror: Its name in the journal.
            after: Number and key of the last entry already seen.
            limit: Most entries returned.
            max_tries: Leave out those that failed so often.
        """
        query = f"{_SELECT} WHERE mirror = ? AND tries < ? AND (number, key) > (?, ?) ORDER BY number, key LIMIT ?"
        return [_entry(row) for row in self._database.rows(query, (mirror, max_tries, *after, limit))]

    def below(self, mirror: str, key: str) -> list[BacklogEntry]:
        """Return the entries of what is below a folder, however often they failed."""
        query = f"{_SELECT} WHERE mirror = ? AND key > ? AND key < ?"
        return [_entry(row) for row in self._database.rows(query, (mirror, f"{key}/", f"{key}0"))]

    def get(self, mirror: str, key: str) -> BacklogEntry | None:
        """Return the entry of one path, or None."""
        row = self._database.row(f"{_SELECT} WHERE mirror = ? AND key = ?", (mirror, key))
        return None if row is None else _entry(row)

    def count(self, mirror: str, *, refused_only: bool = False) -> int:
        """Number of paths that a mirror lacks, or of those among them that it refused."""
        tries = 1 if refused_only else 0
        (count,) = self._database.row("SELECT count(*) FROM debts WHERE mirror = ? AND tries >= ?", (mirror, tries))
        return int(count)

    def remove(self, done: Iterable[BacklogEntry]) -> None:
        """Remove entries, except those that newer changes have raised meanwhile."""
        rows = [(entry.mirror, entry.key, entry.number) for entry in done]
        self._change("DELETE FROM debts WHERE mirror = ? AND key = ? AND number = ?", rows)

    def fail(self, entry: BacklogEntry, reason: str) -> None:
        """Count one more failed try of an entry, and keep why."""
        self._change(
            "UPDATE debts SET tries = tries + 1, reason = ? WHERE mirror = ? AND key = ? AND number = ?",
            [(reason, entry.mirror, entry.key, entry.number)],
        )

    def reset(self, mirror: str) -> None:
        """Forget the failed tries of a mirror, for an explicit synchronisation."""
        self._change("UPDATE debts SET tries = 0, reason = NULL WHERE mirror = ? AND tries > 0", [(mirror,)])

    def add(self, mirror: str, paths: Iterable[tuple[str, str]]) -> None:
        """Record that a mirror lacks these (key, path) pairs; entries that exist stay as they are."""
        self._change(
            "INSERT OR IGNORE INTO debts (mirror, key, path, number) VALUES (?, ?, ?, 0)",
            [(mirror, key, path) for key, path in paths],
        )

    def _change(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        # Unsynced: an entry that comes back after a power cut is worked off twice, which does no harm.
        if rows:
            self._database.write(lambda connection: connection.executemany(statement, rows), durable=False)


class Mirrors:
    """The mirrors of the root of an embedded journal; implements `Mirrors`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, place: str) -> MirrorRow:
        """Return the row of a mirror; from its first registration on every commit adds to its backlog."""
        known = self.get(place)
        if known is None:
            identity = f"{secrets.token_hex(8)}-{secrets.token_hex(4)}"
            self._change("INSERT OR IGNORE INTO mirrors (place, identity) VALUES (?, ?)", (place, identity))
            known = self.get(place)
            assert known is not None
        return known

    def get(self, place: str) -> MirrorRow | None:
        """Return the row of a mirror, or None if it is not registered."""
        row = self._database.row(f"{_SELECT_MIRROR} WHERE place = ?", (place,))
        return None if row is None else MirrorRow(*row)

    def all(self) -> list[MirrorRow]:
        """Return every registered mirror, attached or not."""
        return [MirrorRow(*row) for row in self._database.rows(f"{_SELECT_MIRROR} ORDER BY place", ())]

    def renew(self, row: MirrorRow) -> None:
        """Give a mirror a new identity of the same line, not filled, unless somebody else has done so since `row` was read."""
        identity = f"{row.line}-{secrets.token_hex(4)}"
        self._change(
            "UPDATE mirrors SET identity = ?, position = NULL WHERE place = ? AND identity = ?",
            (identity, row.place, row.identity),
        )

    def filled(self, row: MirrorRow, position: int) -> None:
        """Record that all changes up to a position are in a mirror or in its backlog, unless it has another identity by now."""
        self._change(
            "UPDATE mirrors SET position = ? WHERE place = ? AND identity = ?", (position, row.place, row.identity)
        )

    def remember(self, row: MirrorRow, root: bytes) -> None:
        """Have everybody who opens the root attach a mirror, as long as the root stays where it is."""
        self._change("UPDATE mirrors SET root = ? WHERE place = ? AND identity = ?", (root, row.place, row.identity))

    def remove(self, place: str) -> None:
        """Forget a mirror and its backlog."""
        # The mirror first: a commit between the two would leave an entry that nobody ever works off.
        self._change("DELETE FROM mirrors WHERE place = ?", (place,))
        self._change("DELETE FROM debts WHERE mirror = ?", (place,))

    def _change(self, statement: str, values: tuple[Any, ...]) -> None:
        # Synced: a power cut must not bring back an identity under which another folder has been written to.
        self._database.write(lambda connection: connection.execute(statement, values), durable=True)


def added_mirrors(connection: sqlite3.Connection) -> tuple[MirrorRow, ...]:
    """Return the mirrors that were added to a root."""
    rows = connection.execute(f"{_SELECT_MIRROR} WHERE root IS NOT NULL ORDER BY place")
    return tuple(MirrorRow(*row) for row in rows)


def _entry(row: tuple[Any, ...]) -> BacklogEntry:
    mirror, key, path, number, tries, below, reason = row
    return BacklogEntry(mirror=mirror, key=key, path=path, number=number, tries=tries, below=bool(below), reason=reason)
