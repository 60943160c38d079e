"""The gate: one file lock around every write transaction, checkpoint and close of a journal's database.

SQLite's own waiting starves a process for seconds when others commit in a loop, and older releases can lose a commit
that meets a checkpoint; behind the gate neither can happen.
"""

from __future__ import annotations

import os
import threading
import time
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


class Gate:
    """Exclusive right to write a database, between threads and between processes. Not re-entrant."""

    def __init__(self, directory: Path, *, timeout_seconds: float = 30.0) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(directory / "gate", flags, 0o600)
        self._waiting = os.open(directory / "gate.waiting", flags, 0o600)
        self._mutex = threading.Lock()
        self._timeout_seconds = timeout_seconds
        self._tenure_since = 0.0
        self._left_at = 0.0

    def __enter__(self) -> None:
        deadline = time.monotonic() + self._timeout_seconds
        if not self._mutex.acquire(timeout=self._timeout_seconds):
            raise LockTimeoutError("the journal", self._timeout_seconds)
        try:
            self._stand_back()
            self._pass(deadline)
        except BaseException:
            self._mutex.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        unlock_descriptor(self._descriptor)
        self._left_at = time.monotonic()
        self._mutex.release()

    def close(self) -> None:
        """Release the descriptors; the gate must not be used afterwards."""
        os.close(self._descriptor)
        os.close(self._waiting)

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
                raise LockTimeoutError("the journal", self._timeout_seconds)
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
