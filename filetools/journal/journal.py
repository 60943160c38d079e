"""The embedded journal on SQLite, for any number of processes on one machine: one ordered record of every change.

Methods are synchronous, may block, and are called from worker threads. Any may raise StateDamagedError, LockTimeoutError,
DiskFullError and StorageFailedError; then nothing was changed.
"""

from __future__ import annotations

import copy
import functools
import logging
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from filetools.content.version import version_of
from filetools.durable import sync_directory
from filetools.errors import DiskFullError, FileToolsError, StateUntrustedError
from filetools.journal.backlog import Backlog, Mirrors
from filetools.journal.checkpoints import Checkpoints, next_number
from filetools.journal.commit import CommitDraft, ObservedChanges, Recorder
from filetools.journal.documents import DOCUMENT_COLUMNS, Document, DocumentTable, document_from
from filetools.journal.records import RECORD_COLUMNS, Change, History, Marks, records_from
from filetools.journal.retention import Retention
from filetools.journal.seen_versions import SeenVersions
from filetools.journal.storage.birth import DATABASE_NAME, file_id, mark_of
from filetools.journal.storage.contents import LARGEST_ROW_BYTES, BlobFolder, Contents, digest_of, version_from
from filetools.journal.storage.database import TRANSLATED, Connection, Database
from filetools.journal.storage.schema import FIRST_PENDING, IS_MOVING, NEWEST
from filetools.journal.table import Table
from filetools.journal.tree_rows import TreeIndex, TreeTable
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import Durability
from filetools.processes import boot_id

_log = logging.getLogger(__name__)
Records = tuple[ChangeRecord, ...]
_VIEW: Final = (
    f"SELECT EXISTS (SELECT 1 FROM records INDEXED BY records_moving WHERE {IS_MOVING} AND"
    " ((?1 > key || '/' AND ?1 < key || '0') OR (?1 > old_key || '/' AND ?1 < old_key || '0'))),"
    " heads.path, heads.version, heads.size, heads.mode, heads.number, CASE WHEN heads.number > ?2 THEN heads.applied"
    " ELSE heads.applied AND NOT EXISTS (SELECT 1 FROM unrestored WHERE number = heads.number) END,"
    f" {DOCUMENT_COLUMNS}"
    " FROM (SELECT 1) LEFT JOIN heads ON heads.key = ?1 LEFT JOIN documents ON documents.key = ?1"
)
_RECORDS: Final = (
    f"SELECT {RECORD_COLUMNS} FROM records WHERE number > :since AND (:with_pending OR number < {FIRST_PENDING})"
    " AND (NOT :foreign_only OR opening != :opening)"
)
_POSITIONS: Final = (
    "SELECT coalesce(max(number), 0),"
    f" (SELECT coalesce(max(number), 0) FROM records WHERE number < {FIRST_PENDING}),"
    " coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'forgotten'), 0) FROM records"
)


class Head(Struct, frozen=True, kw_only=True):
    """The newest version of one path that the journal knows."""

    key: str
    path: str
    version: str | None
    """None if the newest change removed the file."""
    size: int | None
    mode: int | None
    number: int
    """Number of the record that made it the head."""
    applied: bool
    """False while the file may not have this version yet."""


class View(Struct, frozen=True, kw_only=True):
    """The journal's view of a path at one moment."""

    head: Head | None
    """None if the path has never been recorded."""
    blocked: bool = False
    """True if a folder above is being moved or deleted, or was when its process died."""
    document: Document | None = None
    """The open document of the path; None if no editor has it open."""


class Positions(NamedTuple):
    """Numbers of records; 0 if there is no such record."""

    newest: int
    visible: int
    """The newest one that the feed may deliver: all up to it are applied."""
    forgotten: int
    """Retention may have removed records up to this one."""


