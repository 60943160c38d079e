"""What listeners were told of single paths last: a hint at what still stands there so says nothing new.

Nearly every hint in a busy workspace is the echo of a change that filetools has made or recorded itself. Here it costs one
look at the path's facts; whoever cannot be told so is looked at in a turn, and compared with the journal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final, NamedTuple

from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.models.records import ChangeRecord, Operation, RecordState
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.watch.hints import Hint

REMEMBERED_PATHS: Final = 4096
ECHO_OF_SECONDS: Final = 0.025
"""Age of a change of our own up to which a hint counts as its echo where the clock of files is too coarse to tell."""
_REMOVALS: Final = (Operation.DELETE, Operation.DELETE_DIRECTORY)
_ARRIVALS: Final = (Operation.CREATE, Operation.MODIFY, Operation.MOVE)


class _Standing(NamedTuple):
    """What stands at a path, as it was told."""

    kind: EntryType | None
    """None if nothing does."""
    version: str | None = None
    mode: int | None = None
    """Permission bits; None if nobody knows."""
    written_at: float = float("-inf")
    """When filetools wrote it, on the monotonic clock."""


_GONE: Final = _Standing(None)


class NewestRecords:
    """The newest records of the paths that changed last. One an opened workspace; belongs to its loop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._standing: dict[str, _Standing] = {}

    def note(self, records: Iterable[ChangeRecord]) -> None:
        """Remember records, which are about to be told."""
        gone: set[str] = set()
        for record in records:
            if gone and record.operation not in _REMOVALS:
                self._forget_below(gone)
            if record.operation is Operation.MOVE_DIRECTORY:
                self._standing.clear()  # where nothing stood, there may be what came along with it
            elif record.operation is Operation.DELETE_DIRECTORY:
                gone.add(self._key(record.path))
            if record.old_path is not None:
                self._put(record.old_path, _GONE)
            self._put(record.path, _standing_after(record))
        self._forget_below(gone)

    def is_news(self, hint: Hint) -> bool:
        """Whether something may stand at the paths of a hint that was not told.

        What was told of them counts no more then, until it is told anew: others may have changed them, and changed them
        back to nothing, before anybody hears of it.
        """
        if hint.kind == "deleted":
            is_echo = self._is_gone(hint.path)
        elif hint.kind == "changed":
            is_echo = self.stands(hint.path)
        else:
            # What came along with a folder is looked at in any case.
            is_echo = not hint.is_directory and self.stands(hint.path) and self._is_gone(hint.old_path or "")
        if is_echo and not hint.came_and_went:
            return False
        for path in (hint.path, hint.old_path):
            if path is not None:
                self._standing.pop(self._key(path), None)
        return True

    def stands(self, path: str) -> bool:
        """Whether something stands at a path, and was told of as it is; from any thread."""
        told = self._standing.get(self._key(path), _GONE)
        if told.kind is None:
            return False
        try:
            stat = self._parts.store.stat(WorkspacePath(path))
        except FileToolsError:
            return False
        if stat is None or stat.type != told.kind:
            return False
        if told.kind == "directory":
            return True
        # Of a file that may have changed within the tick of its clock no facts are kept.
        facts = self._parts.facts.get(stat.identity)
        return facts is not None and facts.version == told.version and told.mode in (None, stat.mode)

    def is_too_young(self, path: str) -> bool:
        """Whether a file that filetools has just written cannot be known by its facts yet, since its clock is too coarse."""
        standing = self._standing.get(self._key(path), _GONE)
        return self._parts.store.tick_ns > 0 and time.monotonic() - standing.written_at < ECHO_OF_SECONDS

    def _put(self, path: str, standing: _Standing | None) -> None:
        key = self._key(path)
        self._standing.pop(key, None)
        if standing is not None:
            self._standing[key] = standing
            if len(self._standing) > REMEMBERED_PATHS:
                del self._standing[next(iter(self._standing))]

    def _forget_below(self, gone: set[str]) -> None:
        """Forget what stood in folders, by their keys, and went along with them: of that nothing is told by itself."""
        standing = [key for key, one in self._standing.items() if one is not _GONE] if gone else []
        for key in standing:
            if not gone.isdisjoint(WorkspacePath(key).folders):
                del self._standing[key]
        gone.clear()

    def _is_gone(self, path: str) -> bool:
        if self._standing.get(self._key(path)) is not _GONE:
            return False
        try:
            return self._parts.store.stat(WorkspacePath(path)) is None
        except FileToolsError:
            return False

    def _key(self, path: str) -> str:
        return self._parts.workspace.key(path)


def _standing_after(record: ChangeRecord) -> _Standing | None:
    """Return what a record says; None if it says nothing of what stands there."""
    if record.state is not RecordState.APPLIED and record.state is not RecordState.PENDING:
        return None
    if record.operation in _REMOVALS:
        return _GONE
    if record.operation is Operation.CREATE_DIRECTORY:
        return _Standing("directory")
    if record.operation in _ARRIVALS and record.after is not None:
        written_at = float("-inf") if record.actor.kind == "external" else time.monotonic()
        return _Standing("file", record.after, record.mode, written_at)
    return None
