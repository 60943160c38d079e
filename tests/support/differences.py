"""Where the dialect `mcp-filesystem` differs from the official file server on purpose: each with what both do.

The table stands in docs/dialects.md; `tests/servers/mcp/test_file_server.py` shows every row by running both.
"""

from __future__ import annotations

from typing import Final

DIFFERENCES: Final[dict[str, tuple[str, str, str]]] = {
    "parallel": ("Edits of one file at once", "all but one are lost, and each is reported as done", "all are made"),
    "stale": (
        "Replacing a file that others have changed since it was read",
        "their change is lost",
        "both are merged, and a second block of text says so; what overlaps is `EDIT_CONFLICT`",
    ),
    "unread": (
        "Replacing a file that was not read whole in this session",
        "replaced",
        "`VERSION_MISMATCH`: read it first, or edit it",
    ),
    "ambiguous": ("An edit whose text is there several times", "the first is changed", "`EDIT_AMBIGUOUS` with all lines"),
    "loose": (
        "An edit whose text differs in blanks",
        "the first lines that look alike are changed, and their indentation guessed",
        "`EDIT_NOT_FOUND` with the closest text",
    ),
    "empty": ("No edits, or an empty old text", "done", "`INVALID_ARGUMENT`"),
    "crlf": ("Editing a file with CRLF", "every line gets LF", "only the edited text changes"),
    "encoding": (
        "Editing a file that is not UTF-8",
        "other bytes become U+FFFD",
        "encoding and other bytes stay; reading shows the text",
    ),
    "bom": ("A byte-order mark", "is the first character of the text", "is kept, and is no part of the text"),
    "binary": ("Reading a binary file as text", "garbled text", "`INVALID_ARGUMENT`, pointing to `read_media_file`"),
    "ends": ("`head` and `tail` of a file with CRLF", "LF, or a CR at the end", "the file's own line ends"),
    "tail": ("`tail`", "counts the nothing behind the last line end as a line", "the last N lines"),
    "links": (
        "A link that leads outside, in a listing with sizes",
        "tells the size of the file outside",
        "0 B, as for every link that leads to no file inside",
    ),
    "sizes": ("The size of a folder", "4096, or what its file system says", "0"),
    "zone": (
        "The zone of times, other than UTC",
        "its name, as in `(Central European Standard Time)`",
        "its short name, as in `(CET)`",
    ),
    "parents": ("Writing or moving into a missing folder", "an error", "the folder is made"),
    "dots": ("A segment `..`", "resolved, if that stays inside", "`PATH_TRAVERSAL`, always"),
    "unknown": ("An argument that the tool has not", "ignored", "refused with the nearest name"),
    "types": ("A number that comes as text", "an error", "the number, and a second block of text says so"),
    "numbers": ("`head` and `tail` with a fraction, or negative", "something", "`INVALID_ARGUMENT`"),
    "errors": (
        "The text of errors",
        "what the system says, with paths of the machine",
        "a code, what to do, and what the call needs to be repaired",
    ),
    "state": ("`.filetools`", "a folder like any other", "out of reach, and not listed"),
    "unknown-tool": ("A tool that there is not", "an error in the result", "an error of the protocol, -32602"),
    "descriptions": ("Descriptions of tools and parameters", "its own", "ours: shorter, and with what to do on failure"),
    "tasks": ("`execution.taskSupport`", '"forbidden"', "left out, which means the same"),
    "meta": (
        "`_meta` of tools",
        "none",
        "`anthropic/maxResultSizeChars` of those that read, so that clients do not cut at less",
    ),
}  # fmt: skip
"""By a short name: what it is about, what theirs does, what ours does."""


def table() -> str:
    """Return the rows as they stand in the documents."""
    rows = [f"| {about} | {theirs} | {ours} |" for about, theirs, ours in DIFFERENCES.values()]
    return "\n".join(("| | The official server | filetools |", "| --- | --- | --- |", *rows))
