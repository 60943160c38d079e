"""The text of an open document and the bytes that saving it would write, cached for recently used documents."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from filetools.content.differences.diff import minimal_edits
from filetools.content.editing.text_edits import is_exact, splice
from filetools.content.formats import decode, encode
from filetools.content.version import version_of
from filetools.errors import EncodingError, VersionGoneError
from filetools.journal.changes import HeadMovedError
from filetools.journal.documents import Document
from filetools.journal.journal import Journal

MOST_TEXTS: Final = 64
"""Documents whose text and bytes are cached in memory."""


class OpenText(Struct, frozen=True, kw_only=True):
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

    def shown_bytes(self) -> bytes:
        """Return the bytes of the text: as `to_bytes`, or in UTF-8 if the file's encoding lacks a character."""
        try:
            return self.to_bytes()
        except EncodingError:
            return self.text.encode("utf-8", "surrogatepass")


class OpenTexts:
    """Loads the texts of open documents. One per opened workspace; thread-safe."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[OpenText, bytes, str]] = OrderedDict()

    def at(self, document: Document) -> OpenText:
        """Return the text of a document as it was seen; call it in a worker thread.

        Raises:
            HeadMovedError: The document has changed since, or was closed.
        """
        found = self.newest(document.id)
        if found is None or found.document != document:
            raise HeadMovedError(document.path)
        return found

    def newest(self, document_id: str) -> OpenText | None:
        """Return the newest text of a document, or None if it is closed; call it in a worker thread."""
        found = self._journal.documents.text(document_id)
        if found is None:
            return None
        document, text = found
        base = self._base_of(document)
        base_text = "" if base is None else decode(base, document.text_format, path=document.path)
        return OpenText(document=document, text=text, base=base, base_text=base_text)

    def _base_of(self, document: Document) -> bytes | None:
        if document.base is None:
            return None
        try:
            return self._journal.contents.get(document.base)
        except VersionGoneError:
            return None  # lost with a damaged journal; the document's text does not need it

    def bytes_of(self, opened: OpenText) -> tuple[bytes, str]:
        """Return `shown_bytes` of a text and their version; cached for the document's current version."""
        document = opened.document
        with self._lock:
            kept = self._kept.get(document.id)
        if kept is not None and kept[0].document == document:
            return kept[1], kept[2]
        content = opened.shown_bytes()
        made = (opened, content, version_of(content))
        with self._lock:
            self._kept[document.id] = made
            self._kept.move_to_end(document.id)
            while len(self._kept) > MOST_TEXTS:
                self._kept.popitem(last=False)
        return made[1], made[2]
