"""Reads unified diffs, including git's extended headers.

Names are read as by `git apply`: if the two names differ only in the first component, that is a prefix, whatever its name.

Source: the GNU diffutils manual, "Detailed Description of Unified Format"; git's "Generating patch text with -p".
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from filetools.content.patching.file_patch import (
    LINE_KINDS,
    RANGE,
    FileHunk,
    FilePatch,
    PatchLine,
    PatchReader,
    malformed,
    read_name,
)

_MODE: Final = re.compile(r"(?:new|new file) mode (\d+)$")
_NOTHING: Final = "/dev/null"
_TIME: Final = re.compile(r"\t(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? ([-+]\d{4})")
_WITHOUT_PLACE: Final = re.compile(r"[\s\d.,…+-]*")
"""Text between the marks of a hunk's header that does not locate the hunk."""
_BEHIND: Final = ("@@", "diff ", "--- ", "-- ", "Index: ", "From ", "```", "*** End Patch")
"""Beginnings of lines that may follow the last line of a hunk."""
_UNSUPPORTED: Final = {
    "GIT binary patch": "binary patches are not supported",
    "Binary files ": "it says that binary files differ, but not how",
    "copy from ": "copies are not supported",
}


class _Header(Struct):
    """The headers of one file."""

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


class UnifiedReader(PatchReader):
    """Reads one diff from start to end."""

    def files(self) -> list[FilePatch]:
        """Parse the diff, file by file.

        Raises:
            InvalidArgumentError: It is malformed, or contains changes that are not supported, such as binary patches; the
                details have the line.
        """
        found: list[FilePatch] = []
        while self._at < len(self._lines):
            if self._peek().startswith("diff --git "):
                found.append(self._file(_Header(line=self._at + 1, both=self._take().rstrip("\r")[11:])))
            elif self._peek().startswith("--- ") and self._peek(1).startswith("+++ "):
                found.append(self._file(_Header(line=self._at + 1)))
            elif self._peek().startswith("@@"):
                raise malformed(self._at + 1, "a hunk without the name of its file")
            else:
                # Ignore text between files: mail headers, descriptions, "index" lines of other tools.
                self._at += 1
        if not found:
            raise malformed(1, "neither '*** Begin Patch' nor a unified diff with '--- a/path', '+++ b/path' and '@@'")
        return found

    def _file(self, header: _Header) -> FilePatch:
        while self._at < len(self._lines) and self._is_header(header):
            self._read_header(header, self._take().rstrip("\r"))
        hunks: list[FileHunk] = []
        if header.new is not None and self._peek()[:1] in LINE_KINDS and self._is_line():
            hunks.append(self._unnumbered("", self._at))
        while self._peek().startswith("@@"):
            hunks.append(self._hunk())
        return _file_patch(header, tuple(hunks))

    def _is_header(self, header: _Header) -> bool:
        line = self._peek()
        if line.startswith("--- "):
            return header.old is None and self._peek(1).startswith("+++ ")
        if line.startswith("+++ "):
            return header.new is None and header.old is not None
        # Extended headers come between "diff --git" and the names; after the names come the hunks.
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
            header.is_new |= _is_epoch(line)
        elif line.startswith("+++ "):
            header.new = self._name(line[4:])
            header.is_deleted |= _is_epoch(line)
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
            return read_name(text)[0]
        except ValueError as exc:
            raise malformed(self._at, str(exc)) from exc

    def _hunk(self) -> FileHunk:
        head = self._take()
        start = self._at
        found = RANGE.match(head)
        if found is None:
            return self._unnumbered(head.strip("@ \r"), start)
        lines = self._counted(int(found[2] or 1), int(found[4] or 1))
        repair = "" if lines is not None else f"A hunk, line {start}, does not have the number of lines that it states"
        if lines is None:
            # Models miscount. Take all lines that look like those of a hunk.
            self._at = start
            lines = self._until_next()
        if not lines:
            raise malformed(self._at, "a hunk without lines")
        return FileHunk(lines=tuple(lines), old_start=int(found[1]), repair=repair)

    def _unnumbered(self, heading: str, start: int) -> FileHunk:
        """Return a hunk without line numbers, perhaps with a line above it as heading; its old lines must be unique."""
        lines = tuple(self._until_next())
        if not lines:
            raise malformed(start, "a hunk without lines")
        anchors = () if _WITHOUT_PLACE.fullmatch(heading) else (heading,)
        return FileHunk(
            lines=lines, old_start=None, anchors=anchors, repair=f"A hunk, line {start}, has no line numbers"
        )

    def _counted(self, old_left: int, new_left: int) -> list[PatchLine] | None:
        """Return the number of lines that a hunk states; None if it has fewer or more."""
        lines: list[PatchLine] = []
        while old_left or new_left:
            if self._at >= len(self._lines) or not self._is_line(is_counted=True):
                return None
            line = self._take_line()
            lines.append(line)
            old_left -= line.kind != "add"
            new_left -= line.kind != "remove"
            if old_left < 0 or new_left < 0:
                return None
        is_longer = self._at < len(self._lines) and self._peek()[:1] in LINE_KINDS and self._is_line()
        return None if is_longer else lines

    def _until_next(self) -> list[PatchLine]:
        lines = self._lines_while(self._is_line)
        if self._at < len(self._lines) and not self._peek().startswith(_BEHIND):
            raise malformed(self._at + 1, "a line of a hunk begins with a blank, '-' or '+'")
        while lines and lines[-1].kind == "context" and not lines[-1].text:
            lines.pop()
        return lines

    def _is_line(self, *, is_counted: bool = False) -> bool:
        """Return True if the next line belongs to the hunk, and is neither the next file's header nor a mail signature.

        Within the counted lines, "--- " and "+++ " are a header only before a hunk.
        """
        line = self._peek()
        if line.startswith("--- ") and self._peek(1).startswith("+++ "):
            return is_counted and not self._peek(2).startswith("@@")
        return (line[:1] in LINE_KINDS or not line.strip("\r")) and (is_counted or line.rstrip("\r") != "-- ")

    def _take_line(self) -> PatchLine:
        line = super()._take_line()
        if self._peek().startswith("\\"):
            self._take()
            return replace(line, end=line.end.removesuffix("\n"))
        return line


