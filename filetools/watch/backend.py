"""What a watcher needs of the thread that watches for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from filetools.watch.exclusion import Excluded
from filetools.watch.handover import Handover
from filetools.watch.inventory import Inventory


class Backend(Protocol):
    """A thread that watches a tree, started once."""

    def start(self) -> None:
        """Begin; returns before the tree is watched."""

    def leave(self) -> None:
        """Ask the thread to end soon; may be called twice and before `start`."""


class Task(Struct, frozen=True, kw_only=True):
    """What a backend watches and whom it tells; lives as long as the backend."""

    root: Path
    excluded: Excluded
    handover: Handover[Any]
    inventory: Inventory
    """Gets the names that are there when watching begins, before `on_ready` is called."""
    is_busy: Callable[[], bool]
    """Whether this process is changing files right now: what it does can wait, and waking would take time from it."""
    on_ready: Callable[[], None]
    """Called in the thread when every change from now on will be seen."""
    on_unable: Callable[[str], None]
    """Called in the thread, with the reason, before it ends because it cannot watch this tree."""
    on_ended: Callable[[], None]
    """Called in the thread as its last act."""