class Journal:
    """One process's view of the journal."""

    def __init__(
        self,
        directory: Path,
        *,
        durability: Durability = "commit",
        timeout_seconds: float = 30.0,
        on_visible: Callable[[], None] = lambda: None,
        on_committed: Callable[[], None] | None = None,
    ) -> None:
        """Open or create the journal in a state directory.

        Args:
            directory: An existing private directory.
            durability: "commit" syncs every commit, "relaxed" none.
            timeout_seconds: Longest wait for other processes' commits.
            on_visible: Called from a worker thread after rows changed that any process may wait for. Must not raise: what it
                announces is recorded.
            on_committed: Called instead of `on_visible` after records became visible to the feed.

        Raises:
            StateDamagedError, StateVersionError, AccessDeniedError, DiskFullError: It cannot be opened.
            LockTimeoutError: Other processes kept it locked.
        """
        database = Database(directory, durability=durability, timeout_seconds=timeout_seconds)
        self._database = database
        try:
            with TRANSLATED:
                blobs = BlobFolder(directory / "blobs", durable=durability == "commit")
                if durability == "commit":
                    # SQLite syncs the directory entry of its write-ahead file but ignores a failure; without the entry
                    # a power cut loses every commit.
                    sync_directory(directory)
            # Still behind the gate: from here on the file changes, and its ctime with it.
            self.epoch = database.write(
                functools.partial(_confirmed_epoch, database, durability),
                afterwards=lambda _: database.position.note_closed(0),
                may_use_reserve=True,
            )
            database.reserve.fill()
        except BaseException:
            database.close()
            raise
        self.contents = Contents(database, blobs)
        self.backlog = Backlog(database)
        self.mirrors = Mirrors(database)
        self.seen_versions = SeenVersions(database)
        self.documents = DocumentTable(database, on_visible)
        self.approvals = Table(database, "approvals", on_visible)
        self.descriptors = Table(database, "descriptors")
        self.registry = Table(database, "registry")
        self.runs = Table(database, "runs")
        self._on_committed = on_committed or on_visible
        self.marks = Marks(database, self._on_committed)
        self.history = History(database)
        self.checkpoints = Checkpoints(database)
        self.tree_index = TreeIndex(database)
        self.turn_gate = database.turn_gate
        self._recorder = Recorder(self.contents, database.opening)
        self.own_position, self.others_position = -1, 0
        """Number of this process's newest record, -1 if there is none; and the number up to which gaps between own records
        show that other processes may have recorded changes."""
        self.retention = Retention(database, self.contents)
        (self._power_cut,) = database.row("SELECT coalesce(max(number), 0) FROM unrestored")

    def view(self, key: str) -> View:
        """Return the journal's current view of a path."""
        blocked, path, version, size, mode, number, applied, *opened = self._database.row(_VIEW, (key, self._power_cut))
        document = None if opened[0] is None else document_from(opened)
        head = None if number is None else Head(
            key=key, path=path, version=version_from(version), size=size, mode=mode, number=number, applied=bool(applied)
        )  # fmt: skip
        return View(head=head, blocked=bool(blocked), document=document)

    def records(
        self,
        since: int = 0,
        *,
        limit: int = 1000,
        key: str | None = None,
        newest_first: bool = False,
        foreign_only: bool = False,
    ) -> list[ChangeRecord]:
        """Return the records after `since` up to the first that is not applied, including aborted ones.

        Args:
            since: Number of the last record already seen.
            limit: Maximum number of records; fewer mean that these are all.
            key: Only changes of this path, including moves from and onto it.
            newest_first: Order by descending number and include pending records.
            foreign_only: Leave out records committed through this instance.
        """
        order = f"ORDER BY number {'DESC' if newest_first else 'ASC'} LIMIT :limit"
        query = f"{_RECORDS} {order}"
        if key is not None:
            # Two ordered walks along one index each, not one condition with OR: that would read all versions of the path.
            here, moved = (f"{_RECORDS} AND {one} {order}" for one in ("key = :key", "old_key = :key AND key != :key"))
            query = f"SELECT * FROM ({here}) UNION ALL SELECT * FROM ({moved}) {order}"
        values = {
            "since": since, "key": key, "with_pending": newest_first, "foreign_only": foreign_only,
            "opening": self._database.opening, "limit": limit,
        }  # fmt: skip
        return records_from(self._database, query, values)

    def positions(self) -> Positions:
        """Return the numbers of some records, as of one moment."""
        return Positions(*self._database.row(_POSITIONS))

    def commit(self, changes: Sequence[Change], actor: Actor) -> Records:
        """Record changes in one transaction, durable on return if the journal's durability is "commit".

        Args:
            changes: Drafts in order; all are recorded or none.
            actor: Who makes them, except drafts marked external.

        Raises:
            HeadMovedError: An open document has changed since it was read; nothing was recorded.
        """
        (outcome,) = self.commit_all([CommitDraft(changes=changes, actor=actor)])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def keep_aside(
        self, path: str, key: str, content: bytes, actor: Actor, *, of: Document | None = None, closes: bool = False
    ) -> None:
        """Record bytes as a version of a path that was never its head, such as foreign bytes found in a mirror.

        Args:
            path: The path.
            key: Its key.
            content: The bytes.
            actor: Who made them.
            of: The open document whose unsaved text they are.
            closes: True to close the document in the same commit.

        Raises:
            HeadMovedError: The document to close has changed since it was read.
        """
        change = Change(
            operation=Operation.MODIFY, path=path, key=key, before=None if of is None else of.base, before_unknown=of is None,
            after=version_of(content), content=content, size=len(content), aside=True, document=of if closes else None,
        )  # fmt: skip
        self.commit([change], actor)

    def commit_all(self, drafts: Sequence[CommitDraft]) -> list[Records | Exception]:
        """Record several drafts in one transaction.

        Returns:
            For each draft its records or its error: `HeadMovedError`, or that of the transaction. If a single draft made the
            transaction fail, the others are still recorded.
        """
        large = {
            one.after: one.content
            for draft in drafts
            for one in draft.changes
            if one.after and one.content is not None and len(one.content) > LARGEST_ROW_BYTES
        }
        try:
            self.contents.put_all(large)
            outcomes = self._database.write(
                lambda connection: [self._recorder.record(connection, draft) for draft in drafts],
                afterwards=self._note,
                may_use_reserve=all(draft.makes_room for draft in drafts),
            )
        except Exception as exc:  # noqa: BLE001 - returned, and raised to the draft's caller
            if isinstance(exc, DiskFullError) and large:
                self.contents.remove_unused([digest_of(version) for version in large])
            if len(drafts) == 1 or (isinstance(exc, FileToolsError) and not isinstance(exc, DiskFullError)):
                return [exc, *(copy.copy(exc) for _ in drafts[1:])]
            # One draft cannot be stored, for example because a name is not valid text or the disk is full.
            return [outcome for draft in drafts for outcome in self.commit_all([draft])]
        if any(record.state is not RecordState.PENDING for record in _records_of(outcomes)):
            self._on_committed()
        return outcomes

    def observe(self, key_of: Callable[[str], str], look: Callable[[ObservedChanges, TreeTable], None]) -> Records:
        """Record the changes that a look at the tree finds; call it in a turn.

        Args:
            key_of: Returns the key that all spellings of a path share.
            look: Records the changes it finds by its first argument, and then updates the rows to match.
        """

        def work(connection: Connection) -> Records:
            found = ObservedChanges(self._recorder, connection)
            look(found, TreeTable(connection, key_of))
            return tuple(found.records)

        records = self._database.write(work, afterwards=lambda made: self._note([made]))
        if records:
            self._on_committed()
        return records

    def _note(self, outcomes: Sequence[Records | Exception]) -> None:
        """Note the newest number; called behind the gate."""
        if records := _records_of(outcomes):
            if records[0].number != self.own_position + 1:
                self.others_position = records[0].number - 1
            self.own_position = records[-1].number
            self._database.position.note_newest(self.own_position)

    def checkpoint(self) -> None:
        """Copy the write-ahead file into the database if it has grown large."""
        self._database.checkpoint()
        self._database.reserve.fill()

    def close(self) -> None:
        """Release the database; may be called twice, and does nothing after a fork."""
        self._database.close()


