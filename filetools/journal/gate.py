"""The gate: one file lock around every write transaction, checkpoint and close of a journal's database.

SQLite's own waiting starves a process for seconds when others commit in a loop, and older releases can lose a commit
that meets a checkpoint; behind the gate neither can happen.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from filelock import lock_descriptor, unlock_descriptor

from filetools.errors import LockTimeoutError

TENURE_SECONDS: Final = 0.005
"""How long one process may go through the gate again and again before it looks for others waiting."""
STAND_BACK_SECONDS: Final = 0.0007
"""Longer than a waiter's pause between two tries, so that one of them gets in."""
LONGEST_PAUSE_SECONDS: Final = 0.0005
_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Gate:
    """Exclusive right to write a database, between threads and between processes. Not re-entrant."""

    def __init__(self, directory: Path, *, timeout_seconds: float = 30.0) -> None:
        self._descriptor = os.open(directory / "gate", _FLAGS, 0o600)
        try:
            self._waiting = os.open(directory / "gate.waiting", _FLAGS, 0o600)
        except OSError:
            os.close(self._descriptor)
            raise
        self._mutex = threading.Lock()
        self._timeout_seconds = timeout_seconds
        self._tenure_since = 0.0
        self._left_at = 0.0
        _register_fork_hook()
        _gates.add(self)

    def __enter__(self) -> None:
        self.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def deadline(self) -> float:
        """Return the moment, on the monotonic clock, at which whoever asks now gives up."""
        return time.monotonic() + self._timeout_seconds

    def enter(self, deadline: float | None = None) -> None:
        """Wait for the right; `leave` must follow.

        Raises:
            LockTimeoutError: The deadline has passed.
        """
        deadline = self.deadline() if deadline is None else deadline
        if not self._mutex.acquire(blocking=False) and not self._mutex.acquire(timeout=_seconds_until(deadline)):
            raise self.timed_out()
        try:
            self._stand_back()
            self._pass(deadline)
        except BaseException:
            self._mutex.release()
            raise

    def leave(self) -> None:
        """Give the right back."""
        try:
            unlock_descriptor(self._descriptor)
        finally:
            self._left_at = time.monotonic()
            self._mutex.release()

    def timed_out(self) -> LockTimeoutError:
        """Return the error of whoever waited in vain."""
        return LockTimeoutError("the journal", self._timeout_seconds)

    def close(self) -> None:
        """Release the descriptors; the gate must not be used afterwards."""
        _gates.discard(self)
        self.abandon()

    def abandon(self) -> None:
        """Close the descriptors without unlocking: in a forked child they would keep a dead parent's lock alive."""
        descriptors, self._descriptor, self._waiting = (self._descriptor, self._waiting), -1, -1
        for descriptor in descriptors:
            with suppress(OSError):
                os.close(descriptor)

    def _stand_back(self) -> None:
        now = time.monotonic()
        if now - self._left_at > STAND_BACK_SECONDS:
            self._tenure_since = now
        elif now - self._tenure_since > TENURE_SECONDS:
            self._tenure_since = now
            if self._others_wait():
                time.sleep(STAND_BACK_SECONDS)

    def _others_wait(self) -> bool:
        if not lock_descriptor(self._waiting, blocking=False):
            return True
        unlock_descriptor(self._waiting)
        return False

    def _pass(self, deadline: float) -> None:
        if lock_descriptor(self._descriptor, blocking=False):
            return
        # Whoever waits holds this second lock; it is what makes a busy process stand back. Only one waiter can
        # hold it, which is enough: the flag says that somebody waits, not how many.
        announced = lock_descriptor(self._waiting, blocking=False)
        try:
            self._try_until(deadline)
        finally:
            if announced:
                unlock_descriptor(self._waiting)

    def _try_until(self, deadline: float) -> None:
        pause = 0.00005
        while not lock_descriptor(self._descriptor, blocking=False):
            if time.monotonic() > deadline:
                raise self.timed_out()
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


_gates: weakref.WeakSet[Gate] = weakref.WeakSet()


@functools.cache
def _register_fork_hook() -> None:
    # With the first gate, not on import, which starts nothing.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_abandon_all)


def _abandon_all() -> None:
    for gate in tuple(_gates):
        gate.abandon()
    _gates.clear()


def _seconds_until(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
