"""Mirrors in the embedded journal: which ones the root has, the position of each, and the paths that each one lacks.

What a mirror lacks follows from the records above its position. Rows are kept only of paths that it refused, or that a
comparison found to differ. Their names need not be UTF-8.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from msgspec import Struct

from filetools.journal.records import NEVER_IN_FILE
from filetools.journal.storage.database import Connection, TableAccess
from filetools.journal.storage.schema import NEWEST
from filetools.models.words import VERSION_PREFIX

_COUNTS: Final = f"operation NOT IN ('found', 'link', 'modify_directory') AND synced <> {NEVER_IN_FILE}"
"""Records that mirrors follow."""
_MOST_WITH_BYTES: Final = 32
"""Records of a page whose bytes are read along with them, so that a page never takes much memory."""
_SINCE: Final = (
    "SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'forgotten'), 0),"
    " EXISTS (SELECT 1 FROM records INDEXED BY records_moving WHERE state = 'pending'"
    " AND operation IN ('delete_directory', 'move_directory')), NULL, NULL, NULL, NULL, NULL, NULL"
    " UNION ALL SELECT * FROM (SELECT records.number, records.key, records.path, old_key, old_path,"
    " tree.mode, contents.hash, contents.bytes FROM records"
    " LEFT JOIN tree ON tree.key = records.key AND tree.kind = 'file' AND tree.applied = 1 AND tree.number > 0"
    f" AND old_key IS NULL AND records.number <= :since + {_MOST_WITH_BYTES}"
    " LEFT JOIN contents ON contents.hash = tree.version"
    f" WHERE records.number > :since AND {_COUNTS} ORDER BY records.number LIMIT :limit)"
)
_ABOVE: Final = f"{_COUNTS} AND number > (SELECT position FROM mirrors WHERE place = :mirror)"
_SELECT: Final = "SELECT key, path, number, below, tries, reason FROM behind"
# The unary plus keeps SQLite off the index of old keys, so that it reads the newest records and not all moves.
_LACKING: Final = (
    f"SELECT CAST(key AS BLOB) AS key, CAST(path AS BLOB) AS path FROM records WHERE {_ABOVE}"
    f" UNION SELECT CAST(old_key AS BLOB), CAST(old_path AS BLOB) FROM records WHERE +old_key IS NOT NULL AND {_ABOVE}"
    " UNION SELECT key, path FROM behind WHERE mirror = :mirror"
)
COUNT_LACKING: Final = f"SELECT count(DISTINCT key) FROM ({_LACKING})"
"""Number of paths that `:mirror` may lack."""
# A folder whose contents must be compared is marked so until the mirror has the folder. The entry of an unapplied change
# survives a comparison: only a recorded deletion removes a folder with its contents.
_ADD: Final = (
    "INSERT INTO behind (mirror, key, path, number, below, tries, reason) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (mirror, key) DO UPDATE SET below = max(below, excluded.below),"
    " path = excluded.path, number = max(number, excluded.number), reason = coalesce(excluded.reason, reason),"
    " tries = CASE WHEN excluded.reason IS NULL THEN tries ELSE excluded.tries END"
)
_IS_FILLING: Final = (
    "SELECT NOT is_filled OR EXISTS (SELECT 1 FROM behind WHERE mirror = place AND number = 0 AND tries = 0)"
    " FROM mirrors WHERE place = ?"
)
# The entries below a moved folder are copied to where it was, and then move with the folder: until that is done, all of
# them count as lacking.
_ADVANCE: Final = (
    "UPDATE mirrors SET position = ?1 WHERE place = ?2 AND position < ?1 AND NOT EXISTS (SELECT 1 FROM records"
    " WHERE number > ?1 AND operation IN ('delete_directory', 'move_directory'))"
)
MAX_TRIES: Final = 5
"""Refusals after which a path is left until an explicit synchronisation."""
SELECT_MIRRORS: Final = "SELECT place, identity, position, is_filled, root FROM mirrors ORDER BY place"


class BacklogEntry(Struct, frozen=True, kw_only=True):
    """One path that a mirror lacks."""

    key: str
    path: str
    number: int
    """Change of the path that the mirror lacks; 0 if unknown."""
    tries: int = 0
    """How often the mirror refused it."""
    below: bool = False
    """True if it lacks more of a folder than that change."""
    reason: str | None = None
    """Why the mirror refused it."""


class MirrorRow(Struct, frozen=True):
    """One mirror of the root."""

    place: str
    """Where it is: the real path of its directory, or the name of a store."""
    identity: str
    """Identity that its folder must carry: the mirror's line, and a part that changes when its place was lost."""
    position: int
    """Every change up to this record is durably in the mirror, except its backlog."""
    is_filled: bool
    """True if it has everything from before it started following changes."""
    root: bytes | None = None
    """Path of the root when the mirror was added to it; None if only callers named the mirror."""

    @property
    def line(self) -> str:
        """The part of the identity that never changes."""
        return self.identity.partition("-")[0]

    def is_or_was(self, marker: str | None) -> bool:
        """True if a folder with this marker is the mirror, or was it before its place was lost."""
        return marker is not None and marker.partition("-")[0] == self.line


