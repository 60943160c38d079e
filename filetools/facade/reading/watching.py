"""Filters the feed, and waits for its next changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from msgspec.structs import asdict

from filetools.errors import InvalidArgumentError
from filetools.facade.reading.feed import PAGE_RECORDS, Feed, FeedPage
from filetools.models.records import Actor, ChangeRecord
from filetools.models.searching import ChangeEntry, WatchResult
from filetools.paths.workspace_path import WorkspacePath

LONGEST_WAIT_SECONDS: Final = 50.0

Key = Callable[[WorkspacePath], str]
T = TypeVar("T")


async def watch(
    feed: Feed, since: str | None, *, below: WorkspacePath, key: Key, wait_seconds: float, limit: int
) -> WatchResult:
    """Return changes after a position; waits for the first one. See `SearchCalls.watch_changes`."""
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


def listed(given: Sequence[T]) -> list[T]:
    """Return a caller's sequence as a list.

    Raises:
        InvalidArgumentError: It is a text or not iterable.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidArgumentError(f"paths and actors must be lists, not {given!r}")
    return list(given)


def wanted(
    below: Sequence[WorkspacePath] | None, actors: Sequence[Actor | str] | None, key: Key
) -> Callable[[ChangeRecord], bool]:
    """Return a predicate for changes in one of the folders and by one of the actors; None matches all."""

    def is_wanted(record: ChangeRecord) -> bool:
        in_place = below is None or any(concerns(record, each, key) for each in below)
        return in_place and (actors is None or any(_is_by(record.actor, each) for each in actors))

    return is_wanted


def _is_by(actor: Actor, named: Actor | str) -> bool:
    if isinstance(named, str):
        return actor.id == named
    return (actor.kind, actor.id) == (named.kind, named.id) and named.session in (None, actor.session)


async def filtered(
    feed: Feed, since: str | None, is_wanted: Callable[[ChangeRecord], bool], *, limit: int, path: WorkspacePath | None
) -> FeedPage:
    """Return the first wanted changes after a position; fewer than `limit` only if there are no more."""
    page = await feed.page(since, limit=limit, path=path)
    records = [record for record in page.records if is_wanted(record)]
    resync = page.resync
    while len(records) < limit:
        former, page = page.position, await feed.page(page.position, limit=PAGE_RECORDS, path=path)
        records += [record for record in page.records if is_wanted(record)]
        resync = resync or page.resync
        if page.position == former or page.resync:
            break
    if len(records) <= limit:
        return FeedPage(records=tuple(records), position=page.position, resync=resync)
    kept = records[:limit]
    epoch = page.position.partition(":")[0]
    return FeedPage(records=tuple(kept), position=f"{epoch}:{kept[-1].number}", resync=resync)


def concerns(record: ChangeRecord, below: WorkspacePath, key: Key) -> bool:
    """True if a change is of a path or below it."""
    if below.is_root:
        return True
    top = key(below)
    paths = (record.path, *([record.old_path] if record.old_path is not None else []))
    keys = [key(WorkspacePath(path)) for path in paths]
    return any(each == top or each.startswith(f"{top}/") for each in keys)


def _result(page: FeedPage, found: list[ChangeRecord], below: WorkspacePath) -> WatchResult:
    return WatchResult(path=below, changes=[change_entry(record) for record in found], position=page.position)


def change_entry(record: ChangeRecord) -> ChangeEntry:
    """Return the JSON model of a change."""
    actor = {name: value for name, value in asdict(record.actor).items() if value is not None}
    return ChangeEntry(
        number=record.number, operation=record.operation.value, path=record.path, old_path=record.old_path,
        version=record.after, actor=actor, time=record.time,
    )  # fmt: skip
