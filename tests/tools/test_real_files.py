"""The tools under the rules of a workspace: permissions, paths, versions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import filetools
from filetools.models.words import Preset
from filetools.tools.registry import ToolRegistry


async def codes(root: Path, preset: Preset, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """Return the error code of each call, "" for a success."""
    async with filetools.open(root, permissions=preset) as files:
        registry = ToolRegistry(files, require_version=True)
        envelopes = [await registry.call(name, arguments) for name, arguments in calls]
        return [json.loads(json.dumps(envelope)).get("error_code", "") for envelope in envelopes]


async def test_a_workspace_that_is_read_only_refuses_every_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    changes: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "b", "content": ""}),
        ("create_file", {"path": "b", "content": ""}),
        ("move_file", {"source": "a.txt", "destination": "b"}),
        ("delete_file", {"path": "a.txt"}),
        ("write_multiple", {"items": [{"path": "b", "content": ""}]}),
    ]
    assert await codes(tmp_path, "read_only", *changes) == ["TOOL_BLOCKED"] * len(changes)
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", ".filetools"}


async def test_bad_paths_texts_and_protected_places_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    assert await codes(
        tmp_path,
        "allow",
        ("read_file", {"path": ".filetools/journal.db"}),
        ("write_file", {"path": "a.txt", "content": "new"}),
        ("write_file", {"path": "a.txt", "content": "new", "expected_version": "0" * 12}),
        ("write_file", {"path": ".git/config", "content": ""}),
        ("move_file", {"source": "a.txt", "destination": "sub/.mcp.json"}),
    ) == [
        "PERMISSION_DENIED",
        "VERSION_MISMATCH",
        "VERSION_MISMATCH",
        "APPROVAL_REQUIRED",
        "APPROVAL_REQUIRED",
    ]
    assert (tmp_path / "a.txt").read_text() == "text"


async def test_a_model_reads_a_version_and_replaces_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    async with filetools.open(tmp_path) as files:
        registry = ToolRegistry(files, require_version=True)
        version = (await registry.call("read_file", {"filePath": "a.txt"}))["data"]["version"]
        beginning = version.removeprefix("sha256:")[:12]
        arguments = {"path": "a.txt", "content": "new", "expected_version": beginning}
        assert (await registry.call("write_file", arguments))["data"]["replaced_version"] == version
        again = await registry.call("write_file", arguments)
        assert again["data"]["unchanged"]
    assert (tmp_path / "a.txt").read_text() == "new"


async def test_of_writers_that_know_nothing_of_each_other_one_creates_the_file(tmp_path: Path) -> None:
    async with filetools.open(tmp_path) as files:
        registry = ToolRegistry(files, require_version=True)
        writes = [registry.call("write_file", {"path": "new", "content": str(number)}) for number in range(8)]
        envelopes = await asyncio.gather(*writes)
    assert sorted(envelope.get("error_code", "") for envelope in envelopes) == ["", *["VERSION_MISMATCH"] * 7]
