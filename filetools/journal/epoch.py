"""The epoch: which numbering a journal is in. Followers compare it, so that a rolled-back journal cannot fool them.

A small file beside the database notes how far the numbers had come. A database that has fewer was restored from a
copy, or lost its unsynced tail in a power cut: its next numbers would name other changes than followers remember.
"""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.journal.database import Database
from filetools.models import Durability

_POSITION_FILE: Final = "position"
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def confirm_epoch(database: Database, directory: Path, durability: Durability) -> str:
    """Return the epoch of an opened journal, starting a new one if its numbering was rolled back."""
    reached, boot = _noted_position(directory), _boot_id()

    def work(connection: sqlite3.Connection) -> str:
        meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'records'").fetchone()
        issued = row[0] if row is not None else 0
        lost_tail = meta.get("durability") == "relaxed" and meta.get("boot") not in (None, boot)
        epoch = secrets.token_hex(6) if issued < reached or lost_tail else meta["epoch"]
        relaxed = "relaxed" if "relaxed" in (durability, meta.get("durability")) and not lost_tail else durability
        wanted = {"epoch": epoch, "boot": boot, "durability": relaxed}
        changed = [(name, value) for name, value in wanted.items() if meta.get(name) != value]
        connection.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", changed)
        return str(epoch)

    return database.write(work)


def needs_restoring(database: Database) -> bool:
    """Whether the machine was restarted since files were last compared with the journal."""
    with database.reading() as connection:
        row = connection.execute("SELECT value FROM meta WHERE name = 'restored_boot'").fetchone()
    return row is None or row[0] != _boot_id()


def note_restored(database: Database) -> None:
    """Note that the files are as the journal says, since this start of the machine."""
    values = ("restored_boot", _boot_id())
    database.write(lambda connection: connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values))


def note_position(directory: Path, number: int) -> None:
    """Note how far the numbers have come; a higher note already there stays."""
    if number > _noted_position(directory):
        temporary = directory / f"{_POSITION_FILE}.new"
        # A missing note only means that a rollback goes unnoticed; closing must not fail for it.
        with suppress(OSError):
            temporary.write_text(str(number), encoding="ascii")
            temporary.replace(directory / _POSITION_FILE)


def _noted_position(directory: Path) -> int:
    try:
        return int((directory / _POSITION_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
