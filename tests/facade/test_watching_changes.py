"""Waiting for changes: refusals, what wakes a waiter, and what does not."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import WatchResult
from filetools.tree import watching
from tests.support import inside
from tests.support.crashing import QUIET
from tests.support.opened import refused, steps_until
from tests.support.people import ALICE

ACTOR = ALICE


def facts(result: WatchResult) -> list[tuple[str, str, str]]:
    return [(change.operation, change.path, change.actor["id"]) for change in result.changes]


@pytest.mark.parametrize(
    "options",
    [{"since": "nonsense"}, {"limit": 0}, {"limit": 1001}, {"wait_seconds": -1}, {"wait_seconds": 50.5}],
)
async def test_invalid_arguments_of_a_watch_are_refused(files: FileToolsFacade, options: dict[str, Any]) -> None:
    await refused("INVALID_ARGUMENT", files.watch_changes(**options))


async def test_without_a_position_only_later_changes_count(files: FileToolsFacade) -> None:
    await files.write_file("old", "1")
    start = await files.watch_changes()
    assert start.changes == []
    await files.write_file("new", "1")
    answer = await files.watch_changes(start.position)
    assert facts(answer) == [("create", "new", ALICE.id)]
    assert (await files.watch_changes(answer.position)).changes == []


async def test_a_waiter_is_woken_by_a_change_of_its_path_alone(files: FileToolsFacade) -> None:
    start = await files.watch_changes()
    waiter = asyncio.create_task(files.watch_changes(start.position, path="src", wait_seconds=50))
    await files.write_file("elsewhere", "1")
    await files.write_file("src-not", "1")
    await asyncio.sleep(0)
    assert not waiter.done()
    await files.move_file("elsewhere", "src/here")
    async with asyncio.timeout(60):
        answer = await waiter
    assert [change.path for change in answer.changes][-1] in ("src", "src/here")


async def test_moving_away_is_a_change_of_the_folder_left(files: FileToolsFacade) -> None:
    await files.write_file("src/a", "1")
    start = await files.watch_changes()
    await files.move_file("src/a", "b")
    (change,) = (await files.watch_changes(start.position, path="src")).changes
    assert (change.operation, change.path, change.old_path) == ("move", "b", "src/a")


async def test_a_wait_in_vain_ends_in_time_with_a_position(files: FileToolsFacade) -> None:
    start = await files.watch_changes()
    await files.write_file("other", "1")
    async with asyncio.timeout(60):
        answer = await files.watch_changes(start.position, path="src", wait_seconds=0.05)
    assert (answer.changes, answer.resync) == ([], False)
    assert answer.position != start.position


async def test_more_changes_than_a_page_come_page_by_page(files: FileToolsFacade) -> None:
    start = await files.watch_changes()
    for number in range(5):
        await files.write_file(f"f{number}", "1")
    seen, position = [], start.position
    while page := (answer := await files.watch_changes(position, limit=2)).changes:
        seen += [change.path for change in page]
        position = answer.position
    assert seen == [f"f{number}" for number in range(5)]


async def test_closing_the_workspace_ends_a_wait(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        waiter = asyncio.create_task(opened.watch_changes(wait_seconds=50))
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await refused("WORKSPACE_GONE", waiter)


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
async def test_without_notices_the_tree_is_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside.refuse_library_call(monkeypatch, "inotify_init1")
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.01)
    async with filetools.open(tmp_path) as files, asyncio.timeout(60):
        await steps_until(lambda: inside.is_watching(files))
        position = (await files.watch_changes()).position
        for operation in ("create", "modify"):
            (tmp_path / "a").write_text(operation)
            answer = await files.watch_changes(position, wait_seconds=50)
            assert facts(answer) == [(operation, "a", "external")]
            position = answer.position
        assert (await files.status())["polling"] == "watching failed"
