"""A bounded cache of what was learnt from a file's bytes, keyed by the identity the file had meanwhile."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")
Identity = tuple[int, int, int, int, int]
"""Device, inode, size, mtime_ns and ctime_ns of a file."""

CLOCK_TICK_NS: Final = 20_000_000
"""Longer than the tick of the clock that stamps files; within one tick a file can change and keep its identity."""
WHOLE_TICK_NS: Final = 2_020_000_000
"""The same on file systems that keep no fractions of a second; FAT keeps even seconds."""


def is_settled(identity: Identity, taken_ns: int, *, tick_ns: int = CLOCK_TICK_NS) -> bool:
    """Return whether the identity can be trusted to mean the bytes that were read from `taken_ns` on.

    Args:
        identity: What the file was while it was read.
        taken_ns: `time.time_ns()` before the bytes were read.
        tick_ns: Tick of the clock that stamps files; 0 where every change after a look has a stamp of its own.
    """
    newest = max(identity[3], identity[4])
    # A program may set the other time to a whole second.
    tick_ns = tick_of(identity[4], tick_ns)
    return tick_ns == 0 or taken_ns - newest >= tick_ns


def tick_of(stamp_ns: int, tick_ns: int = CLOCK_TICK_NS) -> int:
    """Return the tick of the clock that has given a time: a mount below a root may have a coarser one than the root.

    Args:
        stamp_ns: A file's time.
        tick_ns: Tick of the root's clock.
    """
    return tick_ns if stamp_ns % 1_000_000_000 else max(tick_ns, WHOLE_TICK_NS)


class IdentityCache(Generic[Value]):
    """Values by file identity, the least recently used dropped first. Safe in every thread; each call is O(1).

    Args:
        max_entries: Most values, or most of what their weights count.
        tick_ns: Tick of the clock that stamps files.
    """

    def __init__(self, max_entries: int = 4096, *, tick_ns: int = CLOCK_TICK_NS) -> None:
        self._left = max_entries
        self._tick_ns = tick_ns
        self._values: OrderedDict[tuple[str, Identity], tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, identity: Identity, *, place: str = "") -> Value | None:
        """Return what is kept for a file, or None."""
        if (place, identity) not in self._values:  # without the lock: whoever is not in time may read the file
            return None
        with self._lock:
            kept = self._values.get((place, identity))
            if kept is None:
                return None
            self._values.move_to_end((place, identity))
            return kept[0]

    def put(self, identity: Identity, facts: Value, *, taken_ns: int, place: str = "", weight: int = 1) -> None:
        """Keep what was learnt from a file, unless the file is so young that it may change unnoticed.

        Args:
            identity: What the file was while it was read.
            facts: What was learnt.
            taken_ns: `time.time_ns()` before the bytes were read.
            place: Where the file is, if what was learnt depends on that.
            weight: How much of the cache it takes.
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
