"""Whether the database's files are still those that were opened: cheap enough to ask before and after each commit.

`git clean -fdx` happens, and so do restored copies. The write-ahead and shared-memory files count as well: commits into
removed ones would be gone with the process.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from filetools.errors import StateDamagedError
from filetools.journal.birth import PARTS

SURE_AFTER_NS: Final = 3_000_000_000
"""Age from which on a directory's time of change shows every later change, on the coarsest clock of a file system."""
_TIMES_TELL: Final = os.name != "nt"
"""On Windows the time of change of a directory is the time of its birth."""

Identity = tuple[int, int]


class Identities:
    """The files of an open database. Lives as long as it is open; call `check` behind the gate."""

    def __init__(self, directory: Path) -> None:
        """Take the files that are there now for the right ones."""
        self._directory = str(directory)
        self._parts = tuple(str(directory / part) for part in PARTS)
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


def _identity(part: str) -> Identity:
    try:
        found = os.lstat(part)
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise StateDamagedError("the journal's database has vanished") from exc
    return (found.st_dev, found.st_ino)
