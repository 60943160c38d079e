"""A bounded cache of values computed from a file's bytes, keyed by the file's identity at that time."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")
Identity = tuple[int, int, int, int, int]
"""Device, inode, size, mtime_ns and ctime_ns of a file."""
identity_of: Final[Callable[[os.stat_result], Identity]] = attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"
)

CLOCK_TICK_NS: Final = 20_000_000
"""Upper bound of the file timestamps' resolution; within one tick a file can change and keep its identity."""
WHOLE_TICK_NS: Final = 2_020_000_000
"""The same for file systems without fractions of a second; FAT stores even seconds."""


def is_settled(identity: Identity, taken_ns: int, *, tick_ns: int = CLOCK_TICK_NS) -> bool:
    """Return True if the identity reliably identifies the bytes read from `taken_ns` on.

    Args:
        identity: The file's identity while it was read.
        taken_ns: `time.time_ns()` before the bytes were read.
        tick_ns: Resolution of file timestamps; 0 if every change after a read has a distinct timestamp.
    """
    newest = max(identity[3], identity[4])
    # Use the ctime: a program may set the mtime to a whole second.
    tick_ns = tick_of(identity[4], tick_ns)
    return tick_ns == 0 or taken_ns - newest >= tick_ns


def tick_of(stamp_ns: int, tick_ns: int = CLOCK_TICK_NS) -> int:
    """Return the timestamp resolution for a file: a mount below a root may be coarser than the root.

    Args:
        stamp_ns: A timestamp of the file.
        tick_ns: Resolution of the root's file system.
    """
    return tick_ns if stamp_ns % 1_000_000_000 else max(tick_ns, WHOLE_TICK_NS)


class IdentityCache(Generic[Value]):
    """An LRU cache of values by file identity. Thread-safe; each call is O(1).

    Args:
        max_entries: Maximum number of values, or maximum sum of their weights.
        tick_ns: Resolution of file timestamps.
    """

    def __init__(self, max_entries: int = 4096, *, tick_ns: int = CLOCK_TICK_NS) -> None:
        self._left = max_entries
        self._tick_ns = tick_ns
        self._values: OrderedDict[tuple[str, Identity], tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, identity: Identity, *, place: str = "") -> Value | None:
        """Return the value for a file, or None."""
        with self._lock:
            kept = self._values.get((place, identity))
            if kept is None:
                return None
            self._values.move_to_end((place, identity))
            return kept[0]

    def put(self, identity: Identity, facts: Value, *, taken_ns: int, place: str = "", weight: int = 1) -> None:
        """Cache a value for a file, unless the file changed so recently that another change could go unnoticed.

        Args:
            identity: The file's identity while it was read.
            facts: The value.
            taken_ns: `time.time_ns()` before the bytes were read.
            place: The file's path, if the value depends on it.
            weight: Share of `max_entries` that it uses.
        """
        if not is_settled(identity, taken_ns, tick_ns=self._tick_ns):
            return
        with self._lock:
            _, before = self._values.pop((place, identity), (None, 0))
            self._values[place, identity] = facts, weight
            self._left += before - weight
            while self._left < 0:
                _, (_, dropped) = self._values.popitem(last=False)
                self._left += dropped
