"""Makes changes survive a power cut a moment after they were made, outside of turns."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from filetools.errors import FileToolsError, PathNotDirectoryError
from filetools.journal.core.tree_rows import TreeRow
from filetools.paths.workspace_path import WorkspacePath
from filetools.writer.state import WriterState

logger = logging.getLogger(__name__)

MOST_SYNCED: Final = 1000
"""Paths between two marks."""
LONGEST_PAUSE_SECONDS: Final = 60.0
"""After repeated failures."""


class BackgroundSync:
    """Syncs what the writer changed. Has a thread of its own from `start` until `close`.

    Args:
        state: Its rows are touched in tasks of the writer only.
        submit: Runs a task in a turn of the writer.
        sync_after_seconds: How long after a change its file is synced, so that many changes of one file cost one sync.
    """

    def __init__(
        self, state: WriterState, submit: Callable[[Callable[[], None]], None], sync_after_seconds: float
    ) -> None:
        self._state = state
        self._submit = submit
        self._sync_after_seconds = sync_after_seconds
        self._condition = threading.Condition()
        self._has_changes = True  # a former process may have left some
        self._is_closing = False
        self._has_failed = False
        self._thread = threading.Thread(target=self._main, name="filetools sync", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def notice(self) -> None:
        """Sync soon, because there are new records. From any thread."""
        with self._condition:
            self._has_changes = True
            self._condition.notify_all()

    def close(self) -> None:
        """End the thread. What is not synced yet is synced by the next process, or compared after a power cut."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()
        # A sync that hangs holds nobody up: the thread ends after it.
        self._thread.join(timeout=0.05)

    def _main(self) -> None:
        pause_seconds, marked = self._sync_after_seconds, 0
        while self._wait(lambda: self._has_changes) and not self._sleep(pause_seconds):
            with self._condition:
                self._has_changes = False
            rows, newest = self._collect()
            synced = self._sync(rows)
            up_to = newest if len(synced) == len(rows) < MOST_SYNCED else 0
            if synced or up_to > marked:
                marked = max(marked, up_to)
                self._submit(partial(self._mark, synced, up_to))
            if len(synced) < len(rows):
                pause_seconds = min(max(2 * pause_seconds, self._sync_after_seconds, 0.1), LONGEST_PAUSE_SECONDS)
                self.notice()
            else:
                pause_seconds = self._sync_after_seconds
                self._has_failed = False
            if len(rows) == MOST_SYNCED:
                self.notice()

    def _wait(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until a condition holds; False if it is to end."""
        with self._condition:
            self._condition.wait_for(lambda: self._is_closing or condition(), seconds)
            return not self._is_closing

    def _sleep(self, seconds: float) -> bool:
        """Wait some time; True if it is to end."""
        return not self._wait(lambda: False, seconds)

    def _collect(self) -> tuple[Sequence[TreeRow], int]:
        """Return what is not synced, oldest first, and the newest number of then; nothing if it is to end."""
        collected: list[tuple[Sequence[TreeRow], int]] = []

        def collect() -> None:
            rows, newest = self._state.rows.unsynced(), self._state.log.newest_inside()
            with self._condition:
                collected.append((rows[:MOST_SYNCED], newest if all(row.applied for row in rows) else 0))
                self._condition.notify_all()

        self._submit(collect)
        self._wait(lambda: bool(collected))
        return collected[0] if collected else ((), 0)

    def _sync(self, rows: Sequence[TreeRow]) -> list[tuple[str, int]]:
        synced: list[tuple[str, int]] = []
        folders: set[WorkspacePath] = set()
        for row in rows:
            if self._is_closing:
                break
            try:
                is_synced = self._sync_one(row, folders)
            except FileToolsError as exc:
                if not self._has_failed:
                    logger.warning("Cannot sync %s, which is tried again: %s", row.path, exc)
                self._has_failed = True
            else:
                if is_synced:
                    synced.append((row.key, row.number))
        return synced

    def _sync_one(self, row: TreeRow, folders: set[WorkspacePath]) -> bool:
        """Sync a path; False if it is not there, because the folder that it is in is elsewhere just now."""
        path = WorkspacePath(row.path)
        while True:
            try:
                is_there = self._state.store.sync(path, synced=folders)
            except PathNotDirectoryError:
                # The folder that it was in is gone, too, and a file has its name.
                if row.is_there:
                    raise
                path = path.parent
            else:
                return is_there or row.kind not in ("file", "directory")

    def _mark(self, synced: Sequence[tuple[str, int]], up_to: int) -> None:
        # With the records of these changes: without them a file would be taken for a stranger's.
        with self._state.transaction(durable=True):
            self._state.rows.mark_synced(synced, up_to)
