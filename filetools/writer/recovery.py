"""Recovery from crashes and power cuts: finishes or undoes changes that were left half done, path by path, in a turn.

The journal's head is the version that a path must have. A file with an older version of its path, or with what a power cut
leaves of an unsynced one, gets the head's bytes; anything else is a save by another program, which is kept and recorded.

Files are restored from the journal's bytes. What it has no bytes of, such as a whole folder, is synced when it is moved,
deleted or restored, so a power cut can undo that only while the record is pending. Such records are recovered first, in
their order; then new folders, whose names may be lost, at their current paths; then files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from filetools.content.version import version_of
from filetools.errors import (
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileToolsError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
    VersionGoneError,
)
from filetools.journal.journal import Head, Journal
from filetools.journal.records import Change, RecordFilter
from filetools.models.records import DIRECTORY_REMOVALS, SYSTEM, WITHOUT_BYTES, ChangeRecord, Operation, RecordState
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import PrimaryStore, Store, make_parents, replace_file
from filetools.writer.places import FolderMoves, own_places, places_of

_log = logging.getLogger(__name__)
_OF_FOLDERS: Final = (Operation.CREATE_DIRECTORY, *DIRECTORY_REMOVALS)
_SYNCED_WHEN_APPLIED: Final = (*DIRECTORY_REMOVALS, *WITHOUT_BYTES)


class Found(NamedTuple):
    """The entry at a path on disk."""

    content: bytes | None
    version: str | None
    is_taken: bool = False
    """True if something other than a regular file is there, such as a folder, a link or a pipe."""


class Recovery:
    """Recovers the paths of one workspace."""

    def __init__(self, workspace: Workspace, store: PrimaryStore, journal: Journal) -> None:
        self._workspace = workspace
        self._store = store
        self._journal = journal

    def settle(self, path: WorkspacePath, key: str) -> None:
        """Recover one file, in a turn: give it its head's content, or record a foreign change."""
        head = self._journal.view(key).head
        if head is None:
            return
        records = self._journal.marks.unsettled(key)
        newest = next((record for record in records if record.number == head.number), None)
        if newest is not None and _is_opaque(newest):
            self._finish_opaque(newest)
            self._journal.marks.applied([newest.number])
            return
        found = self._find(path)
        if found.version != head.version:
            self._repair(path, head, newest, found)
        elif newest is not None and not head.applied and newest.before == newest.after and head.mode is not None:
            self._store.set_mode(path, head.mode)  # the bytes do not show a change of only the mode
        # A move is complete only when both its paths are settled, and this is one of them.
        self._journal.marks.applied(
            record.number
            for record in records
            if record.number <= head.number and record.operation is not Operation.MOVE
        )

    def settle_all(self, records: Iterable[ChangeRecord]) -> list[int]:
        """Finish pending records and restore applied ones, in a turn; returns the numbers of those that failed."""
        waiting = sorted(records, key=_order)
        while waiting:
            failed: list[tuple[ChangeRecord, FileToolsError]] = []
            for record in waiting:
                try:
                    self._recover(record)
                except FileToolsError as exc:
                    failed.append((record, exc))
            if len(failed) == len(waiting):
                for record, error in failed:
                    _log.error("could not recover %s; it will be retried: %s", record.path, error)
                break
            # Recovering the others may have removed an obstacle, such as a file at the path of a later folder.
            waiting = [record for record, _ in failed]
        return [record.number for record in waiting]

    def _recover(self, record: ChangeRecord) -> None:
        """Finish a pending record, or restore the change of an applied one, which a power cut may have undone."""
        is_pending = record.state is RecordState.PENDING
        if is_pending and self._journal.history.select(RecordFilter(numbers=(record.number,))):
            return  # applied along with another one
        places = own_places(record)
        if not is_pending:
            places = places_of(self._journal, self._workspace.key, [record])[record.number]
        if record.operation is Operation.CREATE_DIRECTORY:
            for place in places:
                self._recover_folder(place, record)
        elif not (_is_opaque(record) or record.operation in _SYNCED_WHEN_APPLIED):
            self._settle_files(record, places)
        elif is_pending:
            self._finish(record)
        if is_pending:
            self._journal.marks.applied([record.number])
        else:
            self._journal.marks.restored(record.number)

    def _settle_files(self, record: ChangeRecord, places: Sequence[WorkspacePath]) -> None:
        """Settle the files of a record at their current paths."""
        own = own_places(record)
        if record.operation is Operation.MOVE and places == own:
            with suppress(FileToolsError):
                self._move_file_again(record)
        # Also at its own paths: another folder may be there after the original one was moved away.
        for place in dict.fromkeys([*places, *own]):
            self._clear_way(place.parent)
            self.settle(place, self._workspace.key(place))

    def _clear_way(self, folder: WorkspacePath) -> None:
        """Settle a file at the path of a folder: the power cut may have undone its deletion or move."""
        while not folder.is_root and (stat := self._store.stat(folder)) is None:
            folder = folder.parent
        if not folder.is_root and stat is not None and stat.type == "file":
            self.settle(folder, self._workspace.key(folder))

    def _recover_folder(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Make a folder, unless another program has since put something else at its path or at that of a folder above."""
        self._clear_way(path)
        row = self._journal.tree_index.get(self._workspace.key(path))
        if row is None or row.kind != "directory":
            return  # already recorded as removed or replaced
        for folder in (*path.folders, path):
            stat = self._store.stat(folder)
            if stat is not None and stat.type != "directory":
                key = self._workspace.key(folder)
                gone = Change(operation=Operation.DELETE_DIRECTORY, path=folder, key=key, applied=True, external=True)
                self._journal.commit([gone], SYSTEM)
                return
        self._bring_back(path, record)
        if self._store.make_directory(path) or record.state is RecordState.PENDING:
            _set_mode(self._store, path, record)  # the process may have died before setting it

    def _finish(self, record: ChangeRecord) -> None:
        """Finish a pending change that is synced when it is applied."""
        path = self._workspace.resolve(record.path)
        match record.operation:
            case Operation.DELETE_DIRECTORY:
                _remove_again(self._store, path, record.number)
            case Operation.MOVE_DIRECTORY:
                self._clear_way(path)
                self._move_folder_again(record)
            case Operation.LINK:
                self._link_again(path, record)
            case Operation.MODIFY_DIRECTORY:
                _set_mode(self._store, path, record)
            case _:
                self._finish_opaque(record)

    def _finish_opaque(self, record: ChangeRecord) -> None:
        """Finish the move, deletion or restore of an opaque file or link, whose bytes cannot be compared."""
        path = self._workspace.resolve(record.path)
        leaves = self._workspace.resolve(record.old_path or record.path)
        if record.operation is Operation.CREATE:
            self._bring_back(path, record)
            return
        stat = self._store.stat(leaves)
        is_another = bool(self._journal.records(record.number, key=self._workspace.key(leaves), limit=1))
        if stat is None or stat.type == "directory" or is_another:
            return
        if record.operation is Operation.DELETE and not self._store.trashed(leaves, str(record.number)).is_there():
            self._store.remove(leaves, trash=str(record.number))
        elif record.operation is Operation.MOVE and self._store.stat(path) is None:
            make_parents(self._store, path)
            self._store.move(leaves, path)

    def _find(self, path: WorkspacePath) -> Found:
        try:
            content, _ = self._store.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return Found(None, None)
        except (PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError):
            return Found(None, None, is_taken=True)
        return Found(content, version_of(content))

    def _repair(self, path: WorkspacePath, head: Head, newest: ChangeRecord | None, found: Found) -> None:
        try:
            wanted = None if head.version is None else self._journal.contents.get(head.version)
        except VersionGoneError:
            # Of a file that was only found, nothing but the source of an unfinished move has the bytes.
            old_path = None if newest is None else newest.old_path
            source = Found(None, None) if old_path is None else self._find(self._workspace.resolve(old_path))
            if source.version != head.version:
                _log.error("the bytes of %s are lost; the file on disk is left as it is", path)
                self._adopt(path, head, found)
                return
            wanted = source.content
        if self._is_ours(path, head, found):
            self._put(path, head, found, wanted)
        else:
            _log.warning("%s was changed by another program during a crash; both versions are kept", path)
            self._adopt(path, head, found)

    def _is_ours(self, path: WorkspacePath, head: Head, found: Found) -> bool:
        if found.is_taken:
            return False
        known = self._known(path, head.key)
        if found.version in known or found.content is None:
            return found.version in known
        return is_left_by_power_cut(found.content, self._bytes_of({*known, head.version}))

    def _bytes_of(self, versions: Iterable[str | None]) -> Iterator[bytes]:
        for version in versions:
            if version is not None:
                with suppress(VersionGoneError):
                    yield self._journal.contents.get(version)

    def _known(self, path: WorkspacePath, key: str) -> set[str | None]:
        """Return the versions that filetools itself may have left at a path; None means no file.

        These are the versions since the path was last synced, also from before moves of folders above. While a move replaces
        its destination, the old file is briefly at the source's path, so records of both paths count. Before a move its
        destination was free, or its commit deleted the file there.
        """
        marks = self._journal.marks
        records, keys = marks.unsettled(key), {key}
        for oldest in marks.unfinished("open", 1):
            for former, number in FolderMoves(self._journal, self._workspace.key, oldest.number - 1).former(path):
                keys.add(self._workspace.key(former))
                older = marks.unsettled(self._workspace.key(former))
                records += [record for record in older if record.number < number]
        for move in [record for record in records if record.operation is Operation.MOVE]:
            records += marks.unsettled(self._workspace.key(self._workspace.resolve(move.path)))
        known: set[str | None] = set()
        for record in records:
            known |= {record.after} if record.before_unknown else {record.before, record.after}
            if record.operation is Operation.MOVE and self._workspace.key(self._workspace.resolve(record.path)) in keys:
                known.add(None)
        return known

    def _put(self, path: WorkspacePath, head: Head, found: Found, wanted: bytes | None) -> None:
        # The destination of a move may not have the bytes yet, and those of a large file are kept nowhere else.
        if found.content and found.version and not self._journal.contents.has(found.version):
            self._journal.keep_aside(path, head.key, found.content, SYSTEM)
        if wanted is None:
            with suppress(PathNotFoundError):
                self._store.remove(path).discard()
            return
        make_parents(self._store, path)
        _, displaced = replace_file(self._store, path, wanted, is_new=found.content is None, mode=head.mode)
        if displaced is not None:
            displaced.discard()

    def _adopt(self, path: WorkspacePath, head: Head, found: Found) -> None:
        operation = Operation.DELETE if found.version is None else Operation.MODIFY
        if head.version is None:
            operation = Operation.CREATE
        change = Change(
            operation=operation, path=path, key=head.key, before=head.version, after=found.version,
            content=found.content, size=None if found.content is None else len(found.content), applied=True,
            external=True,
        )  # fmt: skip
        self._journal.commit([change], SYSTEM)

    def _move_file_again(self, record: ChangeRecord) -> None:
        """Rename the file again if possible: unlike writing the content, this keeps extended attributes and the like."""
        assert record.old_path is not None
        source, destination = self._workspace.resolve(record.old_path), self._workspace.resolve(record.path)
        key = self._workspace.key(destination)
        head = self._journal.view(key).head
        if head is None or head.number != record.number:
            return  # written again since: the head's bytes are restored from the contents
        present = self._find(destination).version
        replaceable = present is None or present in self._known(destination, key)
        if self._find(source).version == record.after and replaceable and present != record.after:
            make_parents(self._store, destination)
            displaced = self._store.move(source, destination, overwrite=True)
            if displaced is not None:
                displaced.discard()

    def _bring_back(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Restore the entry that a record takes out of the trash, with everything in it."""
        make_parents(self._store, path)
        for number in self._journal.history.related([record.number], "brings").get(record.number, ()):
            removals = self._journal.history.select(RecordFilter(numbers=(number,)))
            is_whole = any(removal.path == record.path for removal in removals)
            trashed = self._store.trashed(path, str(number))
            if is_whole and self._store.stat(path) is None and trashed.is_there():
                trashed.restore()

    def _move_folder_again(self, record: ChangeRecord) -> None:
        """Move a folder, unless it is already moved; if it is lost, make it at the destination."""
        assert record.old_path is not None
        source, destination = self._workspace.resolve(record.old_path), self._workspace.resolve(record.path)
        make_parents(self._store, destination)
        if _is_folder(self._store, source):
            # A folder made by a failed try may be there again, because its removal was not synced.
            with suppress(PathNotFoundError, PathNotDirectoryError, DirectoryNotEmptyError):
                self._store.remove_empty_directory(destination)
        elif self._store.stat(destination) is not None:
            return
        try:
            self._store.move(source, destination)  # without a source, finishes a move entry by entry
        except PathExistsError:
            return  # made by another program
        except (PathNotFoundError, DirectoryNotFoundError):
            self._store.make_directory(destination)

    def _link_again(self, path: WorkspacePath, record: ChangeRecord) -> None:
        """Make, change or remove a link according to a record, unless another program has changed it."""
        stat = self._store.stat(path)
        if stat is not None:
            is_expected = stat.type == "symlink" and version_of(self._store.read_link(path)) == record.before
            if not is_expected:
                return
            self._store.remove(path).discard()
        if record.after is not None:
            make_parents(self._store, path)
            self._store.make_link(path, self._journal.contents.get(record.after))


def _is_opaque(record: ChangeRecord) -> bool:
    """True if a record of filetools moved, deleted or restored a file or link whose bytes are unknown."""
    arrives_or_goes = record.operation in (Operation.CREATE, Operation.MOVE, Operation.DELETE)
    return arrives_or_goes and record.before_unknown and record.after is None and record.actor.kind != "external"


def _order(record: ChangeRecord) -> tuple[bool, bool, int]:
    """The order in which records are recovered; see the module's docstring."""
    is_of_folder = record.operation in _OF_FOLDERS
    return not is_of_folder, is_of_folder and record.state is not RecordState.PENDING, record.number


def _set_mode(store: Store, path: WorkspacePath, record: ChangeRecord) -> None:
    """Give a folder its record's mode."""
    if record.mode is not None and _is_folder(store, path):
        store.set_mode(path, record.mode, directory=True)


def _remove_again(store: PrimaryStore, path: WorkspacePath, number: int) -> None:
    """Delete a folder, unless it is already deleted."""
    stat = store.stat(path)
    if store.trashed(path, str(number)).is_there() or (stat is not None and stat.type != "directory"):
        return
    with suppress(FileNotFoundError):  # also if it is missing: a removal entry by entry may be half done
        store.remove(path, trash=str(number))


def _is_folder(store: Store, path: WorkspacePath) -> bool:
    stat = store.stat(path)
    return stat is not None and stat.type == "directory"


SECTOR_BYTES: Final = 512
"""The unit that a disk writes atomically."""


def is_left_by_power_cut(found: bytes, versions: Iterable[bytes]) -> bool:
    """True if bytes may be what a power cut leaves of a file: any mixture of sectors of its versions, and zeros.

    Args:
        found: The bytes.
        versions: All contents that the file may have had since it was last synced.
    """
    starts = [start for start in range(0, len(found), SECTOR_BYTES) if found[start : start + SECTOR_BYTES].strip(b"\0")]
    for version in versions:
        if not starts:
            break
        starts = [start for start in starts if not _is_sector_of(found, version, start)]
    return not starts


def _is_sector_of(found: bytes, version: bytes, start: int) -> bool:
    """True if a sector equals that of a version, or a beginning of it followed by zeros."""
    return version[start : start + SECTOR_BYTES].startswith(found[start : start + SECTOR_BYTES].rstrip(b"\0"))
