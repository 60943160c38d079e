"""What a dead process left: committed changes are applied, or found applied, before a turn does anything else.

The rows say what is to be at each path, and the contents have its bytes. The records of the same calls say what may be there
instead, because the process died on the way: only that is replaced. Anything else was saved by another program since.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from msgspec import structs

from filetools.errors import (
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileBusyError,
    FileToolsError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
    VersionGoneError,
)
from filetools.journal.birth import boot_id
from filetools.journal.contents import hash_of
from filetools.journal.core.log import LogDraft, LogRecord
from filetools.journal.core.tree_rows import Identity, TreeRow
from filetools.models.records import SYSTEM, Operation
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.stores.store import Displaced, FileStat
from filetools.tree.observe import Observation
from filetools.tree.reading import settled_identity
from filetools.writer.displaced import empty_trash, enter_displaced, is_recorded
from filetools.writer.state import WriterState

_OVERTAKEN: Final = (
    ChangedMeanwhileError, DirectoryNotEmptyError, DirectoryNotFoundError, FileBusyError, NotRegularFileError,
    PathExistsError, PathIsDirectoryError, PathNotDirectoryError, PathNotFoundError, SymlinkNotAllowedError, VersionGoneError,
)  # fmt: skip
"""Errors that say that another program has been there since, or that bytes are damaged: what the disk has is what there is."""
_SECTOR_BYTES: Final = 512
_MOVES: Final = (Operation.MOVE, Operation.MOVE_DIRECTORY)
_REMOVALS: Final = (Operation.DELETE, Operation.DELETE_DIRECTORY, Operation.LINK)


def settle_at_opening(state: WriterState) -> list[LogRecord]:
    """Settle in the first turn of a process: after a new start of the machine with all that was not synced.

    See `settle`, which raises the same.
    """
    _follow_device(state)
    boot = boot_id()
    known = state.database.rows("SELECT value FROM meta WHERE name = 'settled_boot'")
    if known and known[0][0] == boot:
        return settle(state)
    with state.transaction(durable=True) as draft:
        _settle(state, draft, after_power_cut=bool(known))
        state.database.connection.execute("INSERT OR REPLACE INTO meta VALUES ('settled_boot', ?)", (boot,))
    return draft.records


def _follow_device(state: WriterState) -> None:
    """Give the rows the number that the root's device has now: many are numbered anew by each mount."""
    own, _ = state.store.look_into(ROOT, ())
    found = state.database.rows("SELECT device FROM tree WHERE key = ''")
    if found and found[0][0] != own.device:
        with state.transaction():
            state.rows.move_device(found[0][0], own.device)


def settle(state: WriterState, *, after_power_cut: bool = False) -> list[LogRecord]:
    """Finish what is committed and not marked. The caller holds the root's lock.

    The disk has the old state, or half of the new one: the change is applied again. It has the new one: it is marked. It has
    an empty file, or a part of the bytes padded with zeros, as after a power cut: they are written again. Anything else was
    saved by another program since: it stays, is recorded, and its bytes are kept.

    Args:
        state: The disk and the database.
        after_power_cut: Whether the machine has started again since: then all that was not synced is compared, too.

    Returns:
        Records of what other programs did.

    Raises:
        DiskFullError, AccessDeniedError, StorageFailedError: A change cannot be applied now; nothing is lost.
    """
    if not after_power_cut and not state.rows.unapplied():
        return []
    with state.transaction() as draft:
        _settle(state, draft, after_power_cut=after_power_cut)
    return draft.records


def _settle(state: WriterState, draft: LogDraft, *, after_power_cut: bool) -> None:
    rows = state.rows.unapplied()
    if after_power_cut:
        known = {row.key for row in rows}
        rows += [row for row in state.rows.unsynced() if row.key not in known]
    if not rows:
        return
    left = _Unfinished(state, draft, rows, after_power_cut=after_power_cut)
    for record in left.records:
        try:
            left.redo(record)
        except _OVERTAKEN:
            continue
    for row in sorted(rows, key=lambda row: row.key):
        try:
            left.finish(row)
        except _OVERTAKEN:
            continue
    left.keep_displaced()
    # The numbers may have changed when displaced bytes were recorded.
    state.rows.put([left.marked(state.rows.get(row.key) or row) for row in rows])
    paths = {row.path for row in rows} | {path for each in left.records for path in (each.path, each.old_path) if path}
    observation = Observation(state.observation_context(draft))
    observation.named(sorted(WorkspacePath(path) for path in paths if path))
    observation.below(left.folders_that_stayed())
    state.rows.note_applied(state.log.newest_inside())


