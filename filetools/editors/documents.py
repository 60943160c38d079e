"""Open documents: one text per path, shared by all editors in all processes.

Editors send edits of the version that they have, as LF text with offsets in UTF-16 units. An edit of an older version is
transformed to the newest one; only changes of the file on disk are merged into a document.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Annotated, Final

from msgspec import Meta, Struct, ValidationError, convert, structs, to_builtins

from filetools.content.differences.diff import minimal_edits
from filetools.content.differences.transforming import transform
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, composed, is_exact, splice
from filetools.content.formats import UTF8, TextFormat, decode, encode
from filetools.content.version import version_of
from filetools.content.wire import from_wire, to_wire, wire_text
from filetools.editors.shown import as_units, edits_as_units, edits_from_units, from_units
from filetools.errors import (
    BufferClosedError,
    ChangedMeanwhileError,
    EncodingError,
    InvalidArgumentError,
    ResyncRequiredError,
    VersionGoneError,
    require_within,
)
from filetools.journal.commit import HeadMovedError
from filetools.journal.documents import Document, DocumentChange, DocumentEdit, EditReason, Handle
from filetools.journal.journal import Journal
from filetools.models.buffers import BufferChange
from filetools.models.records import SYSTEM, Actor

LEASE_SECONDS: Final = 60.0
"""How long a handle is valid after its editor's last call."""
MOST_TRIES: Final = 100
"""How often an edit is rebased because another edit was first, before it fails."""


class OpenText(Struct, frozen=True, kw_only=True, dict=True):
    """A document and its text at one moment."""

    document: Document
    text: str
    """The text, with the line ends of the file."""
    base: bytes | None
    """Bytes of the file that it is based on; None if there was none."""
    base_text: str
    """The base as text; empty if there was none."""

    def to_bytes(self) -> bytes:
        """Return the bytes that saving would write; bytes of the file outside the changes are kept.

        Raises:
            EncodingError: The file's encoding lacks a character of the text.
        """
        form = self.document.text_format
        if self.base is None or (is_exact(form.encoding) and self.base.startswith(form.bom)):
            return encode(self.text, form, path=self.document.path)
        # Other codecs may not round-trip, so unchanged bytes are not encoded again.
        return splice(
            self.base, self.base_text, form, minimal_edits(self.base_text, self.text), path=self.document.path
        )

    @cached_property
    def shown(self) -> tuple[bytes, TextFormat]:
        """The bytes of the text, and how they are text: as `to_bytes`, or UTF-8 if the file's encoding lacks a character."""
        try:
            return self.to_bytes(), self.document.text_format
        except EncodingError:
            return self.text.encode("utf-8", "surrogatepass"), UTF8

    @property
    def content(self) -> bytes:
        """The bytes of `shown`."""
        return self.shown[0]

    @cached_property
    def version(self) -> str:
        """The version of `content`."""
        return version_of(self.content)


