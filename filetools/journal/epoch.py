"""The epoch: which numbering a journal is in. Followers compare it, so that a rolled-back journal cannot fool them.

A database that is another file than it was, was written since it was closed, or has fewer numbers than were noted
beside it, was restored from a copy, or lost its unsynced tail in a power cut: its next numbers would name other
changes than followers remember.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
from functools import partial
from typing import Final

from filetools.journal.database import Database
from filetools.journal.opening import ISSUED, boot_id, is_same_file
from filetools.models.words import Durability

_PUT: Final = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
_log = logging.getLogger(__name__)


def confirm_epoch(database: Database, durability: Durability) -> str:
    """Return the epoch of an opened journal, starting a new one if its numbering was rolled back."""
    work = partial(_confirm, database, durability)
    # Behind the gate still: from here on the file changes, and its time with it.
    return database.write(work, afterwards=lambda _: database.position.note_opened(), may_use_reserve=lambda: True)


def _confirm(database: Database, durability: Durability, connection: sqlite3.Connection) -> str:
    boot, reached, found = boot_id(), database.position.at_opening, database.file_id
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    (issued,) = connection.execute(ISSUED).fetchone()
    lost_tail = meta.get("durability") == "relaxed" and meta.get("boot") not in (None, boot)
    is_copy = database.is_restored or not is_same_file(meta.get("inode", found), found)
    if issued < reached:
        _log.warning("the journal had come to record %d and is back at %d; its readers start anew", reached, issued)
    epoch = secrets.token_hex(6) if issued < reached or lost_tail or is_copy else str(meta["epoch"])
    relaxed = "relaxed" if "relaxed" in (durability, meta.get("durability")) and not lost_tail else durability
    wanted = {"epoch": epoch, "boot": boot, "durability": relaxed, "inode": found}
    changed = [(name, value) for name, value in wanted.items() if meta.get(name) != value]
    if changed:
        connection.executemany(_PUT, changed)
    return epoch


def needs_restoring(database: Database) -> bool:
    """Whether the machine was restarted since files were last compared with the journal."""
    row = database.row("SELECT value FROM meta WHERE name = 'restored_boot'")
    return row is None or row[0] != boot_id()


def begin_restoring(database: Database) -> None:
    """Note, once a start of the machine, which records a power cut may have undone in the files.

    Each stays noted until it is restored, however often that fails or the machine goes down meanwhile; and until then
    no path shows its head for certain.
    """

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT OR IGNORE INTO unrestored SELECT number FROM records INDEXED BY records_unsynced"
            " WHERE synced = 0 AND state != 'pending'"
        )
        connection.execute("UPDATE heads SET applied = 0 WHERE number IN (SELECT number FROM unrestored)")
        connection.execute(_PUT, ("restored_boot", boot_id()))

    database.write(work)
