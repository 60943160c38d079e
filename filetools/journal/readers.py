"""Connections for queries: a small pool, lent to one thread at a time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from filetools.errors import StateDamagedError
from filetools.journal.birth import DATABASE_NAME, PARTS, connect
from filetools.journal.translation import TRANSLATED

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


Row = tuple[Any, ...]
Arguments = tuple[Any, ...] | Mapping[str, Any]
"""Values of a query, by place or by name."""


class Readers:
    """The reading connections of one database. Any thread may call; lives as long as the database is open."""

    def __init__(self, directory: Path, identities: Identities) -> None:
        self._directory = directory
        self._identities = identities
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    def rows(self, query: str, arguments: Arguments) -> list[Row]:
        """Return all rows of a query."""
        with TRANSLATED:
            connection = self._take()
            try:
                return connection.execute(query, arguments).fetchall()
            finally:
                self._give_back(connection)

    def row(self, query: str, arguments: Arguments) -> Any:
        """Return the first row of a query, or None."""
        with TRANSLATED:
            connection = self._take()
            try:
                return connection.execute(query, arguments).fetchone()
            finally:
                self._give_back(connection)

    @contextmanager
    def lent(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for reading in peculiar ways; leave no cursor open."""
        with TRANSLATED:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Close what is idle now, and the rest when it is given back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            self._identities.check()
            connection = connect(self._directory / DATABASE_NAME)
        try:
            connection.execute("PRAGMA query_only = ON")
            # Again: what was opened by its name may have been another file already.
            self._identities.check()
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        self._idle.append(connection)
        if self._closed:
            self.close()