class Documents:
    """The open documents of one workspace. Call it in worker threads, except `known`."""

    def __init__(self, journal: Journal) -> None:
        self._rows = journal.documents
        self._contents = journal.contents
        self.known = KnownDocuments()

    def at(self, document: Document) -> OpenText:
        """Return the text of a document as it was seen.

        Raises:
            HeadMovedError: The document has changed since, or was closed.
        """
        found = self.newest(document.id)
        if found is None or found.document != document:
            raise HeadMovedError(document.path)
        return found

    def newest(self, document_id: str) -> OpenText | None:
        """Return the newest text of a document; None if it is closed."""
        found = self._rows.text(document_id)
        if found is None:
            return None
        (document, text), base = found, None
        with suppress(VersionGoneError):  # lost with a damaged journal; the document's text does not need it
            base = None if document.base is None else self._contents.get(document.base)
        base_text = "" if base is None else decode(base, document.text_format, path=document.path)
        return OpenText(document=document, text=text, base=base, base_text=base_text)

    def open(
        self, key: str, path: str, actor: Actor, *, base: str | None, text_format: TextFormat, text: str
    ) -> tuple[Handle, OpenText]:
        """Open the document of a path for another editor; base, format and text are used only for the first one.

        Raises:
            ChangedMeanwhileError: Others closed it, many times in a row.
        """
        for _ in range(MOST_TRIES):
            new = Document(id=secrets.token_hex(8), key=key, path=path, base=base, text_format=text_format)
            handle = Handle(name=secrets.token_hex(16), document_id=new.id, actor=actor, leased_until=_lease())
            document = self._rows.open(new, text, handle)
            opened = self.newest(document.id)
            if opened is not None:
                return structs.replace(handle, document_id=document.id), opened
        raise ChangedMeanwhileError(path, MOST_TRIES)

    def held(self, name: str, actor: Actor | None = None) -> OpenText:
        """Return the newest text of a handle's document, and renew the lease; with an actor, only the actor's own handle.

        Raises:
            BufferClosedError: The handle does not exist or belongs to another actor.
        """
        handle = self._rows.handle(name)
        is_given = handle is not None and (
            actor is None or (handle.actor.kind, handle.actor.id) == (actor.kind, actor.id)
        )
        opened = self.newest(handle.document_id) if handle is not None and is_given else None
        if handle is None or opened is None:
            raise BufferClosedError
        if handle.leased_until - time.time() < LEASE_SECONDS * 0.75:
            self._rows.renew(name, _lease())
        return opened

    def change(
        self,
        name: str,
        actor: Actor,
        buffer_version: int,
        *,
        edits: Sequence[TextEdit] | None = None,
        text: str | None = None,
        change_id: str | None = None,
    ) -> BufferChange:
        """Apply an editor's edits, made on the version that it has, to the newest text.

        Args:
            name: The editor's handle.
            actor: The caller.
            buffer_version: The version that the editor has.
            edits: Edits in UTF-16 units, in any order, not overlapping.
            text: The editor's whole new text instead.
            change_id: Name of the change, 1 to 64 visible ASCII characters. If this actor has already made a change of this
                name, it is not applied again but answered as if it had just been made.

        Raises:
            BufferClosedError, ResyncRequiredError
            InvalidArgumentError: The edits do not fit that version, or not exactly one of `edits` and `text` is given.
            ChangedMeanwhileError: Other edits were first, many times in a row.
        """
        _refuse_malformed(buffer_version, edits, text, change_id)
        for _ in range(MOST_TRIES):
            opened = self.held(name, actor)
            document = opened.document
            history = self._history(document, buffer_version)
            known = _wire_at(opened.text, history)
            wanted = _wanted(known, edits, text)
            made = None if change_id is None else self._rows.made(document.id, change_id, actor)
            if made is not None and made > document.version:
                continue  # just applied, sent over the connection that seemed lost
            mine, others = _crossed(wanted, history, made)
            if made is not None:
                mine, others = [], _corrected(apply_text_edits(known, wanted), others, opened)
            by = {step.actor for step in history if step.version != made}
            alone = by.pop().to_dict() if len(by) == 1 else None
            answer = partial(BufferChange, edits=plain_edits(others), actor=alone)
            if not mine:
                return answer(buffer_version=document.version, dirty=document.is_dirty)
            change = structs.replace(typed(opened, from_wire(opened.text, edits_from_units(mine))), change_id=change_id)
            if self._rows.advance(change, actor):
                return answer(buffer_version=change.document.version, dirty=change.document.is_dirty)
        raise ChangedMeanwhileError(document.path, MOST_TRIES)

    def preview(
        self, opened: OpenText, *, buffer_version: int, edits: Sequence[TextEdit] | None, text: str | None
    ) -> str:
        """Return the text of a document after an editor's edits; raises as `change`."""
        _refuse_malformed(buffer_version, edits, text, None)
        history = self._history(opened.document, buffer_version)
        mine, _ = _crossed(_wanted(_wire_at(opened.text, history), edits, text), history, None)
        return apply_text_edits(opened.text, from_wire(opened.text, edits_from_units(mine)))

    def since(self, opened: OpenText, buffer_version: int) -> list[dict[str, int | str]]:
        """Return the edits of a document since a version, as JSON edits of the text at that version.

        Raises:
            ResyncRequiredError, InvalidArgumentError
        """
        return plain_edits(_crossed([], self._history(opened.document, buffer_version))[1])

    def is_typed_by(self, actor: Actor, opened: OpenText, since: int) -> bool:
        """Return True if all changes of a document since a version are typed text of one actor."""
        with suppress(ResyncRequiredError):
            return all(
                edit.reason == "typed" and (edit.actor.kind, edit.actor.id) == (actor.kind, actor.id)
                for edit in self._history(opened.document, since)
            )
        return False

    def author(self, document: Document) -> Actor:
        """Return who typed in a document last; if nobody has, who has it open."""
        history = reversed(self._rows.history(document.id, 0))
        typists = (edit.actor for edit in history if edit.reason == "typed")
        holders = [handle.actor for handle in self._rows.handles(document.id)]
        return next(typists, next(iter(holders), SYSTEM))

    def taken_back(self, change: DocumentChange) -> DocumentChange | None:
        """Return the change that undoes an applied one and keeps what was typed since; None if the document is closed."""
        opened = self.newest(change.document.id)
        if opened is None:
            return None
        history = self._history(opened.document, change.document.version)
        former = _with_removed(change.edits, change.removed)
        wire, _ = _crossed(former, history)
        return typed(opened, from_wire(opened.text, edits_from_units(wire)), reason="undo")

    def _history(self, document: Document, since: int) -> list[DocumentEdit]:
        require_within("buffer_version", since, 1, document.version)
        if since == document.version:
            return []
        history = [edit for edit in self._rows.history(document.id, since) if edit.version <= document.version]
        if len(history) != document.version - since:
            raise ResyncRequiredError(document.path, since, document.version)
        return history


