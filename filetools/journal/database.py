"""The embedded journal's database: queries, write transactions behind the gate, and what makes it unusable.

Nothing outside this package sees SQLite; its errors leave here translated.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, TypeVar

from filetools.errors import DiskFullError, FileToolsError, InternalError
from filetools.journal.birth import PARTS, make_sure_of_database
from filetools.journal.gate import Gate
from filetools.journal.opening import file_id, refuse_others
from filetools.journal.position import PositionNote
from filetools.journal.readers import Arguments, Identities, Readers, Row
from filetools.journal.reserve import Reserve
from filetools.journal.translation import TRANSLATED, translated
from filetools.journal.writer import CHECKPOINT_BYTES, JournalWriter
from filetools.models.words import Durability

IDLE_BYTES: Final = 1024 * 1024
"""Size of a write-ahead file up to which it stays as it is while nobody writes."""
_log = logging.getLogger(__name__)

# Asked anew after a fork alone: for each query it would be one in twenty of a write's system calls.
_process_id = [os.getpid()]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _process_id.__setitem__(0, os.getpid()))

_FLAGS: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)

T = TypeVar("T")


class Database:
    """An open journal database. Lives as long as the journal; unusable after a fork."""

    def __init__(self, directory: Path, *, durability: Durability, timeout_seconds: float = 30.0) -> None:
        """Open or create the database in `directory`.

        Raises:
            StateDamagedError: The file is not a journal, or cannot be read.
            StateVersionError: Another version of filetools wrote it.
            AccessDeniedError, DiskFullError: The directory cannot be written.
            LockTimeoutError: Somebody writes it all the time.
        """
        self.directory = directory
        self._wal = directory / PARTS[1]
        self._wal_seen_ns = 0
        self._process = _process_id[0]
        self._closed = False
        self.opening = secrets.randbits(62)
        """Random number of this opening; tells own records from other processes'."""
        self.reserve = Reserve(directory)
        """Room for what makes room."""
        with TRANSLATED:
            self.gate = Gate(directory, timeout_seconds=timeout_seconds)
            try:
                with self.gate:
                    make_sure_of_database(directory)
                    self.position = PositionNote(directory)
                    """How far the numbers have come, noted outside the database."""
                    self.is_restored = self.position.is_restored(directory / PARTS[0])
                    """Whether it was put back from a copy since it was closed."""
                    self._writer = self._open_writer(directory, durability)
                    self.file_id = file_id(directory / PARTS[0])
                    """Of its main file."""
                    self.identities = Identities(directory)
                    """Which files the database consists of."""
            except BaseException:
                self.gate.close()
                raise
        self._readers = Readers(directory, self.identities)

    @property
    def is_open(self) -> bool:
        """Whether this process may use it."""
        return not self._closed and self._process == _process_id[0]

    def rows(self, query: str, arguments: Arguments = ()) -> list[Row]:
        """Return all rows of a query; each call sees the newest commit of any process."""
        self._check_usable()
        return self._readers.rows(query, arguments)

    def row(self, query: str, arguments: Arguments = ()) -> Any:
        """Return the first row of a query, or None."""
        self._check_usable()
        return self._readers.row(query, arguments)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Lend a connection for reading in peculiar ways; leave no cursor open."""
        self._check_usable()
        return self._readers.lent()

    def write(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        durable: bool = True,
        deadline: float | None = None,
        afterwards: Callable[[T], None] | None = None,
        may_use_reserve: Callable[[], bool] = lambda: False,
    ) -> T:
        """Run `work` in one write transaction and commit it; nothing is kept if it raises.

        Args:
            work: Gets the connection inside the transaction.
            durable: False leaves the commit unsynced, for marks that recovery can find again by itself.
            deadline: When to give up waiting for the gate; by default after the time of the opening.
            afterwards: Gets the result after the commit, still behind the gate.
            may_use_reserve: Whether `work`, which has failed for want of space, takes no room for long, as a deletion;
                then it is run again in the room that is kept for it.

        Raises:
            StateDamagedError: The database is no longer the file that was opened; nothing is acknowledged.
            LockTimeoutError: The gate was not free in time.
            DiskFullError, StorageFailedError: Nothing was recorded.
        """
        self._check_usable()
        with TRANSLATED:
            self.gate.enter(deadline)
            try:
                self.identities.check()
                result = self._transact(work, durable, may_use_reserve)
                # Looked at again: a folder removed during the commit took the commit with it.
                self.identities.check()
                if afterwards is not None:
                    afterwards(result)
                return result
            finally:
                self.gate.leave()

    def _transact(
        self, work: Callable[[sqlite3.Connection], T], durable: bool, may_use_reserve: Callable[[], bool]
    ) -> T:
        has_restarted = False
        while True:
            try:
                return self._writer.transact(work, durable=durable)
            except sqlite3.Error as exc:
                # An OSError comes from contents beside the database, which would take all of that room.
                if has_restarted or not isinstance(translated(exc), DiskFullError) or not may_use_reserve():
                    raise
            if not self.reserve.shrink():
                self._writer.restart_wal()
                has_restarted = True

    def checkpoint(self, *, at_least_bytes: int = CHECKPOINT_BYTES) -> bool:
        """Copy the write-ahead file into the database if it is due; False if it is not.

        Due is a file that has grown to `at_least_bytes`, and one of some size that nobody has written since the last
        call: that one is cut off, too. While somebody writes it is overwritten, which takes less time than extending it.
        """
        self._check_usable()
        size, changed_ns = self._wal_state()
        is_idle = size > IDLE_BYTES and changed_ns == self._wal_seen_ns
        self._wal_seen_ns = changed_ns
        if size < at_least_bytes and not is_idle:
            return False
        is_synced = _sync_ahead(self._wal)
        with TRANSLATED, self.gate:
            self.identities.check()
            if not is_synced:
                self._writer.distrust()
            if is_idle:
                self._writer.restart_wal()
            else:
                self._writer.checkpoint()
        return True

    def close(self) -> None:
        """Checkpoint and release every connection; may be called twice, and after a fork does nothing."""
        if not self.is_open:
            return
        self._closed = True
        try:
            with TRANSLATED, self.gate:
                self.identities.check()
                self._writer.checkpoint()
                self._close_connections()
                if not self._wal.exists():  # nobody else has it open: the last one who closes removes it
                    self.position.note_closed(self.directory / PARTS[0])
        except FileToolsError as exc:
            # Everything acknowledged is in the write-ahead file, which the next opening reads.
            _log.warning("the journal was closed without a checkpoint: %s", exc)
            self._close_connections()
        self.position.close()
        self.gate.close()

    def _open_writer(self, directory: Path, durability: Durability) -> JournalWriter:
        try:
            refuse_others(directory)
            return JournalWriter(directory, durability)
        except BaseException:
            self.position.close()
            raise

    def _close_connections(self) -> None:
        self._readers.close()
        self._writer.close()

    def _wal_state(self) -> tuple[int, int]:
        try:
            found = self._wal.stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_size, found.st_mtime_ns

    def _check_usable(self) -> None:
        if self._process != _process_id[0]:
            raise InternalError("This journal was opened before a fork; open the workspace again in the new process")
        if self._closed:
            raise InternalError("The journal is closed")


def _sync_ahead(wal: Path) -> bool:
    """Sync the write-ahead file while others write, so that a checkpoint keeps them waiting for the rest alone.

    A checkpoint syncs this file before all else, and most of its time goes into that. SQLite holds no locks on it that closing
    a descriptor would drop.

    Returns:
        False if that failed; what was written before must not be relied on then.
    """
    try:
        descriptor = os.open(wal, _FLAGS)
    except OSError:
        return True  # none was written, or the checkpoint meets the same
    try:
        os.fsync(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
