"""The documents that one client has open, and the requests on them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from filetools.errors import BufferClosedError, FileToolsError, InvalidArgumentError, ResyncRequiredError
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferClose, BufferResult
from filetools.models.records import SYSTEM
from filetools.servers.http.live import frames
from filetools.servers.http.live.frames import Outbox, frame_text
from filetools.servers.http.live.hub import Hub, OpenDocument
from filetools.tools.handlers.buffers import edits_or_text


class OpenDocuments:
    """The open documents of one session.

    Args:
        files: The workspace, as the client's actor.
        hub: Delivers the changes by others.
        outbox: Queue of frames for the client.
        offer: Sends a frame that the client did not request.
        fall_behind: Ends the connection, because a document has missed a change.
    """

    def __init__(
        self,
        files: FileToolsFacade,
        hub: Hub,
        outbox: Outbox,
        offer: Callable[[str, str], None],
        fall_behind: Callable[[], None],
    ) -> None:
        self.files = files
        """The workspace, as the client's actor."""
        self._hub = hub
        self._outbox = outbox
        self._offer = offer
        self._fall_behind = fall_behind
        self.by_handle: dict[str, OpenDocument] = {}
        self._text_turn = asyncio.Lock()
        self._opening = asyncio.Semaphore(MOST_OPENING)

    async def open(self, frame: frames.Open) -> None:
        """Open a document, or resume a handle, and send its text."""
        async with self._opening:
            await self._outbox.room(TEXT_ROOM_CHARACTERS)
            if frame.handle is None:
                document = self._followed(await self.files.buffers.open(frame.path))
            else:
                # Another window may be closing the handle at this moment.
                async with self._hub.handover:
                    opened = await self._resume_handle(frame.handle) or await self.files.buffers.open(frame.path)
                    document = self._followed(opened)
                del opened  # its text, which may be long
        async with self._one_text():
            is_known = frame.handle == document.handle and frame.buffer_version is not None
            if is_known and await self._resume_text(frame, document):
                return
            # Read again now that the document is followed: it may have changed just before.
            await self._send_whole(document, lambda plain: frame_text("ack", id=frame.id, of="open", **plain))

    async def change(self, frame: frames.ChangeFrame) -> None:
        """Apply the client's edits, and send the changes that others made meanwhile."""
        document = self._of(frame.handle)
        edits = edits_or_text(frame.edits, frame.text)
        async with document.turn():
            made = await self.files.buffers.change(
                frame.handle,
                buffer_version=frame.buffer_version,
                edits=edits,
                text=frame.text,
                change_id=frame.change_id,
            )
            facts = {"id": frame.id, "of": "change", "handle": frame.handle, **made.to_dict()}
            # The whole text was sent before this change arrived; the client replaces what was typed with that text.
            is_overtaken = frame.buffer_version < document.whole
            if is_overtaken:
                facts |= {"edits": [], "buffer_version": document.known}
            await self._outbox.room()
            self._outbox.put_now(frame_text("ack", **facts))
            document.is_at(made.buffer_version)
        if is_overtaken:
            await self.bring_up(frame.handle, "overtaken")

    async def save(self, frame: frames.SaveFrame) -> dict[str, Any]:
        """Write a document to its file; merged changes arrive as edits."""
        document = self._of(frame.handle)
        await document.earlier()
        saved = await self.files.buffers.save(frame.handle, on_conflict=frame.on_conflict, encoding=frame.encoding)
        facts = saved.to_dict()
        return {"handle": frame.handle, **{name: facts[name] for name in facts if name not in _SENT_AS_EDITS}}

    async def close(self, frame: frames.Close) -> dict[str, Any]:
        """Close a document."""
        document = self._of(frame.handle)
        await document.earlier()
        async with self._hub.handover:
            is_held = self._hub.is_held(document)  # another window has resumed the handle
            closed = (
                BufferClose(path=document.path, kept_version=None)
                if is_held
                else await self.files.buffers.close(frame.handle)
            )
            self._drop(document)
        return {"handle": frame.handle, **closed.to_dict()}

    async def bring_up(self, handle: str, reason: str) -> None:
        """Send the whole text of a document, which replaces the client's."""
        document = self.by_handle.get(handle)
        if document is None:
            return
        with suppress(BufferClosedError):
            async with self._one_text():
                await self._send_whole(
                    document, lambda plain: frame_text("resync", reason=reason, handle=document.handle, document=plain)
                )

    async def renew(self) -> None:
        """Renew all handles until the connection ends, and drop those that have lapsed."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            for document in list(self.by_handle.values()):
                try:
                    await self.files.buffers.renew(document.handle)
                except BufferClosedError:
                    self._drop(document)
                except FileToolsError:
                    pass  # the journal is busy: there is time for two more attempts

    @asynccontextmanager
    async def _one_text(self) -> AsyncIterator[None]:
        """Wait until a text may be read: one at a time, and the next when the client has read the last one.

        Otherwise the texts would fill the memory if a client opens many documents and reads nothing.
        """
        async with self._text_turn:
            await self._outbox.room(TEXT_ROOM_CHARACTERS)
            yield

    def _followed(self, opened: BufferResult) -> OpenDocument:
        document = self.by_handle.get(opened.handle)
        if document is None:
            document = OpenDocument(opened.handle, opened.document, opened.path, self._offer, self._fall_behind)
            self.by_handle[opened.handle] = document
        self._hub.open.add(document)
        return document

    async def _resume_handle(self, handle: str) -> BufferResult | None:
        try:
            return await self.files.buffers.read(handle)  # not compared with the path: the file may have been moved
        except BufferClosedError:
            return None

    async def _resume_text(self, frame: frames.Open, document: OpenDocument) -> bool:
        """Resume from the text that the client still has by sending the changes since; False if they are not known."""
        assert frame.buffer_version is not None
        async with document.turn():
            try:
                moved = await self.files.buffers.since(document.handle, frame.buffer_version)
            except (ResyncRequiredError, InvalidArgumentError):
                return False
            facts: dict[str, Any] = {
                "handle": document.handle, "document": document.document, "path": document.path,
            }  # fmt: skip
            facts |= {"buffer_version": frame.buffer_version, "dirty": moved.dirty, "resumed": True}
            self._outbox.put_now(frame_text("ack", id=frame.id, of="open", **facts))
            if moved.buffer_version > frame.buffer_version:
                # All changes that were made while the client was disconnected.
                missed = {"edits": moved.edits, "dirty": moved.dirty, "reason": "missed", "actor": SYSTEM.to_dict()}
                span = {"since": frame.buffer_version, "buffer_version": moved.buffer_version}
                self._outbox.put_now(frame_text("edits", handle=document.handle, **span, **missed))
            document.is_at(moved.buffer_version)
        return True

    async def _send_whole(self, document: OpenDocument, frame_of: Callable[[dict[str, Any]], str]) -> None:
        async with document.turn():
            opened = await self.files.buffers.read(document.handle)
            self._outbox.put_now(frame_of(opened.to_dict()))
            document.is_at(opened.buffer_version, is_whole=True)

    def _of(self, handle: str) -> OpenDocument:
        found = self.by_handle.get(handle)
        if found is None:
            raise BufferClosedError
        return found

    def _drop(self, document: OpenDocument) -> None:
        self.by_handle.pop(document.handle, None)
        self._hub.open.discard(document)


_SENT_AS_EDITS = ("edits", "buffer_version")
TEXT_ROOM_CHARACTERS: Final = 64 * 1024
"""A text is sent only while fewer characters wait for the client."""
MOST_OPENING: Final = 4
"""Documents that are opened at once: one may wait for a change that is being made, and each has its whole text in memory."""
RENEW_SECONDS: Final = 20.0
"""A third of the time after which a handle lapses."""
