"""Waiting for changes: what the feed has after a position, or gets within a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.facade.feed import Feed, FeedPage
from filetools.models import ChangeEntry, ChangeRecord, WatchResult
from filetools.paths import WorkspacePath

LONGEST_WAIT_SECONDS: Final = 50.0

Key = Callable[[WorkspacePath], str]


async def watch(
    feed: Feed, since: str | None, *, below: WorkspacePath, key: Key, wait_seconds: float, limit: int
) -> WatchResult:
    """Return changes after a position, waiting for the first one; see `SearchCalls.watch_changes`."""
    if not 0 <= wait_seconds <= LONGEST_WAIT_SECONDS:
        raise InvalidArgumentError(f"wait_seconds must be 0 to {LONGEST_WAIT_SECONDS:g}, not {wait_seconds}")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    position = since
    while True:
        growth = feed.growth
        if position is None:
            position = await feed.position()
        page = await feed.page(position, limit=limit)
        if page.resync:
            return WatchResult(path=below, changes=[], position=await feed.position(), resync=True)
        found = [record for record in page.records if concerns(record, below, key)]
        is_over = page.position == position and loop.time() >= deadline
        if found or is_over:
            return _result(page, found, below)
        if page.position == position:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await growth.wait()
        position = page.position


def concerns(record: ChangeRecord, below: WorkspacePath, key: Key) -> bool:
    """Whether a change is of a path or, of a folder, below it."""
    if below.is_root:
        return True
    top = key(below)
    paths = (record.path, *([record.old_path] if record.old_path is not None else []))
    keys = [key(WorkspacePath(path)) for path in paths]
    return any(each == top or each.startswith(f"{top}/") for each in keys)


def _result(page: FeedPage, found: list[ChangeRecord], below: WorkspacePath) -> WatchResult:
    return WatchResult(path=below, changes=[change_entry(record) for record in found], position=page.position)


def change_entry(record: ChangeRecord) -> ChangeEntry:
    """Return a change as JSON tells it."""
    actor = {name: value for name, value in asdict(record.actor).items() if value is not None}
    return ChangeEntry(
        number=record.number, operation=record.operation.value, path=record.path, old_path=record.old_path,
        version=record.after, actor=actor, time=record.time, between=record.between,
    )  # fmt: skip
