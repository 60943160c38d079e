"""The state of one editor: its open documents, updated by events so that carets and scroll position do not jump."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
    BufferSaved,
    Event,
    Resync,
)
from filetools.models.buffers import BufferResult
from filetools.models.records import Actor
from filetools.paths.lexical import AnyPath, plain_path

KEPT_CHANGES: Final = 32
"""Events kept for a document that waits for its text; if there are more, it asks for the text again."""


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
        """By id."""
        self._pending: defaultdict[str, deque[BufferEvent]] = defaultdict(partial(deque, maxlen=KEPT_CHANGES))
        """Events of documents that are stale or not shown; a text shown later may be older than these."""
        self._subscriptions: list[Subscription] = []

    @property
    def documents(self) -> Mapping[str, ShownDocument]:
        """The shown documents, by path."""
        return {each.path: each for each in self._documents.values()}

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
        known = self._documents.get(opened.document)
        if known is None:
            self.close(opened.path)  # another document there was closed, and the event is missing
            known = ShownDocument(
                path=opened.path, text=opened.text, version=opened.buffer_version, document=opened.document
            )
        if known.is_stale or opened.buffer_version >= known.version:
            known = known.changed(in_utf16(known.text, minimal_edits(known.text, opened.text)), sticks="left")
            known = replace(
                known,
                path=opened.path if known.is_stale else known.path,
                version=opened.buffer_version,
                is_dirty=opened.dirty,
                is_stale=False,
                is_behind=opened.behind,
                disk_version=opened.disk_version if opened.behind else None,
            )
        self._documents[opened.document] = known
        for event in self._pending.pop(opened.document, ()):
            self.apply(event)
        return self._documents[opened.document]

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
        document = self.documents.get(path)
        if document is None:
            raise InvalidArgumentError(f"No document {path!r} is shown", path=path)
        self._documents[document.document] = placed = document.placed(carets, selections, first_line)
        return placed

    def close(self, path: AnyPath) -> None:
        """Stop showing a document; no effect if it is not shown."""
        document = self.documents.get(plain_path(path))
        if document is not None:
            del self._documents[document.document]

    def apply(self, event: Event) -> None:
        """Apply one event; unrelated and already applied events are ignored."""
        if isinstance(event, BufferClosed | BufferAbandoned):
            self._pending.pop(event.document, None)
            self._documents.pop(event.document, None)
        elif isinstance(event, BufferEvent):
            document = self._documents.get(event.document)
            if document is None or document.is_stale:
                self._pending[event.document].append(event)
            else:
                self._follow(document, event)
        elif isinstance(event, Resync):
            for document in [*self._documents.values()]:
                self._miss(document)

    def _follow(self, document: ShownDocument, event: BufferEvent) -> None:
        match event:
            case BufferChanged() if event.version > document.version:
                after = _after(document, event, self._actor)
                if after is None:
                    self._pending[document.document].append(event)
                    self._miss(document)
                    return
                if event.reason in ("disk", "merged", "saved"):
                    after = replace(after, is_behind=False, disk_version=None)
                document = replace(after, version=event.version, is_dirty=event.dirty)
            case BufferSaved() if event.version > document.version + 1:
                self._miss(document)
                return
            case BufferSaved() if event.version >= document.version:
                # A save has a version of its own, and comes without a change event if the text is the same. A save of an
                # older version is ignored: what was typed since is not in the file.
                document = replace(document, version=event.version, is_dirty=False, is_behind=False, disk_version=None)
            case BufferBehind():
                document = replace(document, is_behind=True, disk_version=event.disk_version)
            case BufferMoved():
                document = replace(document, path=event.path)
        self._documents[document.document] = document

    def _miss(self, document: ShownDocument) -> None:
        if not document.is_stale:
            self._documents[document.document] = replace(document, is_stale=True)
            self._ask_resync(document.path)


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
