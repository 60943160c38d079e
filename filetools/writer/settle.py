"""What a dead process left: committed changes are applied, or found applied, before a turn does anything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from filetools.errors import FileToolsError, VersionGoneError
from filetools.journal.core.contents import digest_of
from filetools.journal.core.log import LogDraft, LogRecord
from filetools.journal.core.tree_rows import TreeRow
from filetools.models.records import Operation
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat
from filetools.tree.observe import Observation
from filetools.writer.state import WriterState


def settle(state: WriterState, *, after_power_cut: bool = False) -> list[LogRecord]:
    """Finish what is committed and not marked. The caller holds the root's lock.

    The disk has the old state: the change is applied again. It has the new one: it is marked. It has an empty file, or a
    part of the bytes padded with zeros, as after a power cut: they are written again. Anything else was saved by another
    program since: it stays, is recorded, and its bytes are kept.

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
        rows = state.rows.unapplied()
        if after_power_cut:
            known = {row.key for row in rows}
            rows += [row for row in state.rows.unsynced() if row.key not in known]
            rows.sort(key=lambda row: (row.number, row.key))
        found = [_Left(row, state.log.record_inside(state.database.write, row.number), after_power_cut) for row in rows]
        for left in found:
            if left.record is not None:
                _finish(state, left, left.record)
        _keep_displaced(state, found, draft)
        for row in rows:
            stat = _stat(state, row)
            is_same = row.is_there and stat is not None and stat.type == row.kind
            # Of a file that has other bytes, only the hash counts: the look below reads it.
            identity = stat.identity if is_same and stat is not None and _has_bytes(state, row) else None
            state.rows.put((structs.replace(row, applied=True, identity=identity, temporary=None),))
        Observation(state.means(draft)).named([WorkspacePath(row.path) for row in rows if row.path])
        state.rows.note_applied(state.log.newest_inside())
    return draft.records


class _Left(NamedTuple):
    """A change that may not be on the disk."""

    row: TreeRow
    record: LogRecord | None
    after_power_cut: bool

    def is_like(self, stat: FileStat) -> bool:
        """Whether a file is the one that the row tells of. After a power cut its facts say nothing of its bytes."""
        identity = self.row.identity
        return not self.after_power_cut and identity is not None and identity[1:4] == stat.identity[1:4]


def _keep_displaced(state: WriterState, found: Sequence[_Left], draft: LogDraft) -> None:
    """Keep and record what another program had saved just before the exchange, and what came out with it."""
    temporary = {left.row.temporary: left for left in found if left.row.temporary is not None}
    for displaced in state.store.leftovers() if temporary else ():
        left = temporary.get(displaced.temporary)
        if left is None or left.record is None or displaced.stat.type != "file":
            continue
        content, row = displaced.read(), left.row
        digest = digest_of(content)
        if digest not in (row.version, left.record.before):
            state.contents.keep(digest, content)
            place = (row.path, row.key, row.file)
            draft.add(Operation.MODIFY, *place, origin="displaced", before=row.version, after=digest, size=len(content))
            draft.add(
                Operation.MODIFY, *place, actor=left.record.actor, origin="call", before=digest, after=row.version
            )
        displaced.discard()


def _finish(state: WriterState, left: _Left, record: LogRecord) -> None:
    row = left.row
    path, stat = WorkspacePath(row.path), _stat(state, row)
    try:
        if row.kind == "absent":
            _finish_removal(state, left, record, stat)
        elif record.kind in (Operation.MOVE, Operation.MOVE_DIRECTORY):
            _finish_move(state, row, record, stat)
        elif row.kind == "directory":
            if stat is None:
                state.store.make_directory(path)
            if row.mode is not None and (stat is None or stat.type == "directory"):
                state.store.set_directory_mode(path, row.mode)
        elif row.kind == "symlink":
            if stat is None and row.version is not None:
                state.store.make_link(path, state.contents.read_inside(row.version))
        elif row.kind == "file":
            _finish_put(state, left, record, stat)
    except VersionGoneError:  # damaged, or let go of: what the disk has is what there is
        return


