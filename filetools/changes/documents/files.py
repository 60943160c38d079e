"""Documents and their files: opening and following a file, saving to it, keeping the text of an abandoned document."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, structs

from filetools.changes.decision import PutDecision, overlapping, unmergeable
from filetools.changes.parts import Parts
from filetools.changes.steps.look import Look, content_of
from filetools.changes.steps.unsaved import disk_text, rebased
from filetools.content.differences.merging import merge, merge_bytes
from filetools.content.facts import inspect
from filetools.content.formats import UTF8, TextFormat, encode
from filetools.editors.documents import OpenText
from filetools.errors import BufferClosedError, InvalidArgumentError, PathNotFoundError, VersionGoneError
from filetools.journal.commit import HeadMovedError
from filetools.journal.documents import Document, DocumentChange
from filetools.journal.records import Relation
from filetools.models.records import EXTERNAL, Actor
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath

MOST_TRIES: Final = 20


def follow_disk(parts: Parts, document: Document) -> bool:
    """Update a document to the newest version of its file. Call it in a worker thread; it needs no lock.

    Returns:
        False if the file's content cannot be merged into the unsaved text; the document and its base are unchanged.
    """
    for _ in range(MOST_TRIES):
        opened = parts.documents.newest(document.id)
        head = None if opened is None else parts.view(opened.document.key).head
        # A deleted file does not change its document, which can be saved again. A write that is not applied yet may still
        # fail; its process updates the documents afterwards, or else the leader does.
        if opened is None or head is None or not head.applied or head.version in (None, opened.document.base):
            return True
        change = _updated(parts, opened, head.version or "")
        if change is None:
            return False
        if parts.journal.documents.advance(change, _author(parts, opened.document.key, head.number)):
            return True
    return False


def _updated(parts: Parts, opened: OpenText, version: str) -> DocumentChange | None:
    try:
        facts, text = inspect(parts.journal.contents.get(version), name=opened.document.path)
    except VersionGoneError:
        return None
    if text is None or facts.text_format is None:
        return None
    if not opened.document.is_dirty:
        return rebased(opened, text, facts)
    merged = merge(opened.base_text, opened.text, text, by_words=parts.settings.is_prose(opened.document.path))
    return None if merged.text is None else rebased(opened, merged.text, facts, file_text=text)


def _author(parts: Parts, key: str, number: int) -> Actor:
    """Return the author of a head, as the actor of the document's change."""
    records = parts.journal.records(key=key, limit=10, newest_first=True)
    return next((record.actor for record in records if record.number == number), EXTERNAL)


def text_to_open(parts: Parts, path: WorkspacePath) -> tuple[str | None, TextFormat, str]:
    """Return version, format and text of a file that an editor opens; keeps its bytes for later merges.

    Raises:
        InvalidArgumentError: The file is binary.
        FileTooLargeError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError
    """
    try:
        content, _ = parts.store.read(path, limit=parts.settings.max_read_bytes)
    except PathNotFoundError:
        return None, UTF8, ""
    facts, text = inspect(content, name=path)
    if text is None or facts.text_format is None:
        raise InvalidArgumentError(f"{path} is binary; an editor opens text", path=path)
    parts.journal.contents.keep(content, facts.version)
    return facts.version, facts.text_format, text


class DocumentSave(Struct, frozen=True):
    """Decides what a save of a document writes."""

    document_id: str
    on_conflict: OnConflict
    actor: Actor
    text_format: TextFormat | None = None
    """Format to store the file in from now on; None keeps its own."""

    def __call__(self, parts: Parts, seen: Look) -> PutDecision:
        """Return the document's text, with newer changes of the file merged in.

        Raises:
            BufferClosedError: The document was closed or moved to another path.
            EditConflictError: The file has changed in the same places.
            EncodingError: The file's encoding lacks a character of the text.
        """
        document = seen.view.document
        if document is None or document.id != self.document_id:
            raise BufferClosedError(seen.path)
        opened = parts.documents.at(document)
        if self.text_format is not None:
            opened = structs.replace(
                opened, document=structs.replace(document, text_format=self.text_format), base=None
            )
        is_level = seen.stat is None or seen.version == document.base or self.on_conflict == "allow"
        content = opened.to_bytes() if is_level else _merged(parts, seen, opened, self.text_format)
        encoding = None if self.text_format is None else self.text_format.encoding
        facts, text = inspect(content, name=seen.path, encoding=encoding)
        text = opened.text if is_level else text or ""
        change = rebased(opened, text, facts, reason="saved")
        if is_level:  # the bytes may look like another encoding
            after = structs.replace(change.document, text_format=opened.document.text_format)
            change = structs.replace(change, document=after)
        # The editor gets what was merged in.
        decision = PutDecision(
            content=content, facts=facts, sent=content, sent_version=facts.version, is_merged=not is_level
        )
        if facts.version != seen.version:
            parents = tuple(Relation(kind="parent", number=number) for number in document.parents)
            return structs.replace(decision, document=change, relations=parents)
        # The file already has these bytes, so nothing is recorded; keep them as the document's base.
        parts.journal.contents.keep(content, facts.version)
        is_news = document.is_dirty or document.base != facts.version
        if is_news and not parts.journal.documents.advance(change, self.actor):
            raise HeadMovedError(seen.path)
        return decision


def _merged(parts: Parts, seen: Look, opened: OpenText, text_format: TextFormat | None) -> bytes:
    facts, on_disk = seen.facts, disk_text(parts, seen)
    if on_disk is None or facts is None or facts.text_format is None:
        raise unmergeable(seen.path, opened.document.base, seen.version, reason="it is binary now")
    content = content_of(parts, seen) if text_format is None else encode(on_disk, text_format, path=seen.path)
    by_words = parts.settings.is_prose(seen.path)
    merged, result = merge_bytes(
        opened.base_text, content, opened.text, text_format=text_format or facts.text_format, path=seen.path,
        by_words=by_words,
    )  # fmt: skip
    if merged is None:
        version = opened.document.base or ""
        raise overlapping(seen.path, version, seen.version, result, on_disk, opened.base_text)
    return merged


def keep_and_close(parts: Parts, document: Document) -> str | None:
    """Record the unsaved text of a document without handles as a version of its path and close it, in one commit.

    Returns:
        The version; None if the document was opened again or is closed.
    """
    for _ in range(MOST_TRIES):
        opened = parts.documents.newest(document.id)
        if opened is None or parts.journal.documents.handles(document.id):
            return None
        now, author = opened.document, parts.documents.author(opened.document)
        try:
            parts.journal.keep_aside(now.path, now.key, opened.content, author, of=now, closes=True)
        except HeadMovedError:
            continue
        return opened.version
    return None


def sweep_handles(parts: Parts) -> Iterator[tuple[Document, str, Actor]]:
    """Release expired handles; yields each abandoned document with the version of its kept text, and its author."""
    now, documents = time.time(), parts.journal.documents
    for handle in documents.handles():
        if handle.leased_until < now:
            documents.release(handle.name)
    held = {handle.document_id for handle in documents.handles()}
    for document in [each for each in documents.all() if each.id not in held]:
        author = parts.documents.author(document)
        kept = keep_and_close(parts, document)
        if kept is not None:
            yield document, kept, author
