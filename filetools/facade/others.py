"""What other processes recorded, told on this process's bus: each change once, and those of one path in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from filetools.facade.parts import Parts
from filetools.models.records import ChangeRecord
from filetools.writer.turns import Turns

FOLLOWED_RECORDS: Final = 1000


class OthersChanges:
    """Follows the journal for what others record. One an opened workspace; belongs to its loop.

    Args:
        parts: The workspace.
        turns: What of this process is not told yet.
        tell: Publishes records, in the order given.
    """

    def __init__(self, parts: Parts, turns: Turns, tell: Callable[[Sequence[ChangeRecord]], None]) -> None:
        self._parts = parts
        self._turns = turns
        self._tell = tell
        self._lock = asyncio.Lock()
        self.position = 0
        """Number up to which everything is told."""

    async def start(self) -> None:
        """Begin after what is recorded now."""
        self.position = await self._parts.crew.run(self._parts.journal.visible_position)

    async def follow(self) -> bool:
        """Tell all that is new, as far as it is applied, and nothing of this process from before is untold.

        Returns:
            Whether something waits for what is untold.
        """
        async with self._lock:
            return await self._follow()

    def precede(self) -> Awaitable[bool] | None:
        """Return what tells the changes of others before the first that is untold here; None if there are none."""
        own = self._parts.journal.own_position  # first: what others record between the two is not skipped
        if self._parts.journal.others_position > self.position:
            return self.follow()
        # So that a process that has long been alone does not look through all it has recorded for those of others.
        self.position = max(self.position, own)
        return None

    async def _follow(self) -> bool:
        while True:
            visible, records = await self._parts.crew.run(self._read)
            untold = self._turns.untold  # then: a change of others after one of ours is not read before ours is there
            if untold is not None:
                visible = min(visible, untold - 1)
            ready = [record for record in records if untold is None or record.number < untold]
            self._tell(ready)
            is_last = len(ready) < FOLLOWED_RECORDS
            newest = ready[-1].number if ready else 0
            self.position = max(visible, self.position, newest) if is_last else newest
            if is_last:
                return len(ready) < len(records)

    def _read(self) -> tuple[int, list[ChangeRecord]]:
        journal = self._parts.journal
        visible = journal.visible_position()  # first: what comes between the two is read again, not missed
        return visible, journal.records(self.position, limit=FOLLOWED_RECORDS, foreign_only=True)
