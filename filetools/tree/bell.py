"""The bell: a file that a process touches after a commit, so that others on the root look into the journal at once."""

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
from typing import Final, Literal

from filetools.tree.inotify import call_library

if sys.platform == "linux":
    import fcntl

    _LOCKS: Final = hasattr(fcntl, "F_OFD_SETLK")
else:
    _LOCKS: Final = False

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.025

_FOLLOW: Final = os.utime not in os.supports_follow_symlinks
_PLAIN: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)

Mark = tuple[int, int]
"""Inode and mtime: another mark means that somebody rang."""


class Bell:
    """A bell that any process on the root can ring and hear. Holds nothing open; lives as long as its owner likes.

    A ring carries no message. A listener also hears its own process ring, and several rings may be heard as one.

    Args:
        path: The file to touch, in the private state directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = os.fspath(path)
        self._attendance: ListenerLock | None = None

    def ring_for_others(self) -> None:
        """As `ring`, unless nobody but this process listens: then what is told costs nothing."""
        if self.is_heard_by_others:
            self.ring()

    @property
    def is_heard_by_others(self) -> bool:
        """Whether somebody else listens, or it cannot be told. Whoever begins to listen later sees what is recorded by now."""
        return self._attendance is None or not self._attendance.is_alone

    def ring(self) -> None:
        """Make every listener look, in this process and in others; from any thread.

        A failure is logged and not raised: what the ring tells of is already durable.
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
            logger.warning("Cannot ring the bell: %s", exc.strerror)

    def listen(self, callback: Callable[[], None], *, method: Literal["auto", "poll"] = "auto") -> BellListener:
        """Call back on the running loop, soon after each ring from now on.

        What happened before is not told: call this first, then look into the journal.

        Args:
            callback: Plain and quick; what it raises is logged.
            method: "auto" uses inotify where it can and polls elsewhere; "poll" always polls.
        """
        with contextlib.suppress(OSError):
            self._create()  # here, so that its coming into being is not heard as a ring
            self._attendance = ListenerLock(self._path)
        return BellListener(self, callback, use_inotify=HAS_INOTIFY and method == "auto")

    def mark(self) -> Mark | None:
        """Return what a ring changes, or None if the file is missing."""
        try:
            facts = os.lstat(self._path)
        except OSError:
            return None
        return (facts.st_ino, facts.st_mtime_ns)

    def watch(self) -> int:
        """Return an inotify descriptor that becomes readable at the next ring; makes the file if it is missing.

        Raises:
            OSError: No descriptor or watch is to be had, or the state directory is gone.
        """
        descriptor = call_library("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._create()
            call_library("inotify_add_watch", descriptor, os.fsencode(self._path), _MASK)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _create(self) -> None:
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | _PLAIN, 0o600))

    def leave(self) -> None:
        """Say that this process listens no more; may be called twice."""
        attendance, self._attendance = self._attendance, None
        if attendance is not None:
            attendance.close()


class ListenerLock:
    """Says that this process listens, and knows whether another one does. Lives as long as its process listens.

    It is a shared lock on the bell's file, of the open file itself: it ends with the process, however that ends, and two
    workspaces of one process are two. Linux only; elsewhere nobody is ever known to be alone.

    Source: fcntl_locking(2), open file description locks.
    """

    def __init__(self, path: str) -> None:
        """Begin to listen.

        Raises:
            OSError: The file is gone, or its file system has no locks.
        """
        self._descriptor = os.open(path, os.O_RDONLY | _PLAIN)
        if _LOCKS:
            fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, _lock(fcntl.F_RDLCK))

    @property
    def is_alone(self) -> bool:
        """Whether nobody else listens."""
        descriptor = self._descriptor  # once: another thread may be closing it
        if not _LOCKS or descriptor < 0:
            return False
        try:
            # Others meet on the file that has the name; where it was removed, they cannot be seen from here.
            if not os.fstat(descriptor).st_nlink:
                return False
            found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _lock(fcntl.F_WRLCK))
        except OSError:
            return False
        return bool(struct.unpack_from("h", found)[0] == fcntl.F_UNLCK)

    def close(self) -> None:
        """Listen no more; may be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _lock(kind: int) -> bytes:
    """Return the system's record of a lock on the first byte of a file."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0)


class BellListener:
    """One ear on a bell; made by `Bell.listen`, lives until `close`.

    It waits for inotify, and polls every 25 ms for as long as it cannot: no instance or watch left, no such file.
    """

    def __init__(self, bell: Bell, callback: Callable[[], None], *, use_inotify: bool) -> None:
        self._bell = bell
        self._callback = callback
        self._use_inotify = use_inotify
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._has_warned = False
        self._is_closed = False
        self._mark = bell.mark()
        self._attend()

    @property
    def is_polling(self) -> bool:
        """Whether it has to poll at the moment."""
        return self._timer is not None

    def close(self) -> None:
        """Hear nothing more; may be called twice."""
        self._is_closed = True
        self._bell.leave()
        self._release()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _attend(self) -> None:
        self._timer = None
        if self._use_inotify:
            try:
                self._descriptor = self._bell.watch()
            except OSError as exc:
                self._warn(exc)
            else:
                self._loop.add_reader(self._descriptor, self._on_readable)
        # After the watch stands: a ring between the last look and the watch is seen here, a later one wakes us.
        self._look()
        if self._descriptor is None and not self._is_closed:
            self._timer = self._loop.call_later(POLL_SECONDS, self._attend)

    def _on_readable(self) -> None:
        assert self._descriptor is not None
        drain(self._descriptor)
        before = self._mark
        self._look(always=True)
        if self._is_closed or (self._mark is not None and before is not None and self._mark[0] == before[0]):
            return
        # The watch follows the file that was there, which is no longer the one others touch.
        self._release()
        self._attend()

    def _look(self, *, always: bool = False) -> None:
        mark = self._bell.mark()
        if always or mark != self._mark:
            self._mark = mark
            try:
                self._callback()
            except Exception:
                # Foreign code on the loop: one failing look must not make this process deaf.
                logger.exception("The bell's listener failed")

    def _release(self) -> None:
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _warn(self, exc: OSError) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "Cannot be notified of changes by other processes, looking for them in turns: %s", exc.strerror
            )


_MASK: Final = 0x2000C06
"""IN_MODIFY, IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF and IN_DONT_FOLLOW."""

HAS_INOTIFY: Final = sys.platform.startswith("linux")

_READ_BYTES: Final = 4096


def drain(descriptor: int) -> None:
    """Throw away every event that waits."""
    try:
        while os.read(descriptor, _READ_BYTES):
            pass
    except BlockingIOError:
        return
