"""Distributes workspace events to the connections of a server, and edits of documents to those that have them open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from msgspec import Struct

from filetools.errors import FileToolsError
from filetools.events.types import BufferEvent, Event, TreeEvent, from_record
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import ChangeRecord
from filetools.servers.http.live.frames import frame_text, json_text, pending_request
from filetools.tools.call_log import CallLog

_STATES: Final = {"tool:approval_required": "asked", "tool:approved": "allowed", "tool:rejected": "denied"}
MOST_HELD: Final = 1000
"""Changes by others held back while the client's own is applied; beyond this, the client must reconnect."""


class DocumentStep(Struct, frozen=True):
    """The changes from one version of a document to the next."""

    version: int
    """The later one."""
    dirty: bool
    text: str
    """The end of an `edits` frame with these changes, the same for all connections."""


def step_of(event: BufferEvent) -> DocumentStep | None:
    """Return the step that an event reports, or None."""
    plain = event.to_dict()
    if not isinstance(plain.get("version"), int) or event.name not in ("buffer:changed", "buffer:saved"):
        return None
    saved: dict[str, Any] = {"edits": [], "dirty": False, "reason": "saved"}
    fields = saved if event.name == "buffer:saved" else {name: plain[name] for name in saved}
    fields |= {"buffer_version": plain["version"], "actor": event.actor.to_dict()}
    return DocumentStep(plain["version"], fields["dirty"], f",{json_text(fields)[1:]}")


class OpenDocument:
    """A handle of one session, until the handle or the connection is closed.

    The client knows one version at a time. Changes by others reach it as `edits`, each from one version to the next; while
    an edit of its own is processed they are held back, and are sent with the response.

    Args:
        handle: Identifies it in calls.
        document: Identifies it in events.
        path: Path of its file.
        offer: Sends a frame that the client did not request.
        fall_behind: Ends the connection, because a change was missed.
    """

    def __init__(
        self, handle: str, document: str, path: str, offer: Callable[[str, str], None], fall_behind: Callable[[], None]
    ) -> None:
        self.handle = handle
        self.document = document
        self.path = path
        self.whole = 0
        """Version of the whole text sent last."""
        self._offer = offer
        self._fall_behind = fall_behind
        self.known: int | None = None
        """Version that the client has once it has read all frames sent to it; None before the first text."""
        self._held: list[DocumentStep] | None = None
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Process requests one at a time, in the client's order, and hold back changes by others meanwhile."""
        async with self._turn:
            self._held = []
            try:
                yield
            finally:
                held, self._held = self._held, None
                for step in held:
                    self._pass_on(step)

    async def earlier(self) -> None:
        """Wait until the client's earlier requests are done."""
        async with self._turn:
            pass

    def is_at(self, version: int, *, is_whole: bool = False) -> None:
        """Record the client's version; call this in the same turn as sending it."""
        self.known = version
        self.whole = version if is_whole else self.whole

    def take(self, step: DocumentStep) -> None:
        """Pass a change of the document on to the client, or hold it back during a turn."""
        if self._held is None:
            self._pass_on(step)
        elif len(self._held) < MOST_HELD:
            self._held.append(step)  # beyond that, passing on the next step reveals the gap

    def _pass_on(self, step: DocumentStep) -> None:
        version = step.version
        if self.known is None or version <= self.known:
            return
        if version != self.known + 1:
            self._fall_behind()
            return
        self.known = version
        self._offer(frame_text("edits", handle=self.handle, since=version - 1)[:-1], step.text)


class Hub:
    """Sends workspace events to the connections of one server, ended with `close`.

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
        self.members: set[Callable[[str], None]] = set()
        """The connections, by the functions that send them frames."""
        self.open: set[OpenDocument] = set()
        """The open documents of all connections; each gets the changes by others."""
        self._dirty: dict[str, bool] = {}
        # `_send_event` is synchronous so that edits are sent in the same loop iteration; the others
        # are coroutines, which run in separate tasks.
        self._subscriptions = [
            files.on("*", self._send_event),
            files.on("tool:*", self._send_call_event),
            files.on("feed:*", self._send_resync),
        ]

    def is_held(self, document: OpenDocument) -> bool:
        """Return True if another connection follows the document by the same handle."""
        return any(each is not document and each.handle == document.handle for each in self.open)

    def close(self) -> None:
        """Unsubscribe from all events."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()

    def _send_event(self, event: Event) -> None:
        if isinstance(event, TreeEvent) or event.name.startswith(("tool:", "feed:")):
            return
        if isinstance(event, BufferEvent):
            self._send_document_event(event)
        elif self.members:
            self._send(frame_text("event", **event.to_dict()))

    def _send_document_event(self, event: BufferEvent) -> None:
        step = step_of(event)
        for document in [each for each in self.open if each.document == event.document]:
            if step is not None:
                document.take(step)
            if event.name == "buffer:moved":
                document.path = event.path
        if event.name == "buffer:closed":
            self._dirty.pop(event.document, None)
        if step is not None and self._dirty.get(event.document, False) != step.dirty:
            self._dirty[event.document] = step.dirty
        elif event.name == "buffer:changed":
            return  # clients that have it open get the edits; the others only need the changed flag
        if self.members:
            self._send(frame_text("event", **event.to_dict() | {"edits": None}))

    async def _send_call_event(self, event: Event) -> None:
        """Send approval and progress events, in order."""
        if not self.members:
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
        for offer in list(self.members):
            offer(text)


def record_text(record: ChangeRecord, position: str) -> str:
    """Return the frame for a change of the tree."""
    [event] = from_record(record)
    return frame_text("event", **event.to_dict(), position=position)
