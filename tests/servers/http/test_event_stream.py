"""Server-sent events: nothing is left running, whoever ends the stream, and silence is broken by comments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import pytest

from filetools.servers.http import event_stream
from filetools.servers.http.event_stream import EventStream, event_text

PATIENCE_SECONDS = 60.0


class Client:
    """A client of one stream; `ended` tells that the source was closed."""

    def __init__(self, *parts: str) -> None:
        self.parts = parts
        self.sent: list[str] = []
        self.ended = asyncio.Event()
        self.closing = asyncio.Event()
        self._leaves = asyncio.Event()
        self._news = asyncio.Event()

    async def source(self) -> AsyncGenerator[str, None]:
        try:
            for part in self.parts:
                yield part
            if self.parts[-1:] != ("last",):
                await asyncio.Event().wait()
        finally:
            self.ended.set()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message.get("body", b"").decode())
        self._news.set()

    async def receive(self) -> MutableMapping[str, Any]:
        await self._leaves.wait()
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        self._leaves.set()

    async def has(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while text not in self.sent:
                self._news.clear()
                await self._news.wait()

    def start(self, method: str = "GET") -> asyncio.Task[None]:
        stream = EventStream(self.source(), self.closing)
        return asyncio.create_task(stream({"type": "http", "method": method}, self.receive, self.send))


async def test_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "QUIET_SECONDS", 0.01)
    client = Client("one")
    serving = client.start()
    await client.has(": \n\n")
    client.leave()
    await serving
    assert client.sent[:3] == ["", "one", ": \n\n"]


def test_no_text_breaks_an_event_apart() -> None:
    text = event_text("change", {"path": "a\n\nevent: x\ud800"}, "ab:1")
    assert text == 'event: change\nid: ab:1\ndata: {"path":"a\\n\\nevent: x\\ud800"}\n\n'
    assert event_text(None, None, "ab:1") == "id: ab:1\n\n"
