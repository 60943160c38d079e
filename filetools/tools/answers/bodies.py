"""Results with a body as text: the content or list, then one line of facts in brackets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

from msgspec import Struct

from filetools.content.lines import count_lines
from filetools.models.searching import CLIPPED_BEFORE, GrepMatch
from filetools.tools.answers.seen import TextLimits, clipped

Line: TypeAlias = tuple[int, tuple[str, str]]
"""Number, sign and text of a line found by a search; the sign is a colon for a match and a dash for context."""
Lines: TypeAlias = tuple[list[Line], list[Line], list[Line]]
"""Lines above a match, its own lines, and lines below."""
UNSAVED: Final = "  (unsaved text of an editor)"


def match_rows(data: Mapping[str, Any]) -> list[str]:
    """Return the rows of a content search."""
    found = ((match["path"], lines_of(match, _remark(match))) for match in data["matches"])
    has_context = any("before" in match or "after" in match for match in data["matches"])
    return [*grep_rows(found, has_context=has_context), *map(_file_row, data.get("files", ()))]


def grep_rows(found: Iterable[tuple[str, Lines]], *, has_context: bool, has_numbers: bool = True) -> Iterator[str]:
    """Yield rows as grep prints them: path, number and text of each line; "--" separates groups with context lines.

    Args:
        found: Path (empty to omit it) and lines of each match, grouped by file and ordered by line.
        has_context: True if there are context lines.
        has_numbers: True to show line numbers.
    """
    is_first = True
    for path, of_file in groupby(found, key=itemgetter(0)):
        for group in line_groups(lines for _, lines in of_file):
            if has_context and not is_first:
                yield "--"
            is_first = False
            for number, (sign, text) in group:
                place = f"{path}{sign}" if path else ""
                yield f"{place}{number}{sign}{text}" if has_numbers else f"{place}{text}"


def line_groups(matches: Iterable[Lines]) -> Iterator[list[Line]]:
    """Yield the lines of one file in contiguous groups, each line once: a match is not repeated as another's context."""
    group: dict[int, tuple[str, str]] = {}
    for above, own, below in matches:
        if group and (above or own)[0][0] > max(group) + 1:
            yield sorted(group.items())
            group = {}
        for number, line in (*above, *own, *below):
            if group.get(number, ("-", ""))[0] == "-":
                group[number] = line
    if group:
        yield sorted(group.items())


def _remark(match: Mapping[str, Any]) -> str:
    column = f"  (column {match['column']})" if match.get("clipped") else ""
    return column + (UNSAVED if match.get("origin") == "buffer" else "")


def lines_of(match: Mapping[str, Any], remark: str) -> Lines:
    """Return the lines of a match, with a remark after its own lines."""
    line, above = match["line"], match.get("before") or []
    dots = "\u2026" if match.get("clipped") else ""
    start = dots if match["column"] > CLIPPED_BEFORE + 1 else ""
    return (
        [(number, ("-", text)) for number, text in enumerate(above, line - len(above))],
        [
            (number, (":", f"{start}{text}{dots}{remark}"))
            for number, text in enumerate(match["text"].split("\n"), line)
        ],
        [
            (number, ("-", text))
            for number, text in enumerate(match.get("after") or [], (match.get("end_line") or line) + 1)
        ],
    )


def match_lines(match: GrepMatch, before: int, after: int, remark: str = "") -> Lines:
    """Return the lines of a match as `lines_of`, with at most some lines around it."""
    above, below = (match.before or [])[-before:] if before else [], (match.after or [])[:after]
    return lines_of(vars(match) | {"before": above, "after": below}, remark)


def _file_row(found: Mapping[str, Any]) -> str:
    count = "" if found.get("count") is None else f":{found['count']}"
    remark = UNSAVED if found.get("origin") == "buffer" else ""
    return f"{found['path']}{count}{remark}"


