"""The clock of the running call: stopped while it waits for people and locks, and notified of approvals.

Code that counts a call's time installs a watch for the call's task; code that waits for others, in any layer, pauses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol


class CallWatch(Protocol):
    """Counts the time of one call. Its methods are called on the loop and must not raise."""

    def pause(self) -> None:
        """Stop counting; may be nested, also by several tasks of the call."""

    def resume(self) -> None:
        """Continue counting after as many resumes as there were pauses."""

    def note_approval(self, approval: str) -> None:
        """Record that a person allowed something in this call."""

    def is_over(self) -> bool:
        """True if the call's time is used up, or it was aborted: its task is cancelled for that."""


_current: Final[ContextVar[CallWatch | None]] = ContextVar("filetools_call_watch", default=None)


def current_watch() -> CallWatch | None:
    """Return the watch of the call that the running task belongs to, or None outside of calls."""
    return _current.get()


@contextmanager
def watched(watch: CallWatch) -> Iterator[None]:
    """Assign the running task, and the tasks it starts, to the call of this watch within the block."""
    token = _current.set(watch)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not count time inside the block against the call's limit: put it around waiting for a lock or a person."""
    watch = _current.get()
    if watch is None:
        yield
        return
    watch.pause()
    try:
        yield
    finally:
        watch.resume()
