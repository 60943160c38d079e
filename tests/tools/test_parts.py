"""The first rows of a long result, told before the rest is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.models.result import Result
from filetools.tools.registry import ToolRegistry
from tests.support.crashing import QUIET


def broken(part: Result) -> None:
    raise ValueError("a listener fails")


@pytest.mark.parametrize("count", [0, 20, 21, 61])
async def test_the_whole_is_the_same_however_it_is_told(tmp_path: Path, count: int) -> None:
    for number in range(count):
        (tmp_path / f"{number:03}.txt").write_text("needle\n")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("grep_files", {"pattern": "needle", "limit": 60}),
        ("list_files", {"limit": 60}),
        ("search_files", {"pattern": "*.txt", "limit": 60}),
    ]
    async with filetools.open(tmp_path, settings=QUIET) as files:
        registry = ToolRegistry(files)
        for name, arguments in calls:
            parts: list[Result] = []
            whole = await registry.call(name, arguments)
            assert await registry.call(name, arguments, partial=parts.append) == whole
            assert await registry.call(name, arguments, partial=broken) == whole
            rows = "matches" if name == "grep_files" else "entries"
            told = [row for part in parts for row in part.to_dict().get(rows, [])]
            assert told == whole["data"].get(rows, [])[: len(told)]
            assert len(told) == (20 if min(count, 60) > 20 else 0)
