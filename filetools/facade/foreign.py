"""Changes that other programs make, journaled as the external actor: seen by the watcher, told like any other change.

A hint says only where to look. What is recorded is what stands there under the path's lock, compared with the head or,
where there is none, with the names that were known: the echo of a change of our own equals them and is dropped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from filetools.deferred import deferred_imports
from filetools.errors import FileBusyError, FileToolsError, LockTimeoutError, WorkspaceGoneError
from filetools.facade.others import nothing_precedes
from filetools.facade.parts import Parts
from filetools.journal import Change, HeadMovedError, View
from filetools.models import EXTERNAL, ChangeRecord, Operation
from filetools.paths import WorkspacePath
from filetools.paths.ignore import IgnoreStack
from filetools.search import IgnoreCache, stack_above

if TYPE_CHECKING:
    from filetools.facade.dating import dated
    from filetools.facade.foreign_records import folder, gone, learned, move
    from filetools.facade.look import Look, is_as_recorded, is_only_found, look
    from filetools.facade.steps import folder_deletion, folder_view, sync_names
    from filetools.stores import FileStat
    from filetools.watch import Hint
else:
    deferred_imports(
        globals(),
        {
            "filetools.facade.dating": "dated",
            "filetools.facade.foreign_records": "folder, gone, learned, move",
            "filetools.facade.look": "Look, is_as_recorded, is_only_found, look",
            "filetools.facade.steps": "folder_deletion, folder_view, sync_names",
            "filetools.watch": "Hint",
        },
    )

BATCH_PATHS: Final = 200
"""Paths whose locks are taken together, so that a burst costs few commits."""
LOCK_WAIT_SECONDS: Final = 0.25
"""How long one look waits for a path's lock; a path that is locked for longer is looked at again later."""

_log = logging.getLogger(__name__)
_OWNER: Final = "watcher"


