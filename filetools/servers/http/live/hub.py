"""What all connections of one server share: the events of the workspace, put into words once however many listen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from filetools.errors import FileToolsError
from filetools.events.buffers import BufferEvent
from filetools.events.types import Event, TreeEvent, from_record
from filetools.facade.facade import FileToolsFacade
from filetools.facade.reading.feed import FeedPage
from filetools.models.records import ChangeRecord
from filetools.servers.http.live.frames import asked, frame_text
from filetools.servers.http.live.open_document import OpenDocument, step_of
from filetools.tools.call_log import CallLog

REMEMBERED_TEXTS: Final = 1024
_STATES: Final = {"tool:approval_required": "asked", "tool:approved": "allowed", "tool:rejected": "denied"}


class Hub:
    """Hears the workspace and tells its members; lives as long as the server, closed with `close`.

    What has a position in the feed is not told here: each member follows the feed at its own pace.

    Args:
        files: The opened workspace.
        log: The calls of tools that run.
    """

    def __init__(self, files: FileToolsFacade, log: CallLog) -> None:
        self.log = log
        self._files = files
        self.handover = asyncio.Lock()
        """Held while one connection gives a handle up, or another one takes it over."""
        self._members: set[Callable[[str], bool]] = set()
        self._open: dict[str, set[OpenDocument]] = {}
        self._dirty: dict[str, bool] = {}
        # Plain, so that edits go out in the turn of the loop that brings them; what must be looked up has a lane of its own.
        self._subscriptions = [files.on("*", self._hear), files.on("tool:*", self._ask), files.on("feed:*", self._warn)]

    @property
    def members(self) -> int:
        """How many connections are told."""
        return len(self._members)

    def join(self, offer: Callable[[str], bool]) -> None:
        """Send a connection frames from now on, by what returns False if there was no room for one."""
        self._members.add(offer)

    def leave(self, offer: Callable[[str], bool], documents: Iterable[OpenDocument]) -> None:
        """Send it no more, nor its documents."""
        self._members.discard(offer)
        for document in documents:
            self.forget(document)

    def follow(self, document: OpenDocument) -> None:
        """Tell a document what is done to it."""
        self._open.setdefault(document.document, set()).add(document)

    def forget(self, document: OpenDocument) -> None:
        """Tell it no more."""
        followers = self._open.get(document.document, set())
        followers.discard(document)
        if not followers:
            self._open.pop(document.document, None)

    def is_held(self, document: OpenDocument) -> bool:
        """Whether another connection is told of a document by the same handle."""
        told = self._open.get(document.document, ())
        return any(each is not document and each.handle == document.handle for each in told)

    def close(self) -> None:
        """Hear nothing more."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()

    def texts_of(self, page: FeedPage) -> list[str]:
        """Return the frames of a page of the feed; many members read the same one."""
        epoch = page.position.partition(":")[0]
        return [_record_text(record, f"{epoch}:{record.number}") for record in page.records]

    def _hear(self, event: Event) -> None:
        if isinstance(event, TreeEvent) or event.name.startswith(("tool:", "feed:")):
            return
        if isinstance(event, BufferEvent):
            self._hear_document(event)
        elif self._members:
            self._tell(frame_text("event", **event.to_dict()))

    def _hear_document(self, event: BufferEvent) -> None:
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
            return  # those who have it open get the edits; to the others only the flag is news
        if self._members:
            self._tell(frame_text("event", **event.to_dict() | {"edits": None}))

    async def _ask(self, event: Event) -> None:
        """Tell of approvals and progress, in order."""
        if not self._members:
            return
        plain = event.to_dict()
        if event.name == "tool:progress":
            facts = {name: plain.get(name) for name in ("current", "total", "message")}
            self._tell(frame_text("progress", call=plain["tool_call_id"], **facts))
        elif event.name in _STATES:
            approval_id, state = plain["approval_id"], _STATES[event.name]
            open_now = await self._files.approvals() if state == "asked" else []
            request = next((asked(each) for each in open_now if each.id == approval_id), None)
            reason = plain.get("reason")
            self._tell(frame_text("approval", state=state, approval_id=approval_id, request=request, reason=reason))

    async def _warn(self, event: Event) -> None:
        """Tell that changes of the tree may have been missed."""
        try:
            position = await self._files.position()
        except FileToolsError:  # the workspace is being closed, and with it every connection
            return
        self._tell(frame_text("resync", reason=event.to_dict().get("reason", "unknown"), position=position))

    def _tell(self, text: str) -> None:
        for offer in list(self._members):
            offer(text)


@lru_cache(REMEMBERED_TEXTS)
def _record_text(record: ChangeRecord, position: str) -> str:
    [event] = from_record(record)
    return frame_text("event", **event.to_dict(), position=position)