class RecordsForgottenError(Exception):
    """Raised if retention may have removed records that a mirror lacks."""


class KeptFile(NamedTuple):
    """A file as the journal knows it."""

    content: bytes
    version: str
    mode: int


class Backlog(TableAccess):
    """Paths that mirrors lack, in an embedded journal."""

    def since(self, number: int, *, limit: int = 1000) -> tuple[list[BacklogEntry], dict[int, KeptFile]]:
        """Return the paths of the records after a number, both of a move, in the order of the records.

        Args:
            number: Number of the last record already seen.
            limit: Most records read; fewer entries mean that there are no more.

        Returns:
            The entries; and by the numbers of their records the files of the first ones as of the same moment, up to the
            first that is not a small file.

        Raises:
            RecordsForgottenError: Retention may have removed some of these records.
        """
        (forgotten, is_moving, *_), *rows = self._database.rows(_SINCE, {"since": number, "limit": limit})
        if forgotten > number:
            raise RecordsForgottenError
        entries, files, is_plain = list[BacklogEntry](), dict[int, KeptFile](), not is_moving
        for newest, key, path, old_key, old_path, mode, digest, content in rows:
            entries.append(BacklogEntry(key=key, path=path, number=newest))
            if old_key is not None:
                entries.append(BacklogEntry(key=old_key, path=old_path, number=newest))
            is_small = is_plain and mode is not None and content is not None
            if is_plain := is_small and hashlib.sha256(content).digest() == digest:
                files[newest] = KeptFile(content, VERSION_PREFIX + digest.hex(), mode)
        return entries, files

    def behind(self, mirror: str, after: str = "", *, limit: int = 1000) -> list[BacklogEntry]:
        """Return the paths after the given key that a mirror refused or that differ, in the order of their keys."""
        query = f"{_SELECT} WHERE mirror = ? AND key > ? ORDER BY key LIMIT ?"
        return [_entry(row) for row in self._database.rows(query, (mirror, os.fsencode(after), limit))]

    def below(self, mirror: str, key: str) -> list[str]:
        """Return the paths below a folder that a mirror may lack."""
        rows = self._database.rows(_LACKING, {"mirror": mirror})
        return [os.fsdecode(path) for each, path in rows if os.fsdecode(each).startswith(f"{key}/")]

    def get(self, mirror: str, key: str) -> BacklogEntry | None:
        """Return the entry of a path that a mirror refused or that differs, or None."""
        rows = self._database.rows(f"{_SELECT} WHERE mirror = ? AND key = ?", (mirror, os.fsencode(key)))
        return next(map(_entry, rows), None)

    def count(self, mirror: str) -> int:
        """Number of paths that a mirror may lack."""
        return int(self._database.row(COUNT_LACKING, {"mirror": mirror})[0])

    def is_filling(self, mirror: str) -> bool:
        """True if a mirror lacks something from before it followed records, or that a comparison found."""
        return any(is_filling for (is_filling,) in self._database.rows(_IS_FILLING, (mirror,)))

    def advance(self, mirror: str, position: int, done: Iterable[BacklogEntry]) -> None:
        """Record that a mirror has everything up to a position except its backlog, and which paths are done.

        Args:
            mirror: Its name in the journal.
            position: Number of a record.
            done: Paths it has; entries that differed or were refused since stay.
        """
        rows = [(mirror, os.fsencode(entry.key), entry.number) for entry in done]

        def work(connection: Connection) -> None:
            connection.execute(_ADVANCE, (position, mirror))
            connection.executemany(
                "DELETE FROM behind WHERE mirror = ? AND key = ? AND (number = ?3 OR number BETWEEN 1 AND ?3)", rows
            )

        # Unsynced: entries that reappear after a power cut are processed twice, which does no harm.
        self._database.write(work, durable=False)

    def reset(self, mirror: str) -> None:
        """Forget the failed tries of a mirror, for an explicit synchronisation."""
        self._database.change("UPDATE behind SET tries = 0, reason = NULL WHERE mirror = ? AND tries > 0", [(mirror,)])

    def add(self, mirror: str, entries: Iterable[BacklogEntry]) -> None:
        """Record that a mirror lacks paths, or has refused them if there is a reason.

        An existing entry keeps the greater number, and its tries and reason if the new one has no reason.
        """
        rows = [
            (mirror, os.fsencode(one.key), os.fsencode(one.path), one.number, int(one.below), one.tries, one.reason)
            for one in entries
        ]
        self._database.change(_ADD, rows)


