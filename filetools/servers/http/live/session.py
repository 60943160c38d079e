"""One client of the live protocol, such as an editor page, independent of the transport."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from anyio.abc import AsyncResource
from msgspec import Struct

from filetools.errors import BufferClosedError, FileToolsError, InternalError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.live import frames
from filetools.servers.http.live.documents import OpenDocuments
from filetools.servers.http.live.frames import PROTOCOL, Outbox, error_text, frame_text, pending_request
from filetools.servers.http.live.hub import Hub, record_text
from filetools.servers.http.options import HttpLimits

logger = logging.getLogger(__name__)

MOST_REQUESTS: Final = 16
"""Maximum number of concurrent requests of one client; the next frame waits."""
LEASE_SECONDS: Final = 60.0
TOO_BIG: Final = 1009
FAILED: Final = 1011
TRY_AGAIN: Final = 1013
_UNEXPECTED: Final = "The request failed unexpectedly; see the log of the server"


class Ending(Struct, frozen=True):
    """Why a connection must end."""

    code: int
    """Close code of RFC 6455."""
    reason: str


class LiveSession(AsyncResource):
    """The state of one connection; used as `async with`. It puts the frames to send into `outbox`.

    Args:
        open_files: Returns the workspace as the client's actor, for the session that it names.
        hub: Shared by all connections.
        limits: Limit the size of a frame.
        outbox: Queue of frames for the client.
    """

    def __init__(
        self,
        open_files: Callable[[str | None], FileToolsFacade],
        hub: Hub,
        *,
        limits: HttpLimits | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self._limits = limits or HttpLimits()
        self.outbox = Outbox() if outbox is None else outbox
        self._open_files = open_files
        self._hub = hub
        self._documents: OpenDocuments | None = None
        self._early: list[tuple[str, str]] | None = []
        self.ending = Ending(FAILED, "changes of the workspace can no longer be followed")
        """Why the connection ends once the outbox is closed."""
        self._free = asyncio.Semaphore(MOST_REQUESTS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._leave: Callable[[], None] | None = None

    async def aclose(self) -> None:
        """Stop all work for the client, and wait for its end."""
        self.outbox.close()
        if self._leave is not None:
            self._leave()
        self._hub.members.discard(self.offer)
        if self._documents is not None:
            self._hub.open.difference_update(self._documents.by_handle.values())
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def offer(self, text: str, shared: str = "") -> None:
        """Send an unrequested frame, in parts as the outbox takes it; end the connection if it does not fit."""
        if self._early is not None:
            self._early.append((text, shared))
        elif self.outbox.has_room:
            self.outbox.put_now(text, shared)
        else:
            self.fall_behind()

    def fall_behind(self) -> None:
        """End the connection of a client that reads too slowly: it may return with its position and versions."""
        self._end(TRY_AGAIN, "too slow: the client missed frames")

    def _end(self, code: int, reason: str) -> None:
        self.ending = Ending(code, reason)
        self.outbox.close()

    async def take(self, text: str) -> None:
        """Process one frame of the client."""
        if len(text.encode("utf-8", "surrogatepass")) > self._limits.body_bytes:
            self._end(TOO_BIG, f"a frame may have at most {self._limits.body_bytes} bytes")
            return
        # Stop serving clients that do not read their responses.
        await self.outbox.room()
        plain: object = None
        try:
            plain = frames.parsed(text)
            frame = frames.frame_of(plain)
            if isinstance(frame, frames.Hello):
                await self._greet(frame)
            else:
                await self._begin(frame)
        except FileToolsError as error:
            await self._refuse(error, frames.id_of(plain))

    async def _refuse(self, error: FileToolsError, frame_id: str | int | None) -> None:
        await self.outbox.put(error_text(error, frame_id))

    async def _greet(self, hello: frames.Hello) -> None:
        if self._documents is not None:
            raise InvalidArgumentError("hello may be sent only once")
        files = self._open_files(hello.session)
        self._hub.members.add(self.offer)
        position = await files.position()
        if hello.since is not None:
            await files.changes(hello.since, limit=1)  # raises an error if it is not a position
            position = hello.since
        is_person = files.actor.kind == "editor"
        if is_person and self._leave is None:
            self._leave = files.attend_approvals().close
        status = await files.status()
        welcome = frame_text(
            "welcome",
            id=hello.id,
            protocol=PROTOCOL,
            position=position,
            actor=files.actor.to_dict(),
            can_answer=is_person,
            lease_seconds=LEASE_SECONDS,
            root=status["root"],
            documents=status["documents"],
            locks=[{"path": lock.path, "owner": lock.owner, "since": lock.since} for lock in files.held_locks()],
            approvals=[pending_request(request) for request in await files.approvals()],
            runs=[record.to_dict() for record in self._hub.log.running()],
            mirror=status["mirrors"],
        )
        self._documents = OpenDocuments(files, self._hub, self.outbox, self.offer, self.fall_behind)
        self.outbox.put_now(welcome)
        early, self._early = self._early or [], None
        for parts in early:
            self.offer(*parts)
        for work in (self._follow(files, position), self._documents.renew()):
            self._keep(self._lasting(work))

    async def _begin(self, frame: frames.Request) -> None:
        if self._documents is None:
            raise InvalidArgumentError("The first frame must be hello")
        await self._free.acquire()
        self._keep(self._answered(frame, self._documents))

    async def _answered(self, frame: frames.Request, documents: OpenDocuments) -> None:
        try:
            await self._act(frame, documents)
        except (
            Exception
        ) as exc:  # outermost handler of a request: a defect must not leave the client without a response
            error = exc if isinstance(exc, FileToolsError) else InternalError(_UNEXPECTED)
            if error is not exc:
                logger.exception("A frame of type %s failed unexpectedly", frame.type)
            await self._refuse(error, frame.id)
            if isinstance(frame, frames.ChangeFrame) and not isinstance(error, BufferClosedError):
                await documents.bring_up(frame.handle, "refused")
        finally:
            self._free.release()

    async def _act(self, frame: frames.Request, documents: OpenDocuments) -> None:
        match frame:
            case frames.Open():
                await documents.open(frame)
            case frames.ChangeFrame():
                await documents.change(frame)
            case frames.SaveFrame():
                await self._acknowledge(frame, await documents.save(frame))
            case frames.Close():
                await self._acknowledge(frame, await documents.close(frame))
            case frames.AnswerFrame():
                await documents.files.answer_approval(frame.approval_id, frame.answer, edited_text=frame.edited_text)
                await self._acknowledge(frame, {})
            case frames.Abort():
                await self._acknowledge(frame, {"aborted": self._hub.log.abort(frame.call, documents.files.actor)})
            case frames.Ping():
                await self._acknowledge(frame, {})

    async def _acknowledge(self, frame: frames.Request, facts: dict[str, Any]) -> None:
        await self.outbox.put(frame_text("ack", id=frame.id, of=frame.type, **facts))

    async def _follow(self, files: FileToolsFacade, since: str) -> None:
        """Send the changes of the tree as fast as the client reads them."""
        async for page in files.follow_pages(since):
            if page.resync:
                await self.outbox.put(frame_text("resync", reason="forgotten", position=page.position))
            epoch = page.position.partition(":")[0]
            for record in page.records:
                await self.outbox.put(record_text(record, f"{epoch}:{record.number}"))

    async def _lasting(self, work: Awaitable[None]) -> None:
        """Run work that must last as long as the connection; close the connection when it ends."""
        try:
            await work
        except FileToolsError as error:
            self.outbox.put_now(error_text(error, None))
        self.outbox.close()

    def _keep(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
