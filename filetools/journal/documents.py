"""Open documents of the embedded journal: their texts, edits and handles, as rows that every process sees.

A document advances by compare-and-swap of its version: the loser of a race reads the newer text and tries again. Its rows
are never synced on their own: a power cut may lose the last moments of typing, the crash of a process loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, convert, structs, to_builtins

from filetools.content.editing.text_edits import TextEdit
from filetools.content.formats import TextFormat
from filetools.journal.storage.contents import digest_of, version_from
from filetools.journal.storage.database import Connection, T, TableAccess
from filetools.journal.tree_rows import bounds_below
from filetools.models.records import Actor

KEPT_EDITS: Final = 1000
"""Edits kept of one document, so that text typed on an older version can be rebased onto the newest."""
EditReason = Literal["typed", "merged", "disk", "undo", "saved"]

DOCUMENT_COLUMNS: Final = (
    "documents.id, documents.key, documents.path, documents.base, documents.encoding, documents.bom,"
    " documents.version, documents.dirty, documents.parents"
)
_ADVANCE: Final = (
    "UPDATE documents SET base = ?, encoding = ?, bom = ?, version = ?, dirty = ?, parents = ?, text = ? WHERE id = ?"
)
_DOCUMENTS: Final = f"SELECT {DOCUMENT_COLUMNS} FROM documents"
_CHANGED: Final = (
    f"SELECT number, document_changes.id, {DOCUMENT_COLUMNS} FROM document_changes LEFT JOIN documents USING (id)"
    " WHERE number >= ? ORDER BY number"
)
_HANDLES: Final = "SELECT handle, id, actor_kind, actor_id, session, leased_until FROM document_handles"


class Document(Struct, frozen=True, kw_only=True):
    """One open document, shared by all its editors, without its text."""

    id: str
    """Unguessable; a document that is closed and reopened gets another."""
    key: str
    """Lock key of its path."""
    path: str
    base: str | None
    """Version of the file that its text is based on; None if there was no file."""
    text_format: TextFormat
    """How the file stores its text."""
    version: int = 1
    """Grows by one with every change, from 1."""
    is_dirty: bool = False
    """True if its text differs from the file."""
    parents: tuple[int, ...] = ()
    """Records of changes in it that are not in the file yet; the next save names them."""


class DocumentChange(Struct, frozen=True, kw_only=True):
    """The next text of a document, based on the version that its author saw."""

    document: Document
    """The document after the change: its version is the next one after that which its author saw."""
    text: str
    """The whole new text, with the line ends of the file."""
    edits: tuple[TextEdit, ...]
    """The edits in the editors' form: LF text, offsets in UTF-16 units, characters outside the BMP as two units."""
    removed: tuple[str, ...]
    """The text that each edit removed, in the same form."""
    reason: EditReason
    is_parent: bool = False
    """True if the record committed along with it becomes one more parent."""
    change_id: str | None = None
    """The author's name for it, so that it is recognised if it arrives again."""


class DocumentEdit(Struct, frozen=True, kw_only=True):
    """One step of a document's history."""

    version: int
    """Version of the document after it."""
    edits: tuple[TextEdit, ...]
    """As in `DocumentChange.edits`, but characters outside the BMP may be one character."""
    removed: tuple[str, ...]
    reason: EditReason
    actor: Actor


class Handle(Struct, frozen=True, kw_only=True):
    """One editor's hold on a document; it lapses unless it is renewed."""

    name: str
    """Opaque and unguessable."""
    document_id: str
    actor: Actor
    leased_until: float
    """Seconds since the epoch."""


class ChangedDocuments(Struct, frozen=True, kw_only=True):
    """Changes of documents since a position."""

    position: int
    """Pass it to get the following changes."""
    documents: tuple[Document, ...]
    """Documents opened, changed or moved since, or all if that is unknown; as they are now, without their texts."""
    closed: frozenset[str] | None
    """Ids of documents closed since; None if `documents` lists all that are open."""


