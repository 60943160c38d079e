"""Reading unified diffs, with the extended headers that git writes.

Source: the GNU diffutils manual, "Detailed Description of Unified Format"; git's "Generating patch text with -p".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from filetools.content.file_patch import RANGE, FileHunk, FilePatch, PatchLine, malformed, read_name

_MODE: Final = re.compile(r"(?:new|new file) mode (\d+)$")
_NOTHING: Final = "/dev/null"
_KINDS: Final[dict[str, Literal["context", "remove", "add"]]] = {" ": "context", "-": "remove", "+": "add"}
_BEHIND: Final = ("@@", "diff ", "--- ", "-- ", "Index: ", "From ", "```")
"""What may stand behind the last line of a hunk."""
_UNSUPPORTED: Final = {
    "GIT binary patch": "binary patches are not supported",
    "Binary files ": "it says that binary files differ, but not how",
    "copy from ": "copies are not supported",
}


def read_unified_patch(lines: Sequence[str]) -> tuple[FilePatch, ...]:
    """Return what a unified diff does, file by file.

    Args:
        lines: Lines of the whole text without LF.

    Raises:
        InvalidArgumentError: It is malformed, or changes files in a way that text files have not; the details have
            the line.
    """
    return tuple(_UnifiedReader(lines).files())


@dataclass(slots=True)
class _Header:
    """What was read about one file before its hunks."""

    line: int
    both: str = ""
    """The rest of a "diff --git" line."""
    old: str | None = None
    new: str | None = None
    renamed_from: str | None = None
    renamed_to: str | None = None
    mode: int | None = None
    is_new: bool = False
    is_deleted: bool = False


class _UnifiedReader:
    """Reads one diff from its first line to its last."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def files(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        while self._at < len(self._lines):
            if self._peek().startswith("diff --git "):
                found.append(self._file(_Header(line=self._at + 1, both=self._take().rstrip("\r")[11:])))
            elif self._peek().startswith("--- ") and self._peek(1).startswith("+++ "):
                found.append(self._file(_Header(line=self._at + 1)))
            elif self._peek().startswith("@@ -"):
                raise malformed(self._at + 1, "a hunk without the name of its file")
            else:
                # Mail headers, a description, "index" lines of other tools: text between files says nothing.
                self._at += 1
        if not found:
            raise malformed(1, "neither '*** Begin Patch' nor a unified diff")
        return found

    def _file(self, header: _Header) -> FilePatch:
        while self._at < len(self._lines) and self._is_header(header):
            self._read_header(header, self._take().rstrip("\r"))
        hunks: list[FileHunk] = []
        while self._peek().startswith("@@ -"):
            hunks.append(self._hunk())
        return _file_patch(header, tuple(hunks))

    def _is_header(self, header: _Header) -> bool:
        line = self._peek()
        if line.startswith("--- "):
            return header.old is None and self._peek(1).startswith("+++ ")
        if line.startswith("+++ "):
            return header.new is None and header.old is not None
        # Behind the names come the hunks; extended headers stand between "diff --git" and them.
        return bool(header.both) and header.old is None and bool(line.strip()) and not line.startswith(("diff ", "@@"))

    def _read_header(self, header: _Header, line: str) -> None:
        for mark, reason in _UNSUPPORTED.items():
            if line.startswith(mark):
                raise malformed(self._at, reason)
        mode = _MODE.match(line)
        if mode is not None:
            header.mode = self._mode(mode[1])
        header.is_new |= line.startswith("new file mode")
        header.is_deleted |= line.startswith("deleted file mode")
        if line.startswith("--- "):
            header.old = self._name(line[4:])
        elif line.startswith("+++ "):
            header.new = self._name(line[4:])
        elif line.startswith("rename from "):
            header.renamed_from = self._name(line[12:])
        elif line.startswith("rename to "):
            header.renamed_to = self._name(line[10:])

    def _mode(self, digits: str) -> int:
        if not digits.startswith("100"):
            raise malformed(self._at, f"mode {digits} is not that of a regular file")
        return int(digits[3:], 8) & 0o777

    def _name(self, text: str) -> str:
        try:
            return read_name(text)[0].rstrip(" ")
        except ValueError as exc:
            raise malformed(self._at, str(exc)) from exc

    def _hunk(self) -> FileHunk:
        found = RANGE.match(self._take())
        if found is None:
            raise malformed(self._at, "a hunk begins with '@@ -start,lines +start,lines @@'")
        start = self._at
        lines = self._counted(int(found[2] or 1), int(found[4] or 1))
        repair = "" if lines is not None else f"A hunk, line {start}, has other numbers of lines than it says"
        if lines is None:
            # Models count badly. The lines are plain all the same, as far as they look like those of a hunk.
            self._at = start
            lines = self._until_next()
        if not lines:
            raise malformed(self._at, "a hunk without lines")
        return FileHunk(lines=tuple(lines), old_start=int(found[1]), repair=repair)

    def _counted(self, old_left: int, new_left: int) -> list[PatchLine] | None:
        """Return as many lines as a hunk says it has; None if it has fewer or more."""
        lines: list[PatchLine] = []
        while old_left or new_left:
            if self._at >= len(self._lines) or not self._is_line():
                return None
            line = self._line(self._take())
            lines.append(line)
            old_left -= line.kind != "add"
            new_left -= line.kind != "remove"
            if old_left < 0 or new_left < 0:
                return None
        is_longer = self._at < len(self._lines) and self._peek()[:1] in _KINDS and self._is_line()
        return None if is_longer else lines

    def _until_next(self) -> list[PatchLine]:
        lines: list[PatchLine] = []
        while self._at < len(self._lines) and self._is_line():
            lines.append(self._line(self._take()))
        if self._at < len(self._lines) and not self._peek().startswith(_BEHIND):
            raise malformed(self._at + 1, "a line of a hunk begins with a blank, '-' or '+'")
        while lines and lines[-1].kind == "context" and not lines[-1].text:
            lines.pop()
        return lines

    def _is_line(self) -> bool:
        """Whether the next line is one of a hunk, and not the header of another, or a signature of a mail."""
        line = self._peek()
        if line.startswith("--- ") and self._peek(1).startswith("+++ "):
            return False
        return (line[:1] in _KINDS or not line.strip("\r")) and line.rstrip("\r") != "-- "

    def _line(self, line: str) -> PatchLine:
        kind = _KINDS.get(line[:1], "context")
        if line.strip("\r") and line[0] not in _KINDS:
            raise malformed(self._at, "a line of a hunk begins with a blank, '-' or '+', or the hunk is too short")
        text = line[1:]
        if self._peek().startswith("\\"):
            self._take()
            return PatchLine(kind=kind, text=text, end="")
        return PatchLine(kind=kind, text=text.removesuffix("\r"), end="\r\n" if text.endswith("\r") else "\n")

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else ""

    def _take(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]


