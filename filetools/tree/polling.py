"""Hints without notices: a timer that hints at everything, and the file systems that need it."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Final

from filetools.paths.resolver import O_PATH
from filetools.tree.hints import DirtyFolders

POLL_SECONDS: Final = 2.0
SHARE_OF_TIME: Final = 0.1
"""Largest share of the time that looks may take; a large tree is looked at less often."""

_SHARED: Final = (
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fakeowner", "fuse", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs",
    "nfs", "ocfs2", "orangefs", "prl_fs", "smb", "vboxsf", "virtiofs", "vmhgfs",
)  # fmt: skip
"""Prefixes of the names of file systems that others change without the knowledge of this kernel."""
_LOCAL: Final = frozenset({"fuseblk", "fuse.fuse-overlayfs", "nfsd"})
"""Exceptions: all their changes go through this kernel."""


class PollingTimer(threading.Thread):
    """Hints at everything periodically, from `start` to `close`. The looks compare with the rows, so they miss nothing.

    Args:
        hints: Receives the hints.
        seconds: Seconds between two hints.
    """

    def __init__(self, hints: DirtyFolders, *, seconds: float = POLL_SECONDS) -> None:
        super().__init__(name="filetools polling", daemon=True)
        self._hints = hints
        self._least_seconds = self._seconds = seconds
        self._closing = threading.Event()

    def note_look(self, seconds: float) -> None:
        """Report how long a look at the whole tree took; the pauses become at least nine times as long."""
        self._seconds = max(self._least_seconds, seconds * (1 / SHARE_OF_TIME - 1))

    def run(self) -> None:
        """Hint until closed."""
        while not self._closing.wait(self._seconds):
            self._hints.everything("poll")

    def close(self) -> None:
        """End the thread at once; may be called twice and from any thread."""
        self._closing.set()
        if self.is_alive() and threading.current_thread() is not self:
            self.join()


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


def reason_at(folder: str) -> str | None:
    """As `reason_to_poll`, for a path; None if it cannot be opened."""
    try:
        descriptor = os.open(folder, (O_PATH or os.O_RDONLY) | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return reason_to_poll(descriptor)
    finally:
        os.close(descriptor)
