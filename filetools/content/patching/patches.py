r"""Patches: parses them, and applies them to files where their old lines match.

A hunk of a unified diff is applied at its stated line if no earlier hunk was displaced. Otherwise, and in the Codex format,
its old lines must match in exactly one place after the previous hunk. Lines of the patch without CR match any line end, and
added lines take that of their neighbour. If any line of a file's hunks ends in CRLF, as git writes it for CRLF files, line
ends are compared and added literally. Lines that do not match may differ in blanks at line ends, as in edits.

A byte of a patch that is not UTF-8 is a surrogate escape in its text. The lines of such a file's hunks are then decoded in
the encoding of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec.structs import replace

from filetools.content.differences.diff import minimal_edits
from filetools.content.differences.words import starts_of
from filetools.content.editing.closest import closest_region, lines_around
from filetools.content.editing.edits import BytesOutcome, EditOutcome, joined, spliced
from filetools.content.editing.matching import BLANKS
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.ends import end_of, split_at, split_lines, without_end
from filetools.content.formats import LATIN1, TextFormat, decode, marked
from filetools.content.patching.codex_patches import CodexReader, begin_of
from filetools.content.patching.file_patch import FileHunk, FilePatch, PatchLine, unwrapped
from filetools.content.patching.unified_patches import UnifiedReader
from filetools.errors import EditAmbiguousError, EditNotFoundError, InvalidArgumentError, PathExistsError

_ESCAPED: Final = re.compile(r"[\udc80-\udcff]")
MOST_SHOWN_MATCHES: Final = 1000
"""Maximum number of matches reported in an error."""


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Parse a patch, file by file, in order.

    Args:
        text: A patch in the Codex format, or a unified diff with or without git's extended headers.

    Raises:
        InvalidArgumentError: It is malformed or changes no file; the details have the line.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    if lines and all(line.endswith("\r") for line in lines):
        # The whole patch, including headers, was converted to CRLF: its CRs say nothing about the files.
        lines = [line[:-1] for line in lines]
    lines, wrapping = unwrapped(lines)
    begin = begin_of(lines)
    first, *others = (UnifiedReader(lines) if begin is None else CodexReader(lines, begin + 1)).files()
    return (replace(first, repair=f"The patch was extracted from {wrapping}" if wrapping else ""), *others)


def apply_file_patch(content: bytes, text_format: TextFormat, patch: FilePatch, *, path: str) -> BytesOutcome:
    """Apply a patch to the bytes of one file; bytes of lines that it does not change stay as they are.

    Args:
        content: All bytes of the file; b"" for an added file.
        text_format: The current or intended text format of the file.
        patch: The patch. The caller handles its names and mode; a deletion is checked and returns b"".
        path: Workspace-relative path, for errors.

    Raises:
        EditNotFoundError: Old lines of a hunk do not match; the closest region is in the details.
        EditAmbiguousError: They match in several places; the lines of all matches are in the details.
        EncodingError: An added line has a character that the file's encoding lacks, or the content is not text.
        InvalidArgumentError: A hunk has no old lines that locate it.
        PathExistsError: A file to be added already has content.
    """
    if patch.kind == "add" and content[len(text_format.bom) :]:
        raise PathExistsError(path)
    if any(_ESCAPED.search(line.text) for hunk in patch.hunks for line in hunk.lines):
        text_format = LATIN1 if patch.kind == "add" else text_format
        patch = _read_in(patch, text_format)
    patch, has_mark = _without_mark(patch)
    if patch.kind == "delete" and not patch.hunks:
        return BytesOutcome(content=b"", before="", outcome=EditOutcome(text="", spans=(), counts=()))
    text = decode(content, text_format, path=path)
    is_new = patch.kind == "add" or not text
    outcome = _new_text(text, patch, path) if is_new else _applied(text, patch, path)
    if patch.kind == "delete":
        if outcome.text:
            raise EditNotFoundError(path, "The patch deletes the file, but it has lines that the patch does not name")
        return BytesOutcome(content=b"", before=text, outcome=outcome)
    made = spliced(content or text_format.bom, text, text_format, outcome, path=path)
    after = text_format if has_mark is None else marked(text_format, has_mark=has_mark)
    return replace(made, content=after.bom + made.content[len(text_format.bom) :], text_format=after)


def _without_mark(patch: FilePatch) -> tuple[FilePatch, bool | None]:
    """Remove the byte-order mark from a patch; to git it is a character of the first line.

    The second value is True or False if the patch adds or removes the mark, None if it does not change it.
    """
    first = patch.hunks[0] if patch.hunks else None
    if first is None or first.old_start not in (None, 0, 1) or not any(map(_is_marked, first.lines)):
        return patch, None
    old, new = (next((line for line in first.lines if line.kind != kind), None) for kind in ("add", "remove"))
    lines = tuple(
        replace(line, text=line.text[1:]) if line in (old, new) and _is_marked(line) else line for line in first.lines
    )
    before, after = (line is not None and _is_marked(line) for line in (old, new))
    patch = replace(patch, hunks=(replace(first, lines=lines), *patch.hunks[1:]))
    return patch, None if before == after else after


def _is_marked(line: PatchLine) -> bool:
    return line.text.startswith("\ufeff")


def _read_in(patch: FilePatch, text_format: TextFormat) -> FilePatch:
    """Decode a patch whose lines are bytes; return it unchanged if they are not valid in the encoding."""

    def read(line: PatchLine) -> PatchLine:
        return replace(line, text=line.text.encode("utf-8", "surrogateescape").decode(text_format.encoding))

    try:
        hunks = tuple(replace(hunk, lines=tuple(map(read, hunk.lines))) for hunk in patch.hunks)
    except UnicodeError:
        return patch
    return replace(patch, hunks=hunks)


def _new_text(text: str, patch: FilePatch, path: str) -> EditOutcome:
    lines = [line for hunk in patch.hunks for line in hunk.lines]
    if any(line.kind != "add" for line in lines):
        if patch.kind == "add":
            raise InvalidArgumentError(f"The patch adds {path}, but has old lines for it", path=path)
        raise EditNotFoundError(path, "The old lines of hunk 1 were not found: the file is empty")
    new = "".join(line.text + line.end for line in lines)
    return EditOutcome(
        text=text + new,
        spans=(TextEdit(0, 0, new),) if new else (),
        counts=(1,) * len(patch.hunks),
        repairs=tuple(hunk.repair for hunk in patch.hunks if hunk.repair),
    )


def _applied(text: str, patch: FilePatch, path: str) -> EditOutcome:
    placer = _Placer(text, patch, path)
    spans: list[TextEdit] = []
    refusals: list[EditNotFoundError | EditAmbiguousError] = []
    for number, hunk in enumerate(patch.hunks, 1):
        try:
            spans += placer.edits_of(hunk, number)
        except (EditNotFoundError, EditAmbiguousError) as exc:
            refusals.append(exc)
    if refusals:
        raise joined(refusals)
    return EditOutcome(
        text=apply_text_edits(text, spans),
        spans=tuple(spans),
        counts=(1,) * len(patch.hunks),
        repairs=tuple(placer.repairs),
    )


def _places_of(lines: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        places.setdefault(line, []).append(at)
    return places


class _Placer:
    """Finds the position of each hunk of one patch in one text, in order."""

    def __init__(self, text: str, patch: FilePatch, path: str) -> None:
        self.repairs: list[str] = []
        """One sentence for each hunk that was repaired or matched only without blanks at line ends."""
        self._text, self._path = text, path
        lines = [line for hunk in patch.hunks for line in hunk.lines]
        # To git, a text without LF is one line, even if it contains CRs.
        is_one_line = patch.is_unified and any("\r" in line.text or line.end == "\r" for line in lines)
        self._lines = split_at(text, "\n") if is_one_line else split_lines(text)
        self._bare = [without_end(line) for line in self._lines]
        self._starts = starts_of(self._lines)
        self._is_unified = patch.is_unified
        self._is_literal = any("\r" in line.end for line in lines)
        self._places = _places_of(self._bare)
        self._loose_places: dict[str, list[int]] | None = None
        self._behind = 0
        self._has_moved = False

    def edits_of(self, hunk: FileHunk, number: int) -> list[TextEdit]:
        """Return the edits of a hunk, located after the previous hunks."""
        lines = hunk.lines
        old = [line for line in lines if line.kind != "add"]
        behind = self._behind_anchors(hunk, number)
        at = self._place(hunk, old, behind, number)
        self.repairs += [hunk.repair] if hunk.repair else []
        self._behind = at + len(old)
        if not old and at and not end_of(self._lines[at - 1]):
            # Adding lines after an unterminated last line terminates it.
            at -= 1
            lines = (PatchLine(kind="context", text=self._bare[at], end=""), *lines)
        before, after = "".join(self._lines[at : self._behind]), self._replacement(lines, at)
        start = self._starts[at]
        return [TextEdit(start + one.start, start + one.end, one.text) for one in minimal_edits(before, after)]

    def _place(self, hunk: FileHunk, old: Sequence[PatchLine], start: int, number: int) -> int:
        """Return the line, from 0, where the old lines match at or after `start`, ignoring blanks at line ends if needed."""
        if not old:
            return self._place_without_old(hunk, start, number)
        stated = hunk.old_start - 1 if hunk.old_start is not None else -1
        if stated >= start and not self._has_moved and self._fits(old, stated, hunk):
            return stated
        most = 1 if hunk.anchors else MOST_SHOWN_MATCHES
        found = list(islice(self._fitting(old, start, hunk, is_loose=False), most))
        if not found and not self._is_literal and any(line.text.strip() for line in old):
            found = list(islice(self._fitting(old, start, hunk, is_loose=True), most))
            self.repairs += [
                f"The old lines of hunk {number} of {self._path} were found except for blanks at line ends"
            ]
        if not found:
            closest = closest_region("\n".join(line.text for line in old), self._text)
            what = f"The old lines of hunk {number} were not found"
            raise EditNotFoundError(self._path, what, closest=closest, number=number)
        if len(found) > 1 and not hunk.anchors:
            what = f"The old lines of hunk {number} match {len(found)} times"
            raise self._ambiguous(what, [at + 1 for at in found], number, height=len(old))
        self._has_moved = found[0] != stated
        return found[0]

    def _place_without_old(self, hunk: FileHunk, start: int, number: int) -> int:
        if hunk.anchors:
            return start
        if self._is_unified:
            raise InvalidArgumentError(f"Hunk {number} has no context lines that locate it")
        return len(self._lines)

    def _behind_anchors(self, hunk: FileHunk, number: int) -> int:
        """Return the line after the anchors: the first must be unique, each further one is the next line equal to it."""
        place = self._behind
        for depth, anchor in enumerate(hunk.anchors):
            found = self._behind_line(anchor, place, most=MOST_SHOWN_MATCHES if not depth else 1)
            if not found:
                closest = closest_region(anchor, self._text)
                raise EditNotFoundError(
                    self._path, f"The line {anchor!r} of hunk {number} was not found", closest=closest, number=number
                )
            if len(found) > 1 and not depth:
                what = f"The line {anchor!r} of hunk {number} matches {len(found)} times"
                raise self._ambiguous(what, [at + 1 for at in found], number)
            place = found[0] + 1
        return place

    def _behind_line(self, anchor: str, start: int, *, most: int) -> Sequence[int]:
        """Return the first matches of an anchor from a line on."""
        for is_loose in (False, True):  # models omit the indentation of anchors
            places = self._places_like(anchor, is_loose=is_loose)
            if found := places[(first := bisect_left(places, start)) : first + most]:
                return found
        return ()

    def _places_like(self, line: str, *, is_loose: bool) -> Sequence[int]:
        """Return the positions of a line or, if loose, of lines that differ from it only in blanks at their ends."""
        if not is_loose:
            return self._places.get(line, ())
        if self._loose_places is None:
            self._loose_places = _places_of([line.strip() for line in self._bare])
        return self._loose_places.get(line.strip(), ())

    def _ambiguous(self, what: str, lines: Sequence[int], number: int, *, height: int = 1) -> EditAmbiguousError:
        around = lines_around(self._text, lines, height)
        return EditAmbiguousError(self._path, what, lines=lines, number=number, around=around)

    def _fitting(self, old: Sequence[PatchLine], start: int, hunk: FileHunk, *, is_loose: bool) -> Iterator[int]:
        """Yield the matches of the old lines. Only the positions of the rarest line are tried, to avoid scanning the text."""
        places, rarest = min(
            ((self._places_like(line.text, is_loose=is_loose), at) for at, line in enumerate(old)),
            key=lambda each: len(each[0]),
        )
        for at in islice(places, bisect_left(places, start + rarest), None):
            if self._fits(old, at - rarest, hunk, is_loose=is_loose):
                yield at - rarest

    def _fits(self, old: Sequence[PatchLine], at: int, hunk: FileHunk, *, is_loose: bool = False) -> bool:
        end = at + len(old)
        if end > len(self._lines) or (hunk.is_at_end and end != len(self._lines)):
            return False
        there, blanks = self._bare[at:end], BLANKS if is_loose else ""
        return all(
            bare.rstrip(blanks) == line.text.rstrip(blanks) and self._has_end(self._lines[at + i], line)
            for i, (bare, line) in enumerate(zip(there, old, strict=True))
        )

    def _has_end(self, line: str, wanted: PatchLine) -> bool:
        end = end_of(line)
        if not self._is_unified:
            return end == wanted.end or not self._is_literal or not end
        return end == wanted.end if self._is_literal else bool(end) == bool(wanted.end)

    def _replacement(self, lines: Sequence[PatchLine], at: int) -> str:
        """Return the new lines of a hunk; context lines are taken from the file."""
        made: list[str] = []
        ends: deque[str] = deque()
        last = end_of(self._lines[at - 1]) if at else ""
        for line in lines:
            if line.kind == "add":
                last = self._end_for(line, ends, last, at)
                made.append(line.text + last)
                continue
            last = end_of(self._lines[at])
            if line.kind == "context":
                ends.clear()
                made.append(self._lines[at])
            else:
                ends.append(last)
            at += 1
        return "".join(made) if self._is_unified else self._with_final_end(made, at)

    def _end_for(self, line: PatchLine, replaced: deque[str], before: str, at: int) -> str:
        """Return the line end of an added line: that of the line it replaces, of the previous line, or of the next one."""
        if self._is_literal or not line.end:
            return line.end
        end = replaced.popleft() if replaced else before
        return end or before or self._end_behind(at)

    def _end_behind(self, at: int) -> str:
        lines = self._lines[at : at + 1] + self._lines[:1]
        return next((end for end in map(end_of, lines) if end), "\n")

    def _with_final_end(self, made: list[str], at: int) -> str:
        """Keep the file's last line unterminated, because the Codex format cannot express a missing line end."""
        if at < len(self._lines) or end_of(self._lines[-1]):
            return "".join(made)
        ended = [line if end_of(line) else line + self._end_behind(0) for line in made]
        if ended:
            ended[-1] = without_end(ended[-1])
        return "".join(ended)
