"""One document as one client has it open: its edits go in, those of others go out, each once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from filetools.events.buffers import BufferEvent
from filetools.servers.http.live.frames import frame_text

MOST_HELD: Final = 1000
"""Changes by others that wait while the client's own is put in; of more, the text is sent anew."""


DocumentStep = dict[str, Any]
"""One version of a document, as a frame of `edits` tells of it: what changed since the version before."""


def step_of(event: BufferEvent) -> DocumentStep | None:
    """Return the version that an event tells of; None if it tells of none."""
    plain = event.to_dict()
    if not isinstance(plain.get("version"), int) or event.name not in ("buffer:changed", "buffer:saved"):
        return None
    saved = {"edits": [], "dirty": False, "reason": "saved"}
    told = saved if event.name == "buffer:saved" else {name: plain[name] for name in saved}
    return told | {"buffer_version": plain["version"], "actor": event.actor.to_dict()}


class OpenDocument:
    """A handle of one session; lives until it is closed, or the connection is.

    The client knows one version at a time. What others did reaches it by `edits`, each from one version to the next; while
    an edit of its own is on its way that is held back, and comes with the answer.

    Args:
        handle: Names it in calls.
        document: Names it in events.
        path: Where its file is.
        offer: Sends a frame; False if the client reads too slowly, and must be brought up to date later.
        miss: Called when a change was missed, so that the client must be brought up to date.
    """

    def __init__(
        self, handle: str, document: str, path: str, offer: Callable[[str], bool], miss: Callable[[], None]
    ) -> None:
        self.handle = handle
        self.document = document
        self.path = path
        self.is_stale = False
        """Whether edits are missing, so that the client needs the whole text."""
        self.whole = 0
        """Version of the text that was last sent whole."""
        self._offer = offer
        self._miss = miss
        self._known = 0
        self._held: list[DocumentStep] | None = None
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Do one thing after the other, in the order in which the client asked; what others do is held back meanwhile."""
        async with self._turn:
            self._held = []
            try:
                yield
            finally:
                held, self._held = self._held, None
                for step in held:
                    self._pass_on(step)

    async def earlier(self) -> None:
        """Wait until what the client asked before is done."""
        async with self._turn:
            pass

    @property
    def known(self) -> int:
        """Version that the client has once it has read what waits for it."""
        return self._known

    def is_at(self, version: int, *, is_whole: bool = False) -> None:
        """Note which version the client has now; call it in a turn, together with telling the client."""
        self._known = version
        self.whole = version if is_whole else self.whole
        self.is_stale = False

    def take(self, step: DocumentStep) -> None:
        """Pass on what was done to the document."""
        if self._held is None:
            self._pass_on(step)
        elif len(self._held) < MOST_HELD:
            self._held.append(step)  # beyond that the gap is found out when the next one is passed on

    def _pass_on(self, step: DocumentStep) -> None:
        version = step["buffer_version"]
        if self.is_stale or version <= self._known:
            return
        if version != self._known + 1:
            self.is_stale = True
            self._miss()
            return
        self._known = version
        if not self._offer(frame_text("edits", handle=self.handle, since=version - 1, **step)):
            self.is_stale = True
