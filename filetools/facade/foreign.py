"""Changes that other programs make, journaled as the external actor: seen by the watcher, told like any other change.

A hint says only where to look. What is recorded is what stands there under the path's lock, compared with the head: the
echo of a change of our own equals its head and is dropped.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from filetools.errors import FileBusyError, FileToolsError, LockTimeoutError, WorkspaceGoneError
from filetools.facade.look import Look, look
from filetools.facade.parts import Parts
from filetools.journal import Change, HeadMovedError
from filetools.models import EXTERNAL, ChangeRecord, Operation
from filetools.paths import WorkspacePath
from filetools.paths.ignore import IgnoreStack
from filetools.search import IgnoreCache, stack_above
from filetools.watch import Hint

BATCH_PATHS: Final = 200
"""Paths whose locks are taken together, so that a burst costs few commits."""
MOST_TRIES: Final = 3
REMEMBERED_FOLDERS: Final = 1000
REMEMBERED_FILES: Final = 10_000
REMEMBERED_WRITES: Final = 1000
ECHO_OF_SECONDS: Final = 0.05
"""Age of a change of our own up to which a hint at its file counts as its echo."""

_log = logging.getLogger(__name__)
_OWNER: Final = "watcher"


class ForeignRecorder:
    """Turns hints into journal records. One an opened workspace; works only in the process that keeps it."""

    def __init__(self, parts: Parts, tell: Callable[[Sequence[ChangeRecord]], None]) -> None:
        self._parts = parts
        self._tell = tell
        self._folders: deque[str] = deque(maxlen=REMEMBERED_FOLDERS)
        self._written: dict[str, float] = {}
        self._unfinished: set[str] = set()
        self._ignores = IgnoreCache()
        self._stacks: dict[WorkspacePath, IgnoreStack] = {}

    def note(self, records: Iterable[ChangeRecord]) -> None:
        """Remember what filetools did itself: files it wrote, and folders below which things vanished with them."""
        for record in records:
            if record.operation in (Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY):
                self._folders.append(record.old_path or record.path)
            elif record.actor.kind != "external":
                self._written.pop(record.path, None)
                self._written[record.path] = time.monotonic()
                if len(self._written) > REMEMBERED_WRITES:
                    del self._written[next(iter(self._written))]

    def is_just_written(self, path: str) -> bool:
        """Whether filetools wrote a file so lately that a hint at it is most likely the echo of that."""
        return time.monotonic() - self._written.get(path, 0.0) < ECHO_OF_SECONDS

    async def record(self, hints: Sequence[Hint]) -> None:
        """Look at the paths of hints and record what has changed there."""
        for batch in _without_repeats([hint for hint in hints if self._is_addressable(hint)]):
            if not await self._together(batch):
                for hint in batch:
                    await self._alone(hint)

    async def _alone(self, hint: Hint) -> None:
        """Look at one path again and again: a person who types moves its document under every look."""
        for _ in range(MOST_TRIES):
            if await self._together([hint], timeout_seconds=2.0):
                return

    async def _together(self, hints: Sequence[Hint], timeout_seconds: float = 0.05) -> bool:
        parts = self._parts
        keys = [parts.workspace.key(path) for hint in hints for path in _paths(parts, hint)]
        try:
            async with parts.locks.hold(keys, path=hints[0].path, owner=_OWNER, timeout_seconds=timeout_seconds):
                records = await parts.crew.run(partial(self._commit, hints))
        except (LockTimeoutError, HeadMovedError):
            return False
        except WorkspaceGoneError:
            return True  # closed meanwhile, or the root was removed: there is nothing to look at any more
        except FileToolsError as exc:
            _log.warning("could not record foreign changes from %s on: %s", hints[0].path, exc)
            return False
        self._tell(records)
        return True

    def _commit(self, hints: Sequence[Hint]) -> tuple[ChangeRecord, ...]:
        self._stacks.clear()  # ignore files are read once a batch
        changes = [change for hint in hints for change in self._changes(hint)]
        if not changes:
            return ()
        return self._parts.journal.commit(
            changes, EXTERNAL, mirrors=self._parts.sync.names(change.path for change in changes)
        )

    def _changes(self, hint: Hint) -> list[Change]:
        try:
            if hint.is_directory:
                return self._folder_changes(hint)
            if hint.kind == "moved":
                return self._move_changes(hint)
            return self._file_changes(self._parts.workspace.resolve(hint.path), hint)
        except FileToolsError as exc:
            # A file that is busy, a link, or gone again: the next hint or the next call on the path looks again.
            _log.debug("no foreign change recorded for %s: %s", hint.path, exc)
            return []

    def _file_changes(self, path: WorkspacePath, hint: Hint) -> list[Change]:
        is_new = hint.is_new or path in self._unfinished
        view = self._parts.journal.view(self._parts.workspace.key(path))
        if view.head is None and self._is_ignored(path):
            return []
        try:
            seen = look(self._parts, path, patience_seconds=0, view=view)
        except FileBusyError:
            # Its writer is still at work, and the watcher tells when it has closed the file.
            self._remember_unfinished(path, is_new=is_new)
            return []
        self._unfinished.discard(path)
        change = seen.adoption
        if change is None:
            is_unknown = seen.stat is None and seen.view.head is None and not self._is_below_ours(path)
            return [self._unknown_deletion(path)] if is_unknown and hint.kind == "deleted" else []
        if change.operation is Operation.FOUND:
            # Never seen before: what it was like before the change nobody can tell.
            operation = Operation.CREATE if is_new else Operation.MODIFY
            change = replace(change, operation=operation, before_unknown=not is_new)
        return [change]

    def _move_changes(self, hint: Hint) -> list[Change]:
        assert hint.old_path is not None
        source = self._parts.workspace.resolve(hint.old_path)
        destination = self._parts.workspace.resolve(hint.path)
        left, arrived = look(self._parts, source), look(self._parts, destination)
        if arrived.adoption is None and left.adoption is None:
            return []
        was = left.view.head.version if left.view.head is not None else None
        is_replacement = arrived.view.head is not None and arrived.view.head.version is not None
        if left.stat is None and arrived.stat is not None and not is_replacement and was in (None, arrived.version):
            return [_move(left, arrived)]
        return [change for seen in (left, arrived) if (change := seen.adoption) is not None]

    def _folder_changes(self, hint: Hint) -> list[Change]:
        path = self._parts.workspace.resolve(hint.path)
        stands = (stat := self._parts.store.stat(path)) is not None and stat.type == "directory"
        if hint.kind == "moved" and stands:
            return self._folder_move(hint, path)
        newest = self._newest(path)
        if stands == _says_folder(newest, path):
            return []
        if stands:
            return [_folder(self._parts, Operation.CREATE_DIRECTORY, path)]
        if hint.kind != "deleted" or self._is_below_ours(path) or _says_gone(newest, path):
            return []
        return [_folder(self._parts, Operation.DELETE_DIRECTORY, path)]

    def _folder_move(self, hint: Hint, path: WorkspacePath) -> list[Change]:
        assert hint.old_path is not None
        source = self._parts.workspace.resolve(hint.old_path)
        newest = self._newest(path)
        if newest is not None and newest.operation is Operation.MOVE_DIRECTORY and newest.old_path == source:
            return []
        change = _folder(self._parts, Operation.MOVE_DIRECTORY, path)
        return [replace(change, old_path=source, old_key=self._parts.workspace.key(source))]

    def _is_ignored(self, path: WorkspacePath) -> bool:
        """Whether ignore files leave a path out that filetools has never written."""
        parent = path.parent
        if parent not in self._stacks:
            self._stacks[parent] = stack_above(self._parts.store, path, self._ignores)
        return self._stacks[parent].ignores(path, is_directory=False)

    def _remember_unfinished(self, path: WorkspacePath, *, is_new: bool) -> None:
        if is_new and len(self._unfinished) < REMEMBERED_FILES:
            self._unfinished.add(path)

    def _newest(self, path: WorkspacePath) -> ChangeRecord | None:
        key = self._parts.workspace.key(path)
        newest = self._parts.journal.records(key=key, limit=1, newest_first=True)
        return newest[0] if newest else None

    def _unknown_deletion(self, path: WorkspacePath) -> Change:
        return Change(
            operation=Operation.DELETE,
            path=path,
            key=self._parts.workspace.key(path),
            before_unknown=True,
            applied=True,
            external=True,
        )

    def _is_below_ours(self, path: WorkspacePath) -> bool:
        return any(path == folder or path.startswith(f"{folder}/") for folder in self._folders)

    def _is_addressable(self, hint: Hint) -> bool:
        try:
            _paths(self._parts, hint)
        except FileToolsError:
            return False
        return True


def _without_repeats(hints: Sequence[Hint]) -> Iterator[list[Hint]]:
    """Cut hints into batches in which no path comes twice: what is recorded of it must be seen by the next look."""
    batch: list[Hint] = []
    paths: set[str] = set()
    for hint in hints:
        touched = {hint.path} if hint.old_path is None else {hint.path, hint.old_path}
        if len(batch) == BATCH_PATHS or paths & touched:
            yield batch
            batch, paths = [], set()
        batch.append(hint)
        paths |= touched
    if batch:
        yield batch


def _paths(parts: Parts, hint: Hint) -> list[WorkspacePath]:
    return [parts.workspace.resolve(path) for path in (hint.old_path, hint.path) if path is not None]


def _move(left: Look, arrived: Look) -> Change:
    return Change(
        operation=Operation.MOVE,
        path=arrived.path,
        key=arrived.key,
        old_path=left.path,
        old_key=left.key,
        before=arrived.version,
        after=arrived.version,
        content=arrived.content,
        size=None if arrived.stat is None else arrived.stat.size,
        mode=None if arrived.stat is None else arrived.stat.mode,
        view=arrived.view,
        old_view=left.view,
        applied=True,
        external=True,
    )


def _folder(parts: Parts, operation: Operation, path: WorkspacePath) -> Change:
    return Change(operation=operation, path=path, key=parts.workspace.key(path), applied=True, external=True)


def _says_folder(record: ChangeRecord | None, path: WorkspacePath) -> bool:
    """Whether the newest record of a path left a folder there."""
    made = (Operation.CREATE_DIRECTORY, Operation.MOVE_DIRECTORY)
    return record is not None and record.operation in made and record.path == path


def _says_gone(record: ChangeRecord | None, path: WorkspacePath) -> bool:
    """Whether the newest record of a path took a folder away from there."""
    if record is None:
        return False
    is_moved_away = record.operation is Operation.MOVE_DIRECTORY and record.path != path
    return is_moved_away or record.operation is Operation.DELETE_DIRECTORY
