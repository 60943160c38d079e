"""The epoch: which numbering a journal is in. Followers compare it, so that a rolled-back journal cannot fool them.

A database that is another file than it was, or has fewer numbers than were noted beside it, was restored from a copy, or
lost its unsynced tail in a power cut: its next numbers would name other changes than followers remember.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
from functools import partial
from typing import Final

from filetools.journal.database import Database
from filetools.journal.opening import ISSUED, boot_id
from filetools.models import Durability

_PUT: Final = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
_log = logging.getLogger(__name__)


def confirm_epoch(database: Database, durability: Durability) -> str:
    """Return the epoch of an opened journal, starting a new one if its numbering was rolled back."""
    return database.write(partial(_confirm, database.position.at_opening, database.identities.inode, durability))


def _confirm(reached: int, inode: int, durability: Durability, connection: sqlite3.Connection) -> str:
    boot = boot_id()
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    (issued,) = connection.execute(ISSUED).fetchone()
    lost_tail = meta.get("durability") == "relaxed" and meta.get("boot") not in (None, boot)
    is_copy = meta.get("inode") not in (None, str(inode))
    if issued < reached:
        _log.warning("the journal had come to record %d and is back at %d; its readers start anew", reached, issued)
    epoch = secrets.token_hex(6) if issued < reached or lost_tail or is_copy else str(meta["epoch"])
    relaxed = "relaxed" if "relaxed" in (durability, meta.get("durability")) and not lost_tail else durability
    wanted = {"epoch": epoch, "boot": boot, "durability": relaxed, "inode": str(inode)}
    changed = [(name, value) for name, value in wanted.items() if meta.get(name) != value]
    if changed:
        connection.executemany(_PUT, changed)
    return epoch


def needs_restoring(database: Database) -> bool:
    """Whether the machine was restarted since files were last compared with the journal."""
    row = database.row("SELECT value FROM meta WHERE name = 'restored_boot'")
    return row is None or row[0] != boot_id()


def note_restored(database: Database) -> None:
    """Note that the files are as the journal says, since this start of the machine."""
    values = ("restored_boot", boot_id())
    database.write(lambda connection: connection.execute(_PUT, values))
