"""Which documents are open, as far as this process has heard: told from rows, asked at every read."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from filetools.journal.document_rows import Document


class KnownDocuments:
    """Open documents by name and by path. One an opened workspace; told by one thread at a time, asked by any."""

    def __init__(self) -> None:
        self._by_id: dict[str, Document] = {}
        self._by_key: dict[str, Document] = {}

    @property
    def is_any(self) -> bool:
        """Whether any document is open."""
        return bool(self._by_id)

    def get(self, document_id: str) -> Document | None:
        """Return a document by its name; None if it is not open."""
        return self._by_id.get(document_id)

    def at(self, key: str) -> Document | None:
        """Return the document of a path; None if no editor has it open."""
        return self._by_key.get(key)

    def is_dirty(self, key: str) -> bool:
        """Whether a path has unsaved text."""
        document = self._by_key.get(key)
        return document is not None and document.is_dirty

    def all(self) -> list[Document]:
        """Return every document."""
        return [*self._by_id.values()]

    def note(self, changed: Iterable[Document], closed: Collection[str]) -> None:
        """Know what became of some documents; nothing else is touched."""
        changed = list(changed)
        former = [self._by_id.get(document_id) for document_id in (*(document.id for document in changed), *closed)]
        # What is still open is found at every moment: a read in between must not miss unsaved text.
        for document in changed:
            self._by_id[document.id] = self._by_key[document.key] = document
        for document_id in closed:
            self._by_id.pop(document_id, None)
        for document in filter(None, former):
            if self._by_key.get(document.key) is document:
                del self._by_key[document.key]
