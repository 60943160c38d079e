"""Reads the beginning of a project's README."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from filetools.content.extracts.whole import whole_start
from filetools.content.formats import LATIN1
from filetools.content.kind import sniff
from filetools.content.lines import mark_of
from filetools.errors import require_within
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.project.folder import ProjectFolder, located

MOST_CHARACTERS: Final = 20_000
_NAMES: Final = ("readme.md", "readme.markdown", "readme.rst", "readme", "readme.txt", "docs")
_COUNTED_BYTES: Final = 256 * 1024


def readme(folder: ProjectFolder, *, max_chars: int = 2000) -> dict[str, Any]:
    """Return the beginning of the README of a folder.

    Args:
        folder: The folder with README.md, .markdown, .rst, no extension, .txt, or docs/README.md, in any case. A link counts as
            its target if that is in the folder.
        max_chars: Maximum number of code points, 1 to 20,000.

    Returns:
        `{"content", "truncated", "path", "total_chars"?, "encoding"?}`; content is None if there is no README. `total_chars` is
        given for truncated files of up to 256 KiB; of larger files, only the beginning is read.

    Raises:
        InvalidArgumentError: `max_chars` is out of range.
        AccessDeniedError: A rule or the system denies the caller access.
    """
    require_within("max_chars", max_chars, 1, MOST_CHARACTERS)
    path = _find(folder, ROOT, _NAMES)
    if path is None:
        return {"content": None, "truncated": False, "path": folder.shown("README.md")}
    size = folder.reads.read_start(path, 0)[1].size
    most = _COUNTED_BYTES if size < _COUNTED_BYTES else 4 * (max_chars + 2)
    raw, _ = folder.reads.read_start(path, most)
    return {**_beginning(raw, max_chars, is_whole=len(raw) < most), "path": folder.shown(path)}


def _find(folder: ProjectFolder, parent: WorkspacePath, names: Sequence[str]) -> WorkspacePath | None:
    entries = [entry for entry in folder.reads.scan(parent) if entry.name.lower() in names]
    for entry in sorted(entries, key=lambda entry: (names.index(entry.name.lower()), entry.name)):
        path = parent.child(entry.name)
        if entry.name.lower() != "docs":
            found = located(folder.reads, path, "file")
        else:
            found = _find(folder, path, _NAMES[:1]) if entry.type == "directory" else None
        if found is not None:
            return found
    return None


def _beginning(raw: bytes, most: int, *, is_whole: bool) -> dict[str, Any]:
    form = sniff(raw, complete=is_whole).format or LATIN1
    # A character split by the end of `raw` is after the limit, since none has more than four bytes.
    text = raw[len(form.bom) :].decode(form.encoding, "replace")
    content = whole_start(text, most)
    if len(text) > most and (end := text.rfind(mark_of(text), 0, most) + 1) * 5 >= most * 4:
        content = text[:end]
    total = {"total_chars": len(text)} if is_whole and len(text) > most else {}
    encoding = {"encoding": form.encoding} if form.encoding != "utf-8" else {}
    return {"content": content, "truncated": len(text) > most, **total, **encoding}
