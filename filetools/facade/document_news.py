"""Tells the bus what happened to open documents, whichever process did it: the rows are compared with what was told."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from filetools import events
from filetools.deferred import deferred_imports
from filetools.facade.parts import Parts
from filetools.journal import DocumentEdit
from filetools.models import SYSTEM, Actor

if TYPE_CHECKING:
    from filetools.editors import edits_from_units
    from filetools.events import Event
    from filetools.facade.following import follow_disk
    from filetools.journal import Document
else:
    deferred_imports(globals(), {"filetools.editors": "edits_from_units", "filetools.facade.following": "follow_disk"})


class DocumentNews:
    """What this process has told of open documents. One an opened workspace; belongs to its loop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._known: dict[str, Document] = {}
        self._holders: dict[str, Actor] = {}
        self._behind: dict[str, str | None] = {}
        self._telling = asyncio.Lock()

    async def start(self) -> None:
        """Know what is open already; nothing is told of it."""
        documents = await self._parts.crew.run(self._read)
        self._known = {document.id: document for document in documents}

    async def tell(self) -> None:
        """Publish what is new, in order."""
        async with self._telling:
            for event in await self._parts.crew.run(self._take):
                self._parts.bus.publish(event)

    async def follow(self, documents: Sequence[Document]) -> None:
        """Have documents follow their files, and tell of those that cannot."""
        if not documents:
            return
        behind = await self._parts.crew.run(partial(self._follow, documents))
        await self.tell()
        for document in behind:
            head = await self._parts.crew.run(partial(self._head_of, document))
            if self._behind.get(document.id, "") != head:
                self._behind[document.id] = head
                self._parts.bus.publish(
                    events.BufferBehind(path=document.path, document=document.id, actor=SYSTEM, disk_version=head)
                )

    def _follow(self, documents: Sequence[Document]) -> list[Document]:
        return [document for document in documents if follow_disk(self._parts, document) == "behind"]

    def of_keys(self, keys: Collection[str]) -> list[Document]:
        """Return the documents open at these paths, as far as this process has heard."""
        return [document for document in self._known.values() if document.key in keys]

    def _head_of(self, document: Document) -> str | None:
        head = self._parts.journal.view(document.key).head
        return None if head is None else head.version

    def _read(self) -> list[Document]:
        documents = self._parts.journal.documents.all()
        self._parts.documents.note(documents)
        return documents

    def _take(self) -> list[Event]:
        documents = {document.id: document for document in self._read()}
        if documents == self._known:
            return []
        if any(document_id not in self._known for document_id in documents):
            self._holders = {handle.document_id: handle.actor for handle in self._parts.journal.documents.handles()}
        found = [event for document in documents.values() for event in self._about(document)]
        for gone in self._known.keys() - documents.keys():
            actor = self._holders.pop(gone, SYSTEM)
            self._behind.pop(gone, None)
            found.append(events.BufferClosed(path=self._known[gone].path, document=gone, actor=actor))
        self._known = documents
        return found

    def _about(self, document: Document) -> Iterator[Event]:
        known = self._known.get(document.id)
        since = 1 if known is None else known.version
        if known is None:
            actor = self._holders.get(document.id, SYSTEM)
            yield events.BufferOpened(path=document.path, document=document.id, actor=actor, version=1)
        elif known.path != document.path:
            yield events.BufferMoved(path=document.path, document=document.id, actor=SYSTEM, old_path=known.path)
        if document.version > since:
            for step in self._parts.journal.documents.history(document.id, since):
                if step.version <= document.version:
                    yield from _of_step(document, step)


def _of_step(document: Document, step: DocumentEdit) -> Iterator[Event]:
    edits = edits_from_units(step.edits)
    if edits or step.reason != "saved":
        yield events.BufferChanged(
            path=document.path,
            document=document.id,
            actor=step.actor,
            version=step.version,
            edits=tuple(edits),
            dirty=document.is_dirty,
            reason=step.reason,
        )
    if step.reason == "saved" and document.base is not None:
        yield events.BufferSaved(
            path=document.path, document=document.id, actor=step.actor, version=step.version, file_version=document.base
        )
