"""One operation on its way to the disk: prepared, entered into the database, applied, set back if it must be."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import structs

from filetools.errors import FileToolsError, PathExistsError, PathNotFoundError
from filetools.journal.contents import hash_of
from filetools.journal.core.log import LogDraft, LogRecord, Origin
from filetools.journal.core.tree_rows import Identity, TreeRow
from filetools.models.records import Actor, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced, FileStat, Prepared
from filetools.tree.moves import new_file_id
from filetools.tree.reading import UNSETTLED, settled_identity
from filetools.writer.operations import Link, MakeFolder, Move, Put, Remove, RemoveFolder, TreeOperation
from filetools.writer.state import WriterState


class OperationStep:
    """One operation of a decided call. Lives for one turn, or until what it displaced is tidied away."""

    def __init__(self, state: WriterState, operation: TreeOperation) -> None:
        self._state = state
        self.operation = operation
        self.former: list[TreeRow] = []
        """Rows as they were before, those that did not exist as absent ones."""
        self.records: list[LogRecord] = []
        self._prepared: Prepared | None = None
        self._made: FileStat | None = None
        self.displaced: Displaced | None = None
        self.is_applied = False
        self._was_looked_into = False
        """Whether bytes in what came out that nobody had seen were found."""
        self.is_marked = False
        """Whether the database says that it is applied, and knows what came out."""

    def prepare(self, *, is_new: bool, within: WorkspacePath | None, now_at: WorkspacePath | None) -> None:
        """Do whatever can fail for space or rights.

        Args:
            is_new: Whether nothing will be at the path when the operation is applied.
            within: The nearest folder above a new file that exists, if its parent is yet to be made.
            now_at: Where the file is now, if an earlier operation moves it.
        """
        operation = self.operation
        if not isinstance(operation, Put):
            return
        self._prepared = self._state.store.prepare(
            operation.path, operation.content, new=is_new, mode=operation.mode, within=within, now_at=now_at
        )
        self._made = self._prepared.stat

    # -- the database ------------------------------------------------------------------------------------------------

    def enter(self, draft: LogDraft, actor: Actor, batch: int | None) -> None:
        """Write records and rows, as if the operation were applied; inside the transaction."""
        match self.operation:
            case Put():
                self._enter_put(self.operation, draft, actor, batch)
            case Link():
                self._enter_link(self.operation, draft, actor, batch)
            case Remove(path=path):
                self._enter_removal(self._row(path), draft, actor, batch)
            case RemoveFolder(path=path):
                row = self._row(path)
                for below in reversed(self._state.rows.below(row.key)):
                    self._enter_removal(below, draft, actor, self._batch(batch), applied=True)
                self._enter_removal(row, draft, actor, self._batch(batch))
            case Move():
                self._enter_move(self.operation, draft, actor, batch)
            case MakeFolder():
                self._enter_folder(self.operation, draft, actor, batch)

    def _batch(self, batch: int | None) -> int | None:
        return self.records[0].batch if batch is None and self.records else batch

    def _row(self, path: WorkspacePath) -> TreeRow:
        key = self._state.rows.key_of(path)
        row = self._state.rows.get(key)
        return row if row is not None else TreeRow(key=key, path=path, kind="absent", file=new_file_id())

    def _enter_put(self, put: Put, draft: LogDraft, actor: Actor, batch: int | None) -> None:
        assert self._prepared is not None
        row, digest, made = self._row(put.path), hash_of(put.content), self._prepared.stat
        self._state.contents.keep_inside(digest, put.content)
        record = draft.add(
            Operation.MODIFY if row.is_there else Operation.CREATE, put.path, row.key, row.file, actor=actor, batch=batch,
            origin="call", before=row.version if row.is_there else None, after=digest, size=len(put.content), mode=made.mode,
            undoes=put.undoes,
        )  # fmt: skip
        self._note(row, record)
        new = structs.replace(
            row, path=put.path, kind="file", version=digest, mode=made.mode, identity=(*made.identity[:4], UNSETTLED),
            number=record.number, applied=False, synced=False, temporary=self._prepared.temporary or None,
        )  # fmt: skip
        self._state.rows.put((new,))

    def _enter_link(self, link: Link, draft: LogDraft, actor: Actor, batch: int | None) -> None:
        row, digest = self._row(link.path), hash_of(link.target)
        self._state.contents.keep_inside(digest, link.target)
        before = row.version if row.is_there else None
        record = draft.add(
            Operation.LINK, link.path, row.key, row.file, actor=actor, batch=batch, origin="call", before=before,
            after=digest, undoes=link.undoes,
        )  # fmt: skip
        self._note(row, record)
        new = structs.replace(
            row, path=link.path, kind="symlink", version=digest, identity=None, number=record.number, applied=False,
            synced=False,
        )  # fmt: skip
        self._state.rows.put((new,))

    def _enter_removal(
        self, row: TreeRow, draft: LogDraft, actor: Actor, batch: int | None, *, applied: bool = False
    ) -> None:
        kinds = {"directory": Operation.DELETE_DIRECTORY, "symlink": Operation.LINK}
        record = draft.add(
            kinds.get(row.kind, Operation.DELETE), row.path, row.key, row.file, actor=actor, batch=batch, origin="call",
            before=row.version, mode=row.mode, undoes=self.operation.undoes,
        )  # fmt: skip
        self._note(row, record)
        # The identity stays until the removal is applied: after a crash it tells what was to be removed.
        identity = None if applied else row.identity
        gone = structs.replace(
            row, kind="absent", identity=identity, number=record.number, applied=applied, synced=False
        )
        self._state.rows.put((gone,))

    def _enter_move(self, move: Move, draft: LogDraft, actor: Actor, batch: int | None) -> None:
        row, target = self._row(move.path), self._row(move.to)
        kind = Operation.MOVE_DIRECTORY if row.kind == "directory" else Operation.MOVE
        record = draft.add(
            kind, move.to, target.key, row.file, actor=actor, batch=batch, origin="call", old=(row.path, row.key),
            before=row.version, after=row.version, size=None if row.identity is None else row.identity[2], mode=row.mode,
            undoes=move.undoes,
        )  # fmt: skip
        self._note(row, record)
        if target.key != row.key:
            self.former.append(target)
        if row.kind == "directory":
            self._state.rows.move_below(row, move.to)
        left = structs.replace(
            row, kind="absent", identity=None, file=new_file_id(), number=record.number, synced=False, temporary=None
        )
        arrived = structs.replace(row, key=target.key, path=move.to, number=record.number, applied=False, synced=False)
        # In this order: a rename that changes only the spelling has one key.
        self._state.rows.put((left, arrived))

    def _enter_folder(self, folder: MakeFolder, draft: LogDraft, actor: Actor, batch: int | None) -> None:
        row = self._row(folder.path)
        record = draft.add(
            Operation.MODIFY_DIRECTORY if row.is_there else Operation.CREATE_DIRECTORY, folder.path, row.key, row.file,
            actor=actor, batch=batch, origin="call", mode=folder.mode, undoes=folder.undoes,
        )  # fmt: skip
        self._note(row, record)
        new = structs.replace(
            row, path=folder.path, kind="directory", version=None, mode=folder.mode, number=record.number, applied=False,
            synced=False,
        )  # fmt: skip
        self._state.rows.put((new,))

    def _note(self, row: TreeRow, record: LogRecord) -> None:
        self.former.append(row)
        self.records.append(record)

    # -- the disk ----------------------------------------------------------------------------------------------------

    def apply(self) -> None:
        """Change the disk, in one atomic step.

        Raises:
            FileToolsError: Nothing was changed: another program has been there since it was looked at, or the disk failed.
        """
        store, operation = self._state.store, self.operation
        match operation:
            case Put():
                assert self._prepared is not None
                self.displaced = self._prepared.exchange()
            case Link(path=path, target=target):
                if self.former[0].is_there:
                    self.displaced = store.remove(path, self.trash)
                store.make_link(path, target)
            case RemoveFolder(path=path) if len(self.former) == 1:
                store.remove_empty_directory(path)  # refused if a program has put something into it
            case Remove(path=path) | RemoveFolder(path=path):
                self.displaced = store.remove(path, self.trash)
            case Move(path=path, to=to):
                store.move(path, to)
            case MakeFolder(path=path, mode=mode):
                is_new = store.make_directory(path)
                if is_new == self.former[0].is_there:
                    raise PathExistsError(path) if not is_new else PathNotFoundError(path)
                self.is_applied = True  # also if the mode cannot be set
                if mode is not None:
                    store.set_directory_mode(path, mode)
        self.is_applied = True

    def reverse(self) -> None:
        """Undo `apply`, as far as other programs let us; what stays otherwise is found by the next look."""
        if not self.is_applied:
            self._put_back_half()
            return
        self.is_applied = False
        store, operation = self._state.store, self.operation
        match operation:
            case Put(path=path) | Link(path=path):
                if self.displaced is not None:
                    self.displaced.put_back()
                else:
                    self.displaced = store.remove(path)
                    if self._is_strangers(self.displaced):
                        self.displaced.put_back()
            case Remove() | RemoveFolder():
                if self.displaced is not None:
                    self.displaced.put_back()
                else:
                    store.make_directory(operation.path, self.former[0].mode or 0o777)
            case Move(path=path, to=to):
                store.move(to, path)
            case MakeFolder(path=path):
                if not self.former[0].is_there:
                    store.remove_empty_directory(path)
                elif self.former[0].mode is not None:
                    store.set_directory_mode(path, self.former[0].mode)

    def _is_strangers(self, displaced: Displaced) -> bool:
        """Whether what came out of a path is not what this step had put there."""
        if self._made is None:
            return displaced.stat.type != "symlink"
        return self._made.identity[1:4] != displaced.stat.identity[1:4]

    def _put_back_half(self) -> None:
        if isinstance(self.operation, Link) and self.displaced is not None:
            self.displaced.put_back()

    def enter_reversal(self, draft: LogDraft, actor: Actor, origin: Origin = "set_back") -> None:
        """Write the records that take this step back, and the rows as they were; inside the second transaction."""
        if isinstance(self.operation, Move) and self.former[0].kind == "directory":
            moved = self._state.rows.at(self.operation.to)
            if moved is not None:
                self._state.rows.move_below(moved, WorkspacePath(self.former[0].path))
        back: dict[str, TreeRow] = {row.key: row for row in reversed(self.former)}
        for record in reversed(self.records):
            old = None if record.old_path is None or record.old_key is None else (record.path, record.key)
            place = (record.path, record.key) if record.old_path is None else (record.old_path, record.old_key or "")
            former = back[place[1]]
            made = draft.add(
                _INVERSES.get(record.kind, record.kind), *place, former.file, actor=actor, origin=origin, old=old,
                before=record.after, after=record.before, mode=former.mode, undoes=record.number,
                size=None if former.identity is None else former.identity[2],
            )  # fmt: skip
            back[place[1]] = structs.replace(former, number=made.number, synced=False)
        self._state.rows.put(back.values())

    # -- afterwards --------------------------------------------------------------------------------------------------

    def marked_rows(self) -> list[TreeRow]:
        """Return the rows of an applied step with the identities that the disk gave them."""
        marked = []
        for path in _changed_paths(self.operation):
            row = self._state.rows.at(path)
            if row is None or row.applied:
                continue
            identity = row.identity
            if row.is_there:
                identity = self._identity(path, row)
            identity = identity if row.is_there else None
            marked.append(structs.replace(row, identity=identity, applied=True))
        return marked

    def _identity(self, path: WorkspacePath, row: TreeRow) -> Identity | None:
        taken_ns = time.time_ns()
        try:
            stat = self._state.store.stat(path)
        except FileToolsError:
            if row.kind == "directory":
                raise  # without its inode it would be taken for another one; settling asks again
            return row.identity
        if stat is None or stat.type != row.kind:
            return row.identity  # another program was quicker: the next look sees the difference
        if row.identity is not None and row.kind == "file" and row.identity[1:4] != stat.identity[1:4]:
            return row.identity
        if isinstance(self.operation, Move) and self.former[0].identity is not None:
            was_settled = self.former[0].identity[4] != UNSETTLED
            return stat.identity if was_settled else (*stat.identity[:4], UNSETTLED)
        return settled_identity(stat, taken_ns, self._state.store.tick_ns) if row.kind == "file" else stat.identity

    @property
    def trash(self) -> str:
        """Name under which something removed waits until all its bytes are known to be kept."""
        return f"{self.records[-1].number}"

    @property
    def is_in_trash(self) -> bool:
        """Whether what this step displaces is there, and not at a temporary place."""
        return not isinstance(self.operation, Put)

    def surprises(self) -> list[Surprise]:
        """Return what another program wrote between the look and the exchange, and came out with it.

        Raises:
            FileBusyError: It is being written now.
        """
        if self.displaced is None:
            return []
        if isinstance(self.operation, RemoveFolder):
            return self._surprises_below(self.operation.path)
        if not self.is_applied:
            return self._surprises_in_return(self.displaced)
        row, stat = self.former[0], self.displaced.stat
        if row.kind != "file" or stat.type != "file" or _is_known(row.identity, stat):
            return []
        content = self.displaced.read()
        digest = hash_of(content)
        return [] if digest == row.version else [Surprise(row, content, stat.mode)]

    def _surprises_in_return(self, displaced: Displaced) -> list[Surprise]:
        """Return what another program had saved on top of a step before it was set back."""
        ours = self.records[0].after
        if not displaced.temporary or displaced.stat.type != "file" or not self._is_strangers(displaced):
            return []
        content = displaced.read()
        return [] if hash_of(content) == ours else [Surprise(self.former[0], content, displaced.stat.mode)]

    def _surprises_below(self, folder: WorkspacePath) -> list[Surprise]:
        store, found = self._state.store, []
        known = {row.path: row for row in self.former}
        for relative, stat in store.trashed(folder, self.trash):
            path = f"{folder}/{relative}"
            row = known.get(path)
            if not relative or stat.type != "file" or (row is not None and _is_known(row.identity, stat)):
                continue
            content = store.read_trashed(folder, self.trash, relative)
            row = row or self._row(WorkspacePath(path))
            if hash_of(content) != row.version:
                found.append(Surprise(row, content, stat.mode))
        return found

    def note_look_inside(self) -> None:
        """Note that what came out was compared with what was seen before."""
        self._was_looked_into = True

    def note_mark(self) -> None:
        """Note that the transaction that marks this step was committed."""
        self.is_marked = self._was_looked_into

    def discard(self) -> None:
        """Remove temporary files of a step that is not applied; may be called twice."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.discard()


class Surprise(NamedTuple):
    """Bytes of another program that nobody had seen."""

    row: TreeRow
    """As it was before."""
    content: bytes
    mode: int


_INVERSES: Final = {
    Operation.CREATE: Operation.DELETE,
    Operation.DELETE: Operation.CREATE,
    Operation.CREATE_DIRECTORY: Operation.DELETE_DIRECTORY,
    Operation.DELETE_DIRECTORY: Operation.CREATE_DIRECTORY,
}


def _is_known(identity: Identity | None, stat: FileStat) -> bool:
    """Whether a displaced file is the one that was looked at; its ctime moved when it came out."""
    return identity is not None and identity[4] != UNSETTLED and identity[1:4] == stat.identity[1:4]


def _changed_paths(operation: TreeOperation) -> Sequence[WorkspacePath]:
    return (operation.path, operation.to) if isinstance(operation, Move) else (operation.path,)
