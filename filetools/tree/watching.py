"""Watching the tree by the best method that the system offers."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.tree.hints import DirtyFolders
from filetools.tree.inotify import LIMIT_ERRNOS, InotifyThread
from filetools.tree.polling import POLL_SECONDS, PollingTimer, reason_to_poll

if TYPE_CHECKING:
    from filetools.tree.watchdog_observer import WatchdogObserver

logger = logging.getLogger(__name__)

WatchMethod = Literal["inotify", "observer", "polling"]

_METHODS: Final[dict[str, WatchMethod]] = {"linux": "inotify", "darwin": "observer", "win32": "observer"}
"""The best method of each system; elsewhere watchdog would hold every file open (kqueue)."""
_REASONS: Final = {
    "limit": "the system grants no more inotify instances or watches",
    "failed": "watching failed",
}


class WatchStatus(Struct, frozen=True, kw_only=True):
    """How changes by other programs are noticed."""

    method: WatchMethod | None
    """None before `start`."""
    reason: str | None = None
    """Why the tree is polled; None unless `method` is "polling"."""


class TreeWatcher:
    """Hints at changes by other programs, from `start` to `close`; `watch` may be called from any thread.

    When it hints at everything, the root may have been deleted or moved: `Workspace.check_alive` finds that out.

    Args:
        workspace: The open root; its state directory exists.
        hints: Receives the hints.
        method: None for the best one.
        poll_seconds: Seconds between two looks at the whole tree, if notices do not suffice.
    """

    def __init__(
        self,
        workspace: Workspace,
        hints: DirtyFolders,
        *,
        method: WatchMethod | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._workspace = workspace
        self._hints = hints
        self._wanted: WatchMethod = method or _METHODS.get(sys.platform, "polling")
        self._poll_seconds = poll_seconds
        self._lock = threading.Lock()
        """Guards what follows, because a thread that fails changes it too."""
        self._listener: InotifyThread | WatchdogObserver | None = None
        self._timer: PollingTimer | None = None
        self._status = WatchStatus(method=None)
        self._is_closed = False

    def status(self) -> WatchStatus:
        """Return the current method; callable from any thread."""
        return self._status

    def start(self) -> None:
        """Begin to listen, and hint at the whole tree; the caller then passes all known folders to `watch`."""
        try:
            self._listen()
        except OSError as exc:
            self._poll_instead("limit" if exc.errno in LIMIT_ERRNOS else "failed")
        chosen = "polling is chosen" if self._wanted == "polling" else None
        if reason := chosen or reason_to_poll(self._workspace.root_descriptor):
            # Besides the notices, which report changes by this machine at once.
            self._poll(reason)
        self.watch([ROOT])
        # After the watch of the root: what came before is found by the look, and what comes later by notices.
        self._hints.everything("start")

    def watch(self, folders: Iterable[WorkspacePath]) -> None:
        """Watch folders, before they are compared; those that were not watched yet are hinted at, whole."""
        for folder in folders:
            if isinstance(listener := self._listener, InotifyThread):  # the others watch the whole tree
                listener.add(folder)

    def note_look(self, seconds: float) -> None:
        """Report how long a look at the whole tree took, so that polling takes a bounded share of the time."""
        if (timer := self._timer) is not None:
            timer.note_look(seconds)

    def close(self) -> None:
        """End all threads and release all descriptors; may be called twice."""
        with self._lock:
            self._is_closed = True
            listener, self._listener = self._listener, None
            timer, self._timer = self._timer, None
        # Without the lock, which a thread that is ending may wait for.
        if listener is not None:
            listener.close()
        if timer is not None:
            timer.close()

    def _listen(self) -> None:
        self._status = WatchStatus(method=self._wanted)  # before a thread can fail and change it
        if self._wanted == "inotify":
            self._listener = thread = InotifyThread(self._workspace, self._hints, on_unable=self._poll_instead)
            thread.start()
        elif self._wanted == "observer":
            from filetools.tree.watchdog_observer import WatchdogObserver  # a package that Linux does not need

            self._listener = WatchdogObserver(self._workspace, self._hints)

    def _poll_instead(self, reason: str) -> None:
        """Give up incomplete notices, and release what they hold, which would be missing elsewhere."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        self._poll(_REASONS[reason])
        self._hints.everything(reason)

    def _poll(self, reason: str) -> None:
        with self._lock:
            if self._is_closed or self._timer is not None:
                return
            self._status = WatchStatus(method="polling", reason=reason)
            self._timer = PollingTimer(self._hints, seconds=self._poll_seconds)
            self._timer.start()
        logger.warning("Looking at the whole tree every %g s: %s", self._poll_seconds, reason)
