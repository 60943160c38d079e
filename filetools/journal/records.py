"""Records: their drafts, their rows in the database, what of them is in the files, and queries of past ones.

A checksum protects the values of a record that never change. Marks are never synced on their own, because recovery can
determine a lost one again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct, structs

from filetools.errors import StateDamagedError
from filetools.journal.documents import Document, DocumentChange
from filetools.journal.storage.contents import digest_of, version_from
from filetools.journal.storage.database import Arguments, Connection, Database, TableAccess
from filetools.journal.storage.schema import IS_PENDING, IS_UNSYNCED, NO_NUMBER, REMOVES_FOLDER
from filetools.journal.tree_rows import Identity, bounds_below
from filetools.models.records import EXTERNAL, Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import ActorKind
from filetools.paths.workspace_path import WorkspacePath

RelationKind = Literal["undoes", "redoes", "brings", "parent"]


class Relation(Struct, frozen=True, kw_only=True):
    """Relation of a record to an older one."""

    kind: RelationKind
    """"undoes": it undoes the other. "redoes": it undoes the other, which is an undo. "brings": it is part of a folder that
    was restored as a whole from the trash, where the other, a deletion, had moved it. "parent": it saves a document that
    the other had changed."""
    number: int
    """Number of the older record."""


class Change(Struct, frozen=True, kw_only=True):
    """Draft of one record. Several drafts in one commit are all recorded or none."""

    operation: Operation
    path: str
    key: str
    """Lock key of `path`."""
    old_path: str | None = None
    old_key: str | None = None
    before: str | None = None
    before_unknown: bool = False
    after: str | None = None
    content: bytes | None = None
    """Bytes of `after` for the content store, unless it keeps them already."""
    size: int | None = None
    mode: int | None = None
    applied: bool = False
    """True if the file already has this content, as with a foreign change."""
    external: bool = False
    """True to attribute it to the external actor instead of the committing one."""
    aside: bool = False
    """True to keep it as a version of the path that was never the head, such as foreign bytes found in a mirror."""
    compensates: int | None = None
    """Number of the pending record that this one sets back; that record becomes `aborted`."""
    relations: tuple[Relation, ...] = ()
    """Older records that this one undoes or builds on."""
    buffered: bool = False
    """True if it changed only an unsaved document: recorded in state `buffer`, without becoming the head."""
    document: DocumentChange | Document | None = None
    """Change of the path's open document in the same transaction; or the document, as it was read, to close it."""
    returning: str | None = None
    """Id of the open document that returns to the path because the move that took it along is set back."""


# The columns after the checksum, which covers them, never change.
RECORD_COLUMNS: Final = (
    "number, state, checksum, operation, path, key, old_path, old_key, before, before_unknown, after, size, mode,"
    " actor_kind, actor_id, session, call, time, batch, opening"
)
INSERT_RECORD: Final = (
    f"INSERT INTO records ({RECORD_COLUMNS}, synced) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
    " RETURNING number"
)
SELECT_RECORD: Final = f"SELECT {RECORD_COLUMNS} FROM records"
NEVER_IN_FILE: Final = 2
"""Value of `synced` for versions kept aside: nothing to sync, and no statement on how durable the file itself is."""


def record_row(
    change: Change, actor: Actor, *, now: float, batch: int | None, opening: int, synced: int
) -> tuple[Any, ...]:
    """Return the values of `INSERT_RECORD` for one change, after its number."""
    who = EXTERNAL if change.external else actor
    before, after = (None if version is None else digest_of(version) for version in (change.before, change.after))
    fixed = (
        change.operation.value, change.path, change.key, change.old_path, change.old_key, before,
        int(change.before_unknown), after, change.size, change.mode, who.kind, who.id, who.session, who.call, now, batch,
        opening,
    )  # fmt: skip
    state = _state_of(change)
    return (state.value, checksum(fixed), *fixed, 0 if state is RecordState.PENDING else synced)


