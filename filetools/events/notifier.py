"""Notifies other processes of commits by touching a file, so that they read the journal at once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filetools.paths.library import call_library

if sys.platform == "linux":
    import fcntl

    _LOCKS: Final = hasattr(fcntl, "F_OFD_SETLK")
else:
    _LOCKS: Final = False

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.025
HAS_INOTIFY: Final = sys.platform.startswith("linux")

_MASK: Final = 0x2000C06
"""IN_MODIFY, IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF and IN_DONT_FOLLOW."""
_READ_BYTES: Final = 4096
_FOLLOW: Final = os.utime not in os.supports_follow_symlinks
_PLAIN: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)

Mark = tuple[int, int]
"""Inode and mtime: another mark means that a process has notified the others."""


class Notifier:
    """Sends notifications to all processes on a root, and receives them. Holds nothing open unless it listens.

    A notification carries no message. A listener also receives those of its own process, and may receive several as one.
    It waits for inotify, and polls every 25 ms while it cannot: no instance or watch left, no such file.

    Args:
        path: The file to touch, in the private state directory.
        use_inotify: False to always poll.
    """

    def __init__(self, path: Path, *, use_inotify: bool = HAS_INOTIFY) -> None:
        self._path = os.fspath(path)
        self._use_inotify = use_inotify
        self._callback: Callable[[], None] | None = None
        """None unless it listens."""
        self._lock = self._watch = -1
        self._timer: asyncio.TimerHandle | None = None
        self._mark: Mark | None = None
        self._has_warned = False

    def notify_others(self) -> None:
        """As `notify`, but does nothing if only this object listens.

        A later listener sees what is recorded by now.
        """
        if not self._is_alone():
            self.notify()

    def notify(self) -> None:
        """Wake every listener, in this process and in others; callable from any thread.

        A failure is logged and not raised: what it announces is already durable.
        """
        # An explicit time, because the kernel's own may not advance between two rings, and a poller would miss one.
        now = time.time_ns()
        try:
            try:
                os.utime(self._path, ns=(now, now), follow_symlinks=_FOLLOW)
            except FileNotFoundError:
                self._create()
                os.utime(self._path, ns=(now, now), follow_symlinks=_FOLLOW)
        except OSError as exc:
            logger.warning("Cannot notify other processes: %s", exc.strerror)

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back on the running loop, soon after each notification from now on, until `close`.

        Earlier rings are not reported: call this first, then read the journal.

        Args:
            callback: Synchronous and quick; what it raises is logged.
        """
        with contextlib.suppress(OSError):
            self._create()  # here, so that its creation does not count as a notification
            # A shared lock, of the open file itself: it ends with the process, however that ends, and two workspaces of
            # one process are two. Source: fcntl_locking(2), open file description locks.
            self._lock = os.open(self._path, os.O_RDONLY | _PLAIN)
            if _LOCKS:
                fcntl.fcntl(self._lock, fcntl.F_OFD_SETLK, _record(fcntl.F_RDLCK))
        self._callback, self._mark = callback, self.mark()
        self._attend()

    def mark(self) -> Mark | None:
        """Return inode and mtime of the file, or None if it is missing."""
        try:
            facts = os.lstat(self._path)
        except OSError:
            return None
        return (facts.st_ino, facts.st_mtime_ns)

    def close(self) -> None:
        """Stop listening; may be called twice."""
        self._callback = None
        self._release()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_alone(self) -> bool:
        """True if it is the only listener; False if that is unknown."""
        lock = self._lock  # once: another thread may be closing it
        if not _LOCKS or lock < 0:
            return False
        try:
            # Others lock the file that has the name; if it was removed, their locks are not visible here.
            if not os.fstat(lock).st_nlink:
                return False
            found = fcntl.fcntl(lock, fcntl.F_OFD_GETLK, _record(fcntl.F_WRLCK))
        except OSError:
            return False
        return bool(struct.unpack_from("h", found)[0] == fcntl.F_UNLCK)

    def _create(self) -> None:
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | _PLAIN, 0o600))

    def _attend(self) -> None:
        self._timer = None
        if self._use_inotify:
            try:
                self._watch = call_library("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
                self._create()
                call_library("inotify_add_watch", self._watch, os.fsencode(self._path), _MASK)
                asyncio.get_running_loop().add_reader(self._watch, self._on_readable)
            except OSError as exc:
                self._release()
                if not self._has_warned:
                    self._has_warned = True
                    logger.warning(
                        "Cannot be notified of changes by other processes, looking for them in turns: %s", exc.strerror
                    )
        # After the watch is set: a notification between the last look and the watch is seen here, a later one wakes us.
        self._look()
        if self._watch < 0 and self._callback is not None:
            self._timer = asyncio.get_running_loop().call_later(POLL_SECONDS, self._attend)

    def _on_readable(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._watch, _READ_BYTES):
                pass
        before = self._mark
        self._look(always=True)
        if self._callback is None or (self._mark is not None and before is not None and self._mark[0] == before[0]):
            return
        # The watch follows the file that was there, which is no longer the one others touch.
        self._release()
        self._attend()

    def _look(self, *, always: bool = False) -> None:
        mark = self.mark()
        if self._callback is not None and (always or mark != self._mark):
            self._mark = mark
            try:
                self._callback()
            except Exception:
                # Foreign code on the loop: one failing look must not end all notifications.
                logger.exception("The notifier's listener failed")

    def _release(self) -> None:
        watch, self._watch = self._watch, -1
        if watch >= 0:
            asyncio.get_running_loop().remove_reader(watch)
            os.close(watch)


def _record(kind: int) -> bytes:
    """Return the system's `struct flock` for the first byte of a file."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0)
