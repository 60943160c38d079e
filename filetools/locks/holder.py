"""The holder of a lock: the record that callers see, and the line in the lock file that other processes read."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

LINE_BYTES: Final = 512
_OWNER_CHARACTERS: Final = 100


class LockInfo(Struct, frozen=True, kw_only=True):
    """The holder of a lock, as recorded when it took the lock."""

    path: str
    """What it locked; truncated if another process holds a path of over about 400 bytes."""
    owner: str
    """Name of the actor; empty if the holder could not write its line."""
    process_id: int
    """Process that holds it; 0 if the holder could not write its line."""
    since: float
    """Seconds since the epoch when it was taken; 0.0 if unknown."""

    def describe(self, now: float) -> str:
        """Return owner, process and age in words.

        Args:
            now: Seconds since the epoch.
        """
        if not self.process_id:
            return "an unknown process"
        # The wall clock may have been set back since.
        return f"{self.owner} (process {self.process_id}, for {max(now - self.since, 0.0):.1f} s)"


UNKNOWN: Final = LockInfo(path="", owner="", process_id=0, since=0.0)
"""A holder that has not written its line yet, or could not."""


def to_line(info_path: str, owner: str, *, process_id: int, since_ns: int) -> bytes:
    """Return the line a holder writes into the lock file, always `LINE_BYTES` long."""
    text = f"{process_id}\t{since_ns}\t{owner[:_OWNER_CHARACTERS]}\t{info_path}"
    return text.encode("utf-8", "backslashreplace")[:LINE_BYTES].ljust(LINE_BYTES, b"\0")


def from_line(line: bytes) -> LockInfo:
    """Parse a line of `to_line`; `UNKNOWN` if it is empty or torn."""
    fields = line.rstrip(b"\0").decode("utf-8", "backslashreplace").split("\t", 3)
    try:
        process_id, since_ns = int(fields[0]), int(fields[1])
        return LockInfo(path=fields[3], owner=fields[2], process_id=process_id, since=since_ns / 1e9)
    except (ValueError, IndexError):
        return UNKNOWN
