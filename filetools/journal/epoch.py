"""The epoch: which numbering a journal is in. Followers compare it, so that a rolled-back journal cannot fool them.

A database that is another file than it was, or has fewer numbers than were noted beside it, was restored from a copy, or
lost its unsynced tail in a power cut: its next numbers would name other changes than followers remember.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
from pathlib import Path
from typing import Final

from filetools.errors import StateDamagedError
from filetools.journal.database import Database
from filetools.models import Durability

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_PUT: Final = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
_ISSUED: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'records'"
_log = logging.getLogger(__name__)


def confirm_epoch(database: Database, reached: int, durability: Durability) -> str:
    """Return the epoch of an opened journal, starting a new one if its numbering was rolled back.

    Args:
        database: The database, just opened.
        reached: How far its numbers had come, as was noted beside it.
        durability: Of this opening.

    Raises:
        StateDamagedError: Acknowledged changes are in its write-ahead file, but cannot be read.
    """
    boot = _boot_id()
    meta = {str(name): str(value) for name, value in database.rows("SELECT name, value FROM meta")}
    is_copy = meta.get("inode") not in (None, str(database.inode))
    is_short = _issued(database.row(_ISSUED)) < reached
    if is_short and not is_copy and meta.get("boot") == boot and database.is_cut_short():
        raise StateDamagedError("its write-ahead file is damaged, and acknowledged changes with it")

    def work(connection: sqlite3.Connection) -> str:
        meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
        issued = _issued(connection.execute(_ISSUED).fetchone())
        lost_tail = meta.get("durability") == "relaxed" and meta.get("boot") not in (None, boot)
        is_rolled_back = issued < reached or lost_tail or is_copy
        epoch = secrets.token_hex(6) if is_rolled_back else str(meta["epoch"])
        if issued < reached:
            _log.warning("the journal had come to record %d and is back at %d; its readers start anew", reached, issued)
        relaxed = "relaxed" if "relaxed" in (durability, meta.get("durability")) and not lost_tail else durability
        wanted = {"epoch": epoch, "boot": boot, "durability": relaxed, "inode": str(database.inode)}
        changed = [(name, value) for name, value in wanted.items() if meta.get(name) != value]
        if changed:
            connection.executemany(_PUT, changed)
        return epoch

    return database.write(work)


def needs_restoring(database: Database) -> bool:
    """Whether the machine was restarted since files were last compared with the journal."""
    row = database.row("SELECT value FROM meta WHERE name = 'restored_boot'")
    return row is None or row[0] != _boot_id()


def note_restored(database: Database) -> None:
    """Note that the files are as the journal says, since this start of the machine."""
    values = ("restored_boot", _boot_id())
    database.write(lambda connection: connection.execute(_PUT, values))


def _issued(row: tuple[int] | None) -> int:
    return 0 if row is None else row[0]


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
