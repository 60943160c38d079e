from __future__ import annotations

from typing import Any

import pytest

from filetools.facade.facade import FileToolsFacade
from filetools.tools.registry import ToolRegistry
from tests.support.people import ALICE

ACTOR = ALICE
BEFORE = {"a.txt": b"one\ntwo\n", "docs/b.txt": b"b"}


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
async def test_a_call_that_makes_no_sense_is_refused(
    files: FileToolsFacade, name: str, arguments: dict[str, Any], code: str
) -> None:
    assert (await ToolRegistry(files).call(name, arguments))["error_code"] == code


async def test_a_document_is_opened_typed_into_saved_and_closed(files: FileToolsFacade) -> None:
    registry = ToolRegistry(files)
    opened = (await registry.call("buffer_open", {"path": "a.txt"}))["data"]
    assert (opened["text"], opened["dirty"]) == ("one\ntwo\n", False)
    edits = [{"start": 0, "end": 3, "text": "new"}]
    changed = await registry.call("buffer_change", {"handle": opened["handle"], "bufferVersion": 1, "edits": edits})
    assert changed["data"] == {"buffer_version": 2, "dirty": True, "edits": []}
    assert (await files.file_info("a.txt")).version == opened["version"]
    saved = await registry.call("buffer_save", {"handle": opened["handle"], "buffer_version": 2})
    assert saved["data"]["dirty"] is False
    assert (await files.read_file("a.txt")).content == "new\ntwo\n"
    assert (await registry.call("buffer_close", {"handle": opened["handle"]}))["data"] == {"path": "a.txt"}
