"""Connections for queries: a small pool, lent to one thread at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filetools.journal.birth import DATABASE_NAME, connect
from filetools.journal.identity import Identities
from filetools.journal.translation import TRANSLATED

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
