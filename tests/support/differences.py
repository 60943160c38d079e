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
    "ambiguous": ("An edit whose text occurs several times", "the first is changed", "`EDIT_AMBIGUOUS` with all lines"),
    "loose": (
        "An edit whose text differs in white space",
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
    "bom": ("A byte-order mark", "is the first character of the text", "is kept, and is not part of the text"),
    "binary": ("Reading a binary file as text", "garbled text", "`INVALID_ARGUMENT`, pointing to `read_media_file`"),
    "ends": ("`head` and `tail` of a file with CRLF", "LF, or a CR at the end", "the file's own line endings"),
    "tail": ("`tail`", "counts the empty text after the last newline as a line", "the last N lines"),
    "links": (
        "A link that leads outside, in a listing with sizes",
        "shows the size of the file outside",
        "0 B, as for every link that does not lead to a file inside",
    ),
    "sizes": ("The size of a folder", "4096, or what its file system says", "0"),
    "zone": (
        "The time zone, other than UTC",
        "its name, as in `(Central European Standard Time)`",
        "its short name, as in `(CET)`",
    ),
    "parents": ("Writing or moving into a missing folder", "an error", "the folder is created"),
    "dots": ("A segment `..`", "resolved, if that stays inside", "`PATH_TRAVERSAL`, always"),
    "unknown": ("An unknown argument", "ignored", "refused with the nearest name"),
    "types": ("A number sent as text", "an error", "the number, and a second block of text says so"),
    "numbers": ("`head` and `tail` with a fraction, or negative", "something", "`INVALID_ARGUMENT`"),
    "errors": (
        "The text of errors",
        "the system's message, with paths of the machine",
        "a code, what to do, and what the next call needs",
    ),
    "state": ("`.filetools`", "a folder like any other", "out of reach, and not listed"),
    "unknown-tool": ("An unknown tool", "an error in the result", "a protocol error, -32602"),
    "descriptions": ("Descriptions of tools and parameters", "its own", "shorter, with what to do on failure"),
    "tasks": ("`execution.taskSupport`", '"forbidden"', "left out, which means the same"),
    "meta": (
        "`_meta` of tools",
        "none",
        "`anthropic/maxResultSizeChars` for tools that read, so that clients do not cut results earlier",
    ),
}  # fmt: skip
"""By a short name: what it is about, what theirs does, what ours does."""


def table() -> str:
    """Return the rows as they stand in the documents."""
    rows = [f"| {about} | {theirs} | {ours} |" for about, theirs, ours in DIFFERENCES.values()]
    return "\n".join(("| | The official server | filetools |", "| --- | --- | --- |", *rows))
