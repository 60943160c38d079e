"""Reads the logs of coding agents: JSON Lines, entry by entry; an invalid line affects only itself."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO, Final, Generic, TypeVar

from pydantic_core import from_json

from filetools.content.extracts.whole import is_one_character, whole_start
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import MIB
from filetools.stores.folder import FolderStore

logger = logging.getLogger(__name__)

MOST_LINE_BYTES: Final = 16 * MIB
_SKIPPED_BYTES: Final = MIB // 4
_MOST_PASSES: Final = 8
"""Maximum number of passes over the characters of a damaged line to find entries in it."""
_DECODER: Final = json.JSONDecoder()
TITLE_CHARACTERS: Final = 80
INTERRUPTED: Final = "[Request interrupted"
_SHORT_ANSWERS: Final = frozenset(
    ["y", "n", "k", "g", "ok", "go", "yes", "no", "continue", "proceed", "sure", "okay", "resume"]
)
_COMMAND: Final = re.compile(r"/[a-z][a-z0-9_:.-]*(?=\s|$)", re.IGNORECASE | re.ASCII)
_REMINDERS: Final = re.compile(r"\s*(?:<system-reminder>.*?</system-reminder>\s*)++", re.DOTALL)
_T = TypeVar("_T")


class _Field(Generic[_T]):
    """A field of an entry: a value of another type counts as missing."""

    def __init__(self, key: str, missing: _T) -> None:
        self._key = key
        self._missing = missing

    def __get__(self, entry: LogEntry | None, owner: type[LogEntry]) -> _T:
        value = None if entry is None else entry.raw.get(self._key)
        return value if isinstance(value, type(self._missing)) else self._missing


_text, _flag = partial(_Field, missing=""), partial(_Field, missing=False)


class LogEntry:
    """One entry of a log. Missing texts are "", missing flags False; unknown types are accepted.

    Args:
        raw: The JSON object in the log.
        line: Number of its line, from 1.
    """

    type, timestamp, uuid, cwd, slug = map(_text, ("type", "timestamp", "uuid", "cwd", "slug"))
    session_id, agent_id = map(_text, ("sessionId", "agentId"))
    git_branch, tag, last_prompt = map(_text, ("gitBranch", "tag", "lastPrompt"))
    custom_title, ai_title = map(_text, ("customTitle", "aiTitle"))
    is_sidechain, is_meta, is_summary = map(_flag, ("isSidechain", "isMeta", "isCompactSummary"))

    def __init__(self, raw: Mapping[str, Any], line: int = 0) -> None:
        self.raw: Final = raw
        self.line: Final = line

    @property
    def message(self) -> Any:
        """The message, unchanged: an object, a text, or None."""
        return self.raw.get("message")

    @property
    def content(self) -> Any:
        """The content of the message: a text, a list of blocks and texts, or None."""
        message = self.message
        return message.get("content") if isinstance(message, dict) else message if isinstance(message, str) else None

    @property
    def blocks(self) -> list[Mapping[str, Any]]:
        """The blocks of the content; a plain text is a block of type "text"."""
        return _blocks_of(self.content)


def parse_entry(line: bytes, number: int = 0, *, is_cut: bool = False) -> LogEntry | None:
    """Return the entry of a line, or None if the line is not a JSON object.

    Invalid UTF-8 and escaped lone surrogates become U+FFFD; a byte-order mark is removed.

    Args:
        line: The line, with or without its line end.
        number: Number of the line.
        is_cut: True if the end of the line is missing; the part before it is then used.
    """
    try:
        raw = from_json(line, allow_partial="trailing-strings" if is_cut else False)
    except ValueError:
        raw = None if is_cut else repaired(line)
    return LogEntry(raw, number) if isinstance(raw, dict) else None


def repaired(line: bytes) -> Any:
    """Parse JSON that contains invalid UTF-8 or escaped lone surrogates; None if it contains neither or is not JSON."""
    if line.isascii() and rb"\ud" not in line.lower():
        return None
    try:
        # Only this parser accepts lone surrogates, which JavaScript writes when it truncates texts.
        text = json.dumps(json.loads(line.decode("utf-8", "replace").lstrip("\ufeff")), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def entries_in(line: bytes, number: int = 0) -> list[LogEntry]:
    """Return the entry of a line, or the complete entries of a line that a power cut has damaged or joined with others."""
    entry = parse_entry(line, number)
    return list(_whole_entries(line, number)) if entry is None else [entry]


def _whole_entries(line: bytes, number: int) -> Iterator[LogEntry]:
    text = line.decode("utf-8", "replace")
    left = _MOST_PASSES * len(text)
    at = text.find('{"')
    while at >= 0 and left > 0:
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as exc:
            left -= getattr(exc, "pos", len(text)) - at
            end = at + 1
        else:
            entry = parse_entry(text[at:end].encode("utf-8", "surrogatepass"), number)
            # Objects nested in a damaged entry have a type, too.
            if entry is not None and entry.type and (entry.session_id or entry.timestamp):
                yield entry
        at = text.find('{"', end)


def read_entries(reads: FolderStore, path: WorkspacePath) -> Iterator[LogEntry]:
    """Yield the entries of a log in its state at opening, with one line in memory at a time.

    A line without an entry, or longer than 16 MiB, is skipped and logged as a warning; an unfinished last line is skipped
    silently.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
    """
    with reads.opened(path) as (file, size):
        for number, line in enumerate(_lines(file, size), 1):
            found = [] if line is None else entries_in(line, number)
            yield from found
            if line is None:
                logger.warning("%s, line %d: skipped, it is longer than %d MiB", path, number, MOST_LINE_BYTES // MIB)
            elif not found and line.endswith(b"\n") and line.strip():
                logger.warning("%s, line %d: skipped, it is not a JSON object", path, number)


def entries_of(chunk: bytes, *, is_cut: bool = False) -> list[LogEntry]:
    """Return the entries in a part of a log, without logging warnings.

    Args:
        chunk: Lines; the first is complete.
        is_cut: True to use the existing part of an unfinished last line.
    """
    *lines, last = chunk.split(b"\n")
    end = parse_entry(last, is_cut=is_cut)
    return [*(entry for line in lines for entry in entries_in(line)), *([] if end is None else [end])]


def instant(timestamp: str) -> float | None:
    """Return an ISO 8601 time, UTC unless it has an offset, in seconds since the epoch; None if it is invalid."""
    try:
        found = datetime.fromisoformat(timestamp)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def by_instant(timestamp: str) -> tuple[bool, float]:
    """Return a sort key for times: oldest first, invalid ones last."""
    found = instant(timestamp)
    return found is None, found or 0.0


def _lines(file: BinaryIO, size: int) -> Iterator[bytes | None]:
    """Yield the lines of the first `size` bytes with their line ends; None for one that is too long."""
    # Ignore data appended while reading; otherwise a fast writer could keep the reader busy forever.
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


def extract_text(content: Any, *, separator: str = "\n\n") -> str:
    """Return the text of a message's content: itself, or its text blocks joined by `separator`; else "".

    Blocks that consist only of reminders inserted by the program do not count.
    """
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = (block.get("text") for block in _blocks_of(content) if block.get("type") == "text")
    return separator.join(text for text in texts if isinstance(text, str) and text and not _REMINDERS.fullmatch(text))


def is_trivial(text: str) -> bool:
    """Return True if a text cannot be feedback: one character, "continue" and the like, or a slash command."""
    text = text.strip()
    return not text or is_one_character(text) or text.lower() in _SHORT_ANSWERS or _COMMAND.match(text) is not None


def format_title(text: str) -> str:
    """Return a text as one line of at most 80 characters; a cut one ends with `...`, and no character is split."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARACTERS else f"{whole_start(line, TITLE_CHARACTERS - 3)}..."


def _blocks_of(content: Any) -> list[Mapping[str, Any]]:
    parts = content if isinstance(content, list) else [content]
    blocks = ({"type": "text", "text": part} if isinstance(part, str) else part for part in parts)
    return [block for block in blocks if isinstance(block, dict)]
