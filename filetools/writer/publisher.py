"""Publishes the records of all processes, in the order of their numbers."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from filetools.journal.journal import Journal
from filetools.models.records import ChangeRecord
from filetools.writer.turn_calls import Publication, TurnCall, quietly
from filetools.writer.worker_pool import WorkerPool

PAGE_RECORDS: Final = 1000

_log = logging.getLogger(__name__)

Ended = Sequence[tuple[TurnCall, Sequence[ChangeRecord]]]
"""The calls of a turn, each with the changes by others that it found."""


class Publisher:
    """Publishes the turns of this process, each after the earlier records of other processes. Belongs to one loop.

    Args:
        journal: Holds the records of all processes.
        workers: Worker threads that read them.
        publish: Publishes records, in the order of their numbers.
    """

    def __init__(self, journal: Journal, workers: WorkerPool, publish: Callable[[Sequence[Publication]], None]) -> None:
        self._journal = journal
        self._workers = workers
        self._publish = publish
        self._position = 0
        """Number of the record up to which everything is published."""
        self._unpublished: deque[int] = deque()
        self._ended: deque[tuple[Ended, Sequence[TurnCall]]] = deque()
        self._publishing: asyncio.Task[None] | None = None
        self._following = asyncio.Lock()

    # -- in the thread that takes turns ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Note that a turn begins; `end` or `drop` must follow."""
        self._unpublished.append(sys.maxsize)

    def begins_at(self, number: int) -> None:
        """Set the lowest number of the current turn's records."""
        self._unpublished[-1] = number

    def drop(self) -> None:
        """Discard the current turn, which did nothing."""
        self._unpublished.pop()

    # -- on the loop -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start after the newest record."""
        self._position = (await self._workers.run(self._journal.positions)).visible

    def end(self, calls: Ended, again: Sequence[TurnCall]) -> None:
        """Publish a turn once all earlier records are published, then settle its calls, except those in `again`."""
        self._ended.append((calls, again))
        if self._publishing is None and self._must_wait():
            self._publishing = asyncio.create_task(self._publish_later(), name="filetools publish")

    async def follow(self) -> bool:
        """Publish new applied records of other processes, up to the first unpublished record of this one.

        Returns:
            True if later records have to wait for that one.
        """
        async with self._following:
            while True:
                visible, records = await self._workers.run(self._read)
                # After the read, so that no record of another process is published before an earlier one of this process.
                unpublished = self._unpublished[0] if self._unpublished else sys.maxsize
                ready = [record for record in records if record.number < unpublished]
                self._publish([(record, None) for record in ready])
                newest = ready[-1].number if ready else 0
                if len(ready) < PAGE_RECORDS:
                    self._position = max(min(visible, unpublished - 1), self._position, newest)
                    return len(ready) < len(records)
                self._position = newest

    def _must_wait(self) -> bool:
        """Publish ended turns; True if one must wait for earlier records of other processes."""
        while self._ended:
            own = self._journal.own_position  # read first, so that no record in between is skipped
            if self._journal.others_position > self._position:
                return True
            # So that a process that was alone for long need not search all its own records for those of others.
            self._position = max(self._position, own)
            self._publish_next()
        return False

    async def _publish_later(self) -> None:
        try:
            while self._must_wait():
                try:
                    await self.follow()
                except Exception:  # noqa: BLE001 - callers wait
                    _log.exception("Changes by other processes are reported late")
                self._publish_next()
        finally:
            self._publishing = None

    def _publish_next(self) -> None:
        self._unpublished.popleft()
        calls, again = self._ended.popleft()
        publications: list[Publication] = [(record, None) for _, found in calls for record in found]
        over = [call for call, _ in calls if call not in again]  # the others may have had their next turn already
        publications += [(record, call.acquired) for call in over for record in call.work.records]
        self._publish(sorted(publications, key=lambda each: each[0].number))
        for call in over:
            if call.is_finished:
                quietly(call.happened)
            call.settle()

    def _read(self) -> tuple[int, list[ChangeRecord]]:
        visible = self._journal.positions().visible  # read first: a record in between is read twice rather than missed
        return visible, self._journal.records(self._position, limit=PAGE_RECORDS, foreign_only=True)
