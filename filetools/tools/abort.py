"""The signal by which whoever started a call stops it."""

from __future__ import annotations

from collections.abc import Callable


class AbortSignal:
    """Set once, by the caller of one or more calls; belongs to their loop and lives as long as they run."""

    __slots__ = ("_callbacks", "_is_aborted")

    def __init__(self) -> None:
        self._is_aborted = False
        self._callbacks: list[Callable[[], None]] = []

    def is_aborted(self) -> bool:
        """Whether the calls shall stop; may be asked in any thread."""
        return self._is_aborted

    def abort(self) -> None:
        """Stop the calls that carry this signal, and those that will; may be called twice."""
        if self._is_aborted:
            return
        self._is_aborted = True
        for callback in list(self._callbacks):
            callback()

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call back when it is set; not at all if it is set already."""
        self._callbacks.append(callback)

    def remove_callback(self, callback: Callable[[], None]) -> None:
        """Take a callback back that was added."""
        self._callbacks.remove(callback)
