from __future__ import annotations

from typing import Any

import pytest

from filetools.content.lines import count_lines
from filetools.tools.answers.seen import ShownCall, TextLimits
from filetools.tools.answers.shown import shown
from filetools.tools.registry import FILE_TOOLS

HASH = "0123456789abcdef" * 4
VERSION = f"sha256:{HASH}"
TOOLS = {tool.name: tool for tool in FILE_TOOLS}
LIMITS = TextLimits(lines=5, characters=60)


def read(content: str, **more: Any) -> dict[str, Any]:
    is_all = more.get("total_lines") in (None, count_lines(content))
    return {
        "path": "a.txt", "content": content, "encoding": "utf-8", "size": len(content) if is_all else 1000, "version": VERSION,
        "newline": "lf", "is_binary": False, "truncated": False, **more,
    }  # fmt: skip


def seen(name: str, data: dict[str, Any], limits: TextLimits = LIMITS, **beside: Any) -> ShownCall:
    return shown(TOOLS[name], {"success": True, "data": data, **beside}, limits)


def failed(**more: Any) -> str:
    envelope = {
        "success": False, "error": "it failed", "error_code": "EDIT_NOT_FOUND", "retryable": False, "details": {},
        "attempts": 1, **more,
    }  # fmt: skip
    result = shown(TOOLS["edit_file"], envelope, TextLimits())
    assert result.is_error
    assert result.structured is None
    return result.text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (read("a\nb\n", total_lines=2), "a\nb\n[a.txt · lines 1\u20132 of 2 · version 0123456789ab]"),
        (read("", total_lines=0), "[a.txt · no lines of 0 · version 0123456789ab]"),
        (
            read("b\n", total_lines=3, truncated=True, next_offset=3),
            "b\n[a.txt · lines 2\u20132 of 3 · version 0123456789ab · next_offset 3]",
        ),
        (
            read("1\n2\n3\n4\n5\n6\n7\n", total_lines=7),
            "1\n2\n3\n4\n5\n[a.txt · lines 1\u20135 of 7 · version 0123456789ab · next_offset 6]",
        ),
        (
            read("x" * 70 + "\ny\n", total_lines=2),
            "x" * 60 + "\n[a.txt · lines 1\u20131 of 2 · version 0123456789ab · next_offset 1 · next_column 61"
            " · the line is longer than the 60 characters shown]",
        ),
        (
            read("y" * 10 + "\nz\n", total_lines=2, column=61),
            "yyyyyyyyyy\nz\n[a.txt · lines 1\u20132 of 2 · from column 61 · version 0123456789ab]",
        ),
        (
            read("a\r\n", total_lines=1, newline="crlf", encoding="cp1252", origin="buffer", disk_is_newer=True, stale=True),
            "a\r\n[a.txt · lines 1\u20131 of 1 · version 0123456789ab · cp1252 · crlf line ends · unsaved text of an editor"
            " · the file has newer text · being written just now]",
        ),
        (
            read("", is_binary=True, encoding="base64", size=9, mime_type="application/zip"),
            "[a.txt · binary · application/zip · 9 bytes · version 0123456789ab]",
        ),
    ],
)  # fmt: skip
def test_a_read_ends_with_a_line_of_facts(data: dict[str, Any], text: str) -> None:
    assert seen("read_file", data).text == text


def test_a_page_shows_kinds_sizes_and_where_to_go_on() -> None:
    entries = [
        {"name": "src", "path": "src", "type": "directory"},
        {"name": "l", "path": "l", "type": "symlink", "size": 3},
        {"name": "a\nb", "path": "a\nb", "type": "file", "size": 3},
        {"name": "x", "path": "x", "type": "file", "size": 0, "addressable": False},
    ]
    data = {"path": "", "entries": entries, "truncated": True, "next_cursor": "abc"}
    assert seen("list_files", data).text == (
        "src/\nl@\na\\nb  3\nx  0  (cannot be addressed)\n[. · 4 entries · next_cursor abc]"
    )
    found = seen("search_files", {**data, "total": 9, "total_is_complete": False}, TextLimits(lines=2))
    assert found.text == (
        "src/\nl@\n[. · 4 entries · 9 so far, there may be more · only 2 shown: call again with a smaller limit]"
    )


def test_matches_look_as_those_of_grep() -> None:
    data = {
        "path": "", "output_mode": "content", "total": 2, "total_is_complete": True,
        "matches": [
            {"path": "a", "line": 3, "column": 1, "text": "hit", "before": ["one", "two"], "after": ["four"]},
            {"path": "b", "line": 1, "column": 1, "text": "x\ny", "end_line": 2, "after": ["z"], "origin": "buffer"},
            {"path": "c", "line": 1, "column": 101, "text": "part", "clipped": True},
            {"path": "c", "line": 2, "column": 102, "text": "part", "clipped": True},
        ],
        "files": [{"path": "d", "count": 2}, {"path": "e"}],
    }  # fmt: skip
    result = shown(TOOLS["search_files"], {"success": True, "data": data}, TextLimits())
    unsaved = "  (unsaved text of an editor)"
    assert result.text.splitlines() == [
        "a-1-one", "a-2-two", "a:3:hit", "a-4-four", "--",
            f"b:1:x{unsaved}", f"b:2:y{unsaved}", "b-3-z", "--", "c:1:part…  (column 101)",
            "c:2:…part…  (column 102)",
        "d:2", "e", "[. · 6 lines · 2 in all]",
    ]  # fmt: skip


def test_an_error_tells_all_that_is_needed_to_mend_the_call() -> None:
    told = failed(
        suggested_action="Read again.",
        details={"path": "a.txt", "lines": [1, 7], "diff": "-a\n+b\n", "current_version": VERSION},
    )
    assert told == (
        "EDIT_NOT_FOUND: it failed\nhint: Read again.\npath: a.txt\nlines: [1,7]\ndiff:\n-a\n+b"
        f"\ncurrent_version: {VERSION}"
    )


def test_an_error_repeats_nothing_that_its_message_says() -> None:
    told = failed(
        error="a\\nb is at v1", details={"path": "a\nb", "current_version": "v1", "number": 1, "tool": "edit"}
    )
    assert told == "EDIT_NOT_FOUND: a\\nb is at v1\nnumber: 1\ntool: edit"
    for part in ("app", "src", "s", "py"):
        assert f"\npath: {part}" in failed(error="src/app.py failed.", details={"path": part})
    assert "path" not in failed(error="Not found: src.", details={"path": "src"})


def test_an_editor_gets_the_text_of_a_document_once() -> None:
    result = seen("buffer_open", {"handle": "h", "text": "long"})
    assert result.structured == {"handle": "h", "text": "long"}
    assert result.text == '{"handle":"h"}'
