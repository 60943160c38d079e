"""The clock of the call that runs: waiting for people and locks stops it, and an approval is noted on it.

Who counts a call's time installs itself for the call's task; whoever waits for others, on whatever floor, says so.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final, Protocol


class CallWatch(Protocol):
    """Counts the time of one call. Its methods are called on the loop and must not raise."""

    def pause(self) -> None:
        """Stop counting; may be nested, also by several tasks of the call."""

    def resume(self) -> None:
        """Go on counting after as many resumes as there were pauses."""

    def note_approval(self, approval: str) -> None:
        """Keep that a person allowed something in this call."""

    def is_over(self) -> bool:
        """Whether the call's time is used up, or it was aborted: its task is cancelled for that."""


_current: Final[ContextVar[CallWatch | None]] = ContextVar("filetools_call_watch", default=None)


def current_watch() -> CallWatch | None:
    """Return the watch of the call that the running task belongs to, or None outside of calls."""
    return _current.get()


class watched:  # noqa: N801 - read as a statement: with watched(watch)
    """Within the block, the running task and the tasks it starts belong to the call of this watch."""

    __slots__ = ("_token", "_watch")

    def __init__(self, watch: CallWatch) -> None:
        self._watch = watch
        self._token: Token[CallWatch | None] | None = None

    def __enter__(self) -> None:
        self._token = _current.set(self._watch)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)


class uncounted:  # noqa: N801 - read as a statement: with uncounted()
    """Time inside the block is not counted against the call's limit: put it around waiting for a lock or a person."""

    __slots__ = ("_watch",)

    def __enter__(self) -> None:
        self._watch = _current.get()
        if self._watch is not None:
            self._watch.pause()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.resume()
