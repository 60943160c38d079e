"""Leadership: the one process that does what only one should do, such as keep a root or write to a mirror."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import lock_descriptor

from filetools.paths.resolver import OPEN_OR_NEW
from filetools.processes import abandon_in_child


class Leadership:
    """Leadership, held from a successful `try_lead` to `close` or the end of the process. Not thread-safe.

    Args:
        directory: The state directory of the root.
        name: File in it.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._place = directory / name
        self._descriptor = -1
        abandon_in_child(self)

    @property
    def is_leading(self) -> bool:
        """True from a successful `try_lead` to `close`."""
        return self._descriptor >= 0

    def try_lead(self) -> bool:
        """Return True if this process leads now. Does not wait; a follower calls this again every few seconds.

        If the file system has no locks, every process leads: that costs work, but misses nothing.

        Raises:
            OSError: The file in the state directory cannot be opened.
        """
        if self.is_leading:
            return True
        # Opened for each try, because the file may have been replaced since; a follower holds nothing open.
        descriptor = os.open(self._place, OPEN_OR_NEW, 0o600)
        try:
            is_won = lock_descriptor(descriptor, blocking=False)
        except OSError:
            is_won = True
        if is_won:
            self._descriptor = descriptor
        else:
            os.close(descriptor)
        return is_won

    def close(self) -> None:
        """Let another process lead; may be called twice."""
        self.abandon()

    def abandon(self) -> None:
        """Close the descriptor, which ends the lock with its last holder.

        Without unlocking: that would take the lock from the parent of a forked child.
        """
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
