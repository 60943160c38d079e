"""What came out of its place: removed once nobody writes to it any more, and kept if somebody has."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from filetools.errors import FileToolsError
from filetools.journal.contents import hash_of
from filetools.journal.core.tree_rows import TreeRow
from filetools.models.records import SYSTEM
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.stores.private import is_left_behind
from filetools.stores.store import Displaced, FileStat
from filetools.writer.displaced import empty_trash, enter_displaced, is_recorded
from filetools.writer.state import WriterState
from filetools.writer.steps import OperationStep

logger = logging.getLogger(__name__)

LIMBO_PAUSE_SECONDS: Final = 0.5
TRASH_SECONDS: Final = 60.0
"""Age from which something in the trash was left by a dead process."""
_LIMBO: Final = "/limbo/"


class Cleanup:
    """Displaced files of one writer. Used in its thread.

    Attributes:
        is_waiting: Whether a displaced file is still being written.
        next_at: When to look at those again, on the monotonic clock.
    """

    def __init__(self, state: WriterState, trash_seconds: float = TRASH_SECONDS) -> None:
        self._state = state
        self._trash_seconds = trash_seconds
        self.is_waiting = True  # a dead process may have left some
        self.next_at = time.monotonic() + LIMBO_PAUSE_SECONDS

    def add(self, steps: Iterable[OperationStep]) -> None:
        """Remove what steps displaced, but for what a program has open for writing: that waits in limbo."""
        for step in steps:
            try:
                self._tidy(step)
            except FileToolsError as exc:
                # It stays at a temporary place, and the sweep of a later process finds it.
                logger.warning("Cannot remove what was replaced at %s: %s", step.operation.path, exc)

    def _tidy(self, step: OperationStep) -> None:
        displaced = step.displaced
        if displaced is None:
            return
        if not step.is_marked and step.is_in_trash:
            return  # nobody has looked into it; the next turn settles that
        if displaced.stat.type != "file" or (step.is_marked and displaced.is_untouched()):
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
        try:
            self._sweep()
        except (FileToolsError, OSError) as exc:
            # It must not fail the calls of the same turn, which are done.
            logger.warning("Cannot look for temporary files: %s", exc)

    def _sweep(self) -> None:
        for left in self._state.store.leftovers():
            try:
                if _LIMBO in left.temporary and left.stat.type == "file" and left.is_being_written():
                    self.is_waiting = True
                else:
                    self._collect(left)
            except FileToolsError as exc:
                logger.warning("Cannot remove the temporary file %s: %s", left.temporary, exc)
        for name in self._state.store.trash_names():
            try:
                self._empty(name)
            except FileToolsError as exc:
                logger.warning("Cannot remove %s from the trash: %s", name, exc)

    def _collect(self, left: Displaced) -> None:
        """Keep what was written to a file after it was replaced, as a version of its path, and remove the file."""
        state = self._state
        if left.stat.type == "file":
            content = left.read()
            digest = hash_of(content)
            with state.transaction() as draft:
                row, file = self._row_of(left.temporary)
                if row is None:
                    state.contents.keep_inside(digest, content)
                elif not is_recorded(state, file, digest):
                    enter_displaced(state, draft, row, content, SYSTEM, left.stat.mode)
        left.discard()

    def _row_of(self, temporary: str) -> tuple[TreeRow | None, int]:
        """Return the row of the path that a displaced file comes from, and the id that the file had."""
        state, name = self._state, temporary.rpartition("/")[2]
        if _LIMBO in temporary and name.isdecimal():
            record = state.log.record_inside(state.database.connection, int(name))
            return (None, 0) if record is None else (state.rows.get(record.key), record.file)
        row = state.rows.with_temporary(temporary)
        return row, 0 if row is None else row.file

    def _empty(self, name: str) -> None:
        """Remove what a dead process had removed, and had no time to remove for good."""
        state = self._state
        found = state.store.trashed(ROOT, name)
        if not name.isdecimal():
            # Part of a folder that a process was removing when it died.
            if found and is_left_behind(name, found[0][1].changed_ns):
                state.store.empty_trash(name)
            return
        if found and time.time() - found[0][1].changed_ns / 1e9 < self._trash_seconds:
            self.is_waiting = True  # its process may be about to
            return
        with state.transaction() as draft:
            record = state.log.record_inside(state.database.connection, int(name))
            if record is None:
                self._put_back(name, found)
            else:
                empty_trash(state, draft, record)

    def _put_back(self, name: str, found: Sequence[tuple[str, FileStat]]) -> None:
        """Undo a removal that a power cut took out of the log."""
        store, rows = self._state.store, self._state.rows
        for row in rows.by_inode(*found[0][1].identity[:2]) if found else ():
            with suppress(FileToolsError):
                store.restore(WorkspacePath(row.path), name)
                return
        for relative, stat in found:
            if stat.type == "file":
                content = store.read_trashed(ROOT, name, relative)
                self._state.contents.keep_inside(hash_of(content), content)
        store.empty_trash(name)
