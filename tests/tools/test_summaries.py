from __future__ import annotations

from typing import Any

import pytest

from filetools.tools.answers.seen import TextLimits
from filetools.tools.answers.shown import shown
from filetools.tools.answers.summaries import MOST_HUNK_LINES, MOST_ROWS
from filetools.tools.registry import FILE_TOOLS

NEW = f"sha256:{'a' * 64}"
OLD = f"sha256:{'b' * 64}"
TOOLS = {tool.name: tool for tool in FILE_TOOLS}
ACTOR = {"kind": "agent", "id": "bob"}


def told(name: str, /, **data: Any) -> str:
    return shown(TOOLS[name], {"success": True, "data": data}, TextLimits()).text


def hunk(*lines: str, at: int = 1) -> dict[str, Any]:
    old, new = (sum(line[0] in signs for line in lines) for signs in (" -", " +"))
    return {"oldStart": at, "oldLines": old, "newStart": at, "newLines": new, "lines": list(lines)}


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("write_file", {"path": "a", "bytes_written": 1, "created": True, "version": NEW, "number": 3, "mirror": "in_sync"},
         "[a · created · 1 byte · version aaaaaaaaaaaa · change 3]"),
        ("write_file", {"path": "a", "bytes_written": 2, "created": False, "version": NEW, "replaced_version": OLD,
                        "mirror": "pending"},
         "[a · written · 2 bytes · version aaaaaaaaaaaa · was bbbbbbbbbbbb · mirror pending]"),
        ("write_file", {"path": "a", "bytes_written": 2, "created": False, "version": NEW, "merged": True,
                        "foreign": [hunk(" x", "+theirs")]},
         "@@ -1,1 +1,2 @@\n x\n+theirs\n"
         "[a · written · 2 bytes · version aaaaaaaaaaaa · merged with what others wrote, shown above]"),
        ("edit_file", {"path": "a", "version": NEW, "replaced_version": OLD, "counts": [1, 2], "number": 4,
                       "structured_patch": [hunk("-x", "+y"), hunk("-x", "+y", at=9)]},
         "@@ -1,1 +1,1 @@\n-x\n+y\n@@ -9,1 +9,1 @@\n-x\n+y\n"
         "[a · 3 replaced · version aaaaaaaaaaaa · was bbbbbbbbbbbb · change 4]"),
        ("insert_lines", {"path": "a", "version": NEW, "replaced_version": OLD, "dry_run": True, "in_buffer": True,
                          "disk_version": OLD, "structured_patch": []},
         "[a · changed · version aaaaaaaaaaaa · was bbbbbbbbbbbb · dry run: nothing was written"
         " · in the unsaved text of an editor, not in the file · version of the file bbbbbbbbbbbb]"),
        ("apply_patch", {"files": [
            {"path": "a", "kind": "add", "version": NEW, "structured_patch": [hunk("+sent")]},
            {"path": "c", "kind": "move", "old_path": "b", "version": NEW},
            {"path": "d", "kind": "delete"},
        ], "dry_run": True},
         "a · added · version aaaaaaaaaaaa\nb → c · moved · version aaaaaaaaaaaa\nd · deleted\n"
         "[3 files · dry run: nothing was written]"),
        ("undo_changes", {
            "changes": [{"outcome": "undone", "path": "a"}, {"outcome": "kept", "path": "c"}],
            "files": [{"path": "a", "action": "write", "version": OLD, "replaced_version": NEW}],
            "conflicts": [{"path": "b", "reason": "others changed it"}],
            "unknown": ["e"], "unread": ["d"], "number": 6,
        },
         "a · write · version bbbbbbbbbbbb · was aaaaaaaaaaaa\nconflict: b: others changed it\n"
         "not undone: e: nobody knows what was there before\nnot undone: c: others use it now\n"
         "could not be read: d\n[1 of 2 changes undone · change 6]"),
        ("move_file", {"source": "a", "destination": "a", "version": NEW}, "[a → a · there already · version aaaaaaaaaaaa]"),
        ("delete_file", {"path": "a", "deleted_version": OLD, "entries": 1}, "[a · deleted · was bbbbbbbbbbbb]"),
        ("write_multiple", {"results": [{"path": "a", "bytes_written": 0, "created": True, "version": NEW}], "number": 8},
         "a · created · 0 bytes · version aaaaaaaaaaaa\n[1 file · change 8]"),
        ("file_info", {"path": "a", "name": "a", "type": "file", "size": 3, "modified": "2026-01-02T03:04:05.6Z",
                       "mode": "644", "version": NEW, "encoding": "utf-8", "newline": "crlf", "bom": True, "total_lines": 1,
                       "is_binary": False, "links": 2, "locked": True, "last_change": {"number": 9, "actor": ACTOR}},
         "[a · file · 3 bytes · utf-8 with BOM · 1 line · crlf line ends · version aaaaaaaaaaaa · modified"
         " 2026-01-02T03:04:05Z · mode 644 · 2 hard links · being written just now · last change 9 by agent bob]"),
        ("file_info", {"path": "", "type": "directory", "modified": "2026-01-02T03:04:05.6Z", "mode": "755", "links": 2},
         "[. · directory · modified 2026-01-02T03:04:05Z · mode 755]"),
        ("watch_changes", {"path": "", "position": "e:9", "resync": True, "changes": [
            {"number": 9, "operation": "delete", "path": "a", "actor": ACTOR, "time": 0.5},
        ]},
         "9 delete a · by agent bob · 1970-01-01T00:00:00Z\n"
         "[. · 1 change · too many changes to list: read the files again · position e:9]"),
    ],
)  # fmt: skip
def test_a_result_is_one_line_of_facts_below_what_changed(name: str, data: dict[str, Any], text: str) -> None:
    assert told(name, **data) == text


def test_of_many_lines_the_first_are_shown_and_the_rest_is_counted() -> None:
    hunks = [hunk(*(f"-{at}" for at in range(20)), *(f"+{at}" for at in range(10))), hunk(*["+x"] * 30, at=70)]
    lines = told("edit_file", path="a", version=NEW, replaced_version=OLD, structured_patch=hunks).splitlines()
    assert lines[31:33] == ["@@ -70,0 +70,30 @@", "+x"]
    assert lines[MOST_HUNK_LINES:-1] == ["\u2026 22 more lines of the change"]


def test_of_many_files_the_rest_is_counted() -> None:
    files = [{"path": f"{at}", "kind": "update", "structured_patch": [hunk("-x", "+y")]} for at in range(MOST_ROWS + 5)]
    lines = told("apply_patch", files=files).splitlines()
    assert lines[-3:] == [
        "\u2026 260 more lines of the change", "\u2026 5 more", f"[{MOST_ROWS + 5} files]",
    ]  # fmt: skip
    assert len(lines) == MOST_HUNK_LINES + MOST_ROWS + 3
