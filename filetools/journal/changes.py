"""Records that the journal takes and returns: drafts of changes, observed changes, heads, backlog entries, mirrors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from filetools.journal.documents import Document, DocumentChange, DocumentClosing
from filetools.journal.storage.contents import version_from
from filetools.models.records import ChangeRecord, Operation

DIRECTORY_REMOVALS: Final = (Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY)
"""Operations that remove a whole folder from its path; they are ordered against every change below it."""


RelationKind = Literal["undoes", "redoes", "brings", "parent"]


class Relation(Struct, frozen=True, kw_only=True):
    """Relation of a record to an older one."""

    kind: RelationKind
    """"undoes": it undoes the other. "redoes": it undoes the other, which is an undo. "brings": it is part of a folder that
    was restored as a whole from the trash, where the other, a deletion, had moved it. "parent": it saves a document that
    the other had changed."""
    number: int
    """Number of the older record."""


class Head(Struct, frozen=True, kw_only=True):
    """The newest version of one path that the journal knows."""

    key: str
    path: str
    version: str | None
    """None if the newest change removed the file."""
    size: int | None
    mode: int | None
    number: int
    """Number of the record that made it the head."""
    applied: bool
    """False while the file may not have this version yet."""


class View(Struct, frozen=True, kw_only=True):
    """The journal's view of a path at one moment."""

    head: Head | None
    """None if the path has never been recorded."""
    blocked: bool = False
    """True if a folder above is being moved or deleted, or was when its process died."""
    document: Document | None = None
    """The open document of the path; None if no editor has it open."""


class Change(Struct, frozen=True, kw_only=True):
    """Draft of one record. Several drafts in one commit are all recorded or none."""

    operation: Operation
    path: str
    key: str
    """Lock key of `path`."""
    old_path: str | None = None
    old_key: str | None = None
    before: str | None = None
    before_unknown: bool = False
    after: str | None = None
    content: bytes | None = None
    """Bytes of `after` for the content store, unless it keeps them already."""
    size: int | None = None
    mode: int | None = None
    applied: bool = False
    """True if the file already has this content, as with a foreign change."""
    external: bool = False
    """True to attribute it to the external actor instead of the committing one."""
    aside: bool = False
    """True to keep it as a version of the path that was never the head, such as foreign bytes found in a mirror."""
    compensates: int | None = None
    """Number of the pending record that this one sets back; that record becomes `aborted`."""
    relations: tuple[Relation, ...] = ()
    """Older records that this one undoes or builds on."""
    buffered: bool = False
    """True if it changed only an unsaved document: recorded in state `buffer`, without becoming the head."""
    document: DocumentChange | DocumentClosing | None = None
    """Change or closing of the path's open document in the same transaction."""
    returning: str | None = None
    """Id of the open document that returns to the path because the move that took it along is set back."""


class BacklogEntry(Struct, frozen=True, kw_only=True):
    """One path that a mirror lacks."""

    key: str
    path: str
    number: int
    """Change of the path that the mirror lacks; 0 if unknown."""
    tries: int = 0
    """How often the mirror refused it."""
    below: bool = False
    """True if it lacks more of a folder than that change."""
    reason: str | None = None
    """Why the mirror refused it."""


class MirrorRow(Struct, frozen=True):
    """One mirror of the root."""

    place: str
    """Where it is: the real path of its directory, or the name of a store."""
    identity: str
    """Identity that its folder must carry: the mirror's line, and a part that changes when its place was lost."""
    position: int
    """Every change up to this record is durably in the mirror, except its backlog."""
    is_filled: bool
    """True if it has everything from before it started following changes."""
    root: bytes | None = None
    """Path of the root when the mirror was added to it; None if only callers named the mirror."""

    @property
    def line(self) -> str:
        """The part of the identity that never changes."""
        return self.identity.partition("-")[0]

    def is_or_was(self, marker: str | None) -> bool:
        """True if a folder with this marker is the mirror, or was it before its place was lost."""
        return marker is not None and marker.partition("-")[0] == self.line


class RecordsForgottenError(Exception):
    """Raised if retention may have removed records that a mirror lacks."""


class HeadMovedError(Exception):
    """Raised if something, such as an open document, has changed since it was read. Nothing was recorded; read it again."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class ObservedChanges:
    """Records changes by other programs. Used in one transaction, before the rows show the change.

    Args:
        record: Records one change.
    """

    def __init__(self, record: Callable[[Change], ChangeRecord]) -> None:
        self.records: list[ChangeRecord] = []
        """The records made, in their order."""
        self._record = record

    def add(
        self,
        operation: Operation,
        path: str,
        key: str,
        *,
        old: tuple[str, str] | None = None,
        before: bytes | None = None,
        after: bytes | None = None,
        size: int | None = None,
        mode: int | None = None,
        is_link: bool = False,
    ) -> int:
        """Record a change.

        Args:
            operation: What happened.
            path: After the change.
            key: Of the path.
            old: Path and key before a move.
            before: Hash of the bytes before; None if there were none, or they were never read.
            after: Hash of the bytes after.
            size: In bytes, after the change.
            mode: Permission bits after the change; before a removal.
            is_link: True if the entry is a link; changes of links have no records.

        Returns:
            The number of its record; 0 if it has none.
        """
        if is_link or operation is Operation.LINK:
            return 0
        old_path, old_key = old or (None, None)
        change = Change(
            operation=operation, path=path, key=key, old_path=old_path, old_key=old_key, before=version_from(before),
            before_unknown=before is None and operation in (Operation.MODIFY, Operation.DELETE),
            after=version_from(after), size=size, mode=mode, applied=True, external=True,
        )  # fmt: skip
        self.records.append(self._record(change))
        return self.records[-1].number
