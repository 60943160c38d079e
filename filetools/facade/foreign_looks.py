"""What hints turn out to mean: what stands at their paths, compared with the heads or, where there are none, the known names.

A batch of hints is looked at together, in one turn: the journal is asked once, for all of them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Final

from msgspec import structs

from filetools.errors import (
    FileBusyError,
    FileToolsError,
    NotRegularFileError,
    PathIsDirectoryError,
    SymlinkNotAllowedError,
)
from filetools.facade.look import Look, is_as_recorded, is_only_found, look, look_now
from filetools.facade.parts import Parts
from filetools.facade.steps.foreign_folders import folder_deletion
from filetools.facade.steps.step import sync_names
from filetools.journal.changes import Change, View
from filetools.models.records import Operation
from filetools.paths.ignore import IgnoreStack
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.ignores import IgnoreCache, stack_above
from filetools.stores.store import FileStat
from filetools.watch.hints import Hint

WORK_SECONDS: Final = 0.05
"""How long a batch is looked at before it is committed as far as it has come: calls wait for their turn."""

_log = logging.getLogger(__name__)


class ForeignLooks:
    """Looks at what hints name, one batch after the other. Lives as long as its recorder; used by one thread at a time."""

    def __init__(self, parts: Parts) -> None:
        self._names = parts.names.for_batches()
        self._parts = structs.replace(parts, names=self._names)
        self._gone_on: dict[str, str] = {}
        """New and old names of what was moved, and had left the new one too before anybody looked."""
        self.again: list[Hint] = []
        """Where to look again, as the looks have found out."""
        self._met: list[tuple[WorkspacePath, bool]] = []
        """Where there is nothing to tell, and whether a file is recorded there: something may have come and gone, or gone and
        come back, before anybody looked, and a mirror may have met that."""
        self._views: dict[str, View] = {}
        """What the journal knew of the paths of a batch before its first look, by key."""
        self._ignores = IgnoreCache()
        self._stacks: dict[WorkspacePath, IgnoreStack] = {}

    def awaits(self, path: str) -> bool:
        """Whether a hint at a path says where something is that has passed through it, whatever stands there."""
        return path in self._gone_on

    def with_origin(self, hint: Hint) -> Iterator[Hint]:
        """Yield a hint, after what it says of a name that something passed through on its way."""
        if hint.old_path is not None and hint.old_path in self._gone_on:
            hint = replace(hint, old_path=self._gone_on.pop(hint.old_path))
        origin = self._gone_on.pop(hint.path, None)
        if origin is not None:
            yield Hint("deleted", origin, is_directory=hint.is_directory)
        yield hint

    def look(self, hints: Sequence[Hint], keys: Sequence[str]) -> tuple[list[Change], int]:
        """Return what has changed, and how many of the hints it is about, from the first on.

        Args:
            hints: Where to look; no path comes twice.
            keys: The lock keys of all their paths.
        """
        deadline = time.monotonic() + WORK_SECONDS
        self._begin(keys)
        changes: list[Change] = []
        told: set[str] = set()
        removed: set[str] = set()
        for done, hint in enumerate(hints):
            if done and time.monotonic() > deadline:
                hints = hints[:done]
                break
            path = WorkspacePath(hint.path)
            # What was in a folder went with it, and what is there now is new; what is in a new one comes after it.
            if self._is_early(path, told):
                self.again += [Hint("changed", path.parent, is_directory=True), hint]
                continue
            if removed and not removed.isdisjoint(path.folders):
                self.again.append(hint)
                continue
            found = self._changes(hint)
            changes += found
            told.update(change.path for change in found)
            removed.update(change.path for change in found if change.operation is Operation.DELETE_DIRECTORY)
        self._have_mirrors_look()
        return changes, len(hints)

    def _begin(self, keys: Sequence[str]) -> None:
        self._stacks.clear()  # ignore files are read once a batch
        self._met = []
        self._views = self._parts.journal.views(keys)
        self._names.follow(self._parts.journal.position())

    def _view(self, path: WorkspacePath) -> View:
        key = self._parts.workspace.key(path)
        return self._views.get(key) or self._parts.journal.view(key)

    def _have_mirrors_look(self) -> None:
        """Put paths into the backlogs of mirrors that may have met what stood there for an instant.

        Of a recorded file mirrors take the head, unless they are just being filled from what stands there.
        """
        for mirror in self._parts.journal.mirrors.all() if self._met else ():
            is_filling = mirror.position is None
            paths = [path for path, is_recorded in self._met if is_filling or not is_recorded]
            self._parts.journal.backlog.add(mirror.place, [(self._parts.workspace.key(path), path) for path in paths])
        if self._met:
            self._parts.sync.wake(is_whole=True)

    def _is_early(self, path: WorkspacePath, told: Set[str]) -> bool:
        """Whether the folder that a path is in has yet to be told of: by who makes it, or by a look at it."""
        parent = path.parent
        if parent.is_root or parent in told:
            return False
        try:
            stat = self._parts.store.stat(parent) if self._names.find(parent) == "absent" else None
        except FileToolsError:
            return False
        return stat is not None and stat.type == "directory"

    def _changes(self, hint: Hint) -> list[Change]:
        try:
            path = self._parts.workspace.resolve(hint.path)
            if hint.old_path is None and not hint.is_directory and self._names.find(path) != "directory":
                with suppress(PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError):
                    return self._file_changes(path, hint)
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
        known = self._names.find(path)
        is_folder = stat is not None and stat.type == "directory"
        changes: list[Change] = []
        if known == "directory" and not is_folder:
            changes.append(folder_deletion(self._parts, path))
        if stat is not None and stat.type not in ("file", "directory"):
            # A link or a pipe has taken the place of a file; of itself nothing is told.
            head = self._view(path).head
            return changes if head is None or head.version is None else [*changes, gone(self._parts, path)]
        if not is_folder:
            return changes + self._file_changes(path, hint)
        if known == "directory":
            if hint.kind == "deleted":
                self._met.append((path, False))
            self._look_for_missing(path)
        if known == "directory" or (known == "unknown" and hint.is_listed):
            return []
        if self._was_file(path, self._view(path)):
            changes.append(gone(self._parts, path))
        return [*changes, folder(self._parts, Operation.CREATE_DIRECTORY, path)]

    def _file_changes(self, path: WorkspacePath, hint: Hint) -> list[Change]:
        view = self._view(path)
        if (view.head is None or is_only_found(view)) and self._is_ignored(path):
            return []
        try:
            seen = look_now(self._parts, path, view)
        except FileBusyError:
            return []  # its writer is still at work, and the watcher tells when it has closed the file
        return self._told(seen, hint)

    def _told(self, seen: Look, hint: Hint) -> list[Change]:
        change, head = seen.adoption, seen.view.head
        is_recorded = head is not None and not is_only_found(seen.view)
        if change is None:
            self._met.append((seen.path, is_recorded and head is not None and head.version is not None))
            return []
        if not is_recorded and self._is_ignored(seen.path):
            return []
        if change.operation is Operation.FOUND:
            # Something has happened to it, but what it was like before nobody can tell.
            return [] if hint.is_listed else [structs.replace(change, operation=Operation.MODIFY, before_unknown=True)]
        return [change]

    def _moved(self, source: WorkspacePath, path: WorkspacePath, hint: Hint, stat: FileStat | None) -> list[Change]:
        was = self._names.find(source)
        if stat is None and was != "absent":
            # The hint that says where it went from here is on its way.
            if self._names.find(path) != "absent":
                return self._changed(source, hint, self._parts.store.stat(source))  # somebody has told of it here
            self._gone_on[path] = source
            return []
        if stat is not None and stat.type == "directory":
            return self._moved_folder(source, path, hint, stat)
        return self._moved_file(source, path, hint)

    def _moved_folder(
        self, source: WorkspacePath, path: WorkspacePath, hint: Hint, stat: FileStat | None
    ) -> list[Change]:
        is_told = self._names.find(path) == "directory" and self._parts.store.stat(source) is not None
        if is_told or self._names.find(source) != "directory":
            return self._changed(path, hint, stat)  # a move of our own, or nobody has heard of the old name
        change = folder(self._parts, Operation.MOVE_DIRECTORY, path)
        self._look_for_left(source, path)
        # The heads below go along, and recovery relies on that the folder did.
        sync_names(self._parts, path, source)
        moved = structs.replace(change, old_path=source, old_key=self._parts.workspace.key(source))
        return [*self._replaced(source, path), moved]

    def _replaced(self, source: WorkspacePath, path: WorkspacePath) -> list[Change]:
        """Return what is to be told before the move of a folder to a path: what stood there is gone.

        A rename replaces an empty folder only. What stands there as it was told has come along with the move, and
        somebody was quicker to tell of it at its new name: then it is gone from its old one.
        """
        key = self._parts.workspace.key(path)
        if self._was_file(path, self._parts.journal.view(key)):
            return [gone(self._parts, path)]
        if self._names.find(path) != "directory":
            return []
        below = [WorkspacePath(inner) for inner, _ in self._names.below(path)]
        origins = [WorkspacePath(f"{source}{inner[len(key) :]}") for inner in below if self._is_recorded(inner)]
        if not origins:
            return [folder_deletion(self._parts, path)]
        self.again += [Hint("deleted", inner) for inner in below if self._parts.store.stat(inner) is None]
        return [gone(self._parts, origin) for origin in origins if self._names.find(origin) == "file"]

    def _look_for_left(self, source: WorkspacePath, path: WorkspacePath) -> None:
        """Have all looked at that is told below the old name of a moved folder, and has not come along.

        By now another folder may stand there, or have stood, with names that were told before this move.
        """
        key = self._parts.workspace.key(source)
        for inner, is_directory in reversed(self._names.below(source)):
            place = WorkspacePath(f"{path}{inner[len(key) :]}")
            if self._parts.store.stat(place) is None:
                self.again.append(Hint("deleted", place, is_directory=is_directory))
        waiting = [source] if self._parts.store.stat(source) is not None else []
        while waiting:
            place = waiting.pop()
            try:
                entries = [(entry.name, entry.type == "directory") for entry in self._parts.store.scan(place)]
            except FileToolsError:
                self.again.append(Hint("changed", place))  # it is a file, or gone again
                continue
            self.again.append(Hint("changed", place, is_directory=True))
            self.again += [Hint("changed", place.child(name)) for name, is_directory in entries if not is_directory]
            waiting += [place.child(name) for name, is_directory in entries if is_directory]

    def _is_recorded(self, path: WorkspacePath) -> bool:
        """Whether a file stands at a path, as it is recorded there."""
        head = self._parts.journal.view(self._parts.workspace.key(path)).head
        return head is not None and head.version is not None and is_as_recorded(self._parts, path)

    def _moved_file(self, source: WorkspacePath, path: WorkspacePath, hint: Hint) -> list[Change]:
        try:
            left = self._look_at_old_name(source)
            arrived = look(self._parts, path)
        except FileBusyError:
            self.again.append(hint)
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
            return look(self._parts, path)
        key = self._parts.workspace.key(path)
        view = self._parts.journal.view(key)
        adoption = gone(self._parts, path) if self._was_file(path, view) else None
        return Look(
            path=path, key=key, view=view, taken_ns=time.time_ns(), stat=None, facts=None,
            version=None, content=None, adoption=adoption,
        )  # fmt: skip

    def _was_file(self, path: WorkspacePath, view: View) -> bool:
        return self._names.find(path) == "file" if view.head is None else view.head.version is not None

    def _look_for_missing(self, path: WorkspacePath) -> None:
        """Have names looked at that a folder has no more: another folder may have taken its place."""
        key = self._parts.workspace.key
        standing = {key(path.child(entry.name)) for entry in self._parts.store.scan(path)}
        for name in self._names.inside(path):
            inner = path.child(name)
            if key(inner) not in standing:
                self.again.append(Hint("deleted", inner))

    def _is_ignored(self, path: WorkspacePath) -> bool:
        """Whether ignore files leave a path out that filetools has never written, and no editor has open."""
        if self._parts.documents.known.at(self._parts.workspace.key(path)) is not None:
            return False
        parent = path.parent
        if parent not in self._stacks:
            self._stacks[parent] = stack_above(self._parts.store, path, self._ignores)
        return self._stacks[parent].ignores(path, is_directory=False)


def gone(parts: Parts, path: WorkspacePath) -> Change:
    """Return the record that a file is gone, be it that a folder has its place or its folder another one."""
    key = parts.workspace.key(path)
    view = parts.journal.view(key)
    version = None if view.head is None else view.head.version
    return Change(
        operation=Operation.DELETE, path=path, key=key, before=version, before_unknown=version is None,
        applied=True, external=True,
    )  # fmt: skip


def folder(parts: Parts, operation: Operation, path: WorkspacePath) -> Change:
    """Return the record of what has happened to a folder."""
    return Change(operation=operation, path=path, key=parts.workspace.key(path), applied=True, external=True)


def move(left: Look, arrived: Look) -> Change:
    """Return the record that a file bears another name."""
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
        applied=True,
        external=True,
    )


def learned(left: Look, arrived: Look) -> list[Change]:
    """Return what became of a name that nobody had looked at: what stood there is known by what arrived elsewhere."""
    assert arrived.stat is not None
    found = Change(
        operation=Operation.FOUND, path=left.path, key=left.key, after=arrived.version, content=arrived.content,
        size=arrived.stat.size, mode=arrived.stat.mode, applied=True, external=True,
    )  # fmt: skip
    if left.version == arrived.version:
        return [found]
    operation = Operation.DELETE if left.stat is None else Operation.MODIFY
    became = structs.replace(
        found, operation=operation, before=arrived.version, after=left.version, content=left.content,
        size=None if left.stat is None else left.stat.size, mode=None if left.stat is None else left.stat.mode,
    )  # fmt: skip
    return [found, became]
