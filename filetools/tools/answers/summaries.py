"""Results without a body as text: the changes in a few lines, then one line of facts in brackets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from filetools.content.differences.diff import narrowed
from filetools.models.files import (
    BatchResult,
    DeleteResult,
    DirectoryResult,
    EditResult,
    InfoResult,
    MoveResult,
    PatchResult,
    WriteResult,
)
from filetools.models.history import UndoResult
from filetools.models.records import sayable
from filetools.models.result import Result
from filetools.models.searching import WatchResult
from filetools.printable import printable
from filetools.tools.answers.bodies import Body, counted, short

MOST_HUNK_LINES: Final = 40
"""Maximum number of hunk lines shown for a change; the rest is counted."""
MOST_LINE_CHARACTERS: Final = 300
"""Maximum length of one line of a hunk."""
MOST_ROWS: Final = 100
"""Maximum number of files named for a change; the rest is counted."""
_PATCHED: Final = {"add": "added", "delete": "deleted", "update": "updated", "move": "moved"}

Data = Mapping[str, Any]


Row = tuple[str, Sequence[Data]]
"""A line above the facts (empty if the facts already say it) and its hunks."""
Summary = tuple[Sequence[str], Sequence[Row]]
"""Facts, of which empty ones are omitted, and rows."""


def summary_of(result: type[Result], data: Data) -> Body | None:
    """Return a result in a few lines; None if its type has a body or is not known here.

    Args:
        result: The type of the result.
        data: The data that the call returned.
    """
    summarise = _SUMMARIES.get(result)
    if summarise is None:
        return None
    facts, rows = summarise(data)
    # Show all watched changes, because the returned position is after the last one.
    lines = _lines(rows, len(rows) if result is WatchResult else MOST_ROWS)
    return Body(text="".join(f"{line}\n" for line in lines), footer=" · ".join(filter(None, facts)))


def _lines(rows: Sequence[Row], most_rows: int) -> Iterator[str]:
    left, more = MOST_HUNK_LINES, 0
    for head, hunks in rows[:most_rows]:
        if head:
            yield head
        lines = [line for hunk in hunks for line in (hunk_place(hunk), *narrowed(hunk["lines"], MOST_LINE_CHARACTERS))]
        for line in lines[:left]:
            yield line if len(line) <= MOST_LINE_CHARACTERS else f"{line[:MOST_LINE_CHARACTERS]}…"
        more += max(0, len(lines) - left)
        left -= min(left, len(lines))
    if more:
        yield f"… {counted(more, 'more line')} of the change"
    if rest := len(rows[most_rows:]):
        yield f"… {rest} more"


def hunk_place(hunk: Data) -> str:
    """Return the header line of a hunk."""
    return f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@"


def _write(data: Data) -> Summary:
    done = "unchanged" if data.get("unchanged") else "created" if data["created"] else "written"
    merged = "merged with what others wrote, shown above" if data.get("merged") else ""
    facts = (data["path"], done, counted(data["bytes_written"], "byte"), *_versions(data), merged, *_state(data))
    return facts, [("", data.get("foreign", ()))]


def _edit(data: Data) -> Summary:
    count = sum(data.get("counts", ()))
    done = "unchanged" if data.get("unchanged") else f"{count} replaced" if count else "changed"
    return (data["path"], done, *_versions(data), *_state(data)), [("", data["structured_patch"])]


def _patch(data: Data) -> Summary:
    files = data["files"]
    heads = [" · ".join((_moved(each), _PATCHED[each["kind"]], *_versions(each))) for each in files]
    # The content of added files is already in the call.
    hunks = [() if each["kind"] == "add" else each.get("structured_patch", ()) for each in files]
    if len(files) == 1:
        return (heads[0], *_state(data)), [("", hunks[0])]
    return (counted(len(files), "file"), *_state(data)), list(zip(heads, hunks, strict=True))


def _undo(data: Data) -> Summary:
    rows: list[Row] = [(_undone(each), ()) for each in data.get("files", ())]
    rows += [(f"conflict: {each['path']}: {each['reason']}", ()) for each in data.get("conflicts", ())]
    changes = data.get("changes", ())
    rows += [(f"not undone: {path}: nobody knows what was there before", ()) for path in data.get("unknown", ())]
    rows += [(f"not undone: {each['path']}: others use it now", ()) for each in changes if each["outcome"] == "kept"]
    rows += [(f"could not be read: {path}", ()) for path in data.get("unread", ())]
    if not changes:
        return ("nothing to undo",), rows
    undone = sum(each["outcome"] == "undone" for each in changes)
    return (f"{undone} of {counted(len(changes), 'change')} undone", *_state(data)), rows


def _undone(file: Data) -> str:
    return " · ".join((_moved(file), file["action"].replace("_", " "), *_versions(file)))


def _moved(file: Data) -> str:
    old, path = file.get("old_path"), file["path"]
    return path if old is None else f"{old} → {path}"


def _move(data: Data) -> Summary:
    done = "moved" if "number" in data else "there already"
    return (printable(f"{data['source']} → {data['destination']}"), done, *_versions(data), *_state(data)), ()


def _delete(data: Data) -> Summary:
    version = data.get("deleted_version")
    was = f"was {short(version)}" if version else counted(data.get("entries", 1), "entry", "entries")
    return (data["path"], "deleted", was, *_state(data)), ()


def _directory(data: Data) -> Summary:
    return (data["path"], "created" if data["created"] else "there already", *_state(data)), ()


def _batch(data: Data) -> Summary:
    results = data["results"]
    parts = (_write(each) if "created" in each else _delete(each) for each in results)
    rows = [(" · ".join(filter(None, facts)), rows[0][1] if rows else ()) for facts, rows in parts]
    return (counted(len(results), "file"), *_state(data)), rows


def _info(data: Data) -> Summary:
    last, size, lines = data.get("last_change"), data.get("size"), data.get("total_lines")
    is_text = data.get("encoding") is not None and not data.get("is_binary")
    facts = (
        data["path"] or ".",
        data["type"],
        "" if size is None else counted(size, "byte"),
        data.get("mime_type") or "" if data.get("is_binary") else "",
        f"{data['encoding']}{' with BOM' if data.get('bom') else ''}" if is_text else "",
        "" if lines is None else counted(lines, "line"),
        f"{data['newline']} line ends" if data.get("newline") in ("crlf", "cr", "mixed") else "",
        *_versions(data),
        f"modified {data['modified'].partition('.')[0].removesuffix('Z')}Z",
        f"mode {data['mode']}",
        counted(data["links"], "hard link") if data["type"] == "file" and data.get("links", 1) > 1 else "",
        "being written just now" if data.get("locked") else "",
        "" if last is None else f"last change {last['number']} by {printable(sayable(last['actor']))}",
    )
    return facts, ()


def _watch(data: Data) -> Summary:
    changes = data["changes"]
    again = "too many changes to list: read the files again" if data.get("resync") else ""
    facts = (data["path"] or ".", counted(len(changes), "change"), again, f"position {data['position']}")
    return facts, [(_change(each), ()) for each in changes]


def _change(change: Data) -> str:
    at = datetime.fromtimestamp(change["time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = (f"version {short(change['version'])}",) if "version" in change else ()
    what = change["operation"].replace("_", " ")
    return " · ".join(
        (f"{change['number']} {what} {_moved(change)}", f"by {printable(sayable(change['actor']))}", at, *version)
    )


def _versions(data: Data) -> Iterator[str]:
    """Yield the current and the previous version; both can be read."""
    version, before = data.get("version"), data.get("replaced_version")
    if version:
        yield f"version {short(version)}"
    if before and before != version:
        yield f"was {short(before)}"


def _state(data: Data) -> Iterator[str]:
    """Yield unusual facts, and the number by which the change can be undone."""
    if data.get("dry_run"):
        yield "dry run: nothing was written"
    if data.get("in_buffer"):
        yield "in the unsaved text of an editor, not in the file"
    if disk := data.get("disk_version"):
        yield f"version of the file {short(disk)}"
    if data.get("mirror") == "pending":
        yield "mirror pending"
    if number := data.get("number"):
        yield f"change {number}"


_SUMMARIES: Final[Mapping[type[Result], Callable[[Data], Summary]]] = {
    WriteResult: _write,
    EditResult: _edit,
    PatchResult: _patch,
    UndoResult: _undo,
    MoveResult: _move,
    DeleteResult: _delete,
    DirectoryResult: _directory,
    BatchResult: _batch,
    InfoResult: _info,
    WatchResult: _watch,
}
