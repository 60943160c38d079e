"""Records changes by other programs, with the external actor. A hint only says where to look."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct

from filetools.changes.parts import Parts
from filetools.errors import FileToolsError, LockTimeoutError, WorkspaceGoneError
from filetools.events import types as events
from filetools.journal.tree_rows import Looked
from filetools.models.records import ChangeRecord
from filetools.paths.workspace_path import WorkspacePath
from filetools.tree.hints import Agenda
from filetools.tree.observation import Observation
from filetools.tree.scope import Scope
from filetools.tree.watching import TreeWatcher

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
_OWNER: Final = "watcher"

_log = logging.getLogger(__name__)

Record = Callable[[Callable[[], Sequence[ChangeRecord]], str, str, float], Awaitable[None]]
"""`CallRunner.record`."""


class Uncertain(Struct, frozen=True, kw_only=True):
    """Paths that a look at the whole tree could not determine."""

    closed: Sequence[str]
    """Unreadable paths."""
    unnamed: Sequence[str]
    """Names that no call can address, such as names that are not UTF-8; escaped."""
    moving: Sequence[str]
    """Paths that other programs are changing."""


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
        self._watcher: TreeWatcher | None = None
        # Everything below is changed only in turns.
        self._is_whole_wanted = False
        self._left: Sequence[Scope] | None = None
        """The remaining scopes of the current look at the whole tree; None if there is no such look."""
        self._begun = self._ended = 0
        """Number of looks at the whole tree begun, and ended."""
        self._began_at = 0.0
        self._looked: Looked | None = None
        self._closed: set[str] = set()
        self._unnamed: set[str] = set()
        self._busy: set[str] = set()
        self._uncertain = Uncertain(closed=(), unnamed=(), moving=())
        """Result of the last finished look at the whole tree."""
        parts.observer.on_observed = self._note

    async def watch(self) -> None:
        """Start watching the tree unless already started; only the leader calls it."""
        if self._watcher is None:
            self._watcher = TreeWatcher(self._parts.workspace, self._agenda.hints)
            await self._parts.workers.run(partial(self._start, self._watcher))

    def _start(self, watcher: TreeWatcher) -> None:
        with suppress(FileToolsError):  # the next look reads it again, but nobody starts the watcher again
            self._parts.observer.read_tracked()
        watcher.start()
        watcher.watch(map(WorkspacePath, self._parts.journal.tree_index.paths("directory").values()))

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

    async def look(self) -> Uncertain:
        """Record all changes by other programs anywhere in the tree.

        Raises:
            LockTimeoutError: Another process's turn took too long.
            WorkspaceGoneError: The root is gone, or the workspace was closed.
        """
        async with self._looking:
            await self._parts.workers.run(self._parts.observer.read_tracked)
            before, timeout = self._begun, self._parts.settings.lock_timeout_seconds
            self._agenda.hints.everything("asked")
            while self._ended <= before:
                await self._record(self._observe, "", _OWNER, timeout)
            for _ in range(MOST_ROUNDS):
                async with self._working:  # an observation by `work` may ask for another look
                    pause = self._seconds_until_due()
                if pause is None or pause > LONGEST_PAUSE_SECONDS:
                    break
                await asyncio.sleep(pause)
                await self._record(self._observe, "", _OWNER, timeout)
            return self._uncertain

    async def aclose(self) -> None:
        """Stop watching."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            await self._parts.workers.run(watcher.close)

    @property
    def _is_whole_due(self) -> bool:
        return self._is_whole_wanted or self._left is not None

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
        due = self._agenda.take(with_again=self._left is None)
        self._is_whole_wanted = self._is_whole_wanted or bool(due.reasons)
        try:
            if due.reasons:
                self._parts.workspace.check_alive()
            self._report_loss(due.reasons)
            if self._left is None and self._is_whole_wanted:
                self._is_whole_wanted, self._left = False, ()
                self._begun += 1
                self._began_at, self._looked = time.monotonic(), self._parts.observer.looked()
                for several in (self._closed, self._unnamed, self._busy):
                    several.clear()
            found = self._parts.observer.due(due, self._left, self._looked)
        except BaseException:
            self._is_whole_wanted, self._left = self._is_whole_due, None
            self._agenda.look_again(due.hints, FAILURE_PAUSE_SECONDS)
            self._wake()
            raise
        if self._left is not None:
            self._note_part(found.observation)
        self._note(found.observation)
        return found.records

    def _note_part(self, observation: Observation) -> None:
        """Note what part of a look at the whole tree remains, or that it has ended."""
        self._closed.update(observation.unread)
        self._unnamed.update(observation.unnamed)
        self._busy.update(observation.busy)
        self._left = observation.left or None
        if self._left is None:
            self._uncertain = Uncertain(
                closed=sorted(self._closed), unnamed=sorted(self._unnamed), moving=sorted(self._busy)
            )
            self._ended = self._begun
            if self._watcher is not None:
                self._watcher.note_look(time.monotonic() - self._began_at)

    def _note(self, observation: Observation) -> None:
        """Watch new folders, and schedule the further looks that an observation asks for."""
        self._agenda.note(observation.again, observation.later, observation.missing)
        if self._watcher is not None:
            self._watcher.watch(observation.new_folders)
        self._wake()

    def _publish_if_gone(self) -> None:
        try:
            self._parts.workspace.check_alive()
        except WorkspaceGoneError:
            self._parts.bus.publish(events.Resync(position=None, reason="gone"))

    def _report_loss(self, reasons: Set[str]) -> None:
        for reason in sorted(_LOST & reasons):
            _log.warning("changes by other programs may have been missed (%s); looking at the whole tree", reason)
            event = events.Resync(position=self._parts.journal.position(), reason=reason)
            self._loop.call_soon_threadsafe(self._parts.bus.publish, event)
