"""Watching the root for changes that other programs make."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from filetools.watch.backend import Backend, Task
from filetools.watch.exclusion import Excluded, with_own_names
from filetools.watch.handover import Handover, nothing_is_known
from filetools.watch.hints import Hint
from filetools.watch.inventory import Inventory
from filetools.watch.polling import PollingThread

logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 2.0

Method = Literal["auto", "inotify", "observer", "polling"]


class ForeignWatcher:
    """Hints at every change below a root, whoever makes it, filetools included. Lives while the workspace is open.

    A renamed folder is one "moved" hint and "changed" hints for what is in it. Links are not followed. `.filetools`,
    filetools' temporary files and excluded folders are not watched.

    Args:
        root: The directory to watch.
        excluded: Tells for a relative path, and whether it is a directory, that it is left out; called in a thread.
        on_hints: Called on the loop with at most 2,000 hints, oldest first, after a pause of at most 5 ms.
        on_resync: Called on the loop when hints are missing and the whole tree must be looked at, with the reason:
            "overflow" (the kernel dropped events), "limit" or "failed" (polling from now on), "gone" (the root is no
            longer there, and nothing more will be told).
        is_known: Whether it was told what stands at the path of a hint; asked in a thread.
        is_busy: Whether this process is changing files right now; asked in a thread. Hints may come 5 ms later then.
        inventory: Gets the names that are there when watching begins; what happens later is left to its owner.
        loop: Where the callbacks run; by default the running one.
        method: "auto" takes the best one of the system.
    """

    def __init__(
        self,
        root: Path,
        *,
        excluded: Excluded,
        on_hints: Callable[[list[Hint]], bool | None],
        on_resync: Callable[[str], None],
        is_known: Callable[[Hint], bool] = nothing_is_known,
        is_busy: Callable[[], bool] = lambda: False,
        inventory: Inventory | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        method: Method = "auto",
    ) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._handover: Handover[Any] = Handover(self._loop, on_hints, on_resync, is_known)
        self._inventory = inventory or Inventory(excluded, key=str)
        self._task = Task(
            root=root,
            excluded=with_own_names(excluded),
            handover=self._handover,
            inventory=self._inventory,
            is_busy=is_busy,
            on_ready=self._complete,
            on_unable=lambda reason: self._handover.call(partial(self._poll_instead, reason)),
            on_ended=partial(self._handover.call, self._note_ended),
        )
        self._method: Method = _best_method() if method == "auto" else method
        self._backend: Backend | None = None
        self._running = 0
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._is_closed = False

    @property
    def method(self) -> Method:
        """How the tree is watched now: "inotify", "observer" or "polling"."""
        return self._method

    async def start(self) -> None:
        """Begin to watch in the background; returns at once, whatever the size of the tree."""
        try:
            self._launch(_make_backend(self._method, self._task))
        except OSError as exc:
            logger.warning("No inotify instance is to be had: %s", exc.strerror)
            self._poll_instead("limit")

    async def ready(self) -> None:
        """Wait until every later change will be told, or until it is known that none will be."""
        await self._ready.wait()

    async def aclose(self) -> None:
        """Stop watching and wait, at most 2 s, for the thread to end; may be called twice."""
        self._is_closed = True
        self._handover.close()
        self._ready.set()
        if self._backend is None:
            return
        self._backend.leave()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            # The thread is in a system call that does not return, as on a dead network disk. It ends by itself.
            logger.warning("The watching thread has not ended after %g s", CLOSE_SECONDS)

    def _launch(self, backend: Backend) -> None:
        self._backend = backend
        self._running += 1
        backend.start()

    def _poll_instead(self, reason: str) -> None:
        if self._is_closed:
            return
        logger.warning("Cannot watch every folder (%s): looking for changes about every second instead", reason)
        self._method = "polling"
        self._launch(PollingThread(self._task, reason=reason))

    def _complete(self) -> None:
        self._inventory.complete()
        self._handover.call(self._note_ready)

    def _note_ready(self) -> None:
        self._ready.set()

    def _note_ended(self) -> None:
        self._running -= 1
        if self._running == 0:
            self._ready.set()
            self._ended.set()


def _best_method() -> Method:
    return "inotify" if sys.platform.startswith("linux") else "observer"


def _make_backend(method: Method, task: Task) -> Backend:
    if method == "polling":
        return PollingThread(task)
    if method == "observer":
        from filetools.watch.observing import ObserverThread  # with watchdog's half that Linux does not use

        return ObserverThread(task)
    # Imported here because the module exists on Linux only.
    from filetools.watch.tree_reader import TreeReader

    return TreeReader(task)
