"""Results without a body as text: one line of facts in brackets, and above it what changed, in few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from filetools.content.diff import narrowed
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
from filetools.tools.bodies import Body, counted, short

MOST_HUNK_LINES: Final = 40
"""Lines of hunks that a change shows; the rest is counted."""
MOST_LINE_CHARACTERS: Final = 300
"""Of one line of a hunk."""
MOST_ROWS: Final = 100
"""Files that a change names; the rest is counted."""
_PATCHED: Final = {"add": "added", "delete": "deleted", "update": "updated", "move": "moved"}

Facts = Mapping[str, Any]


class _SummaryRow(Struct, frozen=True, kw_only=True):
    """One line above the facts, and the hunks that belong to it."""

    head: str = ""
    """Empty where the facts say it."""
    hunks: Sequence[Facts] = ()


class _Summary(Struct, frozen=True, kw_only=True):
    facts: Sequence[str]
    rows: Sequence[_SummaryRow] = ()
    most_rows: int = MOST_ROWS


def summary_of(result: type[Result], data: Facts) -> Body | None:
    """Return what a result says in few lines; None for one of a shape that has a body, or that is not known here.

    Args:
        result: The shape of the data.
        data: What the call returned.
    """
    summarise = _SUMMARIES.get(result)
    if summarise is None:
        return None
    found = summarise(data)
    return Body(text="".join(f"{line}\n" for line in _lines(found)), footer=" · ".join(filter(None, found.facts)))


def _lines(found: _Summary) -> Iterator[str]:
    left, more = MOST_HUNK_LINES, 0
    for row in found.rows[: found.most_rows]:
        if row.head:
            yield row.head
        lines = _hunk_lines(row.hunks)
        yield from map(_narrow, lines[:left])
        more += max(0, len(lines) - left)
        left -= min(left, len(lines))
    if more:
        yield f"… {counted(more, 'more line')} of the change"
    if rest := len(found.rows[found.most_rows :]):
        yield f"… {rest} more"


def _hunk_lines(hunks: Sequence[Facts]) -> list[str]:
    return [line for hunk in hunks for line in (_place(hunk), *narrowed(hunk["lines"], MOST_LINE_CHARACTERS))]


def _place(hunk: Facts) -> str:
    return f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@"


def _narrow(line: str) -> str:
    return line if len(line) <= MOST_LINE_CHARACTERS else f"{line[:MOST_LINE_CHARACTERS]}…"


def _write(data: Facts) -> _Summary:
    done = "unchanged" if data.get("unchanged") else "created" if data["created"] else "written"
    merged = "merged with what others wrote, shown above" if data.get("merged") else ""
    facts = (data["path"], done, counted(data["bytes_written"], "byte"), *_versions(data), merged, *_state(data))
    return _Summary(facts=facts, rows=[_SummaryRow(hunks=data.get("foreign", ()))])


def _edit(data: Facts) -> _Summary:
    count = sum(data.get("counts", ()))
    done = "unchanged" if data.get("unchanged") else f"{count} replaced" if count else "changed"
    facts = (data["path"], done, *_versions(data), *_state(data))
    return _Summary(facts=facts, rows=[_SummaryRow(hunks=data["structured_patch"])])


def _patch(data: Facts) -> _Summary:
    files = data["files"]
    told = [" · ".join((_moved(each), _PATCHED[each["kind"]], *_versions(each))) for each in files]
    # What a patch adds stands in the call, word for word.
    hunks = [() if each["kind"] == "add" else each.get("structured_patch", ()) for each in files]
    if len(files) == 1:
        return _Summary(facts=(told[0], *_state(data)), rows=[_SummaryRow(hunks=hunks[0])])
    rows = [_SummaryRow(head=head, hunks=each) for head, each in zip(told, hunks, strict=True)]
    return _Summary(facts=(counted(len(files), "file"), *_state(data)), rows=rows)


def _undo(data: Facts) -> _Summary:
    rows = [_SummaryRow(head=_undone(each), hunks=each.get("structured_patch", ())) for each in data.get("files", ())]
    rows += [_SummaryRow(head=f"in the way: {each['path']}: {each['reason']}") for each in data.get("conflicts", ())]
    rows += [_SummaryRow(head=f"stays: {each['path']}: {each['reason']}") for each in data.get("not_undone", ())]
    rows += [_SummaryRow(head=f"could not be read: {path}") for path in data.get("unread", ())]
    changes = data.get("changes", ())
    if not changes:
        return _Summary(facts=("nothing to undo",), rows=rows)
    undone = sum(each["outcome"] == "undone" for each in changes)
    return _Summary(facts=(f"{undone} of {counted(len(changes), 'change')} undone", *_state(data)), rows=rows)


def _undone(file: Facts) -> str:
    return " · ".join((_moved(file), file["action"].replace("_", " "), *_versions(file)))


def _moved(file: Facts) -> str:
    old, path = file.get("old_path"), file["path"]
    return path if old is None else f"{old} → {path}"


def _move(data: Facts) -> _Summary:
    return _Summary(
        facts=(printable(f"{data['source']} → {data['destination']}"), "moved", *_versions(data), *_state(data))
    )


def _delete(data: Facts) -> _Summary:
    version = data.get("deleted_version")
    was = f"was {short(version)}" if version else counted(data.get("entries", 1), "entry", "entries")
    return _Summary(facts=(data["path"], "deleted", was, *_state(data)))


def _directory(data: Facts) -> _Summary:
    return _Summary(facts=(data["path"], "created" if data["created"] else "there already", *_state(data)))


def _batch(data: Facts) -> _Summary:
    results = data["results"]
    parts = [_delete(each) if "created" not in each else _write(each) for each in results]
    rows = [
        _SummaryRow(head=" · ".join(filter(None, part.facts)), hunks=part.rows[0].hunks if part.rows else ())
        for part in parts
    ]
    return _Summary(facts=(counted(len(results), "file"), *_state(data)), rows=rows)


def _info(data: Facts) -> _Summary:
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
        counted(data["links"], "hard link") if data.get("links", 1) > 1 else "",
        "being written just now" if data.get("locked") else "",
        "" if last is None else f"last change {last['number']} by {printable(sayable(last['actor']))}",
    )
    return _Summary(facts=facts)


def _watch(data: Facts) -> _Summary:
    changes = data["changes"]
    rows = [_SummaryRow(head=_change(each)) for each in changes]
    again = "too much has changed to list: look at the files again" if data.get("resync") else ""
    count = counted(len(changes), "change")
    facts = (data["path"] or ".", count, again, f"position {data['position']}")
    # All of them: the position is behind the last.
    return _Summary(facts=facts, rows=rows, most_rows=len(rows))


def _change(change: Facts) -> str:
    at = datetime.fromtimestamp(change["time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = (f"version {short(change['version'])}",) if "version" in change else ()
    what = change["operation"].replace("_", " ")
    return " · ".join(
        (f"{change['number']} {what} {_moved(change)}", f"by {printable(sayable(change['actor']))}", at, *version)
    )


def _versions(data: Facts) -> Iterator[str]:
    """Yield what stands there now, and what did before: both can be read by their version."""
    version, before = data.get("version"), data.get("replaced_version")
    if version:
        yield f"version {short(version)}"
    if before and before != version:
        yield f"was {short(before)}"


def _state(data: Facts) -> Iterator[str]:
    """Yield what differs from the usual, and the number by which it can be undone."""
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


_SUMMARIES: Final[Mapping[type[Result], Callable[[Facts], _Summary]]] = {
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
