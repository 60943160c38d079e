"""The state of one editor: its open documents, updated by events so that carets and scroll position do not jump."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from filetools.content.differences.diff import minimal_edits
from filetools.content.editing.text_edits import in_utf16
from filetools.editors.shown import Selection, ShownDocument
from filetools.errors import InvalidArgumentError
from filetools.events.bus import EventBus
from filetools.events.subscriptions import Subscription
from filetools.events.types import (
    BufferAbandoned,
    BufferBehind,
    BufferChanged,
    BufferClosed,
    BufferEvent,
    BufferMoved,
    BufferOpened,
    BufferSaved,
    Event,
    Resync,
)
from filetools.models.buffers import BufferResult
from filetools.models.records import Actor
from filetools.paths.lexical import AnyPath, plain_path

KEPT_CHANGES: Final = 32
"""Changes kept for a document that waits for its text; if there are more, it asks for the text again."""
MOST_MOVED: Final = 100


class EditorState:
    """The open documents of one editor, in one window or process, updated by events.

    The owner passes each document that it opens to `show`; from then on the state follows every change. If a change was
    missed, the document becomes stale and `ask_resync` is called once, until the owner shows it again. Use it on the bus's
    loop.

    Args:
        actor: The editor's actor: carets move behind text that this actor inserts at them, and stay before others' text.
        ask_resync: Called with the path of a document that must be read and shown again.
    """

    def __init__(self, actor: Actor, ask_resync: Callable[[str], None]) -> None:
        self._actor = actor
        self._ask_resync = ask_resync
        self._documents: dict[str, ShownDocument] = {}
        self._pending: defaultdict[str, deque[BufferChanged]] = defaultdict(partial(deque, maxlen=KEPT_CHANGES))
        """Changes of documents that are stale or not shown; a text shown later may be older than these."""
        self._moved: dict[str, str] = {}
        """New paths of documents that moved while they were not shown."""
        self._subscriptions: list[Subscription] = []

    @property
    def documents(self) -> Mapping[str, ShownDocument]:
        """The shown documents, by path."""
        return MappingProxyType(self._documents)

    def attach(self, bus: EventBus) -> None:
        """Subscribe to a bus; call it before the first document is opened."""
        self._subscriptions += [bus.subscribe("buffer:*", self.apply), bus.subscribe(Resync.name, self.apply)]

    def detach(self) -> None:
        """Unsubscribe; may be called twice."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()
        self._subscriptions.clear()

    def show(self, opened: BufferResult) -> ShownDocument:
        """Show a document that was opened, or read again after `ask_resync`.

        A document that was shown before keeps its carets, selections and first visible line at the same text. A text older
        than the shown one is ignored.

        Args:
            opened: The result of `files.buffers`.

        Returns:
            The shown document, including changes received since that version.
        """
        path = self._moved.pop(opened.document, opened.path)
        known = self._documents.get(path)
        if known is None or (known.document and opened.document and known.document != opened.document):
            known = ShownDocument(path=path, text=opened.text, version=opened.buffer_version, document=opened.document)
        if known.is_stale or opened.buffer_version >= known.version:
            known = known.changed(in_utf16(known.text, minimal_edits(known.text, opened.text)), sticks="left")
            known = replace(
                known,
                version=opened.buffer_version,
                is_dirty=opened.dirty,
                is_stale=False,
                is_behind=opened.behind,
                disk_version=opened.disk_version if opened.behind else None,
            )
        self._documents[path] = known
        for event in self._pending.pop(opened.document or path, ()):
            self._change(event)
        return self._documents[path]

    def look(
        self,
        path: AnyPath,
        *,
        carets: Sequence[int] | None = None,
        selections: Sequence[Selection] | None = None,
        first_line: int | None = None,
    ) -> ShownDocument:
        """Set the user's carets, selections and scroll position in a document; None keeps the current ones.

        Args:
            path: A document that is shown.
            carets: Offsets in UTF-16 units.
            selections: Selected parts, in UTF-16 units.
            first_line: The first visible line, from 1.

        Raises:
            InvalidArgumentError: The document is not shown, or an offset or line is not in its text.
        """
        path = plain_path(path)
        if path not in self._documents:
            raise InvalidArgumentError(f"No document {path!r} is shown", path=path)
        self._documents[path] = self._documents[path].placed(carets, selections, first_line)
        return self._documents[path]

    def close(self, path: AnyPath) -> None:
        """Stop showing a document; no effect if it is not shown."""
        self._documents.pop(plain_path(path), None)

    def apply(self, event: Event) -> None:
        """Apply one event; unrelated and already applied events are ignored."""
        match event:
            case BufferOpened():
                self._pending.pop(_name(event), None)
                if (document := self._shown(event, event.path)) is not None and event.version > document.version:
                    self._miss(event.path)
            case BufferChanged():
                self._change(event)
            case BufferSaved():
                self._save(event)
            case BufferClosed() | BufferAbandoned():
                self._pending.pop(_name(event), None)
                self._moved.pop(event.document, None)
                if self._shown(event, event.path) is not None:
                    self.close(event.path)
            case BufferBehind():
                if (document := self._shown(event, event.path)) is not None:
                    self._documents[event.path] = replace(document, is_behind=True, disk_version=event.disk_version)
            case BufferMoved():
                self._move(event)
            case Resync():
                for path in list(self._documents):
                    self._miss(path)

    def _shown(self, event: BufferEvent, path: str) -> ShownDocument | None:
        """Return the document shown at a path, if it is the one of an event."""
        document = self._documents.get(path)
        if document is None or not (document.document and event.document):
            return document
        return document if document.document == event.document else None

    def _change(self, event: BufferChanged) -> None:
        document = self._shown(event, event.path)
        if document is None or document.is_stale:
            self._pending[_name(event)].append(event)
            return
        if event.version <= document.version:
            return
        after = _after(document, event, self._actor)
        if after is None:
            self._pending[_name(event)].append(event)
            self._miss(event.path)
            return
        if event.reason in ("disk", "merged", "saved"):
            after = replace(after, is_behind=False, disk_version=None)
        self._documents[event.path] = replace(after, version=event.version, is_dirty=event.dirty)

    def _save(self, event: BufferSaved) -> None:
        document = self._shown(event, event.path)
        if document is None or document.is_stale:
            return
        if event.version > document.version + 1:
            self._miss(event.path)
        elif event.version >= document.version:
            # A save has a version of its own, and comes without a change event if the text is the same. A save of an older
            # version is ignored: what was typed since is not in the file.
            self._documents[event.path] = replace(
                document, version=event.version, is_dirty=False, is_behind=False, disk_version=None
            )

    def _move(self, event: BufferMoved) -> None:
        document = self._shown(event, event.old_path)
        if document is not None:
            del self._documents[event.old_path]
            self._documents[event.path] = replace(document, path=event.path)
        elif event.document:
            # `show` may still be called with the path that it had when it was opened.
            self._moved[event.document] = event.path
            if len(self._moved) > MOST_MOVED:
                del self._moved[next(iter(self._moved))]
        if not event.document and event.old_path in self._pending:
            self._pending[event.path] = self._pending.pop(event.old_path)

    def _miss(self, path: str) -> None:
        document = self._documents[path]
        if not document.is_stale:
            self._documents[path] = replace(document, is_stale=True)
            self._ask_resync(path)


def _name(event: BufferEvent) -> str:
    return event.document or event.path


def _after(document: ShownDocument, event: BufferChanged, owner: Actor) -> ShownDocument | None:
    """Return a document after a change; None if the change is not the next one or does not fit."""
    if event.version != document.version + 1:
        return None
    actor = event.actor
    is_owners = (actor.kind, actor.id, actor.session) == (owner.kind, owner.id, owner.session)
    try:
        return document.changed(event.edits, sticks="right" if is_owners else "left")
    except InvalidArgumentError:
        return None
