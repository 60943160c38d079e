"""Creates a journal's database, and checks its files before they are opened and while they are open.

A database gets its name only when it is complete. So an empty or missing one is damage, not a beginning, and SQLite never
gets the chance to make a fresh one out of it or to discard its write-ahead file.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from filetools.durable import sync_descriptor, sync_directory
from filetools.errors import StateDamagedError
from filetools.journal.storage.gate import GATE_FILE, TURN_FILE, note_at, read_at
from filetools.journal.storage.schema import create_tables, require_own_schema, schema_of
from filetools.paths.library import birth_ns
from filetools.paths.resolver import NEW_FILE_FLAGS, OPEN_OR_NEW
from filetools.settings import read_of_tree

DATABASE_NAME: Final = "journal.db"
PARTS: Final = (DATABASE_NAME, *(f"{DATABASE_NAME}-{part}" for part in ("wal", "shm", "journal")))
MARK_FILE: Final = "mark"
"""Identifies a state directory to the user's own configuration folder; a database stores the mark of its directory."""
POSITION_FILE: Final = "position"
_POSITION: Final = struct.Struct("<qq")
"""Newest record number, and ctime of the closed database in nanoseconds; 0 while it is open, and after a crash."""
_CLOSED_AT: Final = 8
"""Offset of that ctime."""
PAGE_BYTES: Final = 4096
BUSY_SECONDS: Final = 10.0
"""How long SQLite waits for programs that lock the database without going through the gate."""
NO_SHARED_MEMORY: Final = (sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMLOCK, sqlite3.SQLITE_IOERR_SHMMAP)
_UNFINISHED: Final = f"{DATABASE_NAME}.new"
_PATH_ONLY: Final[int | None] = getattr(os, "O_PATH", None)
SURE_AFTER_NS: Final = 3_000_000_000
"""Age of a directory's change time from which on every later change shows, even on the coarsest file-system clock."""


def has_database(directory: Path) -> bool:
    """True if there is a database; False only if there never was one.

    Raises:
        StateDamagedError: A database was there and is now missing or empty, or something else is at its path.
    """
    sizes = [_size_of(directory / part) for part in PARTS]
    if sizes[0] == 0:
        raise StateDamagedError("the journal's database is empty")
    if sizes[0] is None and (sizes[1] or os.path.lexists(directory / POSITION_FILE)):
        raise StateDamagedError("the journal's database is missing")
    return sizes[0] is not None


