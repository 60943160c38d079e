"""Rows in memory: where descriptors live without a workspace."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from msgspec.structs import replace

from filetools.journal.table import TableRow


class MemoryTable:
    """Rows in memory; implements `Table`.

    Args:
        contents: The bytes that they keep, by version; those that rows let go of are taken out.
    """

    def __init__(self, contents: dict[str, bytes]) -> None:
        self._rows: dict[str, TableRow] = {}
        self._contents = contents
        self._lock = threading.Lock()

    def get(self, key: str) -> TableRow | None:
        """Return a row, or None."""
        return self._rows.get(key)

    def put(self, rows: Sequence[TableRow], *, durable: bool = True) -> bool:
        """Put or remove all these rows, if each is still of the revision that it names; else none of them."""
        with self._lock:
            known = {row.key: found.revision for row in rows if (found := self._rows.get(row.key)) is not None}
            if any(row.revision != known.get(row.key, 0) for row in rows):
                return False
            self._rows |= {row.key: replace(row, revision=row.revision + 1) for row in rows}
            for row in rows:
                if row.is_gone:
                    del self._rows[row.key]
        return True

    def scan(self, prefix: str = "", *, after: str = "", limit: int = 1000) -> list[TableRow]:
        """Return rows in the order of their keys."""
        with self._lock:
            keys = sorted(key for key in self._rows if key.startswith(prefix) and key > after)
            return [self._rows[key] for key in keys[:limit]]

    def release(self, keep_bytes: int, *, unused_since: float) -> None:
        """Let rows go of their bytes until all keep at most so many, and forget old rows that have lost theirs."""
        with self._lock:
            newest = sorted(self._rows.values(), key=lambda row: row.used, reverse=True)
            sizes, kept = {row.version: row.size for row in newest if row.version is not None}, 0
            for version, size in sizes.items():
                kept += size
                if kept > keep_bytes:
                    self._contents.pop(version, None)
                    lost = [row for row in newest if row.version == version]
                    self._rows |= {row.key: replace(row, version=None, revision=row.revision + 1) for row in lost}
            for row in newest:
                if self._rows[row.key].version is None and row.size > 0 and row.used < unused_since:
                    del self._rows[row.key]
