"""Open documents that clients follow: their handles are renewed as long as somebody listens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from filetools.errors import BufferClosedError, FileToolsError
from filetools.facade.facade import FileToolsFacade

RENEW_SECONDS: Final = 20.0
"""A third of the time after which a handle lapses."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Held:
    path: str
    holders: int = 0


class Leases:
    """The handles that clients of one door follow; lives as long as the door.

    Args:
        files: The opened workspace.
    """

    def __init__(self, files: FileToolsFacade) -> None:
        self._files = files
        self._held: dict[str, _Held] = {}
        self._renewing: asyncio.Task[None] | None = None

    async def hold(self, handle: str) -> None:
        """Renew a handle from now on, until `release` was called as often.

        Raises:
            BufferClosedError: It holds no document.
        """
        opened = await self._files.buffers.read(handle)
        self._held.setdefault(handle, _Held(opened.path)).holders += 1
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())

    def release(self, handle: str) -> None:
        """Renew it no more, if nobody else follows it."""
        held = self._held.get(handle)
        if held is not None:
            held.holders -= 1
            if held.holders <= 0:
                del self._held[handle]

    def handles_of(self, path: str, old_path: str | None = None) -> Iterator[str]:
        """Return the handles of the document at a path, which it perhaps had not before."""
        for handle, held in self._held.items():
            if held.path == old_path:
                held.path = path
            if held.path == path:
                yield handle

    async def aclose(self) -> None:
        """Renew nothing more."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            for handle in list(self._held):
                try:
                    held = await self._files.buffers.read(handle)
                except BufferClosedError:
                    self._held.pop(handle, None)
                    continue
                except FileToolsError as exc:
                    # A journal that is busy for once ends no lease: there is time for two more tries.
                    _log.warning("a document's lease is not renewed yet: %s", exc)
                    continue
                if handle in self._held:
                    self._held[handle].path = held.path
