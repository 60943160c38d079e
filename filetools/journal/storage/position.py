"""A note beside the database of how far its numbers have come, so that a database with fewer is known for what it is.

Written after each commit without a sync: it outlives the process, and after a power cut it never knows of more than the
kernel had been told. A clean closing adds when the database's file changed last. No program can choose that time, so a
database that is put back from a copy has another.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

POSITION_FILE: Final = "position"
_DIGITS: Final = 20
_OPEN: Final = 0
"""Instead of a time, as long as the database is open, and after a crash."""
_log = logging.getLogger(__name__)
_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class PositionNote:
    """The note of one journal. Lives as long as its journal; one thread at a time writes it."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / POSITION_FILE, _FLAGS, 0o600)
        self.at_opening, self._closed = _numbers((directory / POSITION_FILE).read_bytes())
        """How far the numbers had come when the journal was opened; 0 if nobody noted it."""

    def is_restored(self, database: Path) -> bool:
        """Whether a database that was closed cleanly is another, or was written by another program, since."""
        return self._closed not in (_OPEN, database.lstat().st_ctime_ns)

    def note_closed(self, database: Path) -> None:
        """Note when the file of a database changed last that nobody has open any more: no copy has the same time."""
        self._write_at(_DIGITS, b" %020d" % database.lstat().st_ctime_ns)

    def note_opened(self) -> None:
        """Note that the file changes from now on."""
        self._write_at(_DIGITS, b" %020d" % _OPEN)

    def write(self, number: int) -> None:
        """Note how far the numbers have come."""
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
            # A note that is missing only means that a rollback may go unnoticed; no commit fails for it.
            _log.debug("the journal's position was not noted: %s", exc)


def _numbers(note: bytes) -> tuple[int, int]:
    """Return the position of a note and when its journal was closed; 0 for what it does not say."""
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
