"""Clients of the live protocol: one for frames, and an editor on top of it that keeps its text as a good editor would."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol
from uuid import uuid4

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from filetools.content.differences.diff import minimal_edits
from filetools.content.differences.transforming import transform
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, composed, in_utf16
from filetools.editors.shown import as_units, edits_as_units, edits_from_units, from_units
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.servers.http.live.frames import Outbox
from filetools.servers.http.live.hub import Hub
from filetools.servers.http.live.session import LiveSession
from tests.support import bearer
from tests.support.live_frames import check

Frame = dict[str, Any]
PATIENCE_SECONDS = 60.0


class Wire(Protocol):
    """What carries frames."""

    async def send(self, text: str) -> None:
        """Send one frame."""

    async def receive(self) -> str | None:
        """Return the next frame, or None at the end."""


class LiveClient:
    """Sends frames and keeps all that come; checks each against what the page about the protocol says."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.heard: list[Frame] = []
        self.editors: dict[str, Editor] = {}
        self._answers: dict[int, asyncio.Future[Frame]] = {}
        self._ids = itertools.count(1)
        self._news = asyncio.Event()
        self.pump = asyncio.create_task(self._pump())

    async def ask(self, kind: str, **fields: Any) -> Frame:
        """Send a frame and return its answer, good or bad."""
        if self.pump.done():
            raise ConnectionError("the server has ended the connection")
        number = next(self._ids)
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        await self.wire.send(json.dumps({"type": kind, "id": number, **fields}))
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await answer

    async def do(self, kind: str, **fields: Any) -> Frame:
        """Send a frame that must succeed."""
        answer = await self.ask(kind, **fields)
        assert answer["type"] != "error", answer
        return answer

    async def refused(self, code: str, kind: str, **fields: Any) -> Frame:
        """Send a frame that must be refused with this code."""
        answer = await self.ask(kind, **fields)
        assert answer["type"] == "error", answer
        assert answer["error_code"] == code, answer
        return answer

    async def edit(self, path: str, **fields: Any) -> Editor:
        """Open a document."""
        return Editor(self, await self.do("open", path=path, **fields))

    async def until(self, fits: Callable[[], object]) -> None:
        """Wait until a condition holds, looking again after every frame."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not fits():
                news = self._news
                await news.wait()

    async def frame(self, kind: str, **fields: Any) -> Frame:
        """Return the first frame of a type with these fields, waiting for it."""

        def found() -> list[Frame]:
            return [each for each in self.of(kind) if fields.items() <= each.items()]

        await self.until(found)
        return found()[0]

    def of(self, kind: str) -> list[Frame]:
        """Return the frames of a type that have come."""
        return [frame for frame in self.heard if frame["type"] == kind]

    def events(self, beginning: str = "") -> list[Frame]:
        """Return the events with a position that have come."""
        return [each for each in self.of("event") if "position" in each and each["event"].startswith(beginning)]

    async def aclose(self) -> None:
        """Stop listening."""
        self.pump.cancel()
        await asyncio.gather(self.pump, return_exceptions=True)

    async def _pump(self) -> None:
        while (text := await self.wire.receive()) is not None:
            frame = json.loads(text)
            check(frame)
            self.heard.append(frame)
            self._pass_on(frame)
            self._news.set()
            self._news = asyncio.Event()
        for answer in self._answers.values():
            answer.set_exception(ConnectionError("the server has ended the connection"))

    def _pass_on(self, frame: Frame) -> None:
        editor = self.editors.get(frame.get("handle", ""))
        if editor is not None:
            editor.take(frame)
        answer = self._answers.pop(frame["id"], None) if "id" in frame else None
        if answer is not None and not answer.done():
            answer.set_result(frame)


class Editor:
    """A document in an editor: typing shows at once, and one change at a time is on its way, under a name of its own.

    It goes on over another connection without losing or doubling what was typed.
    """

    def __init__(self, client: LiveClient, opened: Frame) -> None:
        self.client = client
        self.path: str = opened["path"]
        self.handle: str = opened["handle"]
        self.version: int = opened["buffer_version"]
        self._known = as_units(opened["text"])
        """The text at that version."""
        self._sent: list[TextEdit] | None = None
        self._unsent: list[TextEdit] = []
        self._name = ""
        self._made_on = 0
        """Version on which the change that is on its way was made."""
        self._is_overtaken = False
        """Whether a whole text has come while a change was on its way; the next one has the change in it."""
        self._is_made = False
        """Whether that change has been acknowledged, and the text with it is still to come."""
        self._is_away = False
        self._sending: set[asyncio.Task[None]] = set()
        self.resyncs = 0
        client.editors[self.handle] = self
        # What came right behind the answer came before anybody here could run.
        at = next(number for number, frame in enumerate(client.heard) if frame is opened)
        for frame in client.heard[at + 1 :]:
            if frame.get("handle") == self.handle:
                self.take(frame)

    @property
    def text(self) -> str:
        """What the person sees."""
        return from_units(self._shown)

    @property
    def _shown(self) -> str:
        return apply_text_edits(apply_text_edits(self._known, self._sent or []), self._unsent)

    @property
    def is_settled(self) -> bool:
        """Whether the server has everything that was typed."""
        return self._sent is None and not self._unsent

    def type(self, start: int, end: int, text: str) -> None:
        """Put text in place of a range, in UTF-16 units of what the person sees."""
        edits = edits_as_units([TextEdit(start, end, text)])
        self._unsent = composed(self._unsent, edits) if self._unsent else list(edits)
        self._send()

    async def settled(self) -> None:
        """Wait until the server has everything that was typed."""
        await self.client.until(lambda: self.is_settled)

    def leave(self) -> None:
        """Take in nothing more, and send nothing: the connection is lost."""
        self._is_away = True
        self.client.editors.pop(self.handle, None)

    async def come_back(self, client: LiveClient, *, is_whole: bool = False) -> Frame:
        """Go on over another connection, and send again what is not acknowledged; returns what the server answered.

        Args:
            client: The other connection.
            is_whole: Whether the text shall come whole, as it does to who was away for too long.
        """
        self.leave()
        self.client = client
        client.editors[self.handle] = self
        known = {} if is_whole else {"buffer_version": self.version}
        opened = await client.do("open", path=self.path, handle=self.handle, **known)
        self._is_overtaken = self._is_made = self._is_away = False
        if "text" in opened:
            assert opened["handle"] == self.handle, opened
            self._put_on(opened)
        self._transmit()
        self._send()
        return opened

    def take(self, frame: Frame) -> None:
        """Take a frame about this document in."""
        if frame["type"] == "edits" and self._sent is None and frame["since"] == self.version:
            self._apply(frame)
        elif frame["type"] == "ack" and frame["of"] == "change" and not self._is_overtaken:
            self._acknowledge()
            self._apply(frame)
            self._send()
        elif frame["type"] == "ack" and frame["of"] == "change":
            self._is_made = True
        elif frame["type"] == "resync":
            self.resyncs += 1
            if self._is_made:
                self._acknowledge()
            self._put_on(frame["document"])
            if frame["reason"] == "refused":
                self._transmit()
            self._is_overtaken = self._sent is not None and self._made_on < self.version
            self._send()

    def _acknowledge(self) -> None:
        self._known = apply_text_edits(self._known, self._sent or [])
        self._sent, self._is_made = None, False

    def _apply(self, frame: Frame) -> None:
        others = edits_as_units([TextEdit(each["start"], each["end"], each["text"]) for each in frame["edits"]])
        self._known = apply_text_edits(self._known, others)
        self._unsent = transform(self._unsent, others, is_first=False)
        self.version = frame["buffer_version"]

    def _put_on(self, document: Frame) -> None:
        """Put what is not acknowledged on a whole text."""
        old, new = from_units(self._known), document["text"]
        others = edits_as_units(in_utf16(old, minimal_edits(old, new)))
        sent = self._sent or []
        self._unsent = transform(self._unsent, transform(others, sent, is_first=True), is_first=False)
        self._sent = None if self._sent is None else transform(sent, others, is_first=False)
        self._known, self.version = as_units(new), document["buffer_version"]

    def _send(self) -> None:
        if self._sent is not None or not self._unsent or self._is_overtaken or self._is_away:
            return
        self._sent, self._unsent = self._unsent, []
        self._name = uuid4().hex
        self._transmit()

    def _transmit(self) -> None:
        if self._sent is None:
            return
        self._made_on = self.version
        edits = [{"start": each.start, "end": each.end, "text": each.text} for each in edits_from_units(self._sent)]
        frame = {
            "type": "change", "handle": self.handle, "buffer_version": self.version, "edits": edits,
            "change_id": self._name,
        }  # fmt: skip
        task = asyncio.create_task(self.client.wire.send(json.dumps(frame)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


class MemoryWire:
    """A session of this process, without a network."""

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.reading = asyncio.Event()
        self.reading.set()

    async def send(self, text: str) -> None:
        """Give the session a frame."""
        await self.session.take(text)

    async def receive(self) -> str | None:
        """Return what the session sends, unless nobody reads now."""
        await self.reading.wait()
        return await self.session.outbox.take()


@asynccontextmanager
async def connected(
    files: FileToolsFacade, hub: Hub, actor: Actor, *, outbox: Outbox | None = None, **hello: Any
) -> AsyncIterator[LiveClient]:
    """Connect a client to a workspace of this process, and say hello."""
    async with LiveSession(lambda _: files.for_actor(actor), hub, outbox=outbox) as session:
        client = LiveClient(MemoryWire(session))
        try:
            await client.do("hello", **hello)
            yield client
        finally:
            await client.aclose()


class SocketWire:
    """A WebSocket; `close_code` and `close_reason` tell why it ended."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, text: str) -> None:
        """Send a text frame."""
        await self.connection.send(text)

    async def receive(self) -> str | None:
        """Return the next frame, or None once the connection has ended."""
        try:
            return str(await self.connection.recv())
        except ConnectionClosed:
            return None


