"""Results of typical tasks are no larger than those of the official file server."""

from __future__ import annotations

from pathlib import Path

from mcp import Client

from tests.support.declared import REPOSITORY
from tests.support.mcp_clients import opened_door
from tests.support.result_sizes import TASKS, measured, planted, table
from tests.support.side_by_side import theirs


async def test_no_result_is_larger_than_that_of_the_official_server(tmp_path: Path) -> None:
    root = planted(tmp_path / "ours")
    async with opened_door(root, "legacy") as (client, _):
        ours = {task.name: await measured(client, root, task, task.ours) for task in TASKS}
    assert [task.name for task in TASKS if ours[task.name] > task.official_bytes] == []
    assert table(ours) in (REPOSITORY / "docs" / "guide" / "mcp-user.md").read_text(encoding="utf-8"), table(ours)


async def test_the_sizes_of_the_official_server_are_those_that_it_answers(tmp_path: Path) -> None:
    root = planted(tmp_path / "theirs")
    async with Client(theirs(root), mode="legacy") as client:
        sizes = {task.name: await measured(client, root, task, task.theirs) for task in TASKS}
    assert sizes == {task.name: task.official_bytes for task in TASKS}
