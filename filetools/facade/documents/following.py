"""Updates open documents from their files: a clean document takes the new text, a dirty one gets it merged in."""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from filetools.content.differences.diff import refined
from filetools.content.differences.merging import merge
from filetools.content.facts import inspect
from filetools.editors.documents import changed
from filetools.editors.open_text import OpenText
from filetools.errors import VersionGoneError
from filetools.facade.parts import Parts
from filetools.facade.steps.unsaved import replaced
from filetools.journal.documents import Document, DocumentChange
from filetools.models.records import EXTERNAL, Actor

MOST_TRIES: Final = 20
Followed = Literal["level", "behind", "closed"]


def follow_disk(parts: Parts, document: Document) -> Followed:
    """Update a document to the newest version of its file. Call it in a worker thread; it needs no lock.

    Returns:
        "behind" if the file's content cannot be merged into the unsaved text; the document and its base are unchanged.
    """
    for _ in range(MOST_TRIES):
        opened = parts.documents.texts.newest(document.id)
        if opened is None:
            return "closed"
        head = parts.view(opened.document.key).head
        # A deleted file does not change its document, which can be saved again. A write that is not applied yet may still
        # fail; its process updates the documents afterwards, or else the keeper does.
        if head is None or not head.applied or head.version in (None, opened.document.base):
            return "level"
        change = _updated(parts, opened, head.version or "")
        if change is None:
            return "behind"
        if parts.documents.advance(change, _author(parts, opened.document.key, head.number)):
            return "level"
    return "behind"


def _updated(parts: Parts, opened: OpenText, version: str) -> DocumentChange | None:
    try:
        facts, text = inspect(parts.journal.contents.get(version), name=opened.document.path)
    except VersionGoneError:
        return None
    if text is None or facts.text_format is None:
        return None
    if not opened.document.is_dirty:
        return replaced(opened, text, facts)
    merged = merge(opened.base_text, opened.text, text, by_words=parts.settings.is_prose(opened.document.path))
    if merged.text is None:
        return None
    # The merge's edits replace whole lines, which would lose carets and selections.
    edits = refined(opened.text, merged.edits)
    made = changed(opened, merged.text, edits, base=version, is_dirty=merged.text != text, reason="disk")
    return replace(made, text_format=facts.text_format)


def _author(parts: Parts, key: str, number: int) -> Actor:
    """Return the author of a head, as the actor of the document's change."""
    records = parts.journal.records(key=key, limit=10, newest_first=True)
    return next((record.actor for record in records if record.number == number), EXTERNAL)
