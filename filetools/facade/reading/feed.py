"""The feed: all changes in order after any position, in pages, as a stream, or the next ones. Positions survive restarts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from filetools.changes.parts import Parts
from filetools.errors import InvalidArgumentError, WorkspaceGoneError, require_within
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.models.searching import ChangeEntry, WatchResult
from filetools.paths.workspace_path import WorkspacePath
from filetools.writer.worker_pool import CLOSED

PAGE_RECORDS: Final = 1000
LONGEST_WAIT_SECONDS: Final = 50.0
_POSITION: Final = re.compile(r"([0-9a-f]{4,64}):([0-9]{1,18})")

Key = Callable[[WorkspacePath], str]
T = TypeVar("T")


class FeedPage(Struct, frozen=True, kw_only=True):
    """Some changes, and the position after them."""

    records: tuple[ChangeRecord, ...]
    position: str
    """Pass it as `since` to get what follows."""
    resync: bool = False
    """True if changes are missing because the journal was rolled back or pruned. Read the tree again."""


class Feed:
    """Reads the journal as a feed. One per opened workspace."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._grown = asyncio.Event()
        self._closed = False
        self._reading: dict[str, asyncio.Task[FeedPage]] = {}

    def wake(self) -> None:
        """Wake followers because the journal may have grown; call it on the loop."""
        self._reading = {}  # reads in progress may miss the newest records
        self._grown.set()
        self._grown = asyncio.Event()

    def close(self) -> None:
        """End all followers."""
        self._closed = True
        self.wake()

    async def page(self, since: str | None, *, limit: int = PAGE_RECORDS) -> FeedPage:
        """Return changes after a position; None starts with the oldest kept.

        Raises:
            InvalidArgumentError: The position is malformed, or `limit` is not 1 to 1000.
            WorkspaceGoneError: The workspace was closed.
        """
        require_within("limit", limit, 1, PAGE_RECORDS)
        number, resync = self._parse(since)
        return await self._parts.workers.run(partial(self._read, number, limit, resync))

    async def position(self) -> str:
        """Return the position after the newest change."""
        return await self._parts.workers.run(self._newest)

    async def follow_pages(self, since: str | None, *, is_whole: bool = False) -> AsyncIterator[FeedPage]:
        """Yield pages of changes after a position, then new ones, until the workspace is closed.

        Followers at the same position share one read. Nothing is buffered for a slow reader: it reads from the journal when it
        is ready.

        Args:
            since: A position; None starts now.
            is_whole: True to go on with all changes that are kept if some before them are missing.

        Yields:
            Pages with at least one change; or an empty page with `resync` and the newest position, if changes are missing.

        Raises:
            InvalidArgumentError: The position is malformed.
            WorkspaceGoneError: The workspace was closed before it began.
        """
        if self._closed:
            raise WorkspaceGoneError(CLOSED)
        position = since if since is not None else await self.position()
        try:
            while not self._closed:
                grown = self._grown
                page = await self._shared(position)
                if page.resync and not is_whole:
                    page = FeedPage(records=(), position=await self.position(), resync=True)
                if page.records or page.resync:
                    yield page
                if page.position == position:
                    await grown.wait()
                position = page.position
        except WorkspaceGoneError:
            if not self._closed:  # else it was closed while the page was read
                raise

    async def _shared(self, since: str) -> FeedPage:
        """Return a page, sharing a read in progress; it may miss records written meanwhile."""
        task = self._reading.get(since)
        if task is None:
            reading = self._reading
            task = reading[since] = asyncio.create_task(self.page(since), name="filetools feed")
            task.add_done_callback(lambda _: reading.pop(since, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_forget)  # perhaps nobody else retrieves its exception
            raise

    async def watch(
        self, since: str | None, *, below: WorkspacePath, key: Key, wait_seconds: float, limit: int
    ) -> WatchResult:
        """Return changes after a position; waits for the first one. See `SearchCalls.watch_changes`."""
        require_within("wait_seconds", wait_seconds, 0, LONGEST_WAIT_SECONDS)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        position = since if since is not None else await self.position()
        while True:
            grown = self._grown
            page = await self.page(position, limit=limit)
            if page.resync:
                return WatchResult(path=below, changes=[], position=await self.position(), resync=True)
            found = [record for record in page.records if concerns(record, below, key)]
            is_over = page.position == position and loop.time() >= deadline
            if found or is_over:
                return WatchResult(path=below, changes=list(map(change_entry, found)), position=page.position)
            if page.position == position:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(deadline):
                        await grown.wait()
            position = page.position

    def _newest(self) -> str:
        return f"{self._parts.journal.epoch}:{self._parts.journal.positions().visible}"

    def _parse(self, since: str | None) -> tuple[int, bool]:
        if since is None:
            return 0, False
        match = _POSITION.fullmatch(str(since))
        if match is None:
            raise InvalidArgumentError(
                f"A position looks like epoch:number, not {since!r}",
                suggested_action="Pass a position that an earlier call returned, or leave it out to start now.",
            )
        if match[1] != self._parts.journal.epoch:
            return 0, True
        return int(match[2]), False

    def _read(self, number: int, limit: int, resync: bool) -> FeedPage:
        journal = self._parts.journal
        visible = journal.positions().visible
        records = journal.records(number, limit=limit)
        shown = tuple(record for record in records if is_visible(record))
        newest = records[-1].number if records else 0
        # Records committed between the two reads are already in the page and must not be delivered again.
        end = newest if len(records) == limit else max(number, visible, newest)
        newest_now, _, forgotten = journal.positions()
        if number > max(newest_now, forgotten):
            return FeedPage(
                records=(), position=f"{journal.epoch}:{visible}", resync=True
            )  # the journal was rolled back
        return FeedPage(records=shown, position=f"{journal.epoch}:{end}", resync=resync or 0 < number < forgotten)


def number_of(position: str) -> int:
    """Return the number of the last change before a position."""
    return int(position.rpartition(":")[2])


def _forget(task: asyncio.Task[FeedPage]) -> None:
    if not task.cancelled():
        task.exception()


def is_visible(record: ChangeRecord) -> bool:
    """True if readers of the feed see a record."""
    return record.operation is not Operation.FOUND and record.state is RecordState.APPLIED


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


async def filtered(feed: Feed, since: str | None, is_wanted: Callable[[ChangeRecord], bool], *, limit: int) -> FeedPage:
    """Return the first wanted changes after a position; fewer than `limit` only if there are no more."""
    page = await feed.page(since, limit=limit)
    records, resync, former = list(filter(is_wanted, page.records)), page.resync, since
    while len(records) < limit and page.position != former:
        former, page = page.position, await feed.page(page.position)
        records += filter(is_wanted, page.records)
        resync = resync or page.resync
    position = page.position
    if len(records) > limit:
        position = f"{position.partition(':')[0]}:{records[limit - 1].number}"
    return FeedPage(records=tuple(records[:limit]), position=position, resync=resync)


def concerns(record: ChangeRecord, below: WorkspacePath, key: Key) -> bool:
    """True if a change is of a path or below it."""
    if below.is_root:
        return True
    top = key(below)
    paths = (record.path, *([record.old_path] if record.old_path is not None else []))
    keys = [key(WorkspacePath(path)) for path in paths]
    return any(each == top or each.startswith(f"{top}/") for each in keys)


def change_entry(record: ChangeRecord) -> ChangeEntry:
    """Return the JSON model of a change."""
    actor = {name: value for name, value in asdict(record.actor).items() if value is not None}
    return ChangeEntry(
        number=record.number, operation=record.operation.value, path=record.path, old_path=record.old_path,
        version=record.after, actor=actor, time=record.time,
    )  # fmt: skip
