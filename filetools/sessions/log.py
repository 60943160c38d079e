"""Reading the logs of coding agents: JSON Lines, entry by entry, where an odd line costs nothing but itself."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

from pydantic_core import from_json

from filetools.paths import WorkspacePath
from filetools.settings import MIB
from filetools.stores import FolderStore

logger = logging.getLogger(__name__)

MOST_LINE_BYTES: Final = 16 * MIB
_BOM: Final = b"\xef\xbb\xbf"


class _Text:
    """A text of an entry; "" where it is missing or something else."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __get__(self, entry: Entry | None, owner: type[Entry]) -> str:
        value = None if entry is None else entry.raw.get(self._key)
        return value if isinstance(value, str) else ""


class _Flag:
    """A mark of an entry; anything but `true` counts as unset."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __get__(self, entry: Entry | None, owner: type[Entry]) -> bool:
        return entry is not None and entry.raw.get(self._key) is True


class Entry:
    """One entry of a log. Its texts are "" and its marks False where they are missing; unknown types pass through.

    Args:
        raw: The JSON object, as it stands in the log.
        line: Number of its line, from 1.
    """

    type, timestamp, uuid, cwd, slug, version = map(_Text, ("type", "timestamp", "uuid", "cwd", "slug", "version"))
    session_id, agent_id, team_name = _Text("sessionId"), _Text("agentId"), _Text("teamName")
    parent_uuid, logical_parent_uuid = _Text("parentUuid"), _Text("logicalParentUuid")
    git_branch, tag, summary, last_prompt = _Text("gitBranch"), _Text("tag"), _Text("summary"), _Text("lastPrompt")
    custom_title, ai_title = _Text("customTitle"), _Text("aiTitle")
    is_sidechain, is_meta, is_summary = _Flag("isSidechain"), _Flag("isMeta"), _Flag("isCompactSummary")

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

    Bytes that are no UTF-8, and halves of pairs that are escaped, become U+FFFD.

    Args:
        line: Its end may be missing.
        number: Of the line.
        is_cut: Whether the end of the line is missing; what stands before it counts then.
    """
    try:
        raw = from_json(line.removeprefix(_BOM), allow_partial="trailing-strings" if is_cut else False)
    except ValueError:
        raw = None if is_cut else _repaired(line)
    return Entry(raw, number) if isinstance(raw, dict) else None


def _repaired(line: bytes) -> Any:
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


def first_entries(chunk: bytes, *, is_whole: bool) -> list[Entry]:
    """Return the entries at the beginning of a log, without a warning.

    Args:
        chunk: Its first bytes.
        is_whole: Whether there are no more; if there are, what stands of the last line counts as far as it goes.
    """
    return list(_quietly(chunk.split(b"\n"), is_cut=not is_whole))


def last_entries(chunk: bytes) -> list[Entry]:
    """Return the entries at the end of a log, without a warning.

    Args:
        chunk: Its last bytes, which begin inside of a line.
    """
    return list(_quietly(chunk.split(b"\n")[1:]))


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


def _quietly(lines: Iterable[bytes], *, is_cut: bool = False) -> Iterator[Entry]:
    lines = list(lines)
    for number, line in enumerate(lines, 1):
        entry = parse_entry(line, number, is_cut=is_cut and number == len(lines))
        if entry is not None:
            yield entry


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
            line = file.readline(min(left, MIB))  # the rest of the same line
            left -= len(line)
        yield None
