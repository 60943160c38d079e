"""What came out of its place: removed once nobody writes to it any more, and kept if somebody has."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Final

from filetools.errors import FileToolsError
from filetools.journal.core.contents import digest_of
from filetools.journal.core.log import LogDraft
from filetools.models.records import SYSTEM, Operation
from filetools.stores.store import Displaced
from filetools.writer.state import WriterState
from filetools.writer.steps import Step

logger = logging.getLogger(__name__)

LIMBO_PAUSE_SECONDS: Final = 0.5
_LIMBO: Final = "/limbo/"


class Tidying:
    """Displaced files of one writer. Used in its thread.

    Attributes:
        is_waiting: Whether a displaced file is still being written.
        next_at: When to look at those again, on the monotonic clock.
    """

    def __init__(self, state: WriterState) -> None:
        self._state = state
        self.is_waiting = True  # a dead process may have left some
        self.next_at = time.monotonic() + LIMBO_PAUSE_SECONDS

    def add(self, steps: Iterable[Step]) -> None:
        """Remove what steps displaced, but for what a program has open for writing: that waits in limbo."""
        for step in steps:
            try:
                self._tidy(step)
            except FileToolsError as exc:
                # It stays at a temporary place, and the sweep of a later process finds it.
                logger.warning("Cannot remove what was replaced at %s: %s", step.operation.path, exc)

    def _tidy(self, step: Step) -> None:
        displaced = step.displaced
        if displaced is None:
            return
        if displaced.stat.type != "file" or displaced.is_untouched():
            displaced.discard()
            return
        displaced.keep_in_limbo(f"{step.records[0].number}")
        self.is_waiting = True
        self.next_at = time.monotonic() + LIMBO_PAUSE_SECONDS

    def work(self) -> None:
        """Collect what programs have finished writing in limbo. The caller holds the root's lock."""
        if not self.is_waiting or self.next_at > time.monotonic():
            return
        self.is_waiting = False
        self.next_at = time.monotonic() + LIMBO_PAUSE_SECONDS
        for left in self._state.store.leftovers():
            if _LIMBO in left.temporary and left.stat.type == "file" and left.is_being_written():
                self.is_waiting = True
                continue
            self._collect(left)

    def _collect(self, left: Displaced) -> None:
        """Keep what was written to a file after it was replaced, as a version of its path, and remove the file."""
        state = self._state
        if left.stat.type == "file":
            content = left.read()
            digest = digest_of(content)
            with state.transaction() as draft:
                if not state.contents.has(state.database.write, digest):
                    state.contents.keep(digest, content)
                    number = left.temporary.rpartition("/")[2]
                    self._record(draft, int(number) if number.isdecimal() else 0, digest, len(content))
        left.discard()

    def _record(self, draft: LogDraft, number: int, digest: bytes, size: int) -> None:
        """Record late bytes, and what is at the path on top of them again."""
        state = self._state
        record = state.log.record_inside(state.database.write, number)
        row = None if record is None else state.rows.get(record.key)
        if record is None or row is None:
            return
        place = (record.path, record.key, record.file)
        draft.add(Operation.MODIFY, *place, origin="displaced", before=row.version, after=digest, size=size)
        kind = Operation.MODIFY if row.is_there else Operation.DELETE
        after = row.version if row.is_there else None
        draft.add(kind, *place, actor=SYSTEM, origin="displaced", before=digest, after=after)