def _finish_removal(state: WriterState, left: _Left, record: LogRecord, stat: FileStat | None) -> None:
    row, path = left.row, WorkspacePath(left.row.path)
    if record.old_path is not None:
        return  # its move is finished at the other end
    if stat is None:
        _empty_trash(state, left, record)
    elif stat.type == "directory" and record.kind == Operation.DELETE_DIRECTORY:
        if left.after_power_cut or (row.identity is not None and row.identity[1] == stat.inode):
            _remove_folder(state, row, record)
    elif (stat.type == "file" and (left.is_like(stat) or _digest(state, path) == record.before)) or (
        stat.type == "symlink"
        and record.kind == Operation.LINK
        and digest_of(state.store.read_link(path)) == record.before
    ):
        state.store.remove(path).discard()


def _is_what_went(state: WriterState, path: WorkspacePath, kind: EntryType, removed: LogRecord) -> bool:
    return kind == "symlink" or (kind == "file" and _digest(state, path) == removed.before)


def _empty_trash(state: WriterState, left: _Left, record: LogRecord) -> None:
    """Remove for good what was taken out of its place, unless there are bytes in it that nobody keeps."""
    path, trash = WorkspacePath(left.row.path), f"{record.number}"
    if not state.store.has_trash(path, trash):
        return
    for relative, stat in state.store.trashed(path, trash):
        if stat.type == "file":
            content = state.store.read_trashed(path, trash, relative)
            state.contents.keep(digest_of(content), content)
    state.store.empty_trash(trash)


def _remove_folder(state: WriterState, row: TreeRow, record: LogRecord) -> None:
    """Remove a folder again, but what other programs have put into it since stays."""
    gone = {
        each.path: each
        for each in state.log.batch_inside(state.database.write, record.batch)
        if each.path.startswith(f"{row.path}/")
    }
    folders = []
    pending = [WorkspacePath(row.path)]
    while pending:
        folder = pending.pop()
        folders.append(folder)
        for entry in state.store.scan(folder):
            path = folder.child(entry.name)
            removed = gone.get(path)
            if entry.type == "directory":
                pending.append(path)
            elif removed is not None and _is_what_went(state, path, entry.type, removed):
                state.store.remove(path).discard()
    for folder in reversed(folders):
        try:
            state.store.remove_empty_directory(folder)
        except FileToolsError:
            continue  # something is in it that is not ours to remove


def _finish_move(state: WriterState, row: TreeRow, record: LogRecord, stat: FileStat | None) -> None:
    if stat is not None or record.old_path is None or row.identity is None:
        return
    source = WorkspacePath(record.old_path)
    old = state.store.stat(source)
    if old is not None and old.inode == row.identity[1]:
        state.store.move(source, WorkspacePath(row.path))


def _finish_put(state: WriterState, left: _Left, record: LogRecord, stat: FileStat | None) -> None:
    row, path = left.row, WorkspacePath(left.row.path)
    assert row.version is not None
    if stat is None:
        if record.before is None or left.after_power_cut:  # else another program has removed it
            _write(state, row, new=True)
        return
    if stat.type != "file" or left.is_like(stat):
        return
    found, _ = state.store.read(path)
    digest = digest_of(found)
    if digest == row.version:
        return
    content = state.contents.read_inside(row.version)
    if digest == record.before or is_torn(found, content):
        _write(state, row, new=False)


def _write(state: WriterState, row: TreeRow, *, new: bool) -> None:
    assert row.version is not None
    path, content = WorkspacePath(row.path), state.contents.read_inside(row.version)
    if new and state.store.stat(path.parent) is None:
        return  # its folder is gone, and the file with it
    prepared = state.store.prepare(path, content, new=new, mode=row.mode)
    try:
        displaced = prepared.exchange()
    finally:
        prepared.discard()
    if displaced is not None:
        displaced.discard()


def is_torn(found: bytes, content: bytes) -> bool:
    """Whether a power cut made this of a file: a part from its start, then zeros or nothing."""
    length = len(found.rstrip(b"\0"))
    return len(found) <= len(content) and found != content and found[:length] == content[:length]


def _has_bytes(state: WriterState, row: TreeRow) -> bool:
    return row.kind != "file" or _digest(state, WorkspacePath(row.path)) == row.version


def _digest(state: WriterState, path: WorkspacePath) -> bytes | None:
    try:
        return digest_of(state.store.read(path)[0])
    except FileToolsError:
        return None


def _stat(state: WriterState, row: TreeRow) -> FileStat | None:
    return state.store.stat(WorkspacePath(row.path))