def _records_of(outcomes: Sequence[Records | Exception]) -> list[ChangeRecord]:
    return [record for outcome in outcomes if not isinstance(outcome, Exception) for record in outcome]


def _confirmed_epoch(database: Database, durability: Durability, connection: Connection) -> str:
    """Return the epoch of an opened journal, starting a new one if its numbering was rolled back.

    The first opening after a start of the machine also notes which records may have to be restored.
    """
    boot, reached, found = boot_id(), database.position.at_opening, file_id(database.directory / DATABASE_NAME)
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    (issued,) = connection.execute(NEWEST).fetchone()
    lost_tail = meta.get("durability") == "relaxed" and meta.get("boot") not in (None, boot)
    is_copy = database.position.is_restored or meta.get("inode", found) != found
    if issued < reached:
        _log.warning("the journal had reached record %d and is back at %d; its readers start over", reached, issued)
    epoch = secrets.token_hex(6) if issued < reached or lost_tail or is_copy else str(meta["epoch"])
    mark = mark_of(database.directory)
    if mark is not None and meta.get("mark") != mark:
        raise StateUntrustedError(
            database.directory,
            "its journal is not the one that was made here",
            "Put the journal back, or move it away.",
        )
    relaxed = "relaxed" if "relaxed" in (durability, meta.get("durability")) and not lost_tail else durability
    wanted = {"epoch": epoch, "boot": boot, "durability": relaxed, "inode": found}
    changed = [(name, value) for name, value in wanted.items() if meta.get(name) != value]
    connection.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", changed)
    if meta.get("boot") != boot:
        # A power cut may have undone unsynced ones in the files: until each is restored, its head counts as not applied.
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('power_cut', ?)", (str(issued),))
        connection.execute("DELETE FROM restored")
        next_number(connection)  # the bytes that a checkpoint kept may be lost, too
    return epoch