SHORT_DIGITS: Final = 12
_SEPARATOR: Final = " · "
_TO: Final = "\u2013"
_MARKS: Final = {"directory": "/", "symlink": "@", "file": ""}


class Body(Struct, frozen=True, kw_only=True):
    """A body and its footer."""

    text: str
    footer: str
    """Without the brackets."""
    is_cut: bool = False
    """True if the text omits a part of the result."""


def body_of(data: Mapping[str, Any], limits: TextLimits) -> Body:
    """Return the body of a read or list result; for any other result, its JSON."""
    if "entries" in data:
        rows = [_row(entry) for entry in data["entries"]]
        return _paged(data, rows, counted(len(rows), "entry", "entries"), limits)
    if "matches" in data:
        found = len(data["matches"]) + len(data.get("files", ()))
        return _paged(data, match_rows(data), counted(found, "line"), limits)
    if "items" in data:
        return _several(data, limits)
    if "content" in data:
        return _binary(data) if data.get("is_binary") else _read(data, limits)
    text, cut = clipped(json.dumps(data, ensure_ascii=False), limits)
    return Body(text=text, footer="cut" if cut else "end", is_cut=cut is not None)


def short(version: str) -> str:
    """Return a version in a form that a model can type: its first 12 digits."""
    return version.removeprefix("sha256:")[:SHORT_DIGITS] if version.startswith("sha256:") else version


def counted(number: int, unit: str, units: str | None = None) -> str:
    """Return a number with its unit, in the plural unless it is one."""
    return f"{number} {unit if number == 1 else units or f'{unit}s'}"


def _read(data: Mapping[str, Any], limits: TextLimits) -> Body:
    content: str = data["content"]
    total, following, column = data.get("total_lines"), data.get("next_offset"), data.get("next_column")
    # ASCII text as long as the file is the whole file. Most reads are, and counting the lines again would dominate their cost.
    is_all = len(content) == data["size"] and content.isascii()
    count: int = total if is_all and total is not None else count_lines(content)
    first = _first_line(count, data)
    text, kept = clipped(content, limits, count=count)
    if kept is not None:
        count = kept
        is_inside = _is_inside(text, kept)
        column = data.get("column", 1) + len(text) if is_inside else None
        if first is not None and (is_inside or total is None or first + kept <= total):
            following = first + kept - is_inside
    facts = [
        data["path"],
        _lines(first, count, total),
        *([f"from column {data['column']}"] if data.get("column") else []),
        f"version {short(data['version'])}",
        *([f"next_offset {following}"] if following is not None else []),
        *([f"next_column {column}"] if column is not None else []),
        *remarks(data),
    ]
    if column is not None:
        facts.append(f"the line is longer than the {counted(len(text), 'character')} shown")
    return Body(text=text, footer=_SEPARATOR.join(facts), is_cut=kept is not None or bool(data.get("is_page")))


def _is_inside(text: str, kept: int) -> bool:
    """Return True if a text was cut inside its first line."""
    return kept == 1 and not text.endswith(("\n", "\r"))


def _first_line(count: int, data: Mapping[str, Any]) -> int | None:
    """Compute the first line from where the result ends, since a result does not repeat the requested offset."""
    total, following = data.get("total_lines"), data.get("next_offset")
    if following is not None:
        # An incomplete last line is counted, and the next read continues in it.
        return int(following) - count + ("next_column" in data)
    return None if total is None else total - count + 1


def _lines(first: int | None, count: int, total: int | None) -> str:
    of = "" if total is None else f" of {total}"
    if count == 0:
        return f"no lines{of}"
    return f"{counted(count, 'line')}{of}" if first is None else f"lines {first}{_TO}{first + count - 1}{of}"


