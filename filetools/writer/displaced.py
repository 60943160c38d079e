"""Bytes that came out of their place and that nobody had seen: they become versions of their path."""

from __future__ import annotations

from msgspec import structs

from filetools.journal.contents import hash_of
from filetools.journal.core.log import LogDraft, LogRecord
from filetools.journal.core.tree_rows import TreeRow
from filetools.models.records import Actor, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat
from filetools.tree.moves import new_file_id
from filetools.writer.state import WriterState


def enter_displaced(
    state: WriterState, draft: LogDraft, row: TreeRow, content: bytes, actor: Actor, mode: int | None = None
) -> None:
    """Keep and record what another program had written to a path, and what is there now on top of it again.

    Args:
        state: The disk and the database, inside a transaction.
        draft: Gets the two records.
        row: Of the path, as it is now or was before.
        content: What came out.
        actor: Who displaced it.
        mode: Permission bits of what came out.
    """
    row = state.rows.get(row.key) or structs.replace(row, kind="absent", identity=None)
    digest, place = hash_of(content), (row.path, row.key, row.file)
    state.contents.keep_inside(digest, content)
    ours = row.version if row.is_there else None
    draft.add(
        Operation.MODIFY if row.is_there else Operation.CREATE, *place, origin="displaced", before=ours, after=digest,
        size=len(content), mode=mode,
    )  # fmt: skip
    kind = {"absent": Operation.DELETE, "symlink": Operation.LINK}.get(row.kind, Operation.MODIFY)
    again = draft.add(kind, *place, actor=actor, origin="displaced", before=digest, after=ours, mode=row.mode)
    state.rows.put((structs.replace(row, number=again.number),))


def is_recorded(state: WriterState, file: int, digest: bytes) -> bool:
    """Whether a content is kept, and a record of a file tells of it."""
    query = "SELECT 1 FROM contents, log WHERE hash = ?1 AND file = ?2 AND (before = ?1 OR after = ?1) LIMIT 1"
    return state.database.connection.execute(query, (digest, file)).fetchone() is not None


def empty_trash(state: WriterState, draft: LogDraft, record: LogRecord) -> None:
    """Remove for good what a removal took out of its place, and keep the bytes in it that nobody had seen.

    Args:
        state: The disk and the database, inside a transaction.
        draft: Gets records of those bytes.
        record: Of the removal.
    """
    top, trash = WorkspacePath(record.path), f"{record.number}"
    removed = {(each.path, each.before) for each in state.log.batch_inside(state.database.connection, record.batch)}
    for relative, stat in state.store.trashed(top, trash):
        path = top if not relative else WorkspacePath(f"{top}/{relative}")
        row = state.rows.at(path)
        if stat.type == "file" and not _is_like(row, stat):
            content = state.store.read_trashed(top, trash, relative)
            row = row or TreeRow(key=state.rows.key_of(path), path=path, kind="absent", file=new_file_id())
            digest = hash_of(content)
            if (path, digest) not in removed and not is_recorded(state, row.file, digest):
                enter_displaced(state, draft, row, content, record.actor, stat.mode)
    state.store.empty_trash(trash)


def _is_like(row: TreeRow | None, stat: FileStat) -> bool:
    """Whether a file is the one that was removed: a rename keeps its inode, size and mtime."""
    return row is not None and row.identity is not None and row.identity[1:4] == stat.identity[1:4]
