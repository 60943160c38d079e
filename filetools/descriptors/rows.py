"""Rows of descriptors of one owner, in the table shared by all owners."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct, structs

from filetools.content.extracts.paging import PagedText
from filetools.content.version import version_of
from filetools.errors import (
    DescriptorError,
    DescriptorExpiredError,
    DescriptorNotFoundError,
    FileToolsError,
)
from filetools.journal.table import Table, TableRow

Source = Literal["tool_result", "user_input", "reference", "extraction", "file"]
REMEMBERED_KEYS: Final = 1024
NOTED_SECONDS: Final = 60.0
"""Precision with which the last use of a descriptor is recorded."""
SHARED_SECONDS: Final = 24 * 3600.0
"""Time after its last use at which a descriptor with an opaque ID expires."""
FORGOTTEN_SECONDS: Final = 30 * 24 * 3600.0
"""Time for which an expired opaque ID is still recognised as expired."""
_MOST_CHARACTER_BYTES: Final = 4
_NUMBERED: Final = re.compile(r"fd:([1-9][0-9]{0,17})")


class DescriptorInfo(Struct, frozen=True, kw_only=True):
    """Facts about a descriptor, without its text."""

    id: str
    source: Source
    size: int
    """Size in characters."""
    total_pages: int
    total_lines: int
    page_size: int
    created_at: float
    """Seconds since the epoch."""
    is_clipped: bool = False
    """True if the text exceeded the limit and was truncated."""
    path: str | None = None
    """Path of the file that it is a copy of."""
    version: str | None = None
    """Version of that file."""


class OwnedRows(Struct, frozen=True, kw_only=True):
    """The descriptors of one owner. Thread-safe; several processes share the table."""

    table: Table
    keep_all: Callable[[Iterable[tuple[str, bytes]]], object]
    """Stores bytes by their versions."""
    paged: Callable[[str, int], PagedText]
    """Returns the text of a version, cut into pages of the given size."""
    owner: str
    is_opaque: bool
    """True if IDs are random and expire."""
    max_bytes: int
    """Maximum size of a text, and of all texts of all owners together."""
    clock: Callable[[], float]

    def keep(
        self,
        text: str,
        source: Source,
        page_size: int,
        path: str | None = None,
        version: str | None = None,
        *,
        name: str | None = None,
    ) -> tuple[DescriptorInfo, PagedText]:
        """Store a text under a name, or under the next number; other texts are removed if there is no space."""
        kept, content = text, text.encode("utf-8", "surrogatepass")
        if len(content) > self.max_bytes:
            kept = text[: self.max_bytes // _MOST_CHARACTER_BYTES]
            content = kept.encode("utf-8", "surrogatepass")
        paged, stored = PagedText(kept, page_size), version_of(content)
        value = {
            "source": source, "size": len(kept), "total_pages": paged.total_pages, "total_lines": paged.total_lines,
            "page_size": page_size, "created_at": self.clock(), "is_clipped": len(kept) < len(text),
            "path": path, "version": version,
        }  # fmt: skip
        row = TableRow(key="", value=value, version=stored, size=max(1, len(content)), used=self.clock())
        # Make space first: then the new text is never the one removed, even if the clock was set back since.
        self.table.release(self.max_bytes - row.size, unused_since=self.clock() - FORGOTTEN_SECONDS)
        # Store its bytes only then: a removed row may have had the same bytes.
        self.keep_all([(stored, content)])
        return info_of(self._put(row, name), row), paged

    def _put(self, row: TableRow, name: str | None) -> str:
        """Put a row under a name, replacing an existing one; without a name, under a new unused ID."""
        table, counted = self.table, self._key("")

        def work() -> tuple[str, list[TableRow]]:
            there, rows = None, list[TableRow]()
            if name is not None:
                given, there = name, table.get(self._key(name))
            elif self.is_opaque:
                given = f"fd:{secrets.token_urlsafe(16)}"
            else:
                counter = table.get(counted) or TableRow(key=counted, value={"last": 0}, used=row.used)
                rows = [structs.replace(counter, value={"last": counter.value["last"] + 1})]
                given = f"fd:{rows[0].value['last']}"
            rows.append(structs.replace(row, key=self._key(given), revision=0 if there is None else there.revision))
            return given, rows

        return table.change(work)  # again if another process has just taken the number

    def row(self, fd: str) -> TableRow:
        """Return the row of a readable descriptor.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError
        """
        row = self.table.get(self._key(fd)) if fd else None
        if row is None:
            if (match := _NUMBERED.fullmatch(fd)) and not self.is_opaque:
                counter = self.table.get(self._key(""))
                if counter is not None and int(match[1]) <= counter.value["last"]:
                    raise DescriptorExpiredError(fd)
            raise DescriptorNotFoundError(fd, [info.id for info in self.all()])
        if self._is_expired(row):
            raise DescriptorExpiredError(fd)
        return row

    def _is_expired(self, row: TableRow) -> bool:
        return row.version is None or (self.is_opaque and self.clock() - row.used > SHARED_SECONDS)

    def opened(self, fd: str) -> tuple[DescriptorInfo, PagedText]:
        """Return the facts and the paged text of a descriptor, and record its use."""
        row = self.row(fd)
        info = info_of(fd, row)
        assert row.version is not None
        try:
            paged = self.paged(row.version, info.page_size)
        except LookupError as exc:
            raise DescriptorExpiredError(info.id) from exc
        except OSError as exc:
            raise DescriptorError(info.id, f"File descriptor {info.id} cannot be read: {exc}") from exc
        if self.clock() - row.used > NOTED_SECONDS:
            with suppress(FileToolsError):  # on a full disk a text can still be read
                self.table.put(
                    [structs.replace(row, used=self.clock())]
                )  # fails harmlessly if another process has just recorded it
        return info, paged

    def all(self) -> list[DescriptorInfo]:
        """Return the readable descriptors: numbered ones in order, then the others by name."""
        rows = [row for row in self.table.scan(self._key("")) if _name_in(row.key) and not self._is_expired(row)]
        return sorted((info_of(_name_in(row.key), row) for row in rows), key=lambda info: _natural(info.id))

    def given(self, owner: str, rows: Iterable[TableRow]) -> list[str]:
        """Copy rows to another owner's descriptors, and return their IDs there."""
        other = structs.replace(self, owner=owner)
        names = ((structs.replace(row, revision=0), _name_in(row.key)) for row in rows)
        return [other._put(row, None if _NUMBERED.fullmatch(name) else name) for row, name in names]

    def _key(self, name: str) -> str:
        return _key_of(self.owner, name)


@lru_cache(REMEMBERED_KEYS)
def _key_of(owner: str, name: str) -> str:
    """Return the key of a name. JSON escapes line breaks in the owner, and characters that the database refuses."""
    return f"{json.dumps(owner)}\n{json.dumps(name)[1:-1]}"


def _name_in(key: str) -> str:
    _, _, escaped = key.partition("\n")
    name: str = json.loads(f'"{escaped}"')
    return name


def _natural(name: str) -> tuple[int, str]:
    match = _NUMBERED.fullmatch(name)
    return (int(match[1]), "") if match else (10**18, name)


def info_of(name: str, row: TableRow) -> DescriptorInfo:
    """Return the facts about a descriptor from its row."""
    return DescriptorInfo(id=name, **row.value)
