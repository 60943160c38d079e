"""One document as one client has it open: passes edits in both directions, each once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from filetools.events.types import BufferEvent
from filetools.servers.http.live.frames import frame_text

MOST_HELD: Final = 1000
"""Changes by others held back while the client's own is applied; beyond this, the client must reconnect."""


DocumentStep = dict[str, Any]
"""Fields of an `edits` frame: the changes from one version of a document to the next."""


def step_of(event: BufferEvent) -> DocumentStep | None:
    """Return the step that an event reports, or None."""
    plain = event.to_dict()
    if not isinstance(plain.get("version"), int) or event.name not in ("buffer:changed", "buffer:saved"):
        return None
    saved = {"edits": [], "dirty": False, "reason": "saved"}
    fields = saved if event.name == "buffer:saved" else {name: plain[name] for name in saved}
    return fields | {"buffer_version": plain["version"], "actor": event.actor.to_dict()}


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
        self, handle: str, document: str, path: str, offer: Callable[[str], None], fall_behind: Callable[[], None]
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
        version = step["buffer_version"]
        if self.known is None or version <= self.known:
            return
        if version != self.known + 1:
            self._fall_behind()
            return
        self.known = version
        self._offer(frame_text("edits", handle=self.handle, since=version - 1, **step))