def _state_of(change: Change) -> RecordState:
    if change.compensates is not None or change.aside:
        return RecordState.ABORTED
    if change.buffered:
        return RecordState.BUFFER
    return RecordState.APPLIED if change.applied else RecordState.PENDING


def checksum(fixed: tuple[Any, ...]) -> int:
    """Return the CRC-32 of a record's unchanging values."""
    return zlib.crc32(repr(fixed).encode("utf-8", "backslashreplace"))


def record_from(row: tuple[Any, ...]) -> ChangeRecord:
    """Return the record of a `SELECT_RECORD` row.

    Raises:
        StateDamagedError: Its values do not match its checksum, or one of them is invalid.
    """
    number, state, expected, *fixed = row
    if checksum(tuple(fixed)) != expected:
        raise StateDamagedError(f"record {number} does not match its checksum")
    operation, path, _, old_path, _, before, is_unknown, after, size, mode, kind, name, session, call, at, batch, _ = (
        fixed
    )
    try:
        return ChangeRecord(
            number=number,
            operation=Operation(operation),
            path=path,
            old_path=old_path,
            before=version_from(before),
            before_unknown=bool(is_unknown),
            after=version_from(after),
            size=size,
            mode=mode,
            actor=Actor(kind=kind, id=name, session=session, call=call),
            time=at,
            state=RecordState(state),
            transaction=batch,
        )
    except ValueError as exc:
        raise StateDamagedError(f"record {number} holds what no record may: {exc}") from exc


def records_from(database: Database, query: str, arguments: Arguments = ()) -> list[ChangeRecord]:
    """Return the records of a query for `RECORD_COLUMNS`.

    Raises:
        StateDamagedError: One of them is damaged.
    """
    return [record_from(row) for row in database.rows(query, arguments)]


# -- marks

Unfinished = Literal["pending", "open", "unsynced", "unrestored"]
_UNFINISHED: Final[Mapping[Unfinished, str]] = {
    "pending": f"INDEXED BY records_open WHERE {IS_PENDING}",
    "open": f"INDEXED BY records_open WHERE {IS_UNSYNCED}",
    "unsynced": f"INDEXED BY records_open WHERE {IS_UNSYNCED} AND number NOT IN (SELECT number FROM unrestored)",
    "unrestored": "WHERE number IN (SELECT number FROM unrestored)",
}
_LAST_SYNCED: Final = (
    "SELECT number FROM records WHERE key = ?1 AND synced = 1 AND state != 'pending' ORDER BY number DESC LIMIT 1"
)
_UNSETTLED: Final = (
    f"SELECT {RECORD_COLUMNS} FROM records WHERE key = ?1 AND number >= coalesce(({_LAST_SYNCED}), 0)"
    f" UNION ALL SELECT {RECORD_COLUMNS} FROM records"
    f" WHERE old_key = ?1 AND key != ?1 AND number >= coalesce(({_LAST_SYNCED}), 0)"
    " ORDER BY number DESC LIMIT 1000"
)
_APPLY: Final = (
    # The steps that make links and change modes sync what they do.
    "UPDATE records SET state = 'applied', synced = max(synced, operation IN ('link', 'modify_directory'))"
    " WHERE number = ? AND state = 'pending' RETURNING key, old_key"
)
_IDENTIFY: Final = (
    "UPDATE tree SET device = ?, inode = ?, size = ?, mtime = ?, ctime = ?"
    " WHERE key = ? AND kind = 'file' AND applied = 1"
)


