"""Queries of past records: who made them, which ones undo others, and how a path got its name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct, structs

from filetools.journal.records import SELECT_RECORD, RelationKind, records_from
from filetools.journal.storage.contents import digest_of, version_from
from filetools.journal.storage.database import Database
from filetools.journal.storage.schema import NO_NUMBER, REMOVES_FOLDER
from filetools.journal.tree_rows import bounds_below
from filetools.models.records import ChangeRecord
from filetools.models.words import ActorKind
from filetools.paths.workspace_path import WorkspacePath

REVERSALS: Final = ("undoes", "redoes")
_TAKES_BACK: Final = f"kind IN {REVERSALS}"

_IS_TAKEN_BACK: Final = (
    f"EXISTS (SELECT 1 FROM relations JOIN records AS later USING (number) WHERE target = records.number"
    f" AND {_TAKES_BACK} AND later.state != 'aborted' AND NOT later.undone)"
)
_REFRESH: Final = f"UPDATE records SET undone = NOT undone WHERE number = ? AND undone != {_IS_TAKEN_BACK}"
_TARGETS_BETWEEN: Final = f"SELECT target FROM relations WHERE number BETWEEN ? AND ? AND {_TAKES_BACK}"
_DISCOUNT: Final = (
    "UPDATE records SET undone = 1"
    " WHERE number BETWEEN ? AND ? AND operation = 'create_directory' AND state != 'aborted'"
    f" AND EXISTS (SELECT 1 FROM relations WHERE relations.number = records.number AND {_TAKES_BACK})"
)
_LISTED: Final = "(SELECT value FROM json_each(?1))"
_REMOVED: Final = (
    f"SELECT * FROM ({SELECT_RECORD} WHERE {{}} IN {_LISTED} AND +number < ?2 AND state = 'applied'"
    f" AND {REMOVES_FOLDER} ORDER BY number DESC LIMIT 1)"
)
_FOLDER_CHANGE: Final = f"{_REMOVED.format('key')} UNION ALL {_REMOVED.format('old_key')} ORDER BY number DESC LIMIT 1"
_REMOVALS_SINCE: Final = (
    f"{SELECT_RECORD} INDEXED BY records_of_folders WHERE number > ? AND state != 'aborted'"
    f" AND {REMOVES_FOLDER} ORDER BY number"
)
_OF_KEY: Final = (
    f"{SELECT_RECORD} WHERE key = ? AND number < ? AND state IN ('applied', 'pending')"
    " AND operation NOT LIKE '%_directory' AND operation != 'link' ORDER BY number DESC LIMIT ?"
)
_GONE_BELOW: Final = (
    "SELECT path, kind, version, mode FROM tree_aside WHERE deletion = ? AND (kind = 'directory' OR (kind = 'file'"
    # The bytes of a file that was only read may never have been kept.
    " AND version IS NOT NULL AND (number > 0 OR EXISTS (SELECT 1 FROM contents WHERE hash = version))))"
)
_PATHS_OF: Final = (
    "SELECT path FROM records WHERE after = ?1 OR before = ?1 UNION SELECT path FROM heads WHERE version = ?1"
    " UNION SELECT path FROM snapshot_rows WHERE version = ?1"
)


_IS_DONE: Final = "state IN ('applied', 'buffer') AND operation != 'found'"
_CONDITIONS: Final = {
    "numbers": "number IN (SELECT value FROM json_each(:numbers))",
    "kind": "actor_kind = :kind",
    "id": "actor_id = :id",
    "session": "session = :session",
    "call": "call = :call",
    "transaction": "batch = :transaction",
    "since": "number >= :since",
    "until": "number <= :until",
    "since_time": "time >= :since_time",
    "until_time": "time <= :until_time",
    "key": "(key = :key OR (key >= :first AND key < :last) OR old_key = :key OR (old_key >= :first AND old_key < :last))",
    "moves_only": "(NOT :moves_only OR (operation IN ('move', 'move_directory') AND state = 'applied'))",
    "saved": "(NOT :saved OR state = 'applied')",
    "standing": "(NOT :standing OR NOT undone)",
    "undos": (":undos = EXISTS (SELECT 1 FROM relations WHERE relations.number = records.number AND kind = 'undoes')"),
}
"""Conditions on records, by the fields of `RecordFilter` that ask for them."""


class RecordFilter(Struct, frozen=True, kw_only=True):
    """Selects records; a field that is None matches all."""

    numbers: tuple[int, ...] | None = None
    kind: ActorKind | None = None
    id: str | None = None
    """Id of the actor."""
    session: str | None = None
    call: str | None = None
    transaction: int | None = None
    """Number of the first record of a commit of several."""
    since: int = 0
    """First number."""
    until: int | None = None
    """Last number."""
    since_time: float | None = None
    """Seconds since the epoch, inclusive."""
    until_time: float | None = None
    key: str | None = None
    """Lock key of a path; changes below it and moves away from it also match."""
    moves_only: bool = False
    saved: bool = False
    """Omit changes that are only in an unsaved document."""
    standing: bool = False
    """Omit records that are undone."""
    undos: bool | None = None
    """True for undos only, False for all but undos."""


class History:
    """Past records of an embedded journal."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def select(self, wanted: RecordFilter, *, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are applied or in an unsaved document, newest first, without files that were merely found.

        Args:
            wanted: Selects the records.
            limit: Maximum number of records; if fewer are returned, there are no more.
        """
        given = {name: value for name, value in structs.asdict(wanted).items() if value is not None}
        conditions = " AND ".join(_CONDITIONS[name] for name in given)
        first, last = bounds_below(wanted.key or "")
        values = {"numbers": json.dumps(wanted.numbers), "first": first, "last": last, "limit": limit}
        query = f"{SELECT_RECORD} WHERE {_IS_DONE} AND {conditions} ORDER BY number DESC LIMIT :limit"
        return records_from(self._database, query, given | values)

    def of_key(self, key: str, *, below: int | None = None, limit: int = 1000) -> list[ChangeRecord]:
        """Return the changes of files that had this key at the time, newest first; folders are omitted."""
        return records_from(self._database, _OF_KEY, (key, NO_NUMBER if below is None else below, limit))

    def gone_below(self, deletion: int) -> list[tuple[str, str | None, int | None]]:
        """Return the folder that a record deleted and its known entries.

        Each is a path, a version (None for a folder) and a mode.
        """
        return [
            (path, version_from(version) if kind == "file" else None, mode)
            for path, kind, version, mode in self._database.rows(_GONE_BELOW, (deletion,))
        ]

    def folder_change(self, keys: Sequence[str], *, below: int | None = None) -> ChangeRecord | None:
        """Return the newest deletion of a folder with one of these keys, or move from or to one, before record `below`."""
        values = (json.dumps(keys), NO_NUMBER if below is None else below)
        return next(iter(records_from(self._database, _FOLDER_CHANGE, values)), None)

    def removals_since(self, number: int) -> list[ChangeRecord]:
        """Return the records that moved or deleted folders after this number, oldest first, including those not applied yet."""
        return records_from(self._database, _REMOVALS_SINCE, (number,))

    def paths_of(self, version: str) -> list[WorkspacePath]:
        """Return all paths that are known to have had a version; scans all records."""
        return [WorkspacePath(path) for (path,) in self._database.rows(_PATHS_OF, (digest_of(version),))]

    def undone(self, numbers: Iterable[int]) -> set[int]:
        """Return the records among these that are undone."""
        return set(self._related(f"SELECT number, number FROM records WHERE undone AND number IN {_LISTED}", numbers))

    def targets(self, numbers: Iterable[int], kind: RelationKind | None = None) -> dict[int, list[int]]:
        """Return for each record the targets of its relations of a kind, by default those of an undo or redo."""
        query = f"SELECT number, target FROM relations WHERE {_of_kind(kind)} AND number IN {_LISTED}"
        return self._related(query, numbers)

    def sources(self, numbers: Iterable[int], kind: RelationKind | None = None) -> dict[int, list[int]]:
        """Return for each record the later ones, except aborted ones, that have a relation of a kind to it; as `targets`."""
        query = (
            f"SELECT target, number FROM relations AS one WHERE {_of_kind(kind)} AND target IN {_LISTED} AND NOT EXISTS"
            " (SELECT 1 FROM records WHERE records.number = one.number AND state = 'aborted')"
        )
        return self._related(query, numbers)

    def _related(self, query: str, numbers: Iterable[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for one, other in self._database.rows(query, (json.dumps([*numbers]),)):
            found.setdefault(one, []).append(other)
        return found


def _of_kind(kind: RelationKind | None) -> str:
    return _TAKES_BACK if kind is None else f"kind = '{kind}'"


# -- which records count as undone: updated by every commit, so that a query is one lookup. A record is undone while one of
# the records that undo it is not undone itself.


def refresh_undone(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Update whether records are undone, and then the records that they undo in turn."""
    waiting = set(numbers)
    while waiting:
        changed = [number for number in waiting if connection.execute(_REFRESH, (number,)).rowcount]
        waiting = {target for number in changed for target in targets_between(connection, number, number)}


def discount(connection: sqlite3.Connection, first: int, last: int) -> None:
    """Discount the folders that a failed undo created: they remain, but count neither as an undo nor as redoable."""
    connection.execute(_DISCOUNT, (first, last))


def targets_between(connection: sqlite3.Connection, first: int, last: int) -> set[int]:
    """Return the records that one commit undoes."""
    return {target for (target,) in connection.execute(_TARGETS_BETWEEN, (first, last))}
