"""Recovery by path: what a dead process, or a power cut, left half done is finished or undone, under the path's lock.

The journal says what must stand at a path. A file that carries an older version of that path, or what a power cut
leaves of an unsynced one, gets the head's bytes; anything else is somebody's save, which stays and is journaled.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from filetools.content import version_of
from filetools.errors import (
    FileToolsError,
    LockTimeoutError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
    VersionGoneError,
    WorkspaceGoneError,
)
from filetools.journal import Change, Head, HeadMovedError, Journal, Selection
from filetools.locks import LockTable
from filetools.models import SYSTEM, Actor, ChangeRecord, Operation
from filetools.paths import Workspace, WorkspacePath
from filetools.stores import Store

_log = logging.getLogger(__name__)
_OWNER: Final = "recovery"


class Runner(Protocol):
    """Runs blocking work in a worker thread."""

    def __call__(self, work: Callable[[], int], /) -> Awaitable[int]:
        """Run `work` and return what it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What stands at a path."""

    content: bytes | None
    version: str | None
    is_taken: bool = False
    """Whether something stands there that is no file: a folder, a link, a pipe."""


class Recovery:
    """Settles paths of one workspace. Lives as long as it is open."""

    actor: Actor = SYSTEM

    def __init__(self, workspace: Workspace, store: Store, journal: Journal, *, mirrors: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._store = store
        self._journal = journal
        self._mirrors = mirrors

    def settle(self, path: WorkspacePath, key: str) -> None:
        """Bring one file and its head together. Call it in a worker thread with the path's lock held."""
        head = self._journal.view(key).head
        if head is None:
            return
        found = self._find(path)
        if found.version != head.version:
            self._repair(path, head, found)
        elif found.content is not None:
            self._set_mode(path, head)
        # A move is done when both its ends are, and only one of them is locked here.
        self._journal.marks.applied(
            record.number
            for record in self._journal.marks.unsettled(key)
            if record.number <= head.number and record.operation is not Operation.MOVE
        )

    def settle_pending(self, record: ChangeRecord) -> int:
        """Finish a record of any kind, unless its owner did so meanwhile; 1 if there was something to do.

        Call it in a worker thread with the locks of its paths held.
        """
        if not self._journal.marks.is_pending(record.number):
            return 0
        self._finish(record)
        self._journal.marks.applied([record.number])
        return 1

    def restore(self, record: ChangeRecord) -> int:
        """Bring what an applied record changed, and a power cut may have taken, back to what the journal says.

        Call it in a worker thread with the locks of the record's paths held, in the order of the records.
        """
        self._finish(record)
        return 1

    def _finish(self, record: ChangeRecord) -> None:
        path = self._workspace.resolve(record.path)
        match record.operation:
            case Operation.CREATE_DIRECTORY:
                self._make_again(path, record.number)
            case Operation.DELETE_DIRECTORY:
                self._remove_again(path, record.number)
            case Operation.MOVE_DIRECTORY:
                self._move_again(record)
            case Operation.MOVE:
                with suppress(FileToolsError):
                    self._move_file_again(record)
                assert record.old_path is not None
                old = self._workspace.resolve(record.old_path)
                self.settle(old, self._workspace.key(old))
                self.settle(path, self._workspace.key(path))
            case _:
                self.settle(path, self._workspace.key(path))

    def _find(self, path: WorkspacePath) -> Found:
        try:
            content, _ = self._store.read(path)
        except FileNotFoundError:
            return Found(content=None, version=None)
        except NotADirectoryError:
            return Found(content=None, version=None)
        except (PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError):
            return Found(content=None, version=None, is_taken=True)
        return Found(content=content, version=version_of(content))

    def _repair(self, path: WorkspacePath, head: Head, found: Found) -> None:
        try:
            wanted = None if head.version is None else self._journal.contents.get(head.version)
        except VersionGoneError:
            _log.error("the bytes of %s are lost; what stands there stays", path)
            self._adopt(path, head, found)
            return
        if self._is_ours(head, found, wanted):
            self._put(path, head, found, wanted)
        else:
            _log.warning("%s was changed by another program during a crash; both versions are kept", path)
            self._adopt(path, head, found)

    def _set_mode(self, path: WorkspacePath, head: Head) -> None:
        """Finish a change of nothing but the mode, which the bytes do not show."""
        newest = next((one for one in self._journal.marks.unsettled(head.key) if one.number == head.number), None)
        if newest is not None and not head.applied and newest.before == newest.after and head.mode is not None:
            self._store.set_mode(path, head.mode)

    def _is_ours(self, head: Head, found: Found, wanted: bytes | None) -> bool:
        if found.is_taken:
            return False
        known = self._known(head.key)
        return found.version in known or (found.content is not None and is_torn(found.content, wanted))

    def _known(self, key: str) -> set[str | None]:
        """Return the versions a path may have because of filetools alone; None stands for absence.

        A move that replaces its destination shows it under the source's name for an instant, so both paths count. Where
        it goes to, nothing stood before, or what its own commit deleted.
        """
        records = self._journal.marks.unsettled(key)
        moves = [record for record in records if record.operation is Operation.MOVE]
        for move in moves:
            records = records + self._journal.marks.unsettled(self._workspace.key(self._workspace.resolve(move.path)))
        known: set[str | None] = set()
        for record in records:
            known |= {record.after} if record.before_unknown else {record.before, record.after}
            if record.operation is Operation.MOVE and self._workspace.key(self._workspace.resolve(record.path)) == key:
                known.add(None)
        return known

    def _put(self, path: WorkspacePath, head: Head, found: Found, wanted: bytes | None) -> None:
        if wanted is None:
            if found.content is not None and found.version is not None:
                # Where it went to may lack it still, and what is too large for a commit is kept nowhere else.
                self._keep(found.content, found.version)
            with suppress(PathNotFoundError):
                self._store.remove(path).discard()
            return
        self._make_parents(path)
        prepared = self._store.prepare(path, wanted, new=found.content is None, mode=head.mode)
        try:
            displaced = prepared.exchange()
        except BaseException:
            prepared.discard()
            raise
        if displaced is not None:
            displaced.discard()

    def _keep(self, content: bytes, version: str) -> None:
        if not self._journal.contents.has(version):
            self._journal.contents.keep(content, version)

    def _adopt(self, path: WorkspacePath, head: Head, found: Found) -> None:
        operation = Operation.DELETE if found.version is None else Operation.MODIFY
        if head.version is None:
            operation = Operation.CREATE
        change = Change(
            operation=operation,
            path=path,
            key=head.key,
            before=head.version,
            after=found.version,
            content=found.content,
            size=None if found.content is None else len(found.content),
            view=self._journal.view(head.key),
            applied=True,
            external=True,
        )
        with suppress(HeadMovedError):
            self._journal.commit([change], SYSTEM, mirrors=self._mirrors)

    def _make_parents(self, path: WorkspacePath) -> None:
        missing = []
        parent = path.parent
        while not parent.is_root and self._store.stat(parent) is None:
            missing.append(parent)
            parent = parent.parent
        for folder in reversed(missing):
            self._store.make_directory(folder)

    def _make_again(self, path: WorkspacePath, number: int) -> None:
        self._make_parents(path)
        if self._store.stat(path) is not None:
            return
        # A folder that comes back by an undo comes with all that was in it.
        history = self._journal.history
        undone = history.targets([number], "undoes").get(number, ())
        for removal in history.select(Selection(numbers=tuple(undone))) if undone else ():
            is_same = removal.operation is Operation.DELETE_DIRECTORY and removal.path == path
            if is_same and self._store.trashed(path, str(removal.number)):
                self._store.restore(path, str(removal.number))
                return
        self._store.make_directory(path)

    def _remove_again(self, path: WorkspacePath, number: int) -> None:
        # A folder that stands although its trash exists was made anew by somebody; it stays.
        stat = self._store.stat(path)
        if stat is None or stat.type != "directory" or self._store.has_trash(str(number)):
            return
        self._store.remove(path, trash=str(number))

    def _move_again(self, record: ChangeRecord) -> None:
        assert record.old_path is not None
        source, destination = self._workspace.resolve(record.old_path), self._workspace.resolve(record.path)
        if self._store.stat(source) is None or self._store.stat(destination) is not None:
            return
        self._make_parents(destination)
        with suppress(PathExistsError, PathNotFoundError):
            self._store.move(source, destination)

    def _move_file_again(self, record: ChangeRecord) -> None:
        """Rename where that is still possible: it keeps what contents do not hold, such as extended attributes."""
        assert record.old_path is not None
        source, destination = self._workspace.resolve(record.old_path), self._workspace.resolve(record.path)
        key = self._workspace.key(destination)
        head = self._journal.view(key).head
        if head is None or head.number != record.number:
            return  # written again since: its bytes come from the contents
        standing = self._find(destination).version
        replaceable = standing is None or standing in self._known(key)
        if self._find(source).version == record.after and replaceable and standing != record.after:
            self._make_parents(destination)
            displaced = self._store.move(source, destination, overwrite=True)
            if displaced is not None:
                displaced.discard()


