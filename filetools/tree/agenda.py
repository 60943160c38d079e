"""What is to be compared with the disk next, and when: hints, and what an observation asks to have looked at again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from filetools.tree.hints import DirtyFolders, FolderId
from filetools.tree.scope import Names

SECOND_LOOK_SECONDS: Final = 0.01
"""Until a name that is gone is looked for again: programs save by renaming."""
LATER_SECONDS: Final = (0.02, 1.0)
"""Pauses between looks at files that other programs have open for writing: the first, and the longest."""


class Due(Struct, frozen=True, kw_only=True):
    """What is to be compared now."""

    hints: Mapping[FolderId, Names] = {}
    doubtful: frozenset[str] = frozenset()
    """Keys that count as gone if they are missed once more."""
    whole_tree: bool = False
    reasons: frozenset[str] = frozenset()
    """Why the whole tree is to be compared; empty if it is not."""


class Agenda:
    """What one root's observations have to do. Used by one thread at a time, but for `hints`.

    Args:
        wake: Called from any thread when the first hint has come.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.hints: Final = DirtyFolders(wake)
        """Gets the hints of the watcher."""
        self._again: dict[FolderId, Names] = {}
        self._again_at = 0.0
        self._later: dict[FolderId, Names] = {}
        self._later_at, self._later_pause = 0.0, LATER_SECONDS[0]
        self._missing: dict[str, float] = {}
        """When each key that is gone was missed first, on the monotonic clock."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at, neither now nor soon."""
        return self.hints.is_empty and not (self._again or self._later)

    def due_at(self, *, with_hints: bool = True) -> float | None:
        """Return the moment, on the monotonic clock, at which there is something to look at; None if there is nothing."""
        if self.hints.is_everything or (with_hints and not self.hints.is_empty):
            return 0.0
        times = [at for at, folders in ((self._again_at, self._again), (self._later_at, self._later)) if folders]
        return min(times, default=None)

    def take(self, others: Iterable[Mapping[FolderId, Names]] = (), *, with_again: bool = True) -> Due:
        """Return what is due, and forget it.

        Args:
            others: Hints that were taken before.
            with_again: Whether names are looked at once more that are doubtful.
        """
        now = time.monotonic()
        taken = self.hints.take()
        folders: dict[FolderId, Names] = dict(taken.folders)
        for several in others:
            join(folders, several)
        doubtful: frozenset[str] = frozenset()
        if with_again and self._again and self._again_at <= now:
            again, self._again = self._again, {}
            join(folders, again)
            doubtful = frozenset(key for key, at in self._missing.items() if at + SECOND_LOOK_SECONDS <= now)
            self._missing = {key: at for key, at in self._missing.items() if key not in doubtful}
        if self._later and self._later_at <= now:
            later, self._later = self._later, {}
            join(folders, later)
        return Due(hints=folders, doubtful=doubtful, whole_tree=taken.everything, reasons=taken.reasons)

    def note(self, again: Mapping[FolderId, Names], later: Mapping[FolderId, Names], missing: frozenset[str]) -> None:
        """Note what an observation asks for, by the names of its attributes."""
        for key in missing:  # before the time of the second look, which takes those that are old enough
            self._missing.setdefault(key, time.monotonic())
        self.look_again(again)
        if not later and not self._later:
            self._later_pause = LATER_SECONDS[0]
        elif not self._later:  # ever less often, as some programs keep a file open for days
            self._later_at = time.monotonic() + self._later_pause
            self._later_pause = min(2 * self._later_pause, LATER_SECONDS[1])
        join(self._later, later)

    def look_again(self, folders: Mapping[FolderId, Names], pause_seconds: float = SECOND_LOOK_SECONDS) -> None:
        """Have names looked at once more."""
        if folders and not self._again:  # else others would put it off for as long as they are at work
            self._again_at = time.monotonic() + pause_seconds
        join(self._again, folders)


def join(folders: dict[FolderId, Names], others: Mapping[FolderId, Names]) -> None:
    """Add names to those of the same folders."""
    for folder, names in others.items():
        known = folders.get(folder, frozenset())
        folders[folder] = None if known is None or names is None else known | names