class Marks(TableAccess):
    """Marks of an embedded journal."""

    def applied(self, numbers: Iterable[int], identities: Mapping[str, Identity] = MappingProxyType({})) -> None:
        """Mark records as applied, except those that are already marked.

        Args:
            numbers: Numbers of the records.
            identities: Identities of their files on disk, by key.
        """
        several = [(number,) for number in numbers]

        def work(connection: Connection) -> None:
            for number in several:
                for keys in connection.execute(_APPLY, number).fetchall():
                    connection.executemany(
                        "UPDATE tree SET applied = 1 WHERE key = ? AND number = ?",
                        [(key, *number) for key in keys if key is not None],
                    )
            connection.executemany(_IDENTIFY, [(*identity, key) for key, identity in identities.items()])

        if several:
            self._database.write(work, durable=False, may_use_reserve=True)
            self._on_visible()

    def synced(self, numbers: Iterable[int]) -> None:
        """Note that the files and folders of these records are synced."""
        update = "UPDATE records SET synced = 1 WHERE number = ? AND synced = 0"
        self._database.change(update, ((number,) for number in numbers), may_use_reserve=True)

    def unfinished(self, what: Unfinished, limit: int = 1000) -> list[ChangeRecord]:
        """Return the records whose files or folders are not as recorded yet, oldest first.

        Args:
            what: "pending": committed but not applied. "open": applied but not synced. "unrestored": those of them that a
                power cut may have undone in the files. "unsynced": the others.
            limit: Most records returned.
        """
        return records_from(self._database, f"{SELECT_RECORD} {_UNFINISHED[what]} ORDER BY number LIMIT ?", (limit,))

    def restored(self, number: int) -> None:
        """Note that the files of a record are as it says again."""
        self._database.change("INSERT OR IGNORE INTO restored VALUES (?)", [(number,)], may_use_reserve=True)

    def unsettled(self, key: str) -> list[ChangeRecord]:
        """Return the records of one path from its last synced one on, newest first; at most 1000."""
        return records_from(self._database, _UNSETTLED, (key,))


# -- queries of past records


REVERSALS: Final = ("undoes", "redoes")
_TAKES_BACK: Final = f"kind IN {REVERSALS}"

