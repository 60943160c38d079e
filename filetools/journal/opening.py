"""What must hold of a journal's files before they are opened for writing."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Final

from filetools.errors import StateDamagedError
from filetools.journal.birth import PAGE_BYTES, PARTS, connect
from filetools.journal.schema import require_known_schema
from filetools.paths.birth import birth_ns

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_PATH_ONLY: Final[int | None] = getattr(os, "O_PATH", None)
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
