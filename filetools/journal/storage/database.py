"""The embedded database: queries in any thread, transactions behind the gate, and what makes it unusable.

Nothing outside this package imports SQLite; its errors leave here translated.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, TypeAlias, TypeVar

from filetools.errors import (
    AccessDeniedError,
    DiskFullError,
    FileToolsError,
    InternalError,
    LockTimeoutError,
    RateLimitedError,
    StateDamagedError,
    StorageFailedError,
)
from filetools.journal.storage.birth import (
    BUSY_SECONDS,
    NO_SHARED_MEMORY,
    PAGE_BYTES,
    PARTS,
    Identities,
    PositionNote,
    connect,
    create_database,
    has_database,
    refuse_others,
)
from filetools.journal.storage.gate import TURN_FILE, Gate
from filetools.journal.storage.schema import require_own_schema
from filetools.models.words import Durability
from filetools.paths.explain import translate
from filetools.paths.resolver import OPEN_OR_NEW

CHECKPOINT_BYTES: Final = 16 * 1024 * 1024
"""Size of the write-ahead file at which the leader copies it into the database."""
TURN_WAIT_SECONDS: Final = 1.0
"""How long to wait for a turn before checking whether it is still wanted."""
_SMALLEST_WAL_BYTES: Final = 384 * 1024
_SHARE_OF_FREE: Final = 16
"""Divisor of the free space that limits the write-ahead file, even if nobody calls `checkpoint`."""
_FAILED_SYNCS: Final = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)
RESERVE_BYTES: Final = 512 * 1024
"""Disk space held back: enough for several deletions until a checkpoint makes room in the write-ahead file again."""
RESERVE_SLICE_BYTES: Final = 64 * 1024
"""Released at a time: on a full disk other programs take free space at once."""
_log = logging.getLogger(__name__)

Connection: TypeAlias = sqlite3.Connection
"""What statements inside a transaction use of it: `execute`, `executemany`, and the cursors that these return."""
Row = tuple[Any, ...]
Arguments = tuple[Any, ...] | Mapping[str, Any]
"""Values of a query, by position or by name."""
T = TypeVar("T")


class Reserve:
    """A file that takes up disk space and shrinks when the space is needed: so a full disk can delete and move files.

    All processes on a root share it.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / "reserve"

    def fill(self) -> None:
        """Grow to the full size again if the disk has twice as much free; failures are ignored."""
        missing = RESERVE_BYTES - size_of(self._file)
        if missing > 0 and free_bytes(self._file.parent) >= 2 * RESERVE_BYTES:
            with suppress(OSError), open(os.open(self._file, OPEN_OR_NEW, 0o600), "wb", buffering=0) as file:
                file.seek(0, os.SEEK_END)
                file.write(os.urandom(missing))  # some file systems give zeros no space

    def shrink(self, keep_bytes: int = 0) -> bool:
        """Release a slice; False if only `keep_bytes` or fewer are left."""
        size = size_of(self._file)
        with suppress(OSError):
            os.truncate(self._file, max(0, min(size, keep_bytes), size - RESERVE_SLICE_BYTES))
            return size > keep_bytes
        return False

    def has_room(self) -> bool:
        """Release what opening a database takes, if the disk has less; False if it still has less.

        A database shares memory through a file: if that cannot grow, the process is killed.
        """
        while free_bytes(self._file.parent) < RESERVE_SLICE_BYTES:
            if not self.shrink():
                return False
        return True


def size_of(file: Path) -> int:
    """Return the size of a file in bytes; 0 if it cannot be found."""
    with suppress(OSError):
        return file.lstat().st_size
    return 0


def free_bytes(folder: Path) -> int:
    """Return how many bytes of a disk are free; `sys.maxsize` if unknown."""
    with suppress(OSError, AttributeError):
        found = os.statvfs(folder)
        if found.f_blocks:
            return found.f_bavail * found.f_frsize
    return sys.maxsize


