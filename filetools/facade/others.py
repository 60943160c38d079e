"""What other processes recorded, told on this process's bus: each change once, and those of one path in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from filetools.facade.parts import Parts
from filetools.models.records import ChangeRecord, RecordState

FOLLOWED_RECORDS: Final = 1000


async def nothing_precedes(_keys: Collection[str]) -> None:
    """Let a change be told at once, where nobody else records any."""


class OthersChanges:
    """Follows the journal for what others record. One an opened workspace; belongs to its loop.

    Args:
        parts: The workspace.
        tell: Publishes records, in the order given.
    """

    def __init__(self, parts: Parts, tell: Callable[[Sequence[ChangeRecord]], None]) -> None:
        self._parts = parts
        self._tell = tell
        self._lock = asyncio.Lock()
        self._told_ahead: set[int] = set()
        self.position = 0
        """Number up to which everything is told."""

    async def start(self) -> None:
        """Begin after what is recorded now."""
        self.position = await self._parts.crew.run(self._parts.journal.visible_position)

    async def follow(self) -> None:
        """Tell all that is new, as far as it is applied."""
        async with self._lock:
            await self._follow()

    async def precede(self, keys: Collection[str]) -> None:
        """Tell what others did to these paths before a change that this process is about to tell.

        Call it with the locks of the paths held: what others have recorded of them is made by then, even where the mark
        that says so is still on its way.
        """
        own = self._parts.journal.own_position()  # first: what others record between the two is not skipped
        if self._parts.journal.others_position() <= self.position:
            # So that a process that has long been alone does not look through all it has recorded for those of others.
            self.position = max(self.position, own)
            return
        async with self._lock:
            await self._follow()
            records = await self._parts.crew.run(partial(self._read_ahead, frozenset(keys)))
            self._told_ahead |= {record.number for record in records}
            self._tell(records)

    async def _follow(self) -> None:
        while True:
            visible, records = await self._parts.crew.run(self._read)
            self._tell([record for record in records if record.number not in self._told_ahead])
            newest = records[-1].number if records else 0
            is_last = len(records) < FOLLOWED_RECORDS
            self.position = max(visible, self.position, newest) if is_last else newest
            self._told_ahead = {number for number in self._told_ahead if number > self.position}
            if is_last:
                return

    def _read(self) -> tuple[int, list[ChangeRecord]]:
        journal = self._parts.journal
        visible = journal.visible_position()  # first: what comes between the two is read again, not missed
        return visible, journal.records(self.position, limit=FOLLOWED_RECORDS, foreign_only=True)

    def _read_ahead(self, keys: Collection[str]) -> list[ChangeRecord]:
        journal = self._parts.journal
        records = journal.records(self.position, limit=FOLLOWED_RECORDS, newest_first=True, foreign_only=True)
        return [
            record
            for record in reversed(records)
            if record.number not in self._told_ahead
            and record.state in (RecordState.APPLIED, RecordState.PENDING)
            and self._concerns(record, keys)
        ]

    def _concerns(self, record: ChangeRecord, keys: Collection[str]) -> bool:
        paths = (record.path, record.old_path or record.path)
        return any(self._parts.workspace.key(path) in keys for path in paths)
