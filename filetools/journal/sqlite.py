"""The embedded journal: the interface of `journal.py` on SQLite, for any number of processes on one machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from filetools.journal.blobs import BlobFolder
from filetools.journal.changes import Change, View
from filetools.journal.commit import Draft
from filetools.journal.contents import SqliteContents, version_from
from filetools.journal.database import Database, translated
from filetools.journal.debts import SqliteDebts
from filetools.journal.epoch import confirm_epoch, needs_restoring, note_position, note_restored
from filetools.journal.group import GroupCommit
from filetools.journal.marks import SqliteMarks
from filetools.journal.retention import Retention
from filetools.journal.rows import SELECT_RECORD, head_of, record_from
from filetools.models import Actor, ChangeRecord, Durability

_VISIBLE: Final = "number < coalesce((SELECT min(number) FROM records WHERE state = 'pending'), 9223372036854775807)"


class SqliteJournal:
    """One process's view of an embedded journal; implements `Journal`. Lives as long as the workspace is open."""

    def __init__(
        self,
        directory: Path,
        *,
        durability: Durability = "commit",
        timeout_seconds: float = 30.0,
        on_visible: Callable[[], None] = lambda: None,
    ) -> None:
        """Open or create the journal in a state directory.

        Args:
            directory: An existing private directory.
            durability: "commit" syncs every commit, "relaxed" none.
            timeout_seconds: Longest wait for other processes' commits.
            on_visible: Called from a worker thread after records became visible to the feed.

        Raises:
            StateDamagedError, StateTooNewError, AccessDeniedError, DiskFullError: It cannot be opened.
        """
        self._directory = directory
        self._database = Database(directory, durability=durability, timeout_seconds=timeout_seconds)
        with translated():
            self._blobs = BlobFolder(directory / "blobs", durable=durability == "commit")
        self.contents = SqliteContents(self._database, self._blobs)
        self.debts = SqliteDebts(self._database)
        self.marks = SqliteMarks(self._database, on_visible)
        self._group = GroupCommit(self._database, self.marks)
        self.epoch = confirm_epoch(self._database, directory, durability)
        self._closed = False

    def view(self, key: str) -> View:
        """Return what is known of a path now, for a commit to compare."""
        with self._database.reading() as connection:
            # The position first: whatever is recorded between the statements makes the commit refuse, not pass.
            (position,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
            head = head_of(connection, key)
            folders = connection.execute(
                "SELECT coalesce(old_key, key) FROM records WHERE state = 'pending'"
                " AND operation IN ('delete_directory', 'move_directory')"
            ).fetchall()
        if head is not None and not head.applied and self.marks.is_noted(head.number):
            head = replace(head, applied=True)
        blocked = any(key.startswith(f"{folder}/") for (folder,) in folders)
        return View(position=position, head=head, blocked=blocked)

    def commit(
        self, changes: Sequence[Change], actor: Actor, *, mirrors: Sequence[str] = ()
    ) -> tuple[ChangeRecord, ...]:
        """Record changes in one transaction, together with whoever else waits to commit."""
        for change in changes:
            if change.content is not None and change.after is not None:
                self.contents.put(change.content, change.after)
        return self._group.commit(Draft(changes=changes, actor=actor, mirrors=mirrors))

    def records(
        self,
        since: int = 0,
        *,
        limit: int = 1000,
        key: str | None = None,
        newest_first: bool = False,
        foreign_only: bool = False,
    ) -> list[ChangeRecord]:
        """Return records after `since`; see `Journal.records`."""
        conditions: list[str] = ["number > ?"]
        arguments: list[Any] = [since]
        if key is not None:
            conditions.append("(key = ? OR old_key = ?)")
            arguments += [key, key]
        if foreign_only:
            conditions.append("opening != ?")
            arguments.append(self._database.opening)
        if not newest_first:
            conditions.append(_VISIBLE)
        order = "DESC" if newest_first else "ASC"
        # Built from the literals above only; every value is bound.
        query = f"{SELECT_RECORD} WHERE {' AND '.join(conditions)} ORDER BY number {order} LIMIT ?"
        with self._database.reading() as connection:
            rows = connection.execute(query, (*arguments, limit)).fetchall()
        return [record_from(row) for row in rows]

    def heads_below(self, key: str) -> list[tuple[str, str]]:
        """Return (path, version) of every file recorded below a folder; the empty key is the root."""
        query = "SELECT path, version FROM heads WHERE version IS NOT NULL"
        arguments: tuple[str, ...] = ()
        if key:
            query, arguments = f"{query} AND key >= ? AND key < ?", (f"{key}/", f"{key}0")
        with self._database.reading() as connection:
            rows = connection.execute(query, arguments).fetchall()
        return [(path, version_from(digest) or "") for path, digest in rows]

    def position(self) -> int:
        """Number of the newest record; 0 if there is none."""
        with self._database.reading() as connection:
            (number,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
        return int(number)

    def visible_position(self) -> int:
        """Number of the newest record that the feed may deliver; 0 if there is none."""
        with self._database.reading() as connection:
            query = f"SELECT coalesce(max(number), 0) FROM records WHERE {_VISIBLE}"
            (number,) = connection.execute(query).fetchone()
        return int(number)

    def forgotten(self) -> int:
        """Number up to which records may have been removed by retention; 0 if none was."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'forgotten'").fetchone()
        return 0 if row is None else int(row[0])

    def checkpoint(self) -> None:
        """Copy the write-ahead file into the database if it has grown large."""
        self._database.checkpoint()

    def needs_restoring(self) -> bool:
        """Whether a power cut may have taken what files held since they were last synced."""
        return needs_restoring(self._database)

    def note_restored(self) -> None:
        """Note that the files are as the journal says."""
        note_restored(self._database)

    def maintain(self, *, retention_bytes: int, retention_records: int, retention_seconds: float | None = None) -> int:
        """Checkpoint if due and remove what exceeds the retention; the keeper calls this now and then.

        Returns:
            How many records were removed.
        """
        self._database.checkpoint()
        limits = Retention(bytes=retention_bytes, records=retention_records, seconds=retention_seconds)
        return limits.collect(self._database, self._blobs)

    def close(self) -> None:
        """Write what is noted and release the database; may be called twice."""
        if self._closed:
            return
        self._closed = True
        try:
            self.marks.flush()
            note_position(self._directory, self.position())
        finally:
            self._database.close()