class Database:
    """An open database, closed with the workspace; unusable after a fork.

    Attributes:
        gate: Lock for writing.
        turn_gate: Lock for a turn; its holder still writes through `gate`.
        connection: The writing connection, for statements inside a transaction.
        has_log: True if it has a write-ahead file; False where the file system offers no shared memory.
        opening: Random number of this opening; distinguishes own records from other processes'.
        reserve: Disk space held back for changes that free space.
        position: Note of the newest record number, outside the database, made before it was opened.
        identities: The files of the database.
    """

    def __init__(self, directory: Path, *, durability: Durability, timeout_seconds: float = 30.0) -> None:
        """Open or create the database in `directory`.

        Raises:
            StateDamagedError: The file is not a journal, or cannot be read.
            StateVersionError: Another version of filetools wrote it.
            AccessDeniedError, DiskFullError: The directory cannot be written.
            LockTimeoutError: Other processes kept it locked.
        """
        self.directory = directory
        self.opening = secrets.randbits(62)
        self.reserve = Reserve(directory)
        self._wal = directory / PARTS[1]
        self._synchronous = "FULL" if durability == "commit" else "NORMAL"
        self._sync_failed = False
        self._idle: list[sqlite3.Connection] = []
        self._writing = Lock()
        """Held while a thread uses the connection that writes: SQLite refuses to checkpoint while a query reads through it."""
        self._closed = False
        if not self.reserve.has_room():
            raise DiskFullError("the journal")
        with TRANSLATED, ExitStack() as opened:
            self.gate = opened.enter_context(closing(Gate(directory, timeout_seconds=timeout_seconds)))
            self.turn_gate = opened.enter_context(
                closing(Gate(directory, name=TURN_FILE, timeout_seconds=TURN_WAIT_SECONDS))
            )
            with self.gate:
                if not has_database(directory):
                    create_database(directory)
                self.position = opened.enter_context(closing(PositionNote(directory)))
                refuse_others(directory)
                self.connection = opened.enter_context(closing(connect(directory / PARTS[0])))
                self.has_log = _prepare(self.connection, directory, is_durable=self._synchronous == "FULL")
                self.identities = Identities(directory)
            self._opened = opened.pop_all()

    def rows(self, query: str, arguments: Arguments = ()) -> list[Row]:
        """Return all rows of a query; each call sees the newest commit of any process."""
        # In a turn with the writing connection: only its cache still holds the pages of the last commit.
        in_turn = self.turn_gate.is_held_here() and self._writing.acquire(blocking=False)
        connection = self.connection if in_turn else self._take()
        try:
            return connection.execute(query, arguments).fetchall()
        except sqlite3.Error as exc:
            raise of_sqlite(exc) from exc
        finally:
            if in_turn:
                self._writing.release()
            else:
                self._give_back(connection)

    def row(self, query: str, arguments: Arguments = ()) -> Any:
        """Return the first row of a query that has few, or None."""
        return next(iter(self.rows(query, arguments)), None)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for reading; everything read in the block is of one moment. Leave no cursor open."""
        connection = self._take()
        try:
            with TRANSLATED:
                connection.execute("BEGIN")
                yield connection
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self._give_back(connection)

    def write(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        durable: bool = True,
        afterwards: Callable[[T], None] | None = None,
        may_use_reserve: bool = False,
    ) -> T:
        """Run `work` in one write transaction and commit it; nothing is kept if it raises.

        Args:
            work: Gets the connection inside the transaction.
            durable: False leaves the commit unsynced, for what recovery can find again by itself.
            afterwards: Gets the result after the commit, still behind the gate.
            may_use_reserve: True if `work` needs no space for long, like a deletion: if it fails for lack of space, it is run
                again in the reserved space.

        Raises:
            StateDamagedError: The database is no longer the file that was opened; nothing is acknowledged.
            LockTimeoutError: The gate was not free in time.
            DiskFullError, StorageFailedError: Nothing was recorded.
        """
        self._check_usable()
        with TRANSLATED, self.gate:
            result = self._transact(work, durable, may_use_reserve)
            if afterwards is not None:
                afterwards(result)
            return result

    def change(
        self,
        statement: str,
        rows: Iterable[Arguments] = ((),),
        *,
        durable: bool = False,
        may_use_reserve: bool = False,
    ) -> int:
        """Run one statement for each of some rows of values; returns how many rows it changed.

        Each slice of them is a write transaction of its own.
        """

        def work(some: list[Arguments], connection: sqlite3.Connection) -> int:
            return connection.executemany(statement, some).rowcount

        write = partial(self.write, durable=durable, may_use_reserve=may_use_reserve)
        return sum(write(partial(work, some)) for some in slices(rows))

    def _transact(self, work: Callable[[sqlite3.Connection], T], durable: bool, may_use_reserve: bool) -> T:
        has_restarted = False
        while True:
            if self._sync_failed:
                # The kernel may have dropped earlier writes, and reports that only once: the write-ahead file must never be
                # synced again as it is.
                if not self.restart_wal():
                    reason = "its last sync failed, and a reader keeps it from being written anew"
                    raise StorageFailedError("the journal", reason)
                self._sync_failed = False
            try:
                return self._once(work, durable)
            except sqlite3.Error as exc:  # contents outside the database would take up the whole reserve
                if has_restarted or not may_use_reserve or not isinstance(of_sqlite(exc), DiskFullError):
                    raise
            # A transaction that is too large for the disk must not take what the next opening needs.
            if not self.reserve.shrink(RESERVE_SLICE_BYTES):
                self.restart_wal()
                has_restarted = True

    def _once(self, work: Callable[[sqlite3.Connection], T], durable: bool) -> T:
        """Run `work` in one transaction, which is rolled back if it raises. The caller is behind the gate."""
        connection = self.connection
        with self._writing:
            self.identities.check()
            connection.execute(f"PRAGMA synchronous = {self._synchronous if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                # Another version may have changed the schema since this process opened the database.
                require_own_schema(connection)
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException as exc:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                if getattr(exc, "sqlite_errorcode", None) in _FAILED_SYNCS:
                    self._sync_failed = True
                    self._take_back()
                raise
            if durable:  # checked again: a folder removed during the commit took the commit with it
                self.identities.check()
            return result

    def checkpoint(self, *, at_least_bytes: int = CHECKPOINT_BYTES) -> None:
        """Copy the write-ahead file into the database if it has grown to `at_least_bytes`.

        A file in use is not truncated: overwriting it takes less time than extending it.
        """
        self._check_usable()
        if size_of(self._wal) < at_least_bytes:
            return
        with TRANSLATED, self.gate, self._writing:
            self.identities.check()
            try:
                self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            except sqlite3.OperationalError as exc:
                self._sync_failed |= exc.sqlite_errorcode in _FAILED_SYNCS
                raise

    def restart_wal(self) -> bool:
        """Copy the write-ahead file into the database and truncate both; False if a reader is in the way.

        The caller is behind the gate.
        """
        with self._writing:
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:
                (busy, _, _) = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy
            finally:
                self.connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")

    def close(self) -> None:
        """Checkpoint and release every connection; may be called twice, and does nothing after a fork."""
        if self._closed or not self.gate.is_open:
            return
        self._closed = True
        self._close_idle()
        try:
            with TRANSLATED, self.gate:
                self.identities.check()
                self.connection.close()
                # Then nobody else has it open: the last one to close it removes the write-ahead file.
                if self.has_log and not self._wal.exists():
                    self.position.note_closed((self.directory / PARTS[0]).lstat().st_ctime_ns)
        except FileToolsError as exc:
            # Everything acknowledged is in the write-ahead file, which the next opening reads.
            _log.warning("the journal was closed without a checkpoint: %s", exc)
        self._opened.close()

    def _check_usable(self) -> None:
        if self._closed:
            raise InternalError("The journal is closed")
        if not self.gate.is_open:
            raise InternalError("This journal was opened before a fork; open the workspace again in the new process")

    def _take(self) -> sqlite3.Connection:
        """Return a connection for reading that no other thread has."""
        self._check_usable()
        try:
            return self._idle.pop()
        except IndexError:
            pass
        with TRANSLATED, ExitStack() as opened:
            self.identities.check()
            connection = opened.enter_context(closing(connect(self.directory / PARTS[0])))
            connection.execute("PRAGMA query_only = ON")
            # Again: the name may have led to another file already.
            self.identities.check()
            opened.pop_all()
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        self._idle.append(connection)
        if self._closed:
            self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take_back(self) -> None:
        """Overwrite the frames of a commit whose sync failed: the next opening would replay them if they stay intact."""
        with suppress(sqlite3.Error):
            self.connection.execute("PRAGMA synchronous = NORMAL")
            self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('sync_failed', ?)", (time.time(),))


class TableAccess:
    """Base of what reads and writes some of the tables; calls `on_visible` after changes that any process may wait for."""

    def __init__(self, database: Database, on_visible: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._on_visible = on_visible


def slices(rows: Iterable[T], most: int = 2000, size: Callable[[T], int] = lambda _: 1) -> Iterator[list[T]]:
    """Yield rows in slices of one transaction each, so that other commits wait a few milliseconds at most.

    Args:
        rows: The rows.
        most: Size at which a slice is complete.
        size: Size of a row; by default rows are counted.
    """
    some, held = list[T](), 0
    for row in rows:
        some.append(row)
        held += size(row)
        if held >= most:
            yield some
            some, held = [], 0
    if some:
        yield some


def _prepare(connection: sqlite3.Connection, directory: Path, *, is_durable: bool) -> bool:
    """Prepare a connection for writing; returns True if the database was created with a write-ahead file."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = TRUNCATE")
    # A file in use is not truncated each time: extending it takes longer than overwriting it.
    limit = max(_SMALLEST_WAL_BYTES, min(4 * CHECKPOINT_BYTES, free_bytes(directory) // _SHARE_OF_FREE))
    connection.execute(f"PRAGMA wal_autocheckpoint = {limit // PAGE_BYTES}")
    connection.execute(f"PRAGMA journal_size_limit = {limit}")
    if is_durable:
        # Where a sync leaves data in the drive's own cache (macOS); does nothing elsewhere.
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
    connection.execute("BEGIN IMMEDIATE")  # makes the write-ahead file
    connection.execute("COMMIT")
    return bool(mode == "wal")


# -- errors

_WHAT: Final = "the journal"
_DAMAGE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EEXIST)
"""Something in the state directory is missing or was replaced; all other errors are trouble of the system."""


class Translation:
    """A context that translates foreign errors into the product's; has no state, so that one serves all."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise of_sqlite(error) from error
        if isinstance(error, OSError) and not isinstance(error, FileToolsError):
            raise of_system(error) from error


TRANSLATED: Final = Translation()


def of_system(error: OSError) -> FileToolsError:
    """Return the product's error for one of the operating system."""
    reason = error.strerror or str(error)
    if error.errno in _DAMAGE:
        return StateDamagedError(reason)
    found = translate(_WHAT, error)
    is_known = isinstance(found, AccessDeniedError | DiskFullError | RateLimitedError)
    return found if is_known else StorageFailedError(_WHAT, reason)


_BY_CODE: Final[dict[int, Callable[[sqlite3.Error], FileToolsError]]] = {
    **dict.fromkeys(
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL),
        lambda _: LockTimeoutError(_WHAT, BUSY_SECONDS, "a program that does not go through filetools"),
    ),
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE), lambda _: DiskFullError(_WHAT)),
    **dict.fromkeys(
        NO_SHARED_MEMORY,
        lambda _: StorageFailedError(
            _WHAT,
            "its file system gives processes no memory to share, as some network, virtual and FUSE ones do",
            suggested_action="Keep the state on another disk with state_dir.",
        ),
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS), lambda error: StateDamagedError(str(error))
    ),
    sqlite3.SQLITE_IOERR: lambda error: StorageFailedError(_WHAT, str(error)),
    sqlite3.SQLITE_READONLY_DBMOVED: lambda _: StateDamagedError("its database was moved while open"),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        lambda error: AccessDeniedError(_WHAT, f"its database cannot be written: {error}"),
    ),
}
"""Errors by extended or primary code; all other codes mean damage."""


def of_sqlite(error: sqlite3.Error) -> FileToolsError:
    """Return the product's error for one of SQLite."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None and isinstance(error, (sqlite3.ProgrammingError, sqlite3.InterfaceError)):
        return InternalError(f"The journal was used wrongly: {error}")
    found = None if code is None else _BY_CODE.get(code) or _BY_CODE.get(code & 0xFF)
    return StateDamagedError(str(error)) if found is None else found(error)
