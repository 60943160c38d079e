"""Publishes events about open documents, whichever process changed them: compares the rows with those published last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence

import filetools.events as events
from filetools.changes.documents.files import follow_disk
from filetools.changes.parts import Parts
from filetools.editors.shown import edits_from_units
from filetools.errors import FileToolsError
from filetools.events.types import Event
from filetools.journal.documents import Document, DocumentEdit
from filetools.models.records import SYSTEM, ChangeRecord

_log = logging.getLogger(__name__)


_Tried = tuple[int, str | None, bool]
"""Version of a document, version of its file, and whether the bytes of that are kept: they may be stored again."""


class DocumentNews:
    """Publishes the events of open documents in this process. One per opened workspace; used on its loop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._known = parts.documents.known
        self._position = 0
        self._behind: dict[str, _Tried] = {}
        """By id: documents that could not be updated."""
        self._made: list[Event] = []
        """Unpublished events."""
        self._publishing = asyncio.Lock()
        self._is_due = asyncio.Event()

    async def start(self) -> None:
        """Load the documents that are already open; publishes nothing."""
        await self._parts.workers.run(self._begin)

    async def publish(self) -> None:
        """Publish new events, in order."""
        async with self._publishing:
            try:
                await self._parts.workers.run(self._make_events)
            finally:  # publish what was made even if the caller is cancelled or making the rest failed
                made, self._made = self._made, []
                for event in made:
                    self._parts.bus.publish(event)

    def note(self, records: Sequence[ChangeRecord]) -> None:
        """Note changes, for `follow_changes`."""
        known, key = self._known, self._parts.workspace.key
        if known.is_any and any(each.old_path is not None or known.at(key(each.path)) is not None for each in records):
            self._is_due.set()

    async def follow_changes(self) -> None:
        """Wait for changes of files that editors have open, then `follow`."""
        await self._is_due.wait()
        self._is_due.clear()
        try:
            await self.follow()
        except BaseException:
            self._is_due.set()
            raise

    async def follow(self) -> None:
        """Update documents from their files, publish new events, and one for each document that cannot be updated."""
        behind = await self._parts.workers.run(self._follow)
        await self.publish()
        for document, tried in behind:
            former, self._behind[document.id] = self._behind.get(document.id), tried
            if former is None or former[1] != tried[1]:
                self._parts.bus.publish(
                    events.BufferBehind(path=document.path, document=document.id, actor=SYSTEM, disk_version=tried[1])
                )

    def _follow(self) -> list[tuple[Document, _Tried]]:
        """Update documents; returns those that cannot be updated, unless they were tried as they are now."""
        behind = []
        for document in self._parts.journal.documents.behind():
            head = self._parts.view(document.key).head
            version = None if head is None else head.version
            tried = document.version, version, version is not None and self._parts.journal.contents.has(version)
            if self._behind.get(document.id) != tried and not follow_disk(self._parts, document):
                behind.append((document, tried))
        return behind

    def _begin(self) -> None:
        new = self._parts.journal.documents.changed(self._position)
        self._known.note(new.documents, ())
        self._position = new.position

    def _make_events(self) -> None:
        new = self._parts.journal.documents.changed(self._position)
        closed = new.closed
        if closed is None:
            still_open = {document.id for document in new.documents}
            closed = frozenset(document.id for document in self._known.all() if document.id not in still_open)
        known = [(document, self._known.get(document.id)) for document in new.documents]
        gone = [document for name in closed if (document := self._known.get(name)) is not None]
        # Before making events: until then a read may return the saved text although an earlier one showed unsaved text.
        self._known.note(new.documents, closed)
        self._position = new.position
        for document, former in known:
            try:
                self._made += self._about(document, former)
            except (FileToolsError, ValueError) as exc:
                # Do not hold up other documents; an editor notices the gap by the next version number.
                _log.error("no events were published for the open document %s: %s", document.path, exc)
        for document in gone:
            self._behind.pop(document.id, None)
            self._made.append(events.BufferClosed(path=document.path, document=document.id, actor=SYSTEM))

    def _about(self, document: Document, known: Document | None) -> Iterator[Event]:
        since = 1 if known is None else known.version
        if known is None:
            handles = self._parts.journal.documents.handles(document.id)
            actor = handles[-1].actor if handles else SYSTEM
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