def is_torn(found: bytes, wanted: bytes | None) -> bool:
    """Whether bytes are what a power cut leaves of a file: nothing, or a beginning padded with zeros."""
    if wanted is None or len(found) > len(wanted):
        return False
    return wanted.startswith(found.rstrip(b"\0"))


async def recover(
    workspace: Workspace,
    records: Sequence[ChangeRecord],
    locks: LockTable,
    run: Runner,
    settle: Callable[[ChangeRecord], int],
) -> int:
    """Settle those records whose paths nobody holds; a held lock means that its owner lives and sees to them.

    Args:
        workspace: Resolves the records' paths.
        records: What to settle, in this order.
        locks: The workspace's locks; each is tried once.
        run: Runs blocking work in a worker thread.
        settle: `Recovery.settle_pending` or `Recovery.restore`.

    Returns:
        How many records were settled.
    """
    settled = 0
    for record in records:
        paths = [workspace.resolve(path) for path in (record.old_path, record.path) if path is not None]
        keys = [workspace.key(path) for path in paths]
        try:
            async with locks.hold(keys, path=record.path, owner=_OWNER, timeout_seconds=0):
                settled += await run(partial(settle, record))
        except LockTimeoutError:
            continue
        except WorkspaceGoneError:
            break  # closed meanwhile; the next opening finds what is left
        except FileToolsError as exc:
            _log.error("could not recover %s: %s", record.path, exc)
    return settled
