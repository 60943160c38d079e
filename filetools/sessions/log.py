"""Reading the logs of coding agents: JSON Lines, entry by entry, where an odd line costs nothing but itself."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO, Final, Generic, TypeVar

from pydantic_core import from_json

from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import MIB
from filetools.stores.folder import FolderStore

logger = logging.getLogger(__name__)

MOST_LINE_BYTES: Final = 16 * MIB
_SKIPPED_BYTES: Final = MIB // 4
_T = TypeVar("_T")


class _Field(Generic[_T]):
    """A field of an entry: a value of another type counts as missing."""

    def __init__(self, key: str, missing: _T) -> None:
        self._key = key
        self._missing = missing

    def __get__(self, entry: Entry | None, owner: type[Entry]) -> _T:
        value = None if entry is None else entry.raw.get(self._key)
        return value if isinstance(value, type(self._missing)) else self._missing


_text, _flag = partial(_Field, missing=""), partial(_Field, missing=False)


class Entry:
    """One entry of a log. Its texts are "" and its marks False where they are missing; unknown types pass through.

    Args:
        raw: The JSON object, as it stands in the log.
        line: Number of its line, from 1.
    """

    type, timestamp, uuid, cwd, slug, version = map(_text, ("type", "timestamp", "uuid", "cwd", "slug", "version"))
    session_id, agent_id, team_name = map(_text, ("sessionId", "agentId", "teamName"))
    parent_uuid, logical_parent_uuid = map(_text, ("parentUuid", "logicalParentUuid"))
    git_branch, tag, summary, last_prompt = map(_text, ("gitBranch", "tag", "summary", "lastPrompt"))
    custom_title, ai_title = map(_text, ("customTitle", "aiTitle"))
    is_sidechain, is_meta, is_summary = map(_flag, ("isSidechain", "isMeta", "isCompactSummary"))

    def __init__(self, raw: Mapping[str, Any], line: int = 0) -> None:
        self.raw: Final = raw
        self.line: Final = line

    @property
    def message(self) -> Any:
        """What was said, as it stands: an object, a text, or None."""
        return self.raw.get("message")

    @property
    def content(self) -> Any:
        """The content of the message: a text, a list of blocks and texts, or None."""
        message = self.message
        return message.get("content") if isinstance(message, dict) else message if isinstance(message, str) else None

    @property
    def blocks(self) -> list[Mapping[str, Any]]:
        """The blocks of the content; a plain text is a block of type "text"."""
        content = self.content
        parts = content if isinstance(content, list) else [content]
        blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
        return [block for block in blocks if isinstance(block, dict)]


def parse_entry(line: bytes, number: int = 0, *, is_cut: bool = False) -> Entry | None:
    """Return the entry of a line, or None if the line is no JSON object.

    Bytes that are no UTF-8, and halves of pairs that are escaped, become U+FFFD; a BOM goes.

    Args:
        line: Its end may be missing.
        number: Of the line.
        is_cut: Whether the end of the line is missing; what stands before it counts then.
    """
    try:
        raw = from_json(line, allow_partial="trailing-strings" if is_cut else False)
    except ValueError:
        raw = None if is_cut else repaired(line)
    return Entry(raw, number) if isinstance(raw, dict) else None


def repaired(line: bytes) -> Any:
    """Return the value of JSON with bytes that are no UTF-8, or escaped halves of pairs; None if it has neither or is none."""
    if line.isascii() and rb"\ud" not in line.lower():
        return None
    try:
        # Of the parsers only this one takes halves of pairs, which JavaScript writes where it cuts texts.
        text = json.dumps(json.loads(line.decode("utf-8", "replace").lstrip("\ufeff")), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def read_entries(reads: FolderStore, path: WorkspacePath) -> Iterator[Entry]:
    """Yield the entries of a log as it was when it was opened; memory holds one line at a time.

    A line that is no JSON object, or longer than 16 MiB, is skipped with a warning in the log of this module; an
    unfinished last line, without one.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
    """
    with reads.opened(path) as (file, size):
        for number, line in enumerate(_lines(file, size), 1):
            entry = None if line is None else parse_entry(line, number)
            if entry is not None:
                yield entry
            elif line is None:
                logger.warning("%s, line %d: skipped, it is longer than %d MiB", path, number, MOST_LINE_BYTES // MIB)
            elif line.endswith(b"\n") and line.strip():
                logger.warning("%s, line %d: skipped, it is no JSON object", path, number)


def entries_of(chunk: bytes, *, is_cut: bool = False) -> list[Entry]:
    """Return the entries in a part of a log, without a warning.

    Args:
        chunk: Lines; the first is whole.
        is_cut: Whether what stands of an unfinished last line counts, as far as it goes.
    """
    *lines, last = chunk.split(b"\n")
    found = [*map(parse_entry, lines), parse_entry(last, is_cut=is_cut)]
    return [entry for entry in found if entry is not None]


def instant(timestamp: str) -> float | None:
    """Return the seconds since the epoch of an ISO 8601 time, of UTC unless it names an offset; None if it is none."""
    try:
        found = datetime.fromisoformat(timestamp)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def by_instant(timestamp: str) -> tuple[bool, float]:
    """Return what sorts times from the oldest on, and unreadable ones behind them."""
    found = instant(timestamp)
    return found is None, found or 0.0


def _lines(file: BinaryIO, size: int) -> Iterator[bytes | None]:
    """Yield the lines of the first `size` bytes with their ends; None for one that is too long."""
    # What is appended meanwhile is left alone: a writer that is quicker than the reader would keep it for ever.
    left = size
    while left > 0 and (line := file.readline(min(left, MOST_LINE_BYTES + 1))):
        left -= len(line)
        if len(line) <= MOST_LINE_BYTES:
            yield line
            continue
        while left > 0 and line and not line.endswith(b"\n"):
            line = file.readline(min(left, _SKIPPED_BYTES))  # the rest of the same line
            left -= len(line)
        yield None
