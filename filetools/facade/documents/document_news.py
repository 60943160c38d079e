"""Tells the bus what happened to open documents, whichever process did it: the rows are compared with what was told."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import filetools.events as events
from filetools.editors.shown import edits_from_units
from filetools.errors import FileToolsError
from filetools.events.types import Event
from filetools.facade.documents.following import follow_disk
from filetools.facade.parts import Parts
from filetools.journal.documents import Document, DocumentEdit
from filetools.models.records import SYSTEM, Actor

_log = logging.getLogger(__name__)

MOST_TRIES: Final = 5
"""Of making events from what the journal has."""


class DocumentNews:
    """What this process has told of open documents. One an opened workspace; belongs to its loop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._known = parts.documents.known
        self._position = 0
        self._holders: dict[str, Actor] = {}
        self._behind: dict[str, str | None] = {}
        self._waiting: deque[tuple[Document, Document | None, bool]] = deque()
        """Documents as they are and as they were before, whose events are not made yet; whether they are closed."""
        self._failures = 0
        """Of making the events of the first of these."""
        self._made: list[Event] = []
        """Events that nobody has heard yet."""
        self._telling = asyncio.Lock()

    async def start(self) -> None:
        """Know what is open already; nothing is told of it."""
        await self._parts.workers.run(self._begin)

    async def tell(self) -> None:
        """Publish what is new, in order."""
        async with self._telling:
            try:
                await self._parts.workers.run(self._take)
            finally:  # what a caller has taken who is cancelled or refused meanwhile is told all the same
                made, self._made = self._made, []
                for event in made:
                    self._parts.bus.publish(event)

    async def follow(self, documents: Sequence[Document]) -> None:
        """Have documents follow their files, and tell of those that cannot."""
        if not documents:
            return
        behind = await self._parts.workers.run(partial(self._follow, documents))
        await self.tell()
        for document in behind:
            head = await self._parts.workers.run(partial(self._head_of, document))
            if self._behind.get(document.id, "") != head:
                self._behind[document.id] = head
                self._parts.bus.publish(
                    events.BufferBehind(path=document.path, document=document.id, actor=SYSTEM, disk_version=head)
                )

    def _follow(self, documents: Sequence[Document]) -> list[Document]:
        return [document for document in documents if follow_disk(self._parts, document) == "behind"]

    def _head_of(self, document: Document) -> str | None:
        head = self._parts.view(document.key).head
        return None if head is None else head.version

    def _begin(self) -> None:
        documents = self._parts.journal.documents
        new = documents.changed(self._position)
        self._known.note(new.documents, ())
        self._position = new.position
        if new.documents:
            self._holders = {handle.document_id: handle.actor for handle in documents.handles()}

    def _take(self) -> None:
        new = self._parts.journal.documents.changed(self._position)
        closed = new.closed
        if closed is None:
            still_open = {document.id for document in new.documents}
            closed = frozenset(document.id for document in self._known.all() if document.id not in still_open)
        self._waiting += ((document, self._known.get(document.id), False) for document in new.documents)
        self._waiting += ((known, known, True) for name in closed if (known := self._known.get(name)) is not None)
        # At once: until then a read may take what was typed since for saved, though a read before has shown it.
        self._known.note(new.documents, closed)
        self._position = new.position
        while self._waiting:
            self._made += self._events_of(*self._waiting[0])
            self._waiting.popleft()
            self._failures = 0

    def _events_of(self, document: Document, known: Document | None, is_closed: bool) -> list[Event]:
        try:
            return [self._closed(document)] if is_closed else [*self._about(document, known)]
        except (FileToolsError, ValueError) as exc:
            self._failures += 1
            if self._failures < MOST_TRIES and isinstance(exc, FileToolsError):
                raise
            # It must not hold up what happened to others; an editor sees by the next version that it lacks some.
            _log.error("what happened to the open document %s is not told: %s", document.path, exc)
            return []

    def _closed(self, document: Document) -> Event:
        actor = self._holders.pop(document.id, SYSTEM)
        self._behind.pop(document.id, None)
        return events.BufferClosed(path=document.path, document=document.id, actor=actor)

    def _about(self, document: Document, known: Document | None) -> Iterator[Event]:
        since = 1 if known is None else known.version
        if known is None:
            handles = self._parts.journal.documents.handles(document.id)
            actor = self._holders[document.id] = handles[-1].actor if handles else SYSTEM
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