class Mirrors(TableAccess):
    """The mirrors of the root of an embedded journal."""

    def register(self, place: str) -> MirrorRow:
        """Return the row of a mirror, registering it if it is new; it follows records made after its first registration."""
        while (known := self.get(place)) is None:
            identity = f"{secrets.token_hex(8)}-{secrets.token_hex(4)}"
            self._change(
                f"INSERT OR IGNORE INTO mirrors (place, identity, position) VALUES (?, ?, ({NEWEST}))",
                (place, identity),
            )
        return known

    def get(self, place: str) -> MirrorRow | None:
        """Return the row of a mirror, or None if it is not registered."""
        return next((row for row in self.all() if row.place == place), None)

    def all(self) -> list[MirrorRow]:
        """Return every registered mirror, attached or not."""
        return [MirrorRow(*row) for row in self._database.rows(SELECT_MIRRORS)]

    def renew(self, row: MirrorRow) -> None:
        """Give a mirror a new identity of the same line, not filled, unless it has changed since `row` was read."""
        identity = f"{row.line}-{secrets.token_hex(4)}"
        self._change(
            f"UPDATE mirrors SET identity = ?, is_filled = 0, position = ({NEWEST}) WHERE place = ? AND identity = ?",
            (identity, row.place, row.identity),
        )

    def filled(self, row: MirrorRow) -> None:
        """Record that a mirror has everything up to its position except its backlog, unless its identity has changed."""
        self._change("UPDATE mirrors SET is_filled = 1 WHERE place = ? AND identity = ?", (row.place, row.identity))

    def remember(self, row: MirrorRow, root: bytes) -> None:
        """Attach a mirror at every opening of the root, until the root is moved."""
        self._change("UPDATE mirrors SET root = ? WHERE place = ? AND identity = ?", (root, row.place, row.identity))

    def remove(self, place: str) -> None:
        """Forget a mirror and its backlog."""
        self._change("DELETE FROM mirrors WHERE place = ?", (place,))
        self._change("DELETE FROM behind WHERE mirror = ?", (place,))

    def _change(self, statement: str, values: tuple[Any, ...]) -> None:
        # Synced: with the former identity, a folder that lacks later changes would count as filled after a power cut.
        self._database.change(statement, [values], durable=True)


def _entry(row: tuple[Any, ...]) -> BacklogEntry:
    key, path, number, below, tries, reason = row
    return BacklogEntry(
        key=os.fsdecode(key), path=os.fsdecode(path), number=number, below=bool(below), tries=tries, reason=reason
    )