class DocumentTable(TableAccess):
    """Open documents of an embedded journal."""

    def all(self, key: str = "") -> list[Document]:
        """Return the open documents at the path of a key and below it, without their texts; by default all of them."""
        query = f"{_DOCUMENTS} WHERE documents.key = ? OR (documents.key >= ? AND documents.key < ?)"
        return [document_from(row) for row in self._database.rows(query, (key, *bounds_below(key)))]

    def changed(self, since: int) -> ChangedDocuments:
        """Return the changes since a position, at a cost that does not grow with the number of open documents."""
        rows = self._database.rows(_CHANGED, (since,))
        if not rows or rows[0][0] != since:  # the position is no longer kept, nor perhaps what followed it
            position = rows[-1][0] if rows else 0
            return ChangedDocuments(position=position, documents=tuple(self.all()), closed=None)
        newest = {row[1]: row[2:] for row in rows[1:]}
        return ChangedDocuments(
            position=rows[-1][0],
            documents=tuple(document_from(row) for row in newest.values() if row[0] is not None),
            closed=frozenset(name for name, row in newest.items() if row[0] is None),
        )

    def behind(self) -> list[Document]:
        """Return the documents whose base is not the head of their file."""
        where = "JOIN heads USING (key) WHERE heads.version IS NOT NULL AND heads.version IS NOT documents.base"
        return [document_from(row) for row in self._database.rows(f"{_DOCUMENTS} {where}")]

    def text(self, document_id: str) -> tuple[Document, str] | None:
        """Return a document and its text, both as of one moment; None if it is closed."""
        row = self._database.row(f"SELECT {DOCUMENT_COLUMNS}, text FROM documents WHERE id = ?", (document_id,))
        return None if row is None else (document_from(row[:-1]), row[-1].decode("utf-8", "surrogatepass"))

    def history(self, document_id: str, since: int) -> list[DocumentEdit]:
        """Return the kept edits after a version, oldest first."""
        return self._edits("version > ?", document_id, since)

    def made(self, document_id: str, change_id: str, actor: Actor) -> int | None:
        """Return the version that an actor's change of this name made; None if it is not in the kept history."""
        edits = self._edits("change_id = ?", document_id, change_id)
        who = (actor.kind, actor.id)
        return next((edit.version for edit in edits if (edit.actor.kind, edit.actor.id) == who), None)

    def _edits(self, condition: str, document_id: str, given: int | str) -> list[DocumentEdit]:
        query = f"SELECT step FROM document_edits WHERE id = ? AND {condition} ORDER BY version"
        return [convert(json.loads(step), DocumentEdit) for (step,) in self._database.rows(query, (document_id, given))]

    def handle(self, name: str) -> Handle | None:
        """Return a handle, or None if there is none of this name."""
        return next(map(_handle_from, self._database.rows(f"{_HANDLES} WHERE handle = ?", (name,))), None)

    def handles(self, document_id: str | None = None) -> list[Handle]:
        """Return the handles of a document, or of all."""
        query = f"{_HANDLES} WHERE ?1 IS NULL OR id = ?1"
        return [_handle_from(row) for row in self._database.rows(query, (document_id,))]

    def open(self, new: Document, text: str, handle: Handle) -> Document:
        """Add a handle to the open document of a path, which becomes `new` if there is none; returns the document."""

        def work(connection: Connection) -> Document:
            row = connection.execute(f"{_DOCUMENTS} WHERE documents.key = ?", (new.key,)).fetchone()
            document, actor = new if row is None else document_from(row), handle.actor
            if row is None:
                values = (new.id, new.key, new.path, *_stored(new, text))
                connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            connection.execute(
                "INSERT INTO document_handles VALUES (?, ?, ?, ?, ?, ?)",
                (handle.name, document.id, actor.kind, actor.id, actor.session, handle.leased_until),
            )
            return document

        return self._written(work)

    def renew(self, name: str, until: float) -> bool:
        """Extend the lease of a handle; False if it is gone."""
        update = "UPDATE document_handles SET leased_until = max(leased_until, ?) WHERE handle = ?"
        return self._database.change(update, [(until, name)]) > 0

    def release(self, name: str) -> None:
        """Release a handle; a document that loses its last one is closed unless it is dirty.

        The caller keeps the text of a dirty one, and closes it by a commit.
        """

        def work(connection: Connection) -> None:
            gone = connection.execute("DELETE FROM document_handles WHERE handle = ? RETURNING id", (name,)).fetchall()
            connection.executemany(
                "DELETE FROM documents WHERE id = ? AND NOT dirty"
                " AND NOT EXISTS (SELECT 1 FROM document_handles WHERE id = documents.id)",
                gone,
            )

        self._written(work)

    def advance(self, change: DocumentChange, actor: Actor) -> bool:
        """Replace a document's text; False, with nothing changed, if its version is another or it is closed."""

        def work(connection: Connection) -> bool:
            if not is_at(connection, change):
                return False
            apply_to_document(connection, change, actor)
            return True

        return self._written(work)

    def _written(self, work: Callable[[Connection], T]) -> T:
        result = self._database.write(work, durable=False)
        self._on_visible()
        return result


