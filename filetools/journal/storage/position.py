"""A note of the newest record number beside the database, so that a database that was rolled back is recognised.

Written after each commit without a sync: it survives the process, and after a power cut it never shows more than the
kernel was given. A clean close adds the ctime of the database's file. No program can choose a ctime, so a database that is
put back from a copy has another.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

POSITION_FILE: Final = "position"
_DIGITS: Final = 20
_OPEN: Final = 0
"""Replaces the time while the database is open, and after a crash."""
_log = logging.getLogger(__name__)
_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class PositionNote:
    """The note of one journal; one thread at a time writes it."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / POSITION_FILE, _FLAGS, 0o600)
        self.at_opening, self._closed = _numbers((directory / POSITION_FILE).read_bytes())
        """Newest number when the journal was opened; 0 if there is no note."""

    def is_restored(self, database: Path) -> bool:
        """True if a cleanly closed database was replaced, or written by another program, since."""
        return self._closed not in (_OPEN, database.lstat().st_ctime_ns)

    def note_closed(self, database: Path) -> None:
        """Note the ctime of a database's file that nobody has open any more: no copy has the same."""
        self._write_at(_DIGITS, b" %020d" % database.lstat().st_ctime_ns)

    def note_opened(self) -> None:
        """Note that the file changes from now on."""
        self._write_at(_DIGITS, b" %020d" % _OPEN)

    def write(self, number: int) -> None:
        """Note the newest record number."""
        self._write_at(0, b"%020d" % number)

    def close(self) -> None:
        """Release the file; may be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write_at(self, offset: int, content: bytes) -> None:
        try:
            write_at(self._descriptor, offset, content)
        except OSError as exc:
            # Without the note a rollback may go unnoticed; no commit fails for that.
            _log.debug("the journal's position was not noted: %s", exc)


def _numbers(note: bytes) -> tuple[int, int]:
    """Return the position of a note and when its journal was closed; 0 for what is missing."""
    numbers = (note[:_DIGITS].strip(), note[_DIGITS:].strip())
    position, closed = (int(one) if one.isdigit() else 0 for one in numbers)
    return position, closed


def write_at(descriptor: int, offset: int, content: bytes) -> None:
    """Write a few bytes at an offset of a file."""
    if hasattr(os, "pwrite"):
        os.pwrite(descriptor, content, offset)
    else:
        os.lseek(descriptor, offset, os.SEEK_SET)
        os.write(descriptor, content)


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Return up to `count` bytes from an offset of a file."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, count)
