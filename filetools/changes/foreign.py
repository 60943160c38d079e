"""Records changes by other programs, with the external actor. A hint only says where to look."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import Final

from filetools.changes.parts import Parts
from filetools.errors import LockTimeoutError, WorkspaceGoneError
from filetools.events import types as events
from filetools.models.records import ChangeRecord
from filetools.tree.hints import Agenda
from filetools.tree.observation import Observation
from filetools.tree.observer import WholeLook

WAIT_SECONDS: Final = 1.0
"""How long an observation waits for its turn before it is retried."""
REST_SECONDS: Final = 0.01
"""Delay between a hint and its look: many hints share one turn, also those at files that filetools itself has written."""
FAILURE_PAUSE_SECONDS: Final = 0.5
"""Pause before hints of a failed observation are looked at again."""
MOST_ROUNDS: Final = 5
"""Rounds in which a look at the whole tree looks again at files that keep changing."""
LONGEST_PAUSE_SECONDS: Final = 0.05
"""Longest pause before such a round; a later one is left to the background."""
_LOST: Final = frozenset({"overflow", "limit", "failed"})
"""Reasons for a look at the whole tree that mean that hints were lost."""
_REPLACING: Final = frozenset({"start", "asked"})
"""Reasons to begin a look at the whole tree at once: it compares what is left of the one under way, too."""
_OWNER: Final = "watcher"

_log = logging.getLogger(__name__)

Record = Callable[[Callable[[], Sequence[ChangeRecord]], str, str, float], Awaitable[None]]
"""`CallRunner.record`."""


class ForeignChanges:
    """Records changes by other programs. One per opened workspace; used on its loop.

    Args:
        parts: The workspace.
        record: Runs a function in a turn and publishes the records that it returns.
    """

    def __init__(self, parts: Parts, record: Record) -> None:
        self._parts = parts
        self._record = record
        self._loop = asyncio.get_running_loop()
        self._agenda = Agenda(self._wake)
        self._is_due = asyncio.Event()
        self._looking = asyncio.Lock()
        self._working = asyncio.Lock()
        # Everything below is changed only in turns.
        self._is_whole_wanted = False
        self._current: WholeLook | None = None
        self._finished: WholeLook | None = None
        self._replaced: Set[str] = frozenset()
        """Reasons for which looks were replaced since one finished: each only once, or none would ever finish."""

    def begin(self) -> None:
        """Have observations ask for the further looks that they need."""
        self._parts.observer.on_observed = self._note

    async def watch(self) -> None:
        """Start watching the tree unless already started; only the leader calls it."""
        if self._parts.observer.watcher is None:
            await self._parts.workers.run(partial(self._parts.observer.watch, self._agenda))

    async def work(self) -> None:
        """Wait for hints, then record the changes that they lead to."""
        pause = self._seconds_until_due()
        if pause is None or pause > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._is_due.wait()
        if not self._is_whole_due:
            await asyncio.sleep(REST_SECONDS)
        self._is_due.clear()
        try:
            async with self._working:
                if self._seconds_until_due() == 0:
                    await self._record(self._observe, "", _OWNER, WAIT_SECONDS)
        except LockTimeoutError:
            return  # another process has a long turn; the next round waits again
        except WorkspaceGoneError:
            self._publish_if_gone()
            await asyncio.Event().wait()  # there is nothing left to look at

    async def look(self) -> WholeLook:
        """Record all changes by other programs anywhere in the tree, by a look that begins now.

        Raises:
            LockTimeoutError: Another process's turn took too long.
            WorkspaceGoneError: The root is gone, or the workspace was closed.
        """
        async with self._looking:
            await self._parts.workers.run(self._parts.observer.read_tracked)
            earlier, timeout = (self._current, self._finished), self._parts.settings.lock_timeout_seconds
            self._agenda.hint_everything("asked")
            while (found := self._finished) is None or any(found is each for each in earlier):
                await self._record(self._observe, "", _OWNER, timeout)
            for _ in range(MOST_ROUNDS):
                async with self._working:  # an observation by `work` may ask for another look
                    pause = self._seconds_until_due()
                if pause is None or pause > LONGEST_PAUSE_SECONDS:
                    break
                await asyncio.sleep(pause)
                await self._record(self._observe, "", _OWNER, timeout)
            return found

    async def aclose(self) -> None:
        """Stop watching."""
        if (watcher := self._parts.observer.watcher) is not None:
            await self._parts.workers.run(watcher.close)

    @property
    def _is_whole_due(self) -> bool:
        return self._is_whole_wanted or self._current is not None

    def _seconds_until_due(self) -> float | None:
        """Return the seconds until something is due; None if nothing is due before the next hint."""
        due_at = 0.0 if self._is_whole_due else self._agenda.due_at()
        return None if due_at is None else max(0.0, due_at - time.monotonic())

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._is_due.set)

    # -- in turns ----------------------------------------------------------------------------------------------------

    def _observe(self) -> Sequence[ChangeRecord]:
        """Look at everything that is due."""
        # During a look at the whole tree, a missing file may still be found under another name.
        due = self._agenda.take(with_again=self._current is None)
        self._is_whole_wanted = self._is_whole_wanted or bool(due.reasons)
        try:
            if due.reasons:
                self._parts.workspace.check_alive()
            self._report_loss(due.reasons)
            if self._current is not None and (replacing := due.reasons & _REPLACING - self._replaced):
                self._replaced, self._current = self._replaced | replacing, None
            if self._current is None and self._is_whole_wanted:
                self._is_whole_wanted, self._current = False, self._parts.observer.begin_look()
            records = self._parts.observer.due(due, self._current)
        except BaseException:
            self._is_whole_wanted, self._current = self._is_whole_due, None
            self._agenda.look_again(due.hints, FAILURE_PAUSE_SECONDS)
            self._wake()
            raise
        if (whole := self._current) is not None and not whole.left:
            self._current, self._finished, self._replaced = None, whole, frozenset()
            self._agenda.note_whole_look(time.monotonic() - whole.began_at)
        return records

    def _note(self, observation: Observation) -> None:
        """Watch new folders, and schedule the further looks that an observation asks for."""
        self._agenda.note(observation.again, observation.later, observation.missing)
        if (watcher := self._parts.observer.watcher) is not None:
            watcher.watch(observation.new_folders)
        self._wake()

    def _publish_if_gone(self) -> None:
        try:
            self._parts.workspace.check_alive()
        except WorkspaceGoneError:
            self._parts.bus.publish(events.Resync(position=None, reason="gone"))

    def _report_loss(self, reasons: Set[str]) -> None:
        for reason in sorted(_LOST & reasons):
            _log.warning("changes by other programs may have been missed (%s); looking at the whole tree", reason)
            event = events.Resync(position=self._parts.journal.positions().newest, reason=reason)
            self._loop.call_soon_threadsafe(self._parts.bus.publish, event)
