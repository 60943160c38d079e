"""Reads patches in the format of Codex models: "*** Begin Patch" … "*** End Patch".

Source: the grammar that OpenAI publishes for its `apply_patch` tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from filetools.content.patching.file_patch import RANGE, FileHunk, FilePatch, PatchReader, malformed

BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_END_OF_FILE: Final = "*** End of File"
_MOVE: Final = "*** Move to: "
_FILE_KINDS: Final[dict[str, Literal["add", "delete", "update"]]] = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}


def begin_of(lines: Sequence[str]) -> int | None:
    """Return the index of "*** Begin Patch" if it is the first line and does not contain a unified diff, else None.

    If a model omitted it, return the index of the line before the first file.
    """
    first, second, *_ = [*(at for at, line in enumerate(lines) if line.strip()), len(lines), len(lines)]
    if first < len(lines) and lines[first].startswith(tuple(_FILE_KINDS)):
        return first - 1
    is_begin = second < len(lines) and lines[first].strip() == BEGIN
    return first if is_begin and not lines[second].startswith(("--- ", "diff --git ")) else None


class CodexReader(PatchReader):
    """Reads one patch, from the line after "*** Begin Patch" to its end."""

    def files(self) -> list[FilePatch]:
        """Parse the patch, file by file.

        Raises:
            InvalidArgumentError: It is malformed; the details have the line.
        """
        found: list[FilePatch] = []
        is_wrapped = self._at > 0 and self._lines[self._at - 1].strip() == BEGIN
        while not self._is(_END):
            if self._at >= len(self._lines) and not is_wrapped:
                return found
            if self._at >= len(self._lines):
                raise malformed(self._at, f"{_END!r} is missing")
            found.append(self._file())
        if any(line.strip() for line in self._lines[self._at + 1 :]):
            raise malformed(self._at + 2, f"text after {_END!r}")
        if not found:
            raise malformed(self._at + 1, "it changes no file")
        return found

    def _file(self) -> FilePatch:
        line = self._take().rstrip("\r")
        for mark, kind in _FILE_KINDS.items():
            path = line[len(mark) :].strip()
            if line.startswith(mark) and path:
                return self._body(kind, path)
        raise malformed(self._at, f"expected one of {', '.join(mark.strip() for mark in _FILE_KINDS)} and a path")

    def _body(self, kind: Literal["add", "delete", "update"], path: str) -> FilePatch:
        if kind == "delete":
            return FilePatch(kind=kind, path=path, is_unified=False)
        if kind == "add":
            lines = tuple(self._lines_while(lambda: self._peek().startswith("+")))
            hunks = (FileHunk(lines=lines, old_start=None),) if lines else ()
            return FilePatch(kind=kind, path=path, hunks=hunks, is_unified=False)
        start = self._at
        line = self._peek()
        move_to = self._take()[len(_MOVE) :].strip() if line.startswith(_MOVE) else None
        heads = tuple(line[:4] for line in self._lines[self._at : self._at + 2])
        if heads == ("--- ", "+++ ") and "".join(self._lines[self._at + 2 : self._at + 3]).startswith("@@"):
            self._at += 2  # the header of a unified diff, which is redundant here
        patch = FilePatch(kind=kind, path=path, move_to=move_to, hunks=tuple(self._hunks()), is_unified=False)
        if not patch.hunks and move_to is None:
            raise malformed(start, f"the update of {path!r} changes nothing")
        return patch

    def _hunks(self) -> list[FileHunk]:
        found: list[FileHunk] = []
        while self._at < len(self._lines) and not self._is_mark():
            found.append(self._hunk())
        return found

    def _hunk(self) -> FileHunk:
        start = self._at
        anchors: list[str] = []
        stated: int | None = None
        while self._is("@@") or self._peek().startswith("@@ "):
            line = self._take().rstrip("\r")
            if found := RANGE.match(line):
                # Line numbers of a unified diff: try them first. The text after them is a heading, often truncated.
                stated = int(found[1])
            else:
                anchors.append(line[3:])
        lines = self._lines_while(lambda: not self._is_mark() and not self._peek().startswith("@@"))
        if not lines:
            raise malformed(start + 1, "a hunk without lines")
        is_at_end = self._is(_END_OF_FILE)
        if is_at_end:
            self._take()
        repair = "" if stated is None else f"The line numbers of a hunk, line {start + 1}, are those of a unified diff"
        named = tuple(anchor for anchor in anchors if anchor.strip())
        return FileHunk(lines=tuple(lines), old_start=stated, anchors=named, is_at_end=is_at_end, repair=repair)

    def _is_mark(self) -> bool:
        return self._peek().startswith("*** ")

    def _is(self, mark: str) -> bool:
        return self._peek().rstrip() == mark