class _SentChange(Struct):
    """The types of what an editor sends."""

    buffer_version: int
    edits: list[TextEdit] | None
    text: str | None
    change_id: Annotated[str, Meta(pattern=r"^[!-~]{1,64}\Z")] | None


def _refuse_malformed(buffer_version: object, edits: object, text: object, change_id: object) -> None:
    """Refuse arguments of a wrong type or form; the code below trusts the types."""
    if (edits is None) == (text is None):
        raise InvalidArgumentError("Give either edits or the whole text")
    if edits is not None and not (isinstance(edits, Sequence) and all(isinstance(edit, TextEdit) for edit in edits)):
        raise InvalidArgumentError("edits must be a list of filetools.TextEdit")
    given = {"buffer_version": buffer_version, "edits": edits, "text": text, "change_id": change_id}
    try:
        convert(to_builtins(given, builtin_types=(bytes, bytearray)), _SentChange)  # otherwise they would become text
    except (ValidationError, TypeError) as exc:
        raise InvalidArgumentError(f"The change is malformed: {exc}") from exc


def typed(opened: OpenText, edits: Sequence[TextEdit], reason: EditReason = "typed") -> DocumentChange:
    """Return the change that applies edits to a document's text and keeps its base."""
    text = apply_text_edits(opened.text, edits)
    is_dirty = opened.base is None or text != opened.base_text
    return changed(opened, text, edits, base=opened.document.base, is_dirty=is_dirty, reason=reason)


def changed(
    opened: OpenText,
    text: str,
    edits: Sequence[TextEdit],
    *,
    base: str | None,
    is_dirty: bool,
    reason: EditReason,
    text_format: TextFormat | None = None,
) -> DocumentChange:
    """Return the change that gives a document another text, or the same one with another base.

    Args:
        opened: The current document.
        text: Its next text.
        edits: The edits from the current to the next text.
        base: Version of the file that the next text is based on.
        is_dirty: True if the next text differs from the file.
        reason: The reason.
        text_format: How the file stores the next text; None if as before.
    """
    document = opened.document
    wire = edits_as_units(to_wire(opened.text, edits))
    units = as_units(wire_text(opened.text)) if wire else ""
    after = structs.replace(
        document, version=document.version + 1, base=base, is_dirty=is_dirty,
        text_format=text_format or document.text_format, parents=document.parents if is_dirty else (),
    )  # fmt: skip
    removed = tuple(units[edit.start : edit.end] for edit in wire)
    return DocumentChange(document=after, text=text, edits=tuple(wire), removed=removed, reason=reason)


