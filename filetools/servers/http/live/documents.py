"""The documents that one client has open, and what it does to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from filetools.errors import BufferClosedError, InvalidArgumentError, ResyncRequiredError
from filetools.facade.facade import FileToolsFacade
from filetools.models.buffers import BufferClose, BufferResult
from filetools.models.records import SYSTEM
from filetools.servers.http.live import frames
from filetools.servers.http.live.frames import Outbox, frame_text
from filetools.servers.http.live.hub import Hub
from filetools.servers.http.live.open_document import OpenDocument
from filetools.tools.handlers.buffers import edits_or_text


class DocumentDesk:
    """The open documents of one session; lives as long as it.

    Args:
        files: The workspace as the client's.
        hub: Tells what others do.
        outbox: Frames on their way to the client.
        offer: Sends what the client has not asked for.
        miss: Called when a document has missed a change; `bring_all_up` then helps.
    """

    def __init__(
        self,
        files: FileToolsFacade,
        hub: Hub,
        outbox: Outbox,
        offer: Callable[[str], bool],
        miss: Callable[[], None],
    ) -> None:
        self._files = files
        self._hub = hub
        self._outbox = outbox
        self._offer = offer
        self._miss = miss
        self._open: dict[str, OpenDocument] = {}
        self._one_text = asyncio.Lock()

    @property
    def documents(self) -> Collection[OpenDocument]:
        """What is open."""
        return self._open.values()

    async def open(self, frame: frames.Open) -> None:
        """Open a document, or go on with a handle, and send its text."""
        if frame.handle is None:
            document = self._followed(await self._files.buffers.open(frame.path))
        else:
            # Another window may be giving the handle up at this moment.
            async with self._hub.handover:
                opened = await self._resumed(frame.handle) or await self._files.buffers.open(frame.path)
                document = self._followed(opened)
        if (
            frame.handle == document.handle
            and frame.buffer_version is not None
            and await self._went_on(frame, document)
        ):
            return
        # Read again now that nothing done to it escapes us: something may have been, just before.
        await self._send_whole(document, lambda plain: frame_text("ack", id=frame.id, of="open", **plain))

    async def change(self, frame: frames.ChangeFrame) -> None:
        """Put the client's edits in, and send what others did meanwhile."""
        document = self._of(frame.handle)
        edits = edits_or_text(frame.edits, frame.text)
        async with document.turn():
            made = await self._files.buffers.change(
                frame.handle,
                buffer_version=frame.buffer_version,
                edits=edits,
                text=frame.text,
                change_id=frame.change_id,
            )
            facts = {"id": frame.id, "of": "change", "handle": frame.handle, **made.to_dict()}
            # A whole text went out before this came in, and in the client's hands it takes the place of what was typed.
            is_overtaken = frame.buffer_version < document.whole
            if is_overtaken:
                facts |= {"edits": [], "buffer_version": document.known}
            await self._outbox.room()
            self._outbox.put_now(frame_text("ack", **facts))
            document.is_at(made.buffer_version)
        if is_overtaken:
            await self.bring_up(frame.handle, "overtaken")

    async def save(self, frame: frames.SaveFrame) -> dict[str, Any]:
        """Write a document to its file; what was merged in comes as edits."""
        document = self._of(frame.handle)
        await document.earlier()
        saved = await self._files.buffers.save(frame.handle, on_conflict=frame.on_conflict, encoding=frame.encoding)
        facts = saved.to_dict()
        return {"handle": frame.handle, **{name: facts[name] for name in facts if name not in _TOLD_BY_EDITS}}

    async def close(self, frame: frames.Close) -> dict[str, Any]:
        """Give a document up."""
        document = self._of(frame.handle)
        await document.earlier()
        async with self._hub.handover:
            is_held = self._hub.is_held(document)  # another window goes on with the handle
            closed = (
                BufferClose(path=document.path, kept_version=None)
                if is_held
                else await self._files.buffers.close(frame.handle)
            )
            self._drop(document)
        return {"handle": frame.handle, **closed.to_dict()}

    async def bring_up(self, handle: str, reason: str) -> None:
        """Send the whole text of a document, to be taken in place of the client's."""
        document = self._open.get(handle)
        if document is None:
            return
        with suppress(BufferClosedError):
            await self._send_whole(
                document, lambda plain: frame_text("resync", reason=reason, handle=document.handle, document=plain)
            )

    async def bring_all_up(self) -> None:
        """Send the texts of all documents of which edits are missing."""
        for document in list(self.documents):
            if document.is_stale:
                await self.bring_up(document.handle, "overflow")

    def lose(self) -> None:
        """Note that edits which were on their way were dropped."""
        for document in self.documents:
            document.is_stale = True

    async def renew(self) -> None:
        """Keep all handles for another while; those that have lapsed are given up."""
        for document in list(self.documents):
            try:
                await self._files.buffers.renew(document.handle)
            except BufferClosedError:
                self._drop(document)

    def _followed(self, opened: BufferResult) -> OpenDocument:
        document = self._open.get(opened.handle)
        if document is None:
            document = OpenDocument(opened.handle, opened.document, opened.path, self._offer, self._miss)
            self._open[opened.handle] = document
        self._hub.follow(document)
        return document

    async def _resumed(self, handle: str) -> BufferResult | None:
        try:
            return await self._files.buffers.read(handle)  # whatever its path: the file may have been moved
        except BufferClosedError:
            return None

    async def _went_on(self, frame: frames.Open, document: OpenDocument) -> bool:
        """Let a client go on from a text that it still has, with what others did since; False if that is not known."""
        assert frame.buffer_version is not None
        async with self._one_text, document.turn():
            await self._outbox.room()
            try:
                moved = await self._files.buffers.since(document.handle, frame.buffer_version)
            except (ResyncRequiredError, InvalidArgumentError):
                return False
            facts: dict[str, Any] = {
                "handle": document.handle, "document": document.document, "path": document.path,
            }  # fmt: skip
            facts |= {"buffer_version": frame.buffer_version, "dirty": moved.dirty, "resumed": True}
            self._outbox.put_now(frame_text("ack", id=frame.id, of="open", **facts))
            if moved.buffer_version > frame.buffer_version:
                # All that was done while the client was away, by whomever.
                missed = {"edits": moved.edits, "dirty": moved.dirty, "reason": "missed", "actor": SYSTEM.to_dict()}
                span = {"since": frame.buffer_version, "buffer_version": moved.buffer_version}
                self._outbox.put_now(frame_text("edits", handle=document.handle, **span, **missed))
            document.is_at(moved.buffer_version)
        return True

    async def _send_whole(self, document: OpenDocument, frame_of: Callable[[dict[str, Any]], str]) -> None:
        # One text at a time, and only if there is room: however many a client asks for, they do not pile up.
        async with self._one_text, document.turn():
            await self._outbox.room()
            opened = await self._files.buffers.read(document.handle)
            self._outbox.put_now(frame_of(opened.to_dict()))
            document.is_at(opened.buffer_version, is_whole=True)

    def _of(self, handle: str) -> OpenDocument:
        found = self._open.get(handle)
        if found is None:
            raise BufferClosedError
        return found

    def _drop(self, document: OpenDocument) -> None:
        self._open.pop(document.handle, None)
        self._hub.forget(document)


_TOLD_BY_EDITS = ("edits", "buffer_version")
