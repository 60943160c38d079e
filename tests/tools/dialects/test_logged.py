"""What calls of dialects leave in logs and events: names and lengths, never the contents of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import filetools
from filetools.events.types import Event
from filetools.tools.dialects import DIALECTS, dialect_named
from tests.support.crashing import QUIET
from tests.support.dialects import Session

TEXT = "c0nfidential"
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "claude-code": [
        ("Write", {"file_path": "a.txt", "content": f"{TEXT}\n"}),
        ("Edit", {"file_path": "a.txt", "old_string": TEXT, "new_string": f"{TEXT} {TEXT}"}),
        ("Read", {"file_path": "a.txt"}),
        ("Grep", {"pattern": "[a-z]", "output_mode": "content"}),
        ("Glob", {"pattern": "*.txt"}),
    ],
    "mcp-filesystem": [
        ("write_file", {"path": "a.txt", "content": TEXT}),
        ("edit_file", {"path": "a.txt", "edits": [{"oldText": TEXT, "newText": f"{TEXT} {TEXT}"}]}),
        ("read_text_file", {"path": "a.txt"}),
    ],
    "text-editor": [
        ("str_replace_based_edit_tool", {"command": "create", "path": "a.txt", "file_text": TEXT}),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a.txt", "old_str": TEXT, "new_str": f"{TEXT}2"}),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "a.txt", "insert_line": 0, "insert_text": TEXT}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.txt"}),
    ],
    "memory": [
        ("memory", {"command": "create", "path": "/memories/a.txt", "file_text": TEXT}),
        ("memory", {"command": "view", "path": "/memories/a.txt"}),
    ],
    "apply-patch": [
        ("apply_patch", {"operation": {"type": "create_file", "path": "a.txt", "diff": f"+{TEXT}\n"}}),
        ("apply_patch", {"input": f"*** Begin Patch\n*** Update File: a.txt\n@@\n-{TEXT}\n+{TEXT}2\n*** End Patch"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [dialect.name for dialect in DIALECTS])
async def test_no_content_is_logged_or_told_in_events_of_calls(tmp_path: Path, name: str) -> None:
    told: list[Event] = []
    async with filetools.open(tmp_path, settings=QUIET) as files:
        files.on("agent:tool:*", told.append)
        session = Session(files, dialect_named(name))
        for tool, arguments in CALLS[name]:
            await session.says(tool, **arguments)
        log = session.tools.log.to_json()
    assert len(told) == 2 * len(CALLS[name])
    assert TEXT not in json.dumps([structs.asdict(event) for event in told], default=str)
    assert TEXT not in log