def plain_edits(edits: Iterable[TextEdit]) -> list[dict[str, int | str]]:
    """Return edits as JSON."""
    return [{"start": edit.start, "end": edit.end, "text": edit.text} for edit in edits]


def _lease() -> float:
    return time.time() + LEASE_SECONDS


def _wire_at(text: str, history: Sequence[DocumentEdit]) -> str:
    """Return the text that an editor has, in units: the newest one with the edits since then undone."""
    units = as_units(wire_text(text))
    for step in reversed(history):
        edits = edits_as_units(step.edits)
        former = _with_removed(edits, [as_units(part) for part in step.removed])
        units = apply_text_edits(units, former)
    return units


def _with_removed(edits: Sequence[TextEdit], removed: Sequence[str]) -> list[TextEdit]:
    """Return the inverse of edits, given the text that each of them removed."""
    found, shift = [], 0
    for edit, gone in zip(edits, removed, strict=True):
        start = edit.start + shift
        found.append(TextEdit(start, start + len(edit.text), gone))
        shift += len(edit.text) - (edit.end - edit.start)
    return found


def _wanted(known: str, edits: Sequence[TextEdit] | None, text: str | None) -> list[TextEdit]:
    """Return an editor's edits of its text, in order and in units; raises if they do not fit."""
    plain = from_units(known)
    real = from_wire(plain, edits) if edits is not None else minimal_edits(plain, wire_text(text or ""))
    return edits_as_units(to_wire(plain, real))


def _corrected(mine: str, others: Sequence[TextEdit], opened: OpenText) -> tuple[TextEdit, ...]:
    """Return `others` if they lead from an editor's text, in units, to the newest text; otherwise edits that do.

    A retried change may differ from the first one of its name, because its editor has since rebased it on a newer text.
    """
    newest = wire_text(opened.text)
    if apply_text_edits(mine, edits_as_units(others)) == as_units(newest):
        return tuple(others)
    return tuple(edits_from_units(_wanted(mine, None, newest)))


def _crossed(
    mine: Sequence[TextEdit], history: Sequence[DocumentEdit], made: int | None = None
) -> tuple[list[TextEdit], tuple[TextEdit, ...]]:
    """Transform an editor's edits and the edits of others against each other.

    Args:
        mine: The editor's edits.
        history: The edits since the version that `mine` applies to.
        made: Version in the history that `mine` made, if they are in it.
    """
    own = list(mine)
    others: list[TextEdit] = []
    for step in history:
        if step.version == made:
            own = []  # later edits were made on a text that includes them
            continue
        theirs = edits_as_units(step.edits)
        others = composed(others, transform(theirs, own, is_first=True))
        own = transform(own, theirs, is_first=False)
    return own, tuple(edits_from_units(others))


class KnownDocuments:
    """Open documents by id and by path. One per opened workspace; updated by one thread at a time, read by any."""

    def __init__(self) -> None:
        self._by_id: dict[str, Document] = {}
        self._by_key: dict[str, Document] = {}

    @property
    def is_any(self) -> bool:
        """True if any document is open."""
        return bool(self._by_id)

    def get(self, document_id: str) -> Document | None:
        """Return a document by its id; None if it is not open."""
        return self._by_id.get(document_id)

    def at(self, key: str) -> Document | None:
        """Return the document of a path; None if no editor has it open."""
        return self._by_key.get(key)

    def is_dirty(self, key: str) -> bool:
        """True if a path has unsaved text."""
        document = self._by_key.get(key)
        return document is not None and document.is_dirty

    def all(self) -> list[Document]:
        """Return every document."""
        return [*self._by_id.values()]

    def note(self, changed: Iterable[Document], closed: Collection[str]) -> None:
        """Update changed and closed documents."""
        found = {**self._by_id, **{document.id: document for document in changed}}
        # Replaced rather than changed: a concurrent read must not miss unsaved text.
        self._by_id = {document_id: document for document_id, document in found.items() if document_id not in closed}
        self._by_key = {document.key: document for document in self._by_id.values()}