class _Unfinished:
    """Calls that may not be on the disk, or half of them. Lives for one settling."""

    def __init__(self, state: WriterState, draft: LogDraft, rows: Sequence[TreeRow], *, after_power_cut: bool) -> None:
        self._state = state
        self._draft = draft
        self._rows = rows
        self._after_power_cut = after_power_cut
        connection, oldest = state.database.connection, min(row.number for row in rows)
        first = state.log.record_inside(connection, oldest)
        begin = oldest if first is None else first.batch
        if after_power_cut:
            begin = min(begin, state.rows.synced_up_to() + 1)
        keys = {row.key for row in rows}
        self.records = [
            record for record in state.log.since_inside(connection, begin)
            if record.origin == "call" or (after_power_cut and (record.key in keys or record.old_key in keys))
        ]  # fmt: skip
        """Of these calls, oldest first; after a power cut of all changes of these paths."""
        self._by_file = {row.file: row for row in rows}
        self._removed = {record.key for record in self.records if record.kind == Operation.DELETE_DIRECTORY}
        self._made = {record.file for record in self.records if record.kind in (Operation.CREATE, Operation.MODIFY)}
        self._digests: dict[str | int, set[bytes]] = defaultdict(set)
        """What was at each path, and in each file, one after the other."""
        for record in self.records:
            for place in (record.key, record.old_key, record.file):
                if place is not None:
                    self._digests[place] |= _digests_of(record)
        # What a row said between two syncs is in no row any more.
        files = {row.file for row in rows} | {record.file for record in self.records}
        for file in files if after_power_cut else ():
            for record in state.log.of_file(file):
                self._digests[file] |= _digests_of(record)

    # -- one after the other -----------------------------------------------------------------------------------------

    def redo(self, record: LogRecord) -> None:
        """Do what makes room or moves, if it is still to be done; `finish` does the rest."""
        row = self._state.rows.get(record.key)
        if record.kind in _MOVES:
            self._redo_move(record)
        elif row is None:
            return  # it has moved since, with the folder that it is in
        elif record.kind in _REMOVALS and record.after is None:
            self._redo_removal(record, row)
        elif record.kind == Operation.CREATE_DIRECTORY and row.kind == "directory":
            self.finish(row)  # before what moves into it

    def _redo_move(self, record: LogRecord) -> None:
        store, rows = self._state.store, self._state.rows
        assert record.old_path is not None
        assert record.old_key is not None
        source, target = WorkspacePath(record.old_path), WorkspacePath(record.path)
        stat, there = store.stat(source), rows.get(record.old_key)
        if stat is None or (there is not None and self._is_made_later(there, stat)):
            return
        if record.key != record.old_key and store.stat(target) is not None:
            return
        mover = self._by_file.get(record.file)
        is_ours = (
            (mover is not None and (mover.identity is None or mover.identity[1] == stat.inode))
            or (stat.type == "directory" and self._after_power_cut)
            or self._is_known(source, stat, record.file, record.old_key)
        )
        if is_ours:
            store.move(source, target)

    def _redo_removal(self, record: LogRecord, row: TreeRow) -> None:
        path = WorkspacePath(row.path)
        stat = self._state.store.stat(path)
        if stat is None or self._is_made_later(row, stat):
            return
        if stat.type == "directory":
            is_same = row.is_there or row.identity is None or row.identity[1] == stat.inode
            if record.kind == Operation.DELETE_DIRECTORY and is_same:
                self._state.store.remove_empty_directory(path)  # what another program has put into it stays
                self._removed.discard(row.key)  # a new folder may be given its inode
        elif self._is_like(row, stat) or self._is_known(path, stat, row.key, record.file):
            self._discard(row, self._state.store.remove(path))

    # -- all that is to be there in the end --------------------------------------------------------------------------

    def finish(self, row: TreeRow) -> None:
        """Give a path what its row says."""
        if not row.is_there:
            return
        store, path = self._state.store, WorkspacePath(row.path)
        stat = store.stat(path)
        if row.kind == "directory":
            if stat is None:
                store.make_directory(path)
            if row.mode is not None and (stat is None or (stat.type == "directory" and stat.mode != row.mode)):
                store.set_directory_mode(path, row.mode)
        elif row.version is None or (stat is not None and self._is_final(row, stat)):
            return
        elif stat is None:
            if self._may_be_missing(row):
                self._write(row, new=True)
        elif stat.type != "directory" and self._is_known(path, stat, row.key, row.file):
            self._write(row, new=False)

    def _may_be_missing(self, row: TreeRow) -> bool:
        """Whether a file may be missing without another program having removed it."""
        record = self._state.log.record_inside(self._state.database.connection, row.number)
        if self._after_power_cut or row.kind == "symlink" or record is None:
            return True
        return record.before is None or (record.kind in _MOVES and row.file in self._made)

    def _write(self, row: TreeRow, *, new: bool) -> None:
        assert row.version is not None
        store, path = self._state.store, WorkspacePath(row.path)
        content = self._state.contents.get_inside(row.version)
        if row.kind == "symlink":
            if not new:
                self._discard(row, store.remove(path))
            store.make_link(path, content)
            return
        prepared = store.prepare(path, content, new=new, mode=row.mode)
        try:
            self._discard(row, prepared.exchange())
        finally:
            prepared.discard()

    def keep_displaced(self) -> None:
        """Keep and record what another program had saved just before an exchange, and remove what came out with it."""
        state = self._state
        temporary = {row.temporary: row for row in self._rows if row.temporary is not None}
        for displaced in state.store.leftovers() if temporary else ():
            row = temporary.get(displaced.temporary)
            if row is not None:
                self._discard(row, displaced)
        for record in self.records:
            if record.kind in _REMOVALS and state.store.has_trash(WorkspacePath(record.path), f"{record.number}"):
                empty_trash(state, self._draft, record)

    def folders_that_stayed(self) -> list[WorkspacePath]:
        """Return the folders that were to be removed, and into which another program has put something."""
        removed = [WorkspacePath(record.path) for record in self.records if record.kind == Operation.DELETE_DIRECTORY]
        stats = [(path, self._state.store.stat(path)) for path in removed]
        return [path for path, stat in stats if stat is not None and stat.type == "directory"]

    def _discard(self, row: TreeRow, displaced: Displaced | None) -> None:
        """Remove what came out for good; bytes that nobody had seen are kept."""
        if displaced is None:
            return
        if displaced.stat.type == "file":
            content = displaced.read()
            is_ours = self._is_one_of(content, row.key, row.file) or is_recorded(
                self._state, row.file, hash_of(content)
            )
            if not is_ours:
                record = self._state.log.record_inside(self._state.database.connection, row.number)
                actor = SYSTEM if record is None else record.actor
                enter_displaced(self._state, self._draft, row, content, actor, displaced.stat.mode)
        displaced.discard()

    def marked(self, row: TreeRow) -> TreeRow:
        """Return a row as it is now; one that is not as it should be has no identity, so that the next look compares it."""
        taken_ns, identity = time.time_ns(), None
        stat = self._state.store.stat(WorkspacePath(row.path)) if row.is_there else None
        if stat is not None and (self._is_final(row, stat) or stat.type == row.kind == "directory"):
            identity = stat.identity
            if row.kind == "file":
                identity = settled_identity(stat, taken_ns, self._state.store.tick_ns)
        return structs.replace(row, applied=True, identity=identity)

    def _is_made_later(self, row: TreeRow, stat: FileStat) -> bool:
        """Whether something is what a path has in the end, though perhaps torn, and not what was moved or removed before."""
        is_its_file = row.is_there and stat.type == "file" and self._has_inode(row.identity, stat)
        return is_its_file or (row.is_there and self._is_final(row, stat))

    # -- what is there -----------------------------------------------------------------------------------------------

    def _is_final(self, row: TreeRow, stat: FileStat) -> bool:
        """Whether something is what the row of its path says."""
        if stat.type != row.kind:
            return False
        if row.kind == "directory":
            # One that was removed and made again: the row has the identity of the first until it is applied.
            is_known = row.identity is not None and row.identity[1] == stat.inode
            return row.key not in self._removed or is_known == row.applied
        if self._is_like(row, stat) or row.version is None:
            return row.version is not None or self._has_inode(row.identity, stat)
        return self._digest(WorkspacePath(row.path), stat) == row.version

    def _is_like(self, row: TreeRow, stat: FileStat) -> bool:
        """Whether a file is the one that the row tells of. After a power cut its facts say nothing of its bytes."""
        return (
            stat.type == "file" and not self._after_power_cut and row.identity is not None
            and row.identity[1:4] == stat.identity[1:4]
        )  # fmt: skip

    def _has_inode(self, identity: Identity | None, stat: FileStat) -> bool:
        return identity is not None and identity[1] == stat.inode

    def _is_known(self, path: WorkspacePath, stat: FileStat, *places: str | int) -> bool:
        """Whether the bytes of a file, or the target of a link, are some that were at a path, or in a file, before."""
        if stat.type == "symlink":
            return any(self._digest(path, stat) in self._digests[place] for place in places)
        try:
            return stat.type == "file" and self._is_one_of(self._state.store.read(path)[0], *places)
        except FileToolsError:
            return False

    def _is_one_of(self, content: bytes, *places: str | int) -> bool:
        digests = {digest for place in places for digest in self._digests[place]}
        return hash_of(content) in digests or (self._after_power_cut and self._is_torn(content, digests))

    def _is_torn(self, content: bytes, digests: set[bytes]) -> bool:
        for digest in digests:
            try:
                if is_torn(content, self._state.contents.get_inside(digest)):
                    return True
            except VersionGoneError:
                continue
        return not content.strip(b"\0")

    def _digest(self, path: WorkspacePath, stat: FileStat) -> bytes | None:
        store = self._state.store
        try:
            return hash_of(store.read_link(path) if stat.type == "symlink" else store.read(path)[0])
        except FileToolsError:
            return None


def _digests_of(record: LogRecord) -> set[bytes]:
    return {each for each in (record.before, record.after) if each is not None}


def is_torn(found: bytes, content: bytes) -> bool:
    """Whether a power cut made this of a file: some of its sectors, and zeros or nothing for the rest."""
    starts = range(0, len(found), _SECTOR_BYTES)
    parts = ((found[start : start + _SECTOR_BYTES], content[start : start + _SECTOR_BYTES]) for start in starts)
    return all(wanted.startswith(part.rstrip(b"\0")) for part, wanted in parts)