@asynccontextmanager
async def live(address: str, *, headers: Mapping[str, str] | None = None, **hello: Any) -> AsyncIterator[LiveClient]:
    """Connect a client to a server, and say hello."""
    async with socket_of(address, headers=headers) as connection:
        client = LiveClient(SocketWire(connection))
        try:
            await client.do("hello", **hello)
            yield client
        finally:
            await client.aclose()


def socket_of(address: str, *, headers: Mapping[str, str] | None = None) -> connect:
    """Return the WebSocket of a server, to be entered."""
    return connect(
        f"{address.replace('http', 'ws', 1)}/v1/live", compression=None, max_size=None, open_timeout=PATIENCE_SECONDS,
        additional_headers={**bearer.headers(address), **(headers or {})}, proxy=None,
    )  # fmt: skip


def deaf_client(port: int, *frames: Frame) -> socket.socket:
    """Return a WebSocket that has said hello and sent these frames, and reads nothing."""
    connected = socket.socket()
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # what it does not read, the server has to keep
    connected.settimeout(PATIENCE_SECONDS)
    connected.connect(("127.0.0.1", port))
    token = "".join(f"{name}: {value}\r\n" for name, value in bearer.headers(f"http://127.0.0.1:{port}").items())
    connected.sendall(
        (
            f"GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"{token}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        ).encode()
    )
    assert connected.recv(12) == b"HTTP/1.1 101"
    for frame in ({"type": "hello"}, *frames):
        connected.sendall(_masked(json.dumps(frame).encode()))
    return connected


def _masked(content: bytes) -> bytes:
    """Return a short text frame of a client; a mask of zeros leaves it as it is."""
    assert len(content) < 126
    return bytes([0x81, 0x80 | len(content), 0, 0, 0, 0]) + content
