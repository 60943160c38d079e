"""Collecting what the watching half of the tree hints at, and waiting for it without sleeping blindly."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from filetools.tree.hints import DirtyFolders, FolderId


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return once a condition holds; fail after a bounded time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.002)


def folder_id(place: Path) -> FolderId:
    """Return device and inode of a folder."""
    facts = os.stat(place)
    return (facts.st_dev, facts.st_ino)


class Sink:
    """Takes hints and calls, as the writer would."""

    def __init__(self) -> None:
        self.wakes = 0
        self.hints = DirtyFolders(self._wake)
        self.folders: dict[FolderId, set[str | None]] = {}
        self.reasons: set[str] = set()
        self.unable: list[str] = []
        self.gone = 0

    def look(self) -> None:
        """Take what is hinted at."""
        hinted = self.hints.take()
        for folder, names in hinted.folders.items():
            self.folders.setdefault(folder, set()).update({None} if names is None else names)
        self.reasons |= hinted.reasons

    def names(self, place: Path) -> set[str | None]:
        """Return the names hinted at in a folder since the last `forget`."""
        self.look()
        return self.folders.get(folder_id(place), set())

    def has_reasons(self) -> bool:
        """True if everything was hinted at since the last `forget`."""
        self.look()
        return bool(self.reasons)

    def forget(self) -> None:
        """Forget what was hinted at so far."""
        self.look()
        self.folders.clear()
        self.reasons.clear()

    def on_gone(self) -> None:
        """Count a root that is gone."""
        self.gone += 1

    def _wake(self) -> None:
        self.wakes += 1