_REFRESH: Final = (
    "UPDATE records SET undone = NOT undone WHERE number = ? AND undone !="
    " EXISTS (SELECT 1 FROM relations JOIN records AS later USING (number) WHERE target = records.number"
    f" AND {_TAKES_BACK} AND later.state != 'aborted' AND NOT later.undone)"
)
# Folders that a failed undo created remain, but count neither as an undo nor as redoable.
DISCOUNT: Final = (
    "UPDATE records SET undone = 1"
    " WHERE number BETWEEN ? AND ? AND operation = 'create_directory' AND state != 'aborted'"
    f" AND EXISTS (SELECT 1 FROM relations WHERE relations.number = records.number AND {_TAKES_BACK})"
)
_RELATED: Final = (
    "SELECT {0}, {1} FROM relations WHERE {0} IN (SELECT value FROM json_each(?1))"
    " AND kind IN (SELECT value FROM json_each(?2))"
)
_OLDER: Final = _RELATED.format("number", "target")
_LATER: Final = (
    f"{_RELATED.format('target', 'number')} AND NOT EXISTS"
    " (SELECT 1 FROM records WHERE records.number = relations.number AND state = 'aborted')"
)
_REMOVALS_SINCE: Final = (
    f"{SELECT_RECORD} INDEXED BY records_of_folders WHERE number > ? AND state != 'aborted'"
    f" AND {REMOVES_FOLDER} ORDER BY number"
)
_OF_FOLDERS: Final = (
    f"SELECT * FROM ({SELECT_RECORD} WHERE {{}} IN (SELECT value FROM json_each(:folders)) AND +number < :below"
    f" AND state = 'applied' AND {REMOVES_FOLDER} ORDER BY number DESC LIMIT 1)"
)
_OF_FILE: Final = (
    f"SELECT * FROM ({SELECT_RECORD} WHERE key = :key AND number < :below AND state IN ('applied', 'pending')"
    " AND operation NOT LIKE '%_directory' AND operation != 'link' ORDER BY number DESC LIMIT :limit)"
    f" UNION ALL {_OF_FOLDERS.format('key')} UNION ALL {_OF_FOLDERS.format('old_key')} ORDER BY number DESC"
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


class History(TableAccess):
    """Past records of an embedded journal."""

    def select(self, wanted: RecordFilter, *, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are applied or in an unsaved document, newest first, without files that were merely found.

        Args:
            wanted: Selects the records.
            limit: Maximum number of records; fewer mean that these are all.
        """
        given = {name: value for name, value in structs.asdict(wanted).items() if value is not None}
        conditions = " AND ".join(_CONDITIONS[name] for name in given)
        first, last = bounds_below(wanted.key or "")
        values = {"numbers": json.dumps(wanted.numbers), "first": first, "last": last, "limit": limit}
        query = (
            f"{SELECT_RECORD} WHERE state IN ('applied', 'buffer') AND operation != 'found' AND {conditions}"
            " ORDER BY number DESC LIMIT :limit"
        )
        return records_from(self._database, query, given | values)

    def of_file(
        self, key: str, folders: Sequence[str], *, below: int | None = None, limit: int = 1000
    ) -> list[ChangeRecord]:
        """Return the changes of files that had this key at the time, newest first, and when folders above were others.

        Args:
            key: Key of the path.
            folders: Keys of the folders above it. The newest deletion of one or move to one of them is included, and the
                newest move from one of them.
            below: Only records with a smaller number.
            limit: Most changes of files.
        """
        values = {"key": key, "folders": json.dumps(folders), "below": NO_NUMBER if below is None else below}
        return records_from(self._database, _OF_FILE, values | {"limit": limit})

    def gone_below(self, deletion: int) -> list[tuple[str, str | None, int | None]]:
        """Return the folder that a record deleted and its known entries.

        Each is a path, a version (None for a folder) and a mode.
        """
        return [
            (path, version_from(version) if kind == "file" else None, mode)
            for path, kind, version, mode in self._database.rows(_GONE_BELOW, (deletion,))
        ]

    def removals_since(self, number: int) -> list[ChangeRecord]:
        """Return the records that moved or deleted folders after this number, oldest first, including those not applied yet."""
        return records_from(self._database, _REMOVALS_SINCE, (number,))

    def paths_of(self, version: str) -> list[WorkspacePath]:
        """Return all paths that are known to have had a version; scans all records."""
        return [WorkspacePath(path) for (path,) in self._database.rows(_PATHS_OF, (digest_of(version),))]

    def undone(self, numbers: Iterable[int]) -> set[int]:
        """Return the records among these that are undone."""
        query = "SELECT number FROM records WHERE undone AND number IN (SELECT value FROM json_each(?))"
        return {number for (number,) in self._database.rows(query, (json.dumps([*numbers]),))}

    def related(self, numbers: Iterable[int], *kinds: RelationKind, is_later: bool = False) -> dict[int, list[int]]:
        """Return for each record the older ones that it has a relation to; records without any are left out.

        Args:
            numbers: The records.
            kinds: Kinds of relations; by default those of an undo and a redo.
            is_later: True for the later records, except aborted ones, that have such a relation to each of these.
        """
        found: dict[int, list[int]] = {}
        values = json.dumps([*numbers]), json.dumps(kinds or REVERSALS)
        for one, other in self._database.rows(_LATER if is_later else _OLDER, values):
            found.setdefault(one, []).append(other)
        return found


# -- which records count as undone: updated by every commit, so that a query is one lookup. A record is undone while one of
# the records that undo it is not undone itself.


def refresh_undone(connection: Connection, numbers: Iterable[int]) -> None:
    """Update whether records are undone, and then the records that they undo in turn."""
    waiting = set(numbers)
    while waiting:
        changed = [number for number in waiting if connection.execute(_REFRESH, (number,)).rowcount]
        waiting = {target for number in changed for target in targets_between(connection, number, number)}


def targets_between(connection: Connection, first: int, last: int) -> set[int]:
    """Return the records that one commit undoes."""
    query = f"SELECT target FROM relations WHERE number BETWEEN ? AND ? AND {_TAKES_BACK}"
    return {target for (target,) in connection.execute(query, (first, last))}
