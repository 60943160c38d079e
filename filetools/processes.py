"""Processes: whether one is alive, by its number and a mark that distinguishes it from later ones of the same number; and
what a forked child must not keep.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Protocol


def process_mark(process: int) -> str:
    """Return when a process started, in clock ticks since boot, the id of that boot, and the namespace of its number.

    Unknown parts are "0": "123456-1a2b3c4d-f0000000", or "0-0-0".
    """
    space = "0"
    with suppress(OSError):
        space = f"{os.stat('/proc/self/ns/pid').st_ino:x}"
    return f"{_start_time(process)}-{boot_id()[:8]}-{space}"


def boot_id() -> str:
    """Return the id of this boot; "0" if it is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "0"


@lru_cache(maxsize=4)
def own_mark(process: int) -> str:
    """Return the mark of this process, given its number: a forked child has another."""
    return process_mark(process)


def is_alive(process: int, mark: str) -> bool | None:
    """True if the process of a number and a mark is alive; None if that is unknown here.

    Args:
        process: Its number.
        mark: What `process_mark` returned for it while it was alive.
    """
    started, boot, space = mark.split("-")
    own_start, own_boot, own_space = own_mark(os.getpid()).split("-")
    if not int(started) or not int(own_start):
        return _exists(process)
    if boot != own_boot:
        return False
    if space != own_space:  # a process number of another container means nothing here
        return None
    return _start_time(process) == int(started)


def _exists(process: int) -> bool | None:
    """True if a process has this number; None if that is unknown."""
    if os.name != "posix":  # Windows would take signal 0 for Ctrl-C
        return None
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


def _start_time(process: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 if it has ended, even if it is not reaped yet, or is unknown.

    Source: proc_pid_stat(5), fields 3 and 22.
    """
    try:
        text = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return 0
    # The command name may hold blanks and brackets; the fields after its last bracket do not.
    fields = text[text.rindex(b")") + 2 :].split()
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


# -- forks


class Abandonable(Protocol):
    """Holds descriptors that a forked child must not keep."""

    def abandon(self) -> None:
        """Close the descriptors, without a lock: the thread that held it does not exist in the child."""


_held: weakref.WeakSet[Abandonable] = weakref.WeakSet()


def abandon_in_child(holder: Abandonable) -> None:
    """Call `holder.abandon()` in each child that is forked while the holder exists."""
    _held.add(holder)


def _abandon_all() -> None:
    for holder in tuple(_held):
        holder.abandon()
    _held.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_abandon_all)
