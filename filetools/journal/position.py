"""A note beside the database of how far its numbers have come, so that a database with fewer is known for what it is.

Written after each commit without a sync: it outlives the process, and after a power cut it never knows of more than the
kernel had been told.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

POSITION_FILE: Final = "position"
_DIGITS: Final = 20
_log = logging.getLogger(__name__)
_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class PositionNote:
    """The note of one journal. Lives as long as its journal; one thread at a time writes it."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / POSITION_FILE, _FLAGS, 0o600)
        self.at_opening = self._read()
        """How far the numbers had come when the journal was opened; 0 if nobody noted it."""

    def write(self, number: int) -> None:
        """Note how far the numbers have come."""
        try:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, b"%020d" % number)
        except OSError as exc:
            # A note that is too low only means that a rollback may go unnoticed; no commit fails for it.
            _log.debug("the journal's position was not noted: %s", exc)

    def close(self) -> None:
        """Release the file; may be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _read(self) -> int:
        try:
            return int(os.read(self._descriptor, _DIGITS))
        except (OSError, ValueError):
            return 0
