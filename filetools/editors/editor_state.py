"""The state of one editor: its open documents, kept as the bus tells of them, without a jump of caret or scroll."""

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
from filetools.events.buffers import (
    BufferAbandoned,
    BufferBehind,
    BufferChanged,
    BufferClosed,
    BufferEvent,
    BufferMoved,
    BufferOpened,
    BufferSaved,
)
from filetools.events.bus import EventBus
from filetools.events.subscriptions import Subscription
from filetools.events.types import Event, Resync
from filetools.models.buffers import BufferResult
from filetools.models.records import Actor
from filetools.paths.lexical import AnyPath, plain_path

KEPT_CHANGES: Final = 32
"""Changes kept of a document that waits for its text; if more come meanwhile, it asks again."""
MOST_MOVED: Final = 100


class EditorState:
    """What one editor, in one window or process, shows; follows the bus. Lives as long as the editor.

    The owner shows it each document that it opens, as opening gave it; from then on the state follows every change. A
    change that was missed is never guessed: the document becomes stale, and the owner, asked once, shows it again. Use
    it on the bus's loop.

    Args:
        actor: Whose editor it is: its carets go behind what this actor types, and stay before what others put there.
        ask_resync: Called with the path of a document whose text must be read again and shown.
    """

    def __init__(self, actor: Actor, ask_resync: Callable[[str], None]) -> None:
        self._actor = actor
        self._ask_resync = ask_resync
        self._documents: dict[str, ShownDocument] = {}
        self._heard: defaultdict[str, deque[BufferChanged]] = defaultdict(partial(deque, maxlen=KEPT_CHANGES))
        """What was told of documents that are not shown, or stale: they may be shown as of before it."""
        self._moved: dict[str, str] = {}
        """Where documents are that moved while they were not shown."""
        self._subscriptions: list[Subscription] = []

    @property
    def documents(self) -> Mapping[str, ShownDocument]:
        """What is open, by path."""
        return MappingProxyType(self._documents)

    def attach(self, bus: EventBus) -> None:
        """Follow a bus from now on; attach before the first document is opened."""
        self._subscriptions += [bus.subscribe("buffer:*", self.apply), bus.subscribe(Resync.name, self.apply)]

    def detach(self) -> None:
        """Follow no bus any more; may be called twice."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()
        self._subscriptions.clear()

    def show(self, opened: BufferResult) -> ShownDocument:
        """Show a document that was opened, or read again after `ask_resync`.

        One that was shown before keeps its carets, selections and first visible line at the text they were at. A text
        older than what is shown changes nothing.

        Args:
            opened: What `files.buffers` gave.

        Returns:
            The document as it is shown; changes told since that version are in it.
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
        for event in self._heard.pop(opened.document or path, ()):
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
        """Note where the user is in a document; None leaves what is known.

        Args:
            path: A document that is shown.
            carets: Places in UTF-16 units.
            selections: Selected parts, in UTF-16 units.
            first_line: The first visible line, from 1.

        Raises:
            InvalidArgumentError: The document is not shown, or a place or line is not in its text.
        """
        path = plain_path(path)
        if path not in self._documents:
            raise InvalidArgumentError(f"No document {path!r} is shown", path=path)
        self._documents[path] = self._documents[path].placed(carets, selections, first_line)
        return self._documents[path]

    def close(self, path: AnyPath) -> None:
        """Show a document no longer; without effect if it is not shown."""
        self._documents.pop(plain_path(path), None)

    def apply(self, event: Event) -> None:
        """Take in one event; events about other things, or known already, change nothing."""
        match event:
            case BufferOpened():
                self._heard.pop(_name(event), None)
                if (document := self._shown(event, event.path)) is not None and event.version > document.version:
                    self._miss(event.path)
            case BufferChanged():
                self._change(event)
            case BufferSaved():
                self._save(event)
            case BufferClosed() | BufferAbandoned():
                self._heard.pop(_name(event), None)
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
        """Return what is shown at a path, if it is the document that an event is about."""
        document = self._documents.get(path)
        if document is None or not (document.document and event.document):
            return document
        return document if document.document == event.document else None

    def _change(self, event: BufferChanged) -> None:
        document = self._shown(event, event.path)
        if document is None or document.is_stale:
            self._heard[_name(event)].append(event)
            return
        if event.version <= document.version:
            return
        after = _after(document, event, self._actor)
        if after is None:
            self._heard[_name(event)].append(event)
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
            # A save is a version of its own, and told without a change where the text stays as it is. Of an older one
            # nothing is to be noted: what was typed since is not in the file.
            self._documents[event.path] = replace(
                document, version=event.version, is_dirty=False, is_behind=False, disk_version=None
            )

    def _move(self, event: BufferMoved) -> None:
        document = self._shown(event, event.old_path)
        if document is not None:
            del self._documents[event.old_path]
            self._documents[event.path] = replace(document, path=event.path)
        elif event.document:
            # It may be on its way to being shown, under the path that it had when it was opened.
            self._moved[event.document] = event.path
            if len(self._moved) > MOST_MOVED:
                del self._moved[next(iter(self._moved))]
        if not event.document and event.old_path in self._heard:
            self._heard[event.path] = self._heard.pop(event.old_path)

    def _miss(self, path: str) -> None:
        document = self._documents[path]
        if not document.is_stale:
            self._documents[path] = replace(document, is_stale=True)
            self._ask_resync(path)


def _name(event: BufferEvent) -> str:
    return event.document or event.path


def _after(document: ShownDocument, event: BufferChanged, owner: Actor) -> ShownDocument | None:
    """Return a document after a change, or None if it is not the next one."""
    if event.version != document.version + 1:
        return None
    actor = event.actor
    is_owners = (actor.kind, actor.id, actor.session) == (owner.kind, owner.id, owner.session)
    try:
        return document.changed(event.edits, sticks="right" if is_owners else "left")
    except InvalidArgumentError:
        return None
