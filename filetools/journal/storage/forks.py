"""Releases descriptors in forked children, where they would keep locks and notices of a dead parent alive."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


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
