"""The descriptors of one owner: creates long texts under names such as fd:1, reads them in pages, and shares them."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from filetools.content.extracts.paging import PagedText, PageWindow, WindowMode
from filetools.content.version import version_of
from filetools.descriptors.frames import Frame, attribute
from filetools.errors import (
    DescriptorError,
    DescriptorExpiredError,
    DescriptorNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    InvalidPageError,
    InvalidRangeError,
)
from filetools.journal.storage.contents import Contents
from filetools.journal.table import Table, TableRow
from filetools.models.words import VERSION_PREFIX
from filetools.settings import DescriptorSettings

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
PREVIEW_SHARE: Final = 20
"""The preview of a long input has 1/20 of the maximum length of an input that is not stored."""
VERSION_DIGITS: Final = 12
MOST_TEXTS: Final = 2
"""Number of read texts, with their page cuts, kept in memory: each may be large, and each caller has its own."""
_MODES: Final = ("page", "line", "char")
_BLANKS: Final = re.compile(r"\s+")
_UNITS: Final = {"line": "line", "char": "character"}
# Possessive quantifiers prevent backtracking, so that a text of unclosed tags takes linear time.
_TAG: Final = re.compile(
    r"""<ref(?P<attributes>(?:\s++[^\s=<>"'/]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'))?+)*+)\s*+(?P<closed>/?)>|</ref\s*+>"""
)
_ATTRIBUTE: Final = re.compile(r"""\s++([^\s=<>"'/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")


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


class Descriptors:
    """The descriptors of one owner. Thread-safe; shared by all processes of the root.

    Args:
        settings: Sizes and switches.
        table: Table of their rows.
        contents: Store of the table's texts.
        owner: The owner; to others, the descriptors look like missing ones.
        is_opaque: True for random IDs that expire, for owners who are identified only weakly.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        settings: DescriptorSettings,
        *,
        table: Table,
        contents: Contents,
        owner: str,
        is_opaque: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._table, self._contents = table, contents
        self._owner, self._is_opaque, self._clock = owner, is_opaque, clock
        self._body = {} if settings.body == "auto" else {"body": settings.body}
        """The frame attribute that states how a text is quoted."""

        @lru_cache(MOST_TEXTS)
        def paged(version: str, page_size: int) -> PagedText:
            return PagedText(contents.get(version).decode("utf-8", "surrogatepass"), page_size)

        self._paged = paged

    def create(
        self,
        text: str,
        *,
        source: Source = "tool_result",
        page_size: int | None = None,
        path: str | None = None,
        version: str | None = None,
    ) -> Frame:
        """Store a text and return its frame, with the first page.

        Args:
            text: Stored completely, up to the limit of the settings; the frame reports truncation.
            source: The origin of the text.
            page_size: Maximum number of characters of a page; by default that of the settings.
            path: The file that it is a copy of, if any.
            version: Version of that file.

        Raises:
            DiskFullError, StorageFailedError, StateDamagedError: It could not be stored.
        """
        info, paged = self._keep(text, source, page_size or self.settings.default_page_size, path, version)
        first = paged.window("page", 1, 1)
        message = f"Text of {info.size} characters has been stored. Use read_fd to read more pages."
        if source in ("tool_result", "file"):
            limit = self.settings.max_direct_output_chars
            message = f"Output exceeds {limit} characters. Use read_fd to read more pages."
        if info.is_clipped:
            message += f" Only the first {info.size} characters could be kept."
        return Frame(
            name="fd_result",
            attributes={
                "fd": info.id, "pages": info.total_pages, "truncated": first.is_truncated, "lines": _lines(first),
                "total_lines": info.total_lines, "source": source, **_of_file(info), **self._body,
            },
            message=message,
            preview=first.text,
        )  # fmt: skip

    def read(
        self,
        fd: str,
        *,
        read_all: bool = False,
        extract_to_new_fd: bool = False,
        mode: WindowMode = "page",
        start: int | None = None,
        count: int = 1,
        facts: Mapping[str, str | int | bool] | None = None,
    ) -> Frame:
        """Return a range of pages, lines or characters of a text, or a new descriptor for it.

        Args:
            fd: ID of the descriptor.
            read_all: Return the whole text, regardless of the range.
            extract_to_new_fd: Create a new descriptor for the range, and return a frame about it.
            mode: Unit of `start` and `count`.
            start: The first unit: pages and lines count from 1, characters from 0.
            count: Number of units, from 1; fewer at the end of the text.
            facts: Further attributes of the frame.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError, InvalidPageError, InvalidRangeError
            InvalidArgumentError: The mode is unknown, or `count` is below 1.
        """
        info, paged = self._opened(fd)
        part = paged.whole() if read_all else _window(fd, paged, mode, start, count)
        place = {"mode": "all"} if read_all else {"mode": mode, "start": part.start, "count": part.count}
        if extract_to_new_fd:
            made = self._keep(part.text, "extraction", info.page_size)[0].id
            where = {"position": "all"} if read_all else {}
            return Frame(
                name="fd_extraction",
                attributes={
                    "source_fd": fd, "new_fd": made, "mode": place["mode"], "content_size": len(part.text),
                    **{name: each for name, each in place.items() if name != "mode"}, **where,
                },
                message=f"Content from {fd} has been extracted to {made}",
            )  # fmt: skip
        page = {"page": "all"} if read_all else {"page": part.start} if mode == "page" and part.count == 1 else {}
        return Frame(
            name="fd_content",
            attributes={
                "fd": fd, **page, "pages": paged.total_pages, "continued": part.is_continued and not read_all,
                "truncated": part.is_truncated, "lines": _lines(part), "total_lines": paged.total_lines, **place,
                **_of_file(info), **(facts or {}), **self._body,
            },
            content=part.text,
        )  # fmt: skip

    def text(self, fd: str) -> PagedText:
        """Return the whole text of a descriptor, with its page cuts.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError
        """
        return self._opened(fd)[1]

    def info(self, fd: str) -> DescriptorInfo:
        """Return the facts about a descriptor.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError
        """
        return _info_of(fd, self._row(fd))

    def all(self) -> list[DescriptorInfo]:
        """Return the readable descriptors: numbered ones in order, then the others by name."""
        rows = [row for row in self._table.scan(self._key("")) if _name_in(row.key) and not self._is_expired(row)]
        return sorted((_info_of(_name_in(row.key), row) for row in rows), key=lambda info: _natural(info.id))

    def page_user_input(self, text: str) -> str:
        """Return a person's input for a conversation, or a preview with a descriptor if it is too long.

        For a message with several parts, pass each text part separately.
        """
        settings = self.settings
        if not settings.page_user_input or len(text) <= settings.max_input_chars:
            return text
        fd = self._keep(text, "user_input", settings.default_page_size)[0].id
        shown = settings.max_input_chars // PREVIEW_SHARE
        preview = text[:shown].strip() + ("..." if len(text) > shown else "")
        return (
            f'<{fd} preview="{attribute(_BLANKS.sub(" ", preview))}" type="user_input" size="{len(text)}">\n'
            f'This large user input has been stored in file descriptor {fd}. Use read_fd(fd="{fd}") to access the content.'
        )

    def keep_references(self, text: str) -> list[dict[str, Any]]:
        """Store the references marked in a reply, and return id, fd_id, content and length of each; later ones win.

        Returns [] if references are disabled.
        """
        if not self.settings.enable_references:
            return []
        found = find_references(text)
        for name, content in found:
            self._keep(content, "reference", self.settings.default_page_size, name=f"ref:{name}")
        return [
            {"id": name, "fd_id": f"ref:{name}", "content": content, "length": len(content)} for name, content in found
        ]

    def share(self, owner: str, preload: Iterable[str] = ()) -> list[str]:
        """Copy the references, if enabled, and the descriptors in `preload` to another owner.

        Returns:
            The IDs that the other owner uses; numbered ones continue its own.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError: For one in `preload`.
        """
        rows = [self._row(name) for name in preload]
        if self.settings.enable_references:
            rows += [self._row(info.id) for info in self.all() if info.id.startswith("ref:")]
        named = {_name_in(row.key): row for row in rows}
        return [self._put(row, None if _NUMBERED.fullmatch(name) else name, owner) for name, row in named.items()]

    def _keep(
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
        if len(content) > self.settings.max_bytes:
            kept = text[: self.settings.max_bytes // _MOST_CHARACTER_BYTES]
            content = kept.encode("utf-8", "surrogatepass")
        paged, stored = PagedText(kept, page_size), version_of(content)
        value = {
            "source": source, "size": len(kept), "total_pages": paged.total_pages, "total_lines": paged.total_lines,
            "page_size": page_size, "created_at": self._clock(), "is_clipped": len(kept) < len(text),
            "path": path, "version": version,
        }  # fmt: skip
        row = TableRow(key="", value=value, version=stored, size=max(1, len(content)), used=self._clock())
        # Make space first: then the new text is never the one removed, even if the clock was set back since.
        self._table.release(self.settings.max_bytes - row.size, unused_since=self._clock() - FORGOTTEN_SECONDS)
        # Store its bytes only then: a removed row may have had the same bytes.
        self._contents.keep_all([(stored, content)])
        return _info_of(self._put(row, name, self._owner), row), paged

    def _put(self, row: TableRow, name: str | None, owner: str) -> str:
        """Put a row under an owner's name, replacing an existing one; without a name, under a new unused ID."""
        table, counted = self._table, _key_of(owner, "")

        def work() -> tuple[str, list[TableRow]]:
            there, rows = None, list[TableRow]()
            if name is not None:
                given, there = name, table.get(_key_of(owner, name))
            elif self._is_opaque:
                given = f"fd:{secrets.token_urlsafe(16)}"
            else:
                counter = table.get(counted) or TableRow(key=counted, value={"last": 0}, used=row.used)
                rows = [replace(counter, value={"last": counter.value["last"] + 1})]
                given = f"fd:{rows[0].value['last']}"
            rows.append(replace(row, key=_key_of(owner, given), revision=0 if there is None else there.revision))
            return given, rows

        return table.change(work)  # again if another process has just taken the number

    def _row(self, fd: str) -> TableRow:
        """Return the row of a readable descriptor.

        Raises:
            DescriptorNotFoundError, DescriptorExpiredError
        """
        row = self._table.get(self._key(fd)) if fd else None
        if row is None:
            if (match := _NUMBERED.fullmatch(fd)) and not self._is_opaque:
                counter = self._table.get(self._key(""))
                if counter is not None and int(match[1]) <= counter.value["last"]:
                    raise DescriptorExpiredError(fd)
            raise DescriptorNotFoundError(fd, [info.id for info in self.all()])
        if self._is_expired(row):
            raise DescriptorExpiredError(fd)
        return row

    def _is_expired(self, row: TableRow) -> bool:
        return row.version is None or (self._is_opaque and self._clock() - row.used > SHARED_SECONDS)

    def _opened(self, fd: str) -> tuple[DescriptorInfo, PagedText]:
        """Return the facts and the paged text of a descriptor, and record its use."""
        row = self._row(fd)
        info = _info_of(fd, row)
        assert row.version is not None
        try:
            paged = self._paged(row.version, info.page_size)
        except LookupError as exc:
            raise DescriptorExpiredError(info.id) from exc
        except OSError as exc:
            raise DescriptorError(info.id, f"File descriptor {info.id} cannot be read: {exc}") from exc
        if self._clock() - row.used > NOTED_SECONDS:
            with suppress(FileToolsError):  # on a full disk a text can still be read
                self._table.put(
                    [replace(row, used=self._clock())]
                )  # fails harmlessly if another process has just recorded it
        return info, paged

    def _key(self, name: str) -> str:
        return _key_of(self._owner, name)


def _lines(part: PageWindow) -> str:
    return f"{part.first_line}-{part.last_line}"


def _of_file(info: DescriptorInfo) -> dict[str, str]:
    """Return the frame attributes about the file that a text is a copy of: path, and version in a form a model can type."""
    if info.path is None or info.version is None:
        return {}
    return {"path": info.path, "version": info.version.removeprefix(VERSION_PREFIX)[:VERSION_DIGITS]}


def _window(fd: str, paged: PagedText, mode: WindowMode, start: int | None, count: int) -> PageWindow:
    if mode not in _MODES:
        raise _bad_parameter(fd, f"Invalid mode: {mode}. Valid options are 'page', 'line', or 'char'.")
    if count < 1:
        raise _bad_parameter(fd, f"Invalid count: {count}. It must be at least 1.")
    first, last = paged.bounds(mode)
    begin = first if start is None else start
    if first <= begin <= last:
        return paged.window(mode, begin, count)
    raise InvalidPageError(fd, last) if mode == "page" else InvalidRangeError(fd, _UNITS[mode], first, last)


def _bad_parameter(fd: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(message, details={"type": "invalid_parameter", "fd": fd})


def find_references(text: str) -> list[tuple[str, str]]:
    """Return ID and content of the references in a text, in the order of their closing tags.

    Unmatched tags, tags without an ID, and self-closing tags are not references, and do not hide others.
    """
    found: list[tuple[str, str]] = []
    opened: list[tuple[str, int]] = []
    for tag in _TAG.finditer(text):
        if tag["attributes"] is None:
            if opened:
                name, start = opened.pop()
                if name:
                    found.append((name, text[start : tag.start()]))
        elif not tag["closed"]:
            opened.append((_id_of(tag["attributes"]), tag.end()))
    return found


def _id_of(attributes: str) -> str:
    """Return the ID in the attributes of a tag; empty if there is no valid one."""
    values = (double or single for name, double, single in _ATTRIBUTE.findall(attributes) if name == "id")
    value: str = next(values, "")
    return "" if '"' in value or "'" in value else value


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


def _info_of(name: str, row: TableRow) -> DescriptorInfo:
    """Return the facts about a descriptor from its row."""
    return DescriptorInfo(id=name, **row.value)