def connect(database: Path, *, mode: str = "rw") -> sqlite3.Connection:
    """Open a connection to an existing database; it never creates one.

    Raises:
        OSError: The process has no descriptors left, or the database is missing: SQLite has one code for every cause.
        sqlite3.OperationalError: It cannot be opened.
    """
    if _size_of(database.with_name(f"{database.name}-journal")):
        mode = "rw"  # a commit that a dead process began without a write-ahead file is rolled back first
    address = f"file:{quote(str(database.absolute()))}?mode={mode}"
    try:
        connection = sqlite3.connect(
            address,
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=BUSY_SECONDS,
            cached_statements=256,
        )
    except sqlite3.OperationalError:
        # Never by opening the database itself: closing it would drop the locks that SQLite holds on it in this process.
        os.close(os.open(os.devnull, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)))
        os.lstat(database)
        raise
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def install(fresh: Path, directory: Path) -> None:
    """Put a complete, closed database into its place, durably."""
    # Before the move: interrupted in place, this change could leave a rollback that a reader must not make.
    try:
        with closing(connect(fresh)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode not in NO_SHARED_MEMORY:
            raise
        with closing(connect(fresh)) as connection:
            # The file is in WAL mode by now; in exclusive mode leaving it needs no shared memory.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = TRUNCATE")
    with fresh.open("rb+") as file:
        sync_descriptor(file.fileno())
    fresh.replace(directory / DATABASE_NAME)
    sync_directory(directory)


@contextmanager
def building(fresh: Path, directory: Path) -> Iterator[sqlite3.Connection]:
    """Build the database of a state directory in a private file beside it; the block fills the tables.

    Removes what a dead builder left there. `install` puts the database into its place.
    """
    for suffix in ("", "-journal", "-wal", "-shm"):
        Path(f"{fresh}{suffix}").unlink(missing_ok=True)
    os.close(os.open(fresh, NEW_FILE_FLAGS, 0o600))
    with closing(connect(fresh)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a dead builder's work is thrown away; `install` syncs
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum = FULL")  # so that the file can shrink again
        connection.execute("BEGIN IMMEDIATE")
        create_tables(connection)
        keep_mark(connection, directory)
        yield connection
        connection.execute("COMMIT")


def create_database(directory: Path) -> None:
    """Create the database of a new journal; call it behind the gate.

    Raises:
        OSError, sqlite3.Error: It cannot be created.
    """
    with building(directory / _UNFINISHED, directory):
        pass
    install(directory / _UNFINISHED, directory)


def mark_of(directory: Path) -> str | None:
    """Return the mark of a state directory; None if it has none, like one that its user named with `state_dir`."""
    try:
        mark = read_of_tree(directory / MARK_FILE).decode("ascii").strip()
    except (OSError, ValueError):
        return None
    return mark if re.fullmatch("[0-9a-f]{32}", mark) else None


def keep_mark(connection: sqlite3.Connection, directory: Path) -> None:
    """Store the mark of its directory in a database, so that a replacement is noticed."""
    if (mark := mark_of(directory)) is not None:
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('mark', ?)", (mark,))


def _size_of(part: Path) -> int | None:
    try:
        found = part.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise StateDamagedError(f"{part.name} is not a regular file")
    return found.st_size


def refuse_others(directory: Path) -> None:
    """Refuse a database that is not a journal of this version; call it behind the gate.

    Raises:
        StateDamagedError: It is not a journal.
        StateVersionError: Another version of filetools wrote it.
        sqlite3.Error: It cannot be read.
    """
    # Read-only: the last connection that can write removes the write-ahead file when it is closed.
    with closing(connect(directory / PARTS[0], mode="ro")) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if schema_of(connection) == 0 or not {"meta", "records", "tree", "contents", "mirrors"} <= names:
            raise StateDamagedError("the journal's database is not one of filetools")
        require_own_schema(connection)
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        if page_bytes != PAGE_BYTES:
            raise StateDamagedError("the journal's database has another page size than every journal")


def file_id(database: Path) -> str:
    """Return an id of a database's file; with O_PATH it differs even from that of a later file with the same inode."""
    inode = str(database.lstat().st_ino)
    if _PATH_ONLY is None:
        return inode
    # An O_PATH descriptor: closing any other would drop the locks that SQLite holds on the file in this process.
    descriptor = os.open(database, _PATH_ONLY | os.O_CLOEXEC)
    try:
        return f"{inode}-{birth_ns(descriptor)}"
    finally:
        os.close(descriptor)


class PositionNote:
    """A note of the newest record number beside the database, so that a database that was rolled back is recognised.

    Written after each commit without a sync: it survives the process, and after a power cut it never shows more than the
    kernel was given. A clean close adds the ctime of the database's file. No program can choose a ctime, so a database that
    is put back from a copy has another. One thread at a time writes it.
    """

    def __init__(self, directory: Path) -> None:
        changed_at = (directory / DATABASE_NAME).lstat().st_ctime_ns
        self._descriptor = os.open(directory / POSITION_FILE, OPEN_OR_NEW, 0o600)
        note = read_at(self._descriptor, _POSITION.size, 0).ljust(_POSITION.size, b"\0")
        self.at_opening, closed_at = _POSITION.unpack(note)
        """Newest number when the journal was opened; 0 if there is no note."""
        self.is_restored = closed_at not in (0, changed_at)
        """True if the database was closed cleanly, and replaced or written by another program since."""

    def note_closed(self, ctime_ns: int) -> None:
        """Note the ctime of the database's file when nobody has it open, which no copy shares; 0 while it is open."""
        note_at(self._descriptor, _CLOSED_AT, ctime_ns.to_bytes(8, "little"))

    def note_newest(self, number: int) -> None:
        """Note the newest record number."""
        # Without the note a rollback may go unnoticed; no commit fails for that.
        note_at(self._descriptor, 0, number.to_bytes(8, "little"))

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)


class Identities:
    """The files of an open database, and its gates; call `check` behind the gate."""

    def __init__(self, directory: Path) -> None:
        """Take the current files as the right ones."""
        self._directory = str(directory)
        # Without shared memory there is no write-ahead file. A lock on a replaced gate excludes nobody.
        names = [*(part for part in PARTS if os.path.lexists(directory / part)), GATE_FILE, TURN_FILE]
        self._files = [str(directory / name) for name in names]
        self._expected = [*map(_identity, self._files)]
        self._checked: tuple[int, int, int] | None = None

    def check(self) -> None:
        """Raise if one of the files was replaced or removed.

        Raises:
            StateDamagedError: One was, or the directory has vanished.
        """
        try:
            # Removing, making or renaming an entry changes the directory's ctime, which no program can set back.
            found = os.lstat(self._directory)
            state = (found.st_dev, found.st_ino, found.st_ctime_ns)
            if state == self._checked:
                return
            if [*map(_identity, self._files)] != self._expected:
                raise StateDamagedError("the journal's database or its gate was replaced while open")
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise StateDamagedError("the journal's database, its gate or its directory has vanished") from exc
        # On Windows the time of change of a directory is the time of its birth.
        is_sure = os.name != "nt" and time.time_ns() - found.st_ctime_ns > SURE_AFTER_NS
        self._checked = state if is_sure else None


def _identity(part: str) -> tuple[int, int]:
    found = os.lstat(part)
    return (found.st_dev, found.st_ino)
