"""What must hold of a journal's files before they are opened for writing, which would cover the traces of damage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from filetools.errors import StateDamagedError
from filetools.journal.birth import PARTS, connect
from filetools.journal.schema import require_known_schema
from filetools.journal.walfile import goes_on_after_damage, is_header_damaged

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
ISSUED: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'"


def refuse_damage(directory: Path, reached: int) -> None:
    """Refuse a journal that SQLite would open as if nothing were missing; call it behind the gate.

    Args:
        directory: Where it lies.
        reached: How far its numbers had come, as was noted beside it.

    Raises:
        StateDamagedError: It is no journal, or its write-ahead file holds changes that cannot be read.
        StateTooNewError: A newer release wrote it.
        sqlite3.Error: It cannot be read.
    """
    if is_header_damaged(directory):
        raise StateDamagedError("the header of the journal's write-ahead file is not valid")
    # Reading only: the last connection that could write removes the write-ahead file when it is closed.
    with closing(connect(directory / PARTS[0], mode="ro")) as connection:
        require_known_schema(connection)
        is_short = _is_short(connection, directory, reached)
    if is_short and goes_on_after_damage(directory):
        raise StateDamagedError("the journal's write-ahead file is damaged, and acknowledged changes with it")


def boot_id() -> str:
    """Return what identifies this start of the machine, or "unknown"."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _is_short(connection: sqlite3.Connection, directory: Path, reached: int) -> bool:
    """Whether numbers are missing that neither a power cut nor a restored copy explains."""
    (issued,) = connection.execute(ISSUED).fetchone()
    if issued >= reached:
        return False
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    is_same_file = meta.get("inode") == str((directory / PARTS[0]).lstat().st_ino)
    return is_same_file and meta.get("boot") == boot_id()
