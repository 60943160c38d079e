"""Where descriptors live: texts among the journal's contents, or, without a workspace, rows and texts in memory."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from filetools.content.version import version_of
from filetools.errors import VersionGoneError
from filetools.journal.contents import Contents
from filetools.journal.table import TableRow


class Texts(Protocol):
    """Texts by name."""

    def keep(self, text: str) -> tuple[str, int]:
        """Keep a text and return its name, and how many bytes it takes."""

    def get(self, name: str) -> str:
        """Return a text.

        Raises:
            VersionGoneError: It is not kept any more.
        """


class JournalTexts:
    """Texts as contents of the journal, in UTF-8 that also carries lone surrogates; implements `Texts`."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def keep(self, text: str) -> tuple[str, int]:
        """Keep a text and return the version of its bytes, and how many there are."""
        content = text.encode("utf-8", "surrogatepass")
        version = version_of(content)
        self._contents.keep_all({version: content})
        return version, len(content)

    def get(self, name: str) -> str:
        """Return a text."""
        return self._contents.get(name).decode("utf-8", "surrogatepass")


class MemoryTexts:
    """Texts in memory; implements `Texts`."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def keep(self, text: str) -> tuple[str, int]:
        """Keep a text and return its name, and how many bytes it takes."""
        name = secrets.token_hex(16)
        self._kept[name] = text
        return name, len(text) if text.isascii() else sys.getsizeof(text)

    def get(self, name: str) -> str:
        """Return a text."""
        try:
            return self._kept[name]
        except KeyError:
            raise VersionGoneError(None, name) from None

    def drop(self, name: str) -> None:
        """Forget a text."""
        self._kept.pop(name, None)


class MemoryTable:
    """Rows in memory, which let go of their texts there; implements `Table`."""

    def __init__(self, texts: MemoryTexts) -> None:
        self._rows: dict[str, TableRow] = {}
        self._texts = texts
        self._lock = threading.Lock()

    def get(self, key: str) -> TableRow | None:
        """Return a row, or None."""
        return self._rows.get(key)

    def put(self, rows: Sequence[TableRow], *, durable: bool = True) -> bool:
        """Put or remove all these rows, if each is still of the revision that it names; else none of them."""
        with self._lock:
            for row in rows:
                found = self._rows.get(row.key)
                if row.revision != (0 if found is None else found.revision):
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
        """Let rows go of their texts until all keep at most so many bytes, and forget old rows that have lost theirs."""
        with self._lock:
            held: dict[str, list[TableRow]] = {}
            for row in self._rows.values():
                if row.version is not None:
                    held.setdefault(row.version, []).append(row)
            surplus = sum(rows[0].size for rows in held.values()) - keep_bytes
            for name, rows in sorted(held.items(), key=lambda each: max(row.used for row in each[1])):
                if surplus <= 0:
                    break
                surplus -= rows[0].size
                self._texts.drop(name)
                self._rows |= {row.key: replace(row, version=None, revision=row.revision + 1) for row in rows}
            gone = [row.key for row in self._rows.values() if _is_old(row, unused_since)]
            for key in gone:
                del self._rows[key]


def _is_old(row: TableRow, unused_since: float) -> bool:
    return row.version is None and row.size > 0 and row.used < unused_since
