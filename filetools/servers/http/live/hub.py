"""Distributes workspace events to all connections of a server; each event is serialised once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from filetools.errors import FileToolsError
from filetools.events.types import BufferEvent, Event, TreeEvent, from_record
from filetools.facade.facade import FileToolsFacade
from filetools.facade.reading.feed import FeedPage
from filetools.models.records import ChangeRecord
from filetools.servers.http.live.frames import frame_text, pending_request
from filetools.servers.http.live.open_document import OpenDocument, step_of
from filetools.tools.call_log import CallLog

REMEMBERED_TEXTS: Final = 1024
_STATES: Final = {"tool:approval_required": "asked", "tool:approved": "allowed", "tool:rejected": "denied"}


class Hub:
    """Sends workspace events to the connections of one server; ended with `close`.

    Changes in the feed are not sent here: each connection follows the feed at its own pace.

    Args:
        files: The open workspace.
        log: The running tool calls.
    """

    def __init__(self, files: FileToolsFacade, log: CallLog) -> None:
        self.log = log
        self._files = files
        self.handover = asyncio.Lock()
        """Held while a connection closes a handle or another one takes it over."""
        self._members: set[Callable[[str], None]] = set()
        self._open: dict[str, set[OpenDocument]] = {}
        self._dirty: dict[str, bool] = {}
        # `_send_event` is synchronous so that edits are sent in the same loop iteration; the others
        # are coroutines, which run in separate tasks.
        self._subscriptions = [
            files.on("*", self._send_event),
            files.on("tool:*", self._send_call_event),
            files.on("feed:*", self._send_resync),
        ]

    @property
    def members(self) -> int:
        """Number of connections."""
        return len(self._members)

    def join(self, offer: Callable[[str], None]) -> None:
        """Send frames to a connection from now on."""
        self._members.add(offer)

    def leave(self, offer: Callable[[str], None], documents: Iterable[OpenDocument]) -> None:
        """Stop sending to a connection and to its documents."""
        self._members.discard(offer)
        for document in documents:
            self.forget(document)

    def follow(self, document: OpenDocument) -> None:
        """Pass changes of a document on to it."""
        self._open.setdefault(document.document, set()).add(document)

    def forget(self, document: OpenDocument) -> None:
        """Stop passing changes on to a document."""
        followers = self._open.get(document.document, set())
        followers.discard(document)
        if not followers:
            self._open.pop(document.document, None)

    def is_held(self, document: OpenDocument) -> bool:
        """Return True if another connection follows the document by the same handle."""
        followers = self._open.get(document.document, ())
        return any(each is not document and each.handle == document.handle for each in followers)

    def close(self) -> None:
        """Unsubscribe from all events."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()

    def texts_of(self, page: FeedPage) -> list[str]:
        """Return the frames for a page of the feed."""
        epoch = page.position.partition(":")[0]
        return [_record_text(record, f"{epoch}:{record.number}") for record in page.records]

    def _send_event(self, event: Event) -> None:
        if isinstance(event, TreeEvent) or event.name.startswith(("tool:", "feed:")):
            return
        if isinstance(event, BufferEvent):
            self._send_document_event(event)
        elif self._members:
            self._send(frame_text("event", **event.to_dict()))

    def _send_document_event(self, event: BufferEvent) -> None:
        step = step_of(event)
        if step is not None:
            for document in list(self._open.get(event.document, ())):
                document.take(step)
        if event.name == "buffer:moved":
            for document in self._open.get(event.document, ()):
                document.path = event.path
        if event.name == "buffer:closed":
            self._dirty.pop(event.document, None)
        if step is not None and self._dirty.get(event.document, False) != step["dirty"]:
            self._dirty[event.document] = step["dirty"]
        elif event.name == "buffer:changed":
            return  # clients that have it open get the edits; the others only need the changed flag
        if self._members:
            self._send(frame_text("event", **event.to_dict() | {"edits": None}))

    async def _send_call_event(self, event: Event) -> None:
        """Send approval and progress events, in order."""
        if not self._members:
            return
        plain = event.to_dict()
        if event.name == "tool:progress":
            facts = {name: plain.get(name) for name in ("current", "total", "message")}
            self._send(frame_text("progress", call=plain["tool_call_id"], **facts))
        elif event.name in _STATES:
            approval_id, state = plain["approval_id"], _STATES[event.name]
            open_now = await self._files.approvals() if state == "asked" else []
            request = next((pending_request(each) for each in open_now if each.id == approval_id), None)
            reason = plain.get("reason")
            self._send(frame_text("approval", state=state, approval_id=approval_id, request=request, reason=reason))

    async def _send_resync(self, event: Event) -> None:
        """Report that changes of the tree may have been missed."""
        try:
            position = await self._files.position()
        except FileToolsError:  # the workspace is being closed, and with it every connection
            return
        self._send(frame_text("resync", reason=event.to_dict().get("reason", "unknown"), position=position))

    def _send(self, text: str) -> None:
        for offer in list(self._members):
            offer(text)


@lru_cache(REMEMBERED_TEXTS)
def _record_text(record: ChangeRecord, position: str) -> str:
    [event] = from_record(record)
    return frame_text("event", **event.to_dict(), position=position)