def document_from(row: Sequence[Any]) -> Document:
    """Return the document of the values of `DOCUMENT_COLUMNS`."""
    document_id, key, path, base, encoding, bom, version, dirty, parents = row
    return Document(
        id=document_id,
        key=key,
        path=path,
        base=version_from(base),
        text_format=TextFormat(encoding=encoding, bom=bom),
        version=version,
        is_dirty=bool(dirty),
        parents=tuple(json.loads(parents)),
    )


def is_at(connection: Connection, change: DocumentChange | Document) -> bool:
    """True if a document is still as its change, or its closing, expects: a document to close has no handles."""
    document, behind = (change.document, 1) if isinstance(change, DocumentChange) else (change, 0)
    row = connection.execute("SELECT version FROM documents WHERE id = ?", (document.id,)).fetchone()
    if row is None or row[0] != document.version - behind:
        return False
    held = "SELECT 1 FROM document_handles WHERE id = ?"
    return isinstance(change, DocumentChange) or connection.execute(held, (document.id,)).fetchone() is None


def apply_to_document(
    connection: Connection, change: DocumentChange | Document, actor: Actor, number: int | None = None
) -> None:
    """Advance or close a document whose version has been compared, inside a transaction.

    Args:
        connection: The transaction's.
        change: The change, or the document to close.
        actor: Author of the change.
        number: Record committed along with it, if any.
    """
    if isinstance(change, Document):
        connection.execute("DELETE FROM documents WHERE id = ?", (change.id,))
        return
    new = change.document
    if change.is_parent and number is not None:
        new = structs.replace(new, parents=(*new.parents, number))
    connection.execute(_ADVANCE, (*_stored(new, change.text), new.id))
    edit = DocumentEdit(
        version=new.version, edits=change.edits, removed=change.removed, reason=change.reason,
        actor=structs.replace(actor, call=None),
    )  # fmt: skip
    # By json, since msgspec's own encoder refuses lone surrogates.
    kept = (new.id, new.version, json.dumps(to_builtins(edit)), change.change_id)
    connection.execute("INSERT INTO document_edits VALUES (?, ?, ?, ?)", kept)
    connection.execute("DELETE FROM document_edits WHERE id = ? AND version <= ?", (new.id, new.version - KEPT_EDITS))


def _stored(document: Document, text: str) -> tuple[Any, ...]:
    """Return the values of a document's columns from its base on."""
    base, form = None if document.base is None else digest_of(document.base), document.text_format
    return (
        base, form.encoding, form.bom, document.version, int(document.is_dirty), json.dumps(document.parents),
        text.encode("utf-8", "surrogatepass"),
    )  # fmt: skip


def _handle_from(row: tuple[Any, ...]) -> Handle:
    name, document_id, kind, actor, session, leased_until = row
    return Handle(
        name=name, document_id=document_id, actor=Actor(kind=kind, id=actor, session=session), leased_until=leased_until
    )
