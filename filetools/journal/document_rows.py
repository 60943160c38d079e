"""Open documents as rows: what a document is, how it is advanced inside a transaction, and the refusal if it has moved."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from filetools.content.formats import TextFormat
from filetools.content.text_edits import TextEdit
from filetools.models.records import Actor
from filetools.models.words import VERSION_PREFIX

KEPT_EDITS: Final = 1000
"""Edits of one document that are kept, so that what was typed on an older text can be put on top of the newest."""
EditReason = Literal["typed", "merged", "disk", "undo", "saved"]

DOCUMENT_COLUMNS: Final = (
    "documents.id, documents.key, documents.path, documents.base, documents.encoding, documents.bom,"
    " documents.version, documents.dirty, documents.parents"
)
DOCUMENT_VALUES: Final = 9
_ADVANCE: Final = (
    "UPDATE documents SET version = ?, base = ?, encoding = ?, bom = ?, dirty = ?, parents = ? WHERE id = ?"
)
_KEEP_TEXT: Final = "INSERT OR REPLACE INTO document_texts (id, version, text) VALUES (?, ?, ?)"
_KEEP_EDIT: Final = "INSERT INTO document_edits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FORGET_EDITS: Final = "DELETE FROM document_edits WHERE id = ? AND version <= ?"
_TABLES_BY_ID: Final = ("documents", "document_texts", "document_edits", "document_handles")


class Document(Struct, frozen=True, kw_only=True):
    """One open document, whatever editors have it open. Its text is kept beside it."""

    id: str
    """Unguessable name; a document that is opened again after its last editor left is another one."""
    key: str
    """Lock key of its path."""
    path: str
    base: str | None
    """Version of the file that its text builds on; None if there was no file."""
    text_format: TextFormat
    """How the file stores its text."""
    version: int
    """Grows by one with every change, from 1."""
    is_dirty: bool
    """Whether its text is not in the file."""
    parents: tuple[int, ...] = ()
    """Records of changes that went into it and not into the file yet; the next save names them."""


class DocumentChange(Struct, frozen=True, kw_only=True):
    """The next text of a document, on top of the version that its author saw."""

    id: str
    key: str
    expected_version: int
    text: str
    """The whole new text, each line with its own end."""
    edits: tuple[TextEdit, ...]
    """What changed, in the form editors see it: LF text, places in UTF-16 units, astral characters as two units."""
    removed: tuple[str, ...]
    """What each edit removed, in the same form."""
    base: str | None
    text_format: TextFormat
    is_dirty: bool
    reason: EditReason
    parents: tuple[int, ...] = ()
    is_parent: bool = False
    """Whether the record committed along with it becomes one more parent."""
    change_id: str | None = None
    """Name that its author gave it, so that it can be told from another one if it comes again."""


class DocumentClosing(Struct, frozen=True, kw_only=True):
    """The end of a document whose last editor has gone."""

    id: str
    key: str
    expected_version: int


def document_from(row: Sequence[Any]) -> Document:
    """Return the document of the values of `DOCUMENT_COLUMNS`."""
    document_id, key, path, base, encoding, bom, version, dirty, parents = row
    return Document(
        id=document_id,
        key=key,
        path=path,
        base=None if base is None else VERSION_PREFIX + base.hex(),
        text_format=TextFormat(encoding=encoding, bom=bom),
        version=version,
        is_dirty=bool(dirty),
        parents=tuple(json.loads(parents)),
    )


def is_at(connection: sqlite3.Connection, change: DocumentChange | DocumentClosing) -> bool:
    """Whether a document is still at the version that its change was made for, and nobody holds one that shall end."""
    row = connection.execute("SELECT version FROM documents WHERE id = ?", (change.id,)).fetchone()
    if row is None or row[0] != change.expected_version:
        return False
    held = "SELECT 1 FROM document_handles WHERE id = ?"
    return isinstance(change, DocumentChange) or connection.execute(held, (change.id,)).fetchone() is None


def apply_to_document(
    connection: sqlite3.Connection,
    change: DocumentChange | DocumentClosing,
    actor: Actor,
    number: int | None = None,
) -> None:
    """Advance or end a document whose version has been compared, inside a transaction.

    Args:
        connection: The transaction's.
        change: What becomes of it.
        actor: Whose change it is.
        number: The record that is committed along with it, if there is one.
    """
    if isinstance(change, DocumentClosing):
        remove_document(connection, change.id)
        return
    version = change.expected_version + 1
    parents = [*change.parents, number] if change.is_parent and number is not None else change.parents
    base = None if change.base is None else bytes.fromhex(change.base.removeprefix(VERSION_PREFIX))
    form = change.text_format
    connection.execute(
        _ADVANCE, (version, base, form.encoding, form.bom, int(change.is_dirty), json.dumps(parents), change.id)
    )
    connection.execute(_KEEP_TEXT, (change.id, version, stored_text(change.text)))
    edits = json.dumps([(edit.start, edit.end, edit.text) for edit in change.edits])
    who = (actor.kind, actor.id, actor.session)
    removed = json.dumps(change.removed)
    connection.execute(
        _KEEP_EDIT, (change.id, version, edits, removed, change.reason, *who, time.time(), change.change_id)
    )
    connection.execute(_FORGET_EDITS, (change.id, version - KEPT_EDITS))


def remove_document(connection: sqlite3.Connection, document_id: str) -> None:
    """Remove every row of a document."""
    for table in _TABLES_BY_ID:
        connection.execute(f"DELETE FROM {table} WHERE id = ?", (document_id,))


def stored_text(text: str) -> bytes:
    """Return a document's text as it is kept."""
    return text.encode("utf-8", "surrogatepass")