def remarks(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield unusual properties of a read file, such as its line ends; a model unaware of them would undo them."""
    if data["encoding"] not in ("utf-8", "ascii"):
        yield str(data["encoding"])
    if data.get("newline") in ("crlf", "cr", "mixed"):
        yield f"{data['newline']} line ends"
    if data["content"] and not data.get("truncated") and not data["content"].endswith(("\n", "\r")):
        yield "no final newline"
    if data.get("origin") == "buffer":
        yield "unsaved text of an editor"
    if data.get("origin") == "version":
        yield "not the present text"
    if data.get("disk_is_newer"):
        yield "the file has newer text"
    if data.get("stale"):
        yield "being written just now"


def _binary(data: Mapping[str, Any]) -> Body:
    mime_type = data.get("mime_type") or "application/octet-stream"
    facts = (data["path"], "binary", mime_type, f"{data['size']} bytes", f"version {short(data['version'])}")
    return Body(text="", footer=_SEPARATOR.join(facts))


def _paged(data: Mapping[str, Any], rows: Sequence[str], count: str, limits: TextLimits) -> Body:
    text, kept = clipped("".join(f"{row}\n" for row in rows), limits)
    facts = [
        data["path"] or ".",
        *(_nothing(data) if data.get("total") == 0 else (count, *_totals(data))),
    ]
    if kept is not None:
        facts.append(f"only {kept} shown: call again with a smaller limit")
    elif cursor := data.get("next_cursor"):
        facts.append(f"next_cursor {cursor}")
    return Body(text=text, footer=_SEPARATOR.join(facts), is_cut=kept is not None)


def _nothing(data: Mapping[str, Any]) -> Iterator[str]:
    yield "nothing found"
    if (searched := data.get("files_searched")) is not None:
        below = data.get("files_below", searched)
        yield f"{counted(searched, 'file')} searched" + (
            "" if below == searched else f", {searched} of {below} fit the glob"
        )
    elif (searched := data.get("searched")) is not None:
        yield f"{searched} files and folders looked at"
    if data.get("total_is_complete") is False:
        yield "some could not be read"


def _totals(data: Mapping[str, Any]) -> Iterator[str]:
    shown = sum(len(data.get(name, ())) for name in ("entries", "matches", "files"))
    if data.get("total_is_complete") and data["total"] != shown:
        yield f"{data['total']} in all"
    elif data.get("total_is_complete") is False:
        yield f"{data['total']} so far, there may be more"


def _row(entry: Mapping[str, Any]) -> str:
    size = f"  {entry['size']}" if entry.get("type") == "file" and entry.get("size") is not None else ""
    unreachable = "  (cannot be addressed)" if entry.get("addressable") is False else ""
    return f"{entry['path']}{_MARKS.get(entry['type'], '')}{size}{unreachable}"


def _several(data: Mapping[str, Any], limits: TextLimits) -> Body:
    parts: list[Body] = []
    lines, characters = limits.lines, limits.characters
    for item in data["items"]:
        part = _item(item, TextLimits(lines=lines, characters=characters))
        parts.append(part)
        lines -= count_lines(part.text)
        characters -= len(part.text)
    text = "".join(part.text for part in parts)
    footer = f"{len(parts)} files{_SEPARATOR}{data.get('failed', 0)} failed"
    return Body(text=text, footer=footer, is_cut=any(part.is_cut for part in parts))


def _item(item: Mapping[str, Any], limits: TextLimits) -> Body:
    if (result := item.get("result")) is None:
        error = item.get("error") or {}
        return Body(text=f"[{item['path']}{_SEPARATOR}{error.get('error_code')}: {error.get('error')}]\n", footer="")
    if limits.lines <= 0 or limits.characters <= 0:
        return Body(
            text=f"[{item['path']}{_SEPARATOR}too long for one response: read it separately]\n", footer="", is_cut=True
        )
    one = body_of(result, limits)
    ending = "" if not one.text or one.text.endswith(("\n", "\r")) else "\n"
    return Body(text=f"{one.text}{ending}[{one.footer}]\n", footer="", is_cut=one.is_cut)