def _file_patch(header: _Header, hunks: tuple[FileHunk, ...]) -> FilePatch:
    old, new = _names(header)
    if header.old == _NOTHING or (header.is_new and all(line.kind == "add" for hunk in hunks for line in hunk.lines)):
        return FilePatch(kind="add", path=new, hunks=hunks, mode=header.mode, is_unified=True)
    if header.is_deleted or header.new == _NOTHING:
        return FilePatch(kind="delete", path=old, hunks=hunks, is_unified=True)
    move_to = new if new != old else None
    if not hunks and move_to is None and header.mode is None:
        raise malformed(header.line, f"the update of {old!r} changes nothing")
    return FilePatch(kind="update", path=old, move_to=move_to, hunks=hunks, mode=header.mode, is_unified=True)


def _names(header: _Header) -> tuple[str, str]:
    """Return the old and the new name of the file; if there is only one, it is both."""
    if header.renamed_from is not None and header.renamed_to is not None:
        return header.renamed_from, header.renamed_to
    if header.old is None or header.new is None:
        name = _name_of_both(header)
        if name is None:
            raise malformed(header.line, "the name of the file cannot be determined")
        return name, name
    if _NOTHING not in (header.old, header.new):
        same = _same_name(header.old, header.new)
        if same is None and header.both:
            raise malformed(header.line, f"it names two files, {header.old!r} and {header.new!r}, without renaming")
        # Outside git, one of the names may be that of a copy, such as "file.orig" or "file.new".
        old, new = header.old.removeprefix("a/"), header.new.removeprefix("b/")
        name = same or (old if old and new.startswith(old) else new)
        return name, name
    side, name = ("b/", header.new) if header.old == _NOTHING else ("a/", header.old)
    if name == _NOTHING:
        raise malformed(header.line, "it does not name a file")
    plain = _name_of_both(header) if header.both else name.removeprefix(side)
    if plain is None or not name.endswith(plain):
        raise malformed(header.line, f"the name of the file cannot be determined from {name!r}")
    return plain, plain


def _same_name(old: str, new: str) -> str | None:
    """Return the file that both names mean, with or without their first component; None if they differ."""
    if old == new:
        return old or None
    (_, slash, name), (_, other_slash, other) = old.partition("/"), new.partition("/")
    return name if slash and other_slash and name and name == other else None


def _name_of_both(header: _Header) -> str | None:
    """Return the file of "a/name b/name"; if git writes no other name header, both names are the same."""
    text = header.both
    if text.startswith('"'):
        try:
            first, rest = read_name(text)
            return _same_name(first, read_name(rest.strip())[0])
        except ValueError as exc:
            raise malformed(header.line, str(exc)) from exc
    blanks = (found.start() for found in re.finditer(" ", text))
    return next((name for at in blanks if (name := _same_name(text[:at], text[at + 1 :])) is not None), None)


def _is_epoch(line: str) -> bool:
    """Return True if a name has the timestamp that GNU diff writes for a missing file."""
    found = _TIME.search(line)
    return found is not None and datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M:%S %z").timestamp() == 0
