from __future__ import annotations

from typing import Any

import pytest

from filetools.tools.registry import ToolRegistry
from tests.support.memory_files import MemoryFiles


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("buffer_change", {"handle": "a.txt", "buffer_version": 1}, "INVALID_ARGUMENT"),
        ("buffer_change", {"handle": "a.txt", "buffer_version": 1, "edits": [], "text": ""}, "INVALID_ARGUMENT"),
        ("buffer_change", {"handle": "a.txt", "buffer_version": 1, "edits": [{"start": -1, "end": 0, "text": ""}]},
         "INVALID_ARGUMENT"),
        ("buffer_change", {"handle": "a.txt", "buffer_version": 1, "text": "x"}, "BUFFER_CLOSED"),
        ("buffer_save", {"handle": "a.txt"}, "BUFFER_CLOSED"),
        ("buffer_close", {"handle": "a.txt"}, "BUFFER_CLOSED"),
    ],
)  # fmt: skip
async def test_a_call_that_makes_no_sense_is_refused(name: str, arguments: dict[str, Any], code: str) -> None:
    registry = ToolRegistry(MemoryFiles.of({"a.txt": "one\n"}))
    assert (await registry.call(name, arguments))["error_code"] == code


async def test_a_document_is_opened_typed_into_saved_and_closed() -> None:
    files = MemoryFiles.of({"a.txt": "one\n"})
    registry = ToolRegistry(files)
    opened = (await registry.call("buffer_open", {"path": "a.txt"}))["data"]
    assert (opened["text"], opened["dirty"]) == ("one\n", False)
    edits = [{"start": 0, "end": 3, "text": "two"}]
    changed = await registry.call("buffer_change", {"handle": opened["handle"], "bufferVersion": 1, "edits": edits})
    assert changed["data"] == {"buffer_version": 2, "dirty": True, "edits": []}
    assert files.tree.texts == {"a.txt": "one\n"}
    saved = await registry.call("buffer_save", {"handle": opened["handle"], "buffer_version": 2})
    assert saved["data"]["dirty"] is False
    assert files.tree.texts == {"a.txt": "two\n"}
    assert (await registry.call("buffer_close", {"handle": opened["handle"]}))["data"] == {"path": "a.txt"}
