"""What must hold of a journal's files before they are opened for writing, and as long as they are open."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from filetools.errors import StateDamagedError
from filetools.journal.birth import PAGE_BYTES, PARTS, connect
from filetools.journal.gate import GATE_FILE
from filetools.journal.schema import require_known_schema
from filetools.paths.birth import birth_ns

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_PATH_ONLY: Final[int | None] = getattr(os, "O_PATH", None)
SURE_AFTER_NS: Final = 3_000_000_000
"""Age from which on a directory's time of change shows every later change, on the coarsest clock of a file system."""
_TIMES_TELL: Final = os.name != "nt"
"""On Windows the time of change of a directory is the time of its birth."""
ISSUED: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'"


def refuse_others(directory: Path) -> None:
    """Refuse a database that is not a journal of this version; call it behind the gate.

    Raises:
        StateDamagedError: It is not a journal.
        StateVersionError: Another version of filetools wrote it.
        sqlite3.Error: It cannot be read.
    """
    # Reading only: the last connection that could write removes the write-ahead file when it is closed.
    with closing(connect(directory / PARTS[0], mode="ro")) as connection:
        require_known_schema(connection)
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        if page_bytes != PAGE_BYTES:
            raise StateDamagedError("the journal's database has another page size than every journal")


def boot_id() -> str:
    """Return what identifies this start of the machine, or "unknown"."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def file_id(database: Path) -> str:
    """Return what tells the file of a database from every other, and from a later one that is given the same inode."""
    inode = str(database.lstat().st_ino)
    if _PATH_ONLY is None:
        return inode
    # A descriptor for the path alone: closing any other would drop the locks that SQLite holds on it in this process.
    descriptor = os.open(database, _PATH_ONLY | os.O_CLOEXEC)
    try:
        return f"{inode}-{birth_ns(descriptor)}"
    finally:
        os.close(descriptor)


class Identities:
    """The files of an open database. Lives as long as it is open; call `check` behind the gate."""

    def __init__(self, directory: Path) -> None:
        """Take the files that are there now for the right ones."""
        self._directory = str(directory)
        # Without the gate's file nobody would be excluded; without shared memory there is no write-ahead file.
        self._parts = tuple(str(directory / part) for part in (*PARTS, GATE_FILE) if os.path.lexists(directory / part))
        self._expected = tuple(map(_identity, self._parts))
        self._checked: tuple[int, int, int] | None = None

    def check(self) -> None:
        """Raise if another file stands under one of the names, or none.

        Raises:
            StateDamagedError: So it is.
        """
        # Whatever is removed, made or renamed in a directory changes its time, which no program can set back.
        try:
            found = os.lstat(self._directory)
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise StateDamagedError("the journal's directory has vanished") from exc
        state = (found.st_dev, found.st_ino, found.st_ctime_ns)
        if state == self._checked:
            return
        if tuple(map(_identity, self._parts)) != self._expected:
            raise StateDamagedError("the journal's database was replaced while open")
        is_sure = _TIMES_TELL and time.time_ns() - found.st_ctime_ns > SURE_AFTER_NS
        self._checked = state if is_sure else None


def _identity(part: str) -> tuple[int, int]:
    try:
        found = os.lstat(part)
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise StateDamagedError("the journal's database has vanished") from exc
    return (found.st_dev, found.st_ino)
