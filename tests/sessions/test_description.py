"""What is told of one file."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from filetools.sessions.description import DiscoveredFile, describe

FILE = DiscoveredFile(path="out/a.bin", action="created", size=0, version="sha256:e3", created=0.0, modified=1.5)


def told(**facts: Any) -> dict[str, Any]:
    return describe(dataclasses.replace(FILE, **facts), "/root")


def test_a_file_of_zero_bytes_is_told_like_any_other() -> None:
    assert told() == {
        "absolute_path": os.path.join("/root", "out", "a.bin"), "relative_path": "out/a.bin", "filename": "a.bin",
        "size_bytes": 0, "created_at": "1970-01-01T00:00:00Z", "modified_at": "1970-01-01T00:00:01Z",
        "checksum": "sha256:e3", "mime_type": "application/octet-stream", "action": "created",
        "path": os.path.join("/root", "out", "a.bin"),
    }  # fmt: skip


def test_the_mime_type_that_the_bytes_told_goes_before_the_names() -> None:
    assert told(mime_type="image/png")["mime_type"] == "image/png"


def test_a_name_that_is_no_text_is_told_readably() -> None:
    assert told(path="a\udcff.md")["filename"] == "a\\xff.md"


def test_text_is_told_as_text_and_other_bytes_as_base64() -> None:
    assert told(content="é".encode()).items() >= {"content": "é", "content_encoding": "utf-8"}.items()
    assert told(content=b"\xff")["content_base64"] == "/w=="


def test_content_that_is_too_large_is_left_out_and_said_to_be() -> None:
    found = told(is_content_omitted=True)
    assert found["content_omitted"] == "too_large"
    assert not found.keys() & {"content", "content_base64"}
