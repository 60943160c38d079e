"""Which processes wait for a stripe, oldest first: how its holder learns to stand back, and who goes next.

Only a courtesy between pollers. It excludes nobody, so nothing here needs a lock: two processes that write the same
place, a torn record or a clock of another machine cost fairness, never safety.
"""

from __future__ import annotations

import contextlib
import time
from struct import Struct
from typing import Final

from filetools.locks.lock_file import LockFile
from filetools.locks.lock_files import LockFiles

_PLACES: Final = 32
_RECORD: Final = Struct("=qq")
_ROOM_BYTES: Final = _PLACES * _RECORD.size
_EMPTY: Final = bytes(_RECORD.size)
# Over the longest pause between two polls with some room for a busy machine. Whoever is stopped or killed while
# waiting is overlooked after it, so that a waiter can never block the others.
_FRESH_NS: Final = 10_000_000


class Seat:
    """The place of one waiting process. Lives as long as it polls."""

    __slots__ = ("_file", "_files", "_place", "_since_ns")

    def __init__(self, files: LockFiles, name: str) -> None:
        self._files = files
        self._file = files.take(name)
        self._since_ns = time.monotonic_ns()
        taken = _fresh_places(self._file, self._since_ns)
        self._place = next((place for place in range(_PLACES) if place not in taken), None)

    def is_first(self) -> bool:
        """Show that this process still waits, and tell whether none has waited longer."""
        if self._place is None:
            return True
        now_ns = time.monotonic_ns()
        with contextlib.suppress(OSError):
            self._file.write_at(self._place * _RECORD.size, _RECORD.pack(self._since_ns, now_ns))
        others = _fresh_places(self._file, now_ns)
        others.pop(self._place, None)
        return all(self._since_ns <= since_ns for since_ns in others.values())

    def leave(self) -> None:
        """Clear the place, so that the next in line need not wait for it to go stale."""
        with contextlib.suppress(OSError):
            if self._place is not None:
                self._file.write_at(self._place * _RECORD.size, _EMPTY)
        self._files.keep(self._file)


def is_somebody_waiting(files: LockFiles, name: str) -> bool:
    """Return whether a process polls for the stripe whose waiting room has this name."""
    file = files.find(name)
    if file is None:
        return False
    try:
        return bool(_fresh_places(file, time.monotonic_ns()))
    finally:
        files.discard(file)


def _fresh_places(file: LockFile, now_ns: int) -> dict[int, int]:
    room = b""
    with contextlib.suppress(OSError):
        room = file.read_at(0, _ROOM_BYTES)
    whole = room[: len(room) - len(room) % _RECORD.size]
    return {
        place: since_ns
        for place, (since_ns, seen_ns) in enumerate(_RECORD.iter_unpack(whole))
        if 0 <= now_ns - seen_ns < _FRESH_NS
    }