class ForeignRecorder:
    """Turns hints into journal records. One an opened workspace; works only in the process that keeps it."""

    def __init__(
        self,
        parts: Parts,
        tell: Callable[[Sequence[ChangeRecord]], None],
        precede: Callable[[Sequence[str]], Awaitable[None]] = nothing_precedes,
    ) -> None:
        self._parts = parts
        self._tell = tell
        self._precede = precede
        self._gone_on: dict[str, str] = {}
        """New and old names of what was moved, and had left the new one too before anybody looked."""
        self._again: list[Hint] = []
        self._met: list[tuple[WorkspacePath, bool]] = []
        """Where there is nothing to tell, and whether a file is recorded there: something may have come and gone, or gone and
        come back, before anybody looked, and a mirror may have met that."""
        self._since = 0
        """Number of the newest record before the look that is under way."""
        self._ignores = IgnoreCache()
        self._stacks: dict[WorkspacePath, IgnoreStack] = {}

    def awaits(self, path: str) -> bool:
        """Whether a hint at a path says where something is that has passed through it, whatever stands there."""
        return path in self._gone_on

    async def record(self, hints: Sequence[Hint]) -> list[Hint]:
        """Look at the paths of hints and record what has changed there.

        Returns:
            Where to look again: somebody is at work there, or something else turned out to have happened.
        """
        self._again = []
        for several in _batches([hint for hint in hints if self._is_addressable(hint)]):
            # What the batch before has found out may add names to this one.
            for batch in _batches([hint for one in several for hint in self._with_origin(one)]):
                if not await self._together(batch):
                    await self._one_by_one(batch)
        return self._again

    async def _one_by_one(self, hints: Sequence[Hint]) -> None:
        for hint in hints:
            if not await self._together([hint], timeout_seconds=LOCK_WAIT_SECONDS):
                self._again.append(hint)

    def _with_origin(self, hint: Hint) -> Iterator[Hint]:
        """Yield a hint, after what it says of a name that something passed through on its way."""
        if hint.old_path is not None and hint.old_path in self._gone_on:
            hint = replace(hint, old_path=self._gone_on.pop(hint.old_path))
        origin = self._gone_on.pop(hint.path, None)
        if origin is not None:
            yield Hint("deleted", origin, is_directory=hint.is_directory)
        yield hint

    async def _together(self, hints: Sequence[Hint], timeout_seconds: float = 0.05) -> bool:
        parts = self._parts
        keys = [parts.workspace.key(path) for hint in hints for path in _paths(parts, hint)]
        try:
            async with parts.locks.hold(keys, path=hints[0].path, owner=_OWNER, timeout_seconds=timeout_seconds):
                records = await parts.crew.run(partial(self._commit, hints))
                if records:
                    await self._precede(keys)
        except (LockTimeoutError, HeadMovedError):
            return False
        except WorkspaceGoneError:
            return True  # closed meanwhile, or the root was removed: there is nothing to look at any more
        except FileToolsError as exc:
            _log.warning("could not record foreign changes from %s on: %s", hints[0].path, exc)
            return len(hints) == 1
        self._tell(records)
        return True

    def _commit(self, hints: Sequence[Hint]) -> tuple[ChangeRecord, ...]:
        self._stacks.clear()  # ignore files are read once a batch
        self._since = self._parts.journal.position()
        self._met = []
        changes: list[Change] = []
        removed: list[str] = []
        for hint in hints:
            # What was in a folder went with it, and what is there now is new; what is in a new one comes after it.
            if any(WorkspacePath(hint.path).is_below(above) for above in removed) or self._is_early(hint, changes):
                self._again.append(hint)
                continue
            changes += self._changes(hint)
            removed += [change.path for change in changes[-2:] if change.operation is Operation.DELETE_DIRECTORY]
        self._have_mirrors_look()
        if not changes:
            return ()
        return self._parts.journal.commit(dated(self._parts, changes), EXTERNAL)

    def _have_mirrors_look(self) -> None:
        """Put paths into the backlogs of mirrors that may have met what stood there for an instant.

        Of a recorded file mirrors take the head, unless they are just being filled from what stands there.
        """
        for mirror in self._parts.journal.mirrors.all() if self._met else ():
            is_filling = mirror.position is None
            paths = [path for path, is_recorded in self._met if is_filling or not is_recorded]
            self._parts.journal.backlog.add(mirror.place, [(self._parts.workspace.key(path), path) for path in paths])

    def _is_early(self, hint: Hint, changes: Sequence[Change]) -> bool:
        """Whether the folder that a path is in has yet to be told of: somebody else may be about to do so."""
        parent = WorkspacePath(hint.path).parent
        if parent.is_root or any(change.path == parent for change in changes):
            return False
        try:
            return self._parts.names.find(parent) == "absent" and self._parts.store.stat(parent) is not None
        except FileToolsError:
            return False

    def _changes(self, hint: Hint) -> list[Change]:
        try:
            path = self._parts.workspace.resolve(hint.path)
            stat = self._parts.store.stat(path)
            if hint.old_path is not None:
                source = self._parts.workspace.resolve(hint.old_path)
                return self._moved(source, path, hint, stat)
            return self._changed(path, hint, stat)
        except FileToolsError as exc:
            # A file that is busy, a link, or gone again: the next hint or the next call on the path looks again.
            _log.debug("no foreign change recorded for %s: %s", hint.path, exc)
            return []

    def _changed(self, path: WorkspacePath, hint: Hint, stat: FileStat | None) -> list[Change]:
        """Return what makes the journal and the known names equal to what stands at a path."""
        known = self._parts.names.find(path)
        is_folder = stat is not None and stat.type == "directory"
        changes: list[Change] = []
        if known == "directory" and not is_folder:
            changes.append(folder_deletion(self._parts, path, self._since))
        if stat is not None and stat.type not in ("file", "directory"):
            # A link or a pipe has taken the place of a file; of itself nothing is told.
            head = self._parts.journal.view(self._parts.workspace.key(path)).head
            return changes if head is None or head.version is None else [*changes, gone(self._parts, path)]
        if not is_folder:
            return changes + self._file_changes(path, hint)
        if known == "directory":
            if hint.kind == "deleted":
                self._met.append((path, False))
            self._look_for_missing(path)
        if known == "directory" or (known == "unknown" and hint.is_listed):
            return []
        if self._was_file(path, self._parts.journal.view(self._parts.workspace.key(path))):
            changes.append(gone(self._parts, path))
        return [*changes, folder(self._parts, Operation.CREATE_DIRECTORY, path, self._since)]

    def _file_changes(self, path: WorkspacePath, hint: Hint) -> list[Change]:
        view = self._parts.journal.view(self._parts.workspace.key(path))
        if (view.head is None or is_only_found(view)) and self._is_ignored(path):
            return []
        try:
            seen = look(self._parts, path, patience_seconds=0, view=view)
        except FileBusyError:
            return []  # its writer is still at work, and the watcher tells when it has closed the file
        return self._told(seen, hint)

    def _told(self, seen: Look, hint: Hint) -> list[Change]:
        change = seen.adoption
        head = seen.view.head
        is_recorded = head is not None and not is_only_found(seen.view)
        if change is None:
            self._met.append((seen.path, is_recorded and head is not None and head.version is not None))
            return []
        if not is_recorded and self._is_ignored(seen.path):
            return []
        if change.operation is Operation.FOUND:
            # Something has happened to it, but what it was like before nobody can tell.
            return [] if hint.is_listed else [replace(change, operation=Operation.MODIFY, before_unknown=True)]
        return [change]

    def _moved(self, source: WorkspacePath, path: WorkspacePath, hint: Hint, stat: FileStat | None) -> list[Change]:
        was = self._parts.names.find(source)
        if stat is None and was != "absent":
            # The hint that says where it went from here is on its way.
            if self._parts.names.find(path) != "absent":
                return self._changed(source, hint, self._parts.store.stat(source))  # somebody has told of it here
            self._gone_on[path] = source
            return []
        if stat is not None and stat.type == "directory":
            return self._moved_folder(source, path, hint, stat)
        return self._moved_file(source, path, hint)

    def _moved_folder(
        self, source: WorkspacePath, path: WorkspacePath, hint: Hint, stat: FileStat | None
    ) -> list[Change]:
        is_told = self._parts.names.find(path) == "directory" and self._parts.store.stat(source) is not None
        if is_told or self._parts.names.find(source) != "directory":
            return self._changed(path, hint, stat)  # a move of our own, or nobody has heard of the old name
        change = folder(self._parts, Operation.MOVE_DIRECTORY, path, self._since)
        self._look_for_left(source, path)
        # The heads below go along, and recovery relies on that the folder did.
        sync_names(self._parts, path, source)
        old_view = folder_view(self._parts, source, self._since)
        moved = replace(change, old_path=source, old_key=self._parts.workspace.key(source), old_view=old_view)
        return [*self._replaced(source, path), moved]

    def _replaced(self, source: WorkspacePath, path: WorkspacePath) -> list[Change]:
        """Return what is to be told before the move of a folder to a path: what stood there is gone.

        A rename replaces an empty folder only. What stands there as it was told has come along with the move, and
        somebody was quicker to tell of it at its new name: then it is gone from its old one.
        """
        key = self._parts.workspace.key(path)
        if self._was_file(path, self._parts.journal.view(key)):
            return [gone(self._parts, path)]
        if self._parts.names.find(path) != "directory":
            return []
        below = [WorkspacePath(inner) for inner, _ in self._parts.names.below(path)]
        origins = [WorkspacePath(f"{source}{inner[len(key) :]}") for inner in below if self._is_recorded(inner)]
        if not origins:
            return [folder_deletion(self._parts, path, self._since)]
        self._again += [Hint("deleted", inner) for inner in below if self._parts.store.stat(inner) is None]
        return [gone(self._parts, origin) for origin in origins if self._parts.names.find(origin) == "file"]

    def _look_for_left(self, source: WorkspacePath, path: WorkspacePath) -> None:
        """Have all looked at that is told below the old name of a moved folder, and has not come along.

        By now another folder may stand there, or have stood, with names that were told before this move.
        """
        key = self._parts.workspace.key(source)
        for inner, is_directory in reversed(self._parts.names.below(source)):
            place = WorkspacePath(f"{path}{inner[len(key) :]}")
            if self._parts.store.stat(place) is None:
                self._again.append(Hint("deleted", place, is_directory=is_directory))
        waiting = [source] if self._parts.store.stat(source) is not None else []
        while waiting:
            place = waiting.pop()
            try:
                entries = [(entry.name, entry.type == "directory") for entry in self._parts.store.scan(place)]
            except FileToolsError:
                self._again.append(Hint("changed", place))  # it is a file, or gone again
                continue
            self._again.append(Hint("changed", place, is_directory=True))
            self._again += [Hint("changed", place.child(name)) for name, is_directory in entries if not is_directory]
            waiting += [place.child(name) for name, is_directory in entries if is_directory]

    def _is_recorded(self, path: WorkspacePath) -> bool:
        """Whether a file stands at a path, as it is recorded there."""
        head = self._parts.journal.view(self._parts.workspace.key(path)).head
        return head is not None and head.version is not None and is_as_recorded(self._parts, path)

    def _moved_file(self, source: WorkspacePath, path: WorkspacePath, hint: Hint) -> list[Change]:
        try:
            left = self._look_at_old_name(source)
            arrived = look(self._parts, path, patience_seconds=0)
        except FileBusyError:
            self._again.append(hint)
            return []
        head = left.view.head
        is_known = self._was_file(source, left.view)
        if not is_known or arrived.stat is None:
            # Most programs save by writing beside and renaming over: nobody has heard of the name beside.
            return [*self._told(left, hint), *self._told(arrived, hint)]
        is_free = left.stat is None and not self._was_file(path, arrived.view)
        if is_free and (head is None or head.version == arrived.version):
            return [move(left, arrived)]
        if head is None:
            return [*learned(left, arrived), *self._told(arrived, hint)]
        return [*self._told(left, hint), *self._told(arrived, hint)]

    def _look_at_old_name(self, path: WorkspacePath) -> Look:
        stat = self._parts.store.stat(path)
        if stat is None or stat.type == "file":
            return look(self._parts, path, patience_seconds=0)
        key = self._parts.workspace.key(path)
        view = self._parts.journal.view(key)
        adoption = gone(self._parts, path) if self._was_file(path, view) else None
        return Look(
            path=path, key=key, view=view, taken_ns=time.time_ns(), stat=None, facts=None,
            version=None, content=None, adoption=adoption,
        )  # fmt: skip

    def _was_file(self, path: WorkspacePath, view: View) -> bool:
        return self._parts.names.find(path) == "file" if view.head is None else view.head.version is not None

    def _look_for_missing(self, path: WorkspacePath) -> None:
        """Have names looked at that a folder has no more: another folder may have taken its place."""
        key = self._parts.workspace.key
        standing = {key(path.child(entry.name)) for entry in self._parts.store.scan(path)}
        for name in self._parts.names.inside(path):
            inner = path.child(name)
            if key(inner) not in standing:
                self._again.append(Hint("deleted", inner))

    def _is_ignored(self, path: WorkspacePath) -> bool:
        """Whether ignore files leave a path out that filetools has never written, and no editor has open."""
        if self._parts.workspace.key(path) in self._parts.documents.open_keys:
            return False
        parent = path.parent
        if parent not in self._stacks:
            self._stacks[parent] = stack_above(self._parts.store, path, self._ignores)
        return self._stacks[parent].ignores(path, is_directory=False)

    def _is_addressable(self, hint: Hint) -> bool:
        try:
            _paths(self._parts, hint)
        except FileToolsError:
            return False
        return True


def _batches(hints: Iterable[Hint]) -> Iterator[list[Hint]]:
    """Cut hints into batches in which no path comes twice: what is recorded of it must be seen by the next look.

    The move of a folder is a batch of its own, for what is below it has another name afterwards.
    """
    batch: list[Hint] = []
    paths: set[str] = set()
    for hint in hints:
        touched = {hint.path} if hint.old_path is None else {hint.path, hint.old_path}
        is_folder_move = hint.is_directory and hint.kind == "moved"
        if batch and (len(batch) == BATCH_PATHS or paths & touched or is_folder_move):
            yield batch
            batch, paths = [], set()
        batch.append(hint)
        paths |= touched
        if is_folder_move:
            yield batch
            batch, paths = [], set()
    if batch:
        yield batch


def _paths(parts: Parts, hint: Hint) -> list[WorkspacePath]:
    return [parts.workspace.resolve(path) for path in (hint.old_path, hint.path) if path is not None]
