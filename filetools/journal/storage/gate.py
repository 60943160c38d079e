"""The gate: one file lock around every write transaction, checkpoint and close of a database, or a turn of several.

SQLite's own waiting starves a process for seconds when others commit in a loop, and older releases can lose a commit
that meets a checkpoint; behind the gate neither can happen.
"""

from __future__ import annotations

import os
import re
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import lock_descriptor, unlock_descriptor

from filetools.errors import LockTimeoutError
from filetools.paths.resolver import OPEN_OR_NEW
from filetools.processes import abandon_in_child

GATE_FILE: Final = "gate"
TURN_FILE: Final = "turn"
TENURE_NS: Final = 5_000_000
"""How long one process may re-enter the gate before it lets waiting processes in."""
FIRST_PAUSE_SECONDS: Final = 0.0003
OTHERS_PAUSE_SECONDS: Final = 0.001
NEWS_NS: Final = 2_000_000
"""How long a waiter's note is valid; a process that still waits has renewed it by then."""
_WAITER_AT: Final = 1
"""Windows locks the first byte for all but the holder."""
_WAITER: Final = struct.Struct("<qq")
"""When the longest waiter began to wait, and when it noted that, in nanoseconds of a clock that processes share."""
_LINE_AT: Final = 32
LINE_BYTES: Final = 512


class Gate:
    """Exclusive lock between threads and between processes: to write a database, or to have a turn. Not re-entrant.

    Its file holds a note of the longest waiting process, which gets in first, and a line about the holder of the turn.
    """

    def __init__(self, directory: Path, *, name: str = GATE_FILE, timeout_seconds: float = 30.0) -> None:
        self._path = directory / name
        self._descriptor = os.open(self._path, OPEN_OR_NEW, 0o600)
        self._mutex = threading.Lock()
        self._timeout_seconds = timeout_seconds
        self._tenure_since = 0
        self._holder = 0
        """Thread that holds the lock; 0 if none of this process does."""
        abandon_in_child(self)

    @property
    def is_open(self) -> bool:
        """True if it can be used; False after a fork."""
        return self._descriptor >= 0

    def enter(self) -> None:
        """Wait for the lock; `leave` must follow.

        Raises:
            LockTimeoutError: The timeout of this gate has passed.
        """
        deadline = time.monotonic() + self._timeout_seconds
        if not self._mutex.acquire(timeout=self._timeout_seconds):
            raise self._timed_out()
        try:
            self._pass(deadline)
            self._holder = threading.get_ident()
        except BaseException:
            self._mutex.release()
            raise

    def leave(self, *_error: object) -> None:
        """Release the lock."""
        self._holder = 0
        try:
            unlock_descriptor(self._descriptor)
        finally:
            self._mutex.release()

    __enter__, __exit__ = enter, leave

    def sign(self, line: bytes) -> None:
        """Write the holder of the turn into the file, for messages of other processes."""
        note_at(self._descriptor, _LINE_AT, line)

    def line(self) -> bytes:
        """Return the line of the newest turn of any process, which may be over."""
        with suppress(OSError):
            return read_at(self._descriptor, LINE_BYTES, _LINE_AT)
        return b""

    def is_held_here(self) -> bool:
        """True if the calling thread holds the lock."""
        return self._holder == threading.get_ident()

    def is_held_elsewhere(self) -> bool:
        """True if another process holds the lock at this moment."""
        if self._holder:
            return False
        # On a separate descriptor: on the shared one the attempt would succeed if a thread of this process holds the lock.
        with suppress(OSError), self._path.open("rb+") as file:
            return not lock_descriptor(file.fileno(), blocking=False)
        return False

    def _timed_out(self) -> LockTimeoutError:
        """Return the error for a wait that timed out, with the holder of the lock."""
        holder = "another process"
        with suppress(OSError):
            # From the kernel, so that holders need not write down each time that they hold the lock.
            held = re.search(
                rf" FLOCK .* ([1-9]\d*) \S*:{os.fstat(self._descriptor).st_ino} ", Path("/proc/locks").read_text()
            )
            holder = f"process {held[1]}" if held else holder
        return LockTimeoutError("the journal", self._timeout_seconds, holder)

    def close(self) -> None:
        """Release the file, without unlocking: in a forked child that would take the lock from its parent."""
        descriptor, self._descriptor = self._descriptor, -1
        with suppress(OSError):
            os.close(descriptor)

    abandon = close

    def _pass(self, deadline: float) -> None:
        since = time.monotonic_ns()
        if since - self._tenure_since < TENURE_NS and lock_descriptor(self._descriptor, blocking=False):
            return
        has_waited = False
        while True:
            now, is_first = time.monotonic_ns(), True
            with suppress(OSError, struct.error):
                other, said = _WAITER.unpack(read_at(self._descriptor, _WAITER.size, _WAITER_AT))
                is_first = other >= since or abs(now - said) > NEWS_NS
            if is_first and lock_descriptor(self._descriptor, blocking=False):
                break
            if time.monotonic() > deadline:
                raise self._timed_out()
            if is_first:
                has_waited = True
                self._say(since, now)
            time.sleep(FIRST_PAUSE_SECONDS if is_first else OTHERS_PAUSE_SECONDS)
        self._tenure_since = time.monotonic_ns()
        if has_waited:
            self._say(0, 0)  # so that the next one need not wait until the note is old

    def _say(self, since: int, now: int) -> None:
        note_at(self._descriptor, _WAITER_AT, _WAITER.pack(since, now))  # without the note, others may get in before


def note_at(descriptor: int, offset: int, content: bytes) -> None:
    """Write a few bytes at an offset of a file, unless that fails, as on a full disk."""
    with suppress(OSError):
        if hasattr(os, "pwrite"):
            os.pwrite(descriptor, content, offset)
        else:
            os.lseek(descriptor, offset, os.SEEK_SET)
            os.write(descriptor, content)


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Return up to `count` bytes from an offset of a file."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, count)
