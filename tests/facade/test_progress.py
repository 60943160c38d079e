"""Searches and deletions of folders report their progress, and stop when their caller asks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from filetools.events.types import ToolProgress
from filetools.facade import progress
from filetools.facade.facade import FileToolsFacade
from tests.support.opened import refused
from tests.support.people import ALICE

FILES = 600
BEFORE = {f"docs/{number % 7}/{number}.txt": b"text\n" for number in range(FILES)}
ACTOR = ALICE


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE_SECONDS", 0.0)


async def test_a_search_in_contents_reports_the_number_of_files_searched(files: FileToolsFacade) -> None:
    told: list[int] = []
    await files.grep_files("no such text", progress=told.append)
    await asyncio.sleep(0)
    assert told == sorted(set(told))
    assert told[-1] == FILES


async def test_a_search_of_names_reports_the_number_of_names_examined(files: FileToolsFacade) -> None:
    told: list[int] = []
    await files.search_files("*.none", progress=told.append)
    await files.glob_files("*.none", progress=told.append)
    await asyncio.sleep(0)
    assert told == [256, 512, 256, 512]


@pytest.mark.parametrize(
    ("tool", "arguments", "what"),
    [
        ("grep_files", {"pattern": "no such text"}, "files searched"),
        ("search_files", {"pattern": "none"}, "names checked"),
        ("delete_file", {"path": "docs", "recursive": True}, None),
    ],
)
async def test_the_tools_tell_it_as_events(
    files: FileToolsFacade, tool: str, arguments: dict[str, object], what: str | None
) -> None:
    events: list[ToolProgress] = []
    files.on("tool:progress", events.append)
    answer = await files.call_tool(tool, arguments)
    assert answer["success"]
    await asyncio.sleep(0)  # the worker's last report is still queued on the loop
    assert 1 <= len(events) <= 10  # all within a second, or as many as fit into it
    currents = [event.current for event in events]
    assert currents == sorted(set(currents))
    if what is None:
        assert (events[-1].current, events[-1].total) == (100, 100)
    else:
        assert events[-1].message == f"{events[-1].current:,} {what}"


async def test_deleting_a_folder_reports_0_to_100(files: FileToolsFacade, tmp_path: Path) -> None:
    told: list[int] = []
    await files.delete_directory("docs", recursive=True, progress=told.append)
    await asyncio.sleep(0)
    assert told == sorted(set(told))
    assert (told[0], told[-1]) == (0, 100)
    assert len(told) > 40
    assert not (tmp_path / "docs").exists()


async def test_an_aborted_deletion_of_a_folder_changes_nothing(files: FileToolsFacade, tmp_path: Path) -> None:
    since = await files.position()
    told: list[int] = []
    asked = iter(range(1000))
    error = await refused(
        "ABORTED",
        files.delete_directory("docs", recursive=True, abort=lambda: next(asked) > 300, progress=told.append),
    )
    assert error.details["done"] == 0
    assert len(list((tmp_path / "docs").rglob("*.txt"))) == FILES
    assert (await files.changes(since)).records == ()
    assert max(told) < 50
    await files.delete_directory("docs", recursive=True)
    assert not (tmp_path / "docs").exists()
