r"""A patch as data, independent of its format; and names as git quotes them.

Git writes "a/caf\303\251", with the bytes of UTF-8 in octal. Source: git's documentation of `core.quotePath`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import Struct

from filetools.errors import InvalidArgumentError

_ESCAPES: Final = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_LETTERS: Final = {value: letter for letter, value in _ESCAPES.items()}
_ESCAPE: Final = re.compile(rb'\\(?:([0-3][0-7]{2})|([abtnvfr"\\]))')
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


def quoted_name(name: str) -> str:
    """Quote a name as git does: in quotes, with escapes, if it contains control characters, quotes or backslashes."""
    if not any(ord(character) < 32 or character in '"\\\x7f' for character in name):
        return name
    return '"' + "".join(map(_quoted, name)) + '"'


def _quoted(character: str) -> str:
    code = ord(character)
    if code in _LETTERS:
        return "\\" + _LETTERS[code]
    return f"\\{code:03o}" if code < 32 or code == 127 else character


def read_name(text: str) -> tuple[str, str]:
    """Return the name at the start of a text, and the rest; an unquoted name extends to a tab or the end.

    Raises:
        ValueError: The quotes are not closed, or contain an unknown escape or bytes that are not UTF-8.
    """
    if not text.startswith('"'):
        name, tab, rest = text.partition("\t")
        return name, tab + rest
    quoted = _QUOTED.match(text)
    if quoted is None:
        raise ValueError("a quoted name without end")
    raw = quoted[1].encode("utf-8", "surrogatepass")
    if b"\\" in _ESCAPE.sub(b"", raw):
        raise ValueError("an unknown escape in a quoted name")
    plain = _ESCAPE.sub(lambda each: bytes([int(each[1], 8) if each[1] else _ESCAPES[each[2].decode()]]), raw)
    return plain.decode(), text[quoted.end() :]


RANGE: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
"""The line numbers of a hunk of a unified diff."""
_WRAPPING: Final = re.compile(
    r"(?:[\w./-]+\s+)*<<-?\s*(?P<quote>['\"]?)(?P<heredoc>\w+)(?P=quote)|(?P<fence>`{3,}|~{3,})\w*"
)
"""The first line of a heredoc or a code fence."""


class PatchLine(Struct, frozen=True, kw_only=True):
    """One line of a hunk."""

    kind: Literal["context", "remove", "add"]
    text: str
    """The line without its end."""
    end: str
    r"""Its line end in the patch: "\n" or "\r\n"; "" or "\r" for a last line without LF."""


class FileHunk(Struct, frozen=True, kw_only=True):
    """One place that a patch changes."""

    lines: tuple[PatchLine, ...]
    old_start: int | None
    """Line of the old lines, from 1, according to a unified diff; None if not given."""
    anchors: tuple[str, ...] = ()
    """Successive lines after which the hunk of a Codex patch is located."""
    is_at_end: bool = False
    """True if the old lines must be the last of the file."""
    repair: str = ""
    """A sentence about an error in it that has only one meaning; "" if there was none."""


class FilePatch(Struct, frozen=True, kw_only=True):
    """The changes of a patch to one file."""

    kind: Literal["add", "delete", "update"]
    path: str
    """The file as named in the patch, without "a/" and "b/"; not validated."""
    move_to: str | None = None
    """Its new name, if it changes."""
    hunks: tuple[FileHunk, ...] = ()
    mode: int | None = None
    """New permission bits, if the patch sets them: 0o644 or 0o755."""
    repair: str = ""
    """A sentence, for the first file only, about text around the patch that was removed; "" if there was none."""
    is_unified: bool
    """True for a unified diff, in which missing line ends are significant."""


LINE_KINDS: Final[dict[str, Literal["context", "remove", "add"]]] = {" ": "context", "-": "remove", "+": "add"}


class PatchReader:
    """Reads the lines of a patch in order. Base class of the readers of both formats."""

    def __init__(self, lines: Sequence[str], at: int = 0) -> None:
        self._lines = lines
        self._at = at

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else ""

    def _take(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def _lines_while(self, is_line: Callable[[], bool]) -> list[PatchLine]:
        """Take the lines of a hunk while `is_line` returns True."""
        lines: list[PatchLine] = []
        while self._at < len(self._lines) and is_line():
            lines.append(self._take_line())
        return lines

    def _take_line(self) -> PatchLine:
        """Take a line of a hunk; an empty line counts as context, since models omit the leading space."""
        line = self._take()
        if line.strip("\r") and line[0] not in LINE_KINDS:
            raise malformed(self._at, "a line of a hunk begins with a blank, '-' or '+'")
        kind = LINE_KINDS.get(line[:1], "context")
        text = line[1:] if line[:1] in LINE_KINDS else line
        bare = text.removesuffix("\r")
        return PatchLine(kind=kind, text=bare, end="\r\n" if bare != text else "\n")


def malformed(line: int, reason: str) -> InvalidArgumentError:
    """Return the error for a malformed line of a patch; lines count from 1."""
    return InvalidArgumentError(f"Malformed patch, line {line}: {reason}", details={"line": line})


def unwrapped(lines: Sequence[str]) -> tuple[list[str], str]:
    """Remove a heredoc or code fence around the lines of a patch, and return its description; "" if there was none.

    The opening line becomes an empty line, so that all lines keep their numbers.
    """
    made = list(lines)
    first = next((at for at, line in enumerate(made) if line.strip()), None)
    opening = None if first is None else _WRAPPING.fullmatch(made[first].strip())
    if first is None or opening is None:
        return made, ""
    made[first] = ""
    last = max((at for at, line in enumerate(made) if line.strip()), default=0)
    if made[last].strip() == (opening["heredoc"] or opening["fence"]):
        del made[last:]
    return made, "a code fence" if opening["fence"] else "a heredoc"
