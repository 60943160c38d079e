"""Watching the tree by the best method that the system offers, and polling file systems that report nothing."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.tree.hints import Agenda
from filetools.tree.inotify import LIMIT_ERRNOS, InotifyThread

if TYPE_CHECKING:
    from filetools.tree.watchdog_observer import WatchdogObserver

logger = logging.getLogger(__name__)

WatchMethod = Literal["inotify", "observer", "polling"]

POLL_SECONDS: Final = 2.0
"""Seconds between two looks at the whole tree, if notices do not suffice."""
_METHODS: Final[dict[str, WatchMethod]] = {"linux": "inotify", "darwin": "observer", "win32": "observer"}
"""The best method of each system; elsewhere watchdog would hold every file open (kqueue)."""
_REASONS: Final = {
    "limit": "the system grants no more inotify instances or watches",
    "failed": "watching failed",
}
_SHARED: Final = (
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fakeowner", "fuse", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs",
    "nfs", "ocfs2", "orangefs", "prl_fs", "smb", "vboxsf", "virtiofs", "vmhgfs",
)  # fmt: skip
"""Prefixes of the names of file systems that others change without the knowledge of this kernel."""
_LOCAL: Final = frozenset({"fuseblk", "fuse.fuse-overlayfs", "nfsd"})
"""Exceptions: all their changes go through this kernel."""


class TreeWatcher:
    """Hints at changes by other programs, from `start` to `close`; `watch` may be called from any thread.

    When it hints at everything, the root may have been deleted or moved: `Workspace.check_alive` finds that out.

    Args:
        workspace: The open root; its state directory exists.
        agenda: Receives the hints.
        method: None for the best one.
    """

    def __init__(self, workspace: Workspace, agenda: Agenda, *, method: WatchMethod | None = None) -> None:
        self._workspace = workspace
        self._agenda = agenda
        self._wanted: WatchMethod = method or _METHODS.get(sys.platform, "polling")
        self._listener: InotifyThread | WatchdogObserver | None = None
        self.method: WatchMethod | None = None
        """How changes by other programs are noticed; None before `start`."""
        self.reason: str | None = None
        """Why it polls; None if it does not."""

    def start(self, folders: Iterable[WorkspacePath] = ()) -> None:
        """Begin to listen, watch the root and the folders that are known, and hint at the whole tree."""
        self.method = self._wanted  # before a thread can fail and change it
        try:
            self._listen()
        except OSError as exc:
            self._poll_instead("limit" if exc.errno in LIMIT_ERRNOS else "failed")
        chosen = "polling is chosen" if self._wanted == "polling" else None
        if reason := chosen or reason_to_poll(self._workspace.root_descriptor):
            # Besides the notices, which report changes by this machine at once.
            self._poll(reason)
        self.watch([ROOT, *folders], hint=False)
        # After these watches: what came before is found by the look, and what comes later by notices.
        self._agenda.hint_everything("start")

    def watch(self, folders: Iterable[WorkspacePath], *, hint: bool = True) -> None:
        """Watch folders, before they are compared; unless `hint` is False, hint at all of those that were not watched yet."""
        for folder in folders:
            if isinstance(listener := self._listener, InotifyThread):  # the others watch the whole tree
                listener.add(folder, hint=hint)

    def close(self) -> None:
        """End all threads and release all descriptors; may be called twice."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _listen(self) -> None:
        if self._wanted == "inotify":
            self._listener = thread = InotifyThread(self._workspace, self._agenda, on_unable=self._poll_instead)
            thread.start()
        elif self._wanted == "observer":
            from filetools.tree.watchdog_observer import WatchdogObserver  # a package that Linux does not need

            self._listener = WatchdogObserver(self._workspace, self._agenda)

    def _poll_instead(self, reason: str) -> None:
        """Give up incomplete notices, and release what they hold, which would be missing elsewhere."""
        self.close()
        self._poll(_REASONS[reason])
        self._agenda.hint_everything(reason)

    def _poll(self, reason: str) -> None:
        self.method, self.reason = "polling", reason
        self._agenda.poll(POLL_SECONDS)
        logger.warning("Looking at the whole tree every %g s: %s", POLL_SECONDS, reason)


def reason_to_poll(folder: int) -> str | None:
    """Return why notices do not report every change below a folder, or None if no reason is known.

    Args:
        folder: Descriptor of the folder.

    Source: proc(5), /proc/pid/fdinfo and /proc/pid/mountinfo.
    """
    try:
        # By the id of the mount: a path may lead to another one by now, and statfs does not distinguish FUSE file systems.
        facts = re.search(r"^mnt_id:\s*(\d+)", Path(f"/proc/self/fdinfo/{folder}").read_text("ascii"), re.MULTILINE)
        mounts = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None  # not Linux
    line = next((each for each in mounts if facts is not None and each.startswith(f"{facts[1]} ")), "")
    return reason_of(line.partition(" - ")[2].partition(" ")[0])


def reason_of(kind: str) -> str | None:
    """Return the reason to poll a file system of some kind, such as "nfs4"; unknown ones count as local."""
    if kind in _LOCAL or not kind.startswith(_SHARED):
        return None
    return f"other machines or programs can change files on {kind} without a notice to this system"