def _file_patch(header: _Header, hunks: tuple[FileHunk, ...]) -> FilePatch:
    old, new = _names(header)
    if header.is_new or header.old == _NOTHING:
        return FilePatch(kind="add", path=new, hunks=hunks, mode=header.mode, is_unified=True)
    if header.is_deleted or header.new == _NOTHING:
        return FilePatch(kind="delete", path=old, hunks=hunks, is_unified=True)
    move_to = new if new != old else None
    if not hunks and move_to is None and header.mode is None:
        raise malformed(header.line, f"the update of {old!r} changes nothing")
    return FilePatch(kind="update", path=old, move_to=move_to, hunks=hunks, mode=header.mode, is_unified=True)


def _names(header: _Header) -> tuple[str, str]:
    """Return the names of the file before and after; where there is only one, it is both."""
    if header.renamed_from is not None and header.renamed_to is not None:
        return header.renamed_from, header.renamed_to
    if header.old is None or header.new is None:
        return _both_names(header)
    named = [name for name in (header.old, header.new) if name != _NOTHING]
    if not named:
        raise malformed(header.line, "it names no file")
    has_prefixes = all(
        name == _NOTHING or name.startswith(prefix) for name, prefix in ((header.old, "a/"), (header.new, "b/"))
    )
    plain = [name[2:] if has_prefixes else name for name in named]
    if header.both and plain[0] != plain[-1]:
        raise malformed(header.line, f"it names two files, {plain[0]!r} and {plain[-1]!r}, without renaming")
    # Outside git a second name such as "file.new" means the same file.
    return plain[0], plain[0] if not header.both else plain[-1]


def _both_names(header: _Header) -> tuple[str, str]:
    """Return the name in "a/name b/name", which is the same twice where git writes no other header for it."""
    text = header.both
    if text.startswith('"'):
        try:
            first, rest = read_name(text)
            second = read_name(rest.strip())[0]
        except ValueError as exc:
            raise malformed(header.line, str(exc)) from exc
    else:
        first, second = text[: len(text) // 2], text[len(text) // 2 + 1 :]
    if first[:2] == "a/" and second[:2] == "b/":
        first, second = first[2:], second[2:]
    if first != second or not first:
        raise malformed(header.line, "the name of the file cannot be told")
    return first, second
