"""Schedules comparisons with the disk: hints, polls, and names that an observation wants to look at again.

A hint says that something in a folder may have changed, and carries no facts.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from filetools.stores.private import is_ours
from filetools.stores.reading import signed

FolderId: TypeAlias = tuple[int, int]
"""Device and inode of a folder. A path would be wrong as soon as a folder above is renamed."""
Names: TypeAlias = frozenset[str] | None
"""Names in a folder; None for all of them."""

MOST_NAMES: Final = 64
"""Most names kept of one folder; with more of them the whole folder is compared."""
SECOND_LOOK_SECONDS: Final = 0.01
"""Pause before looking again for a missing name: programs save by renaming."""
LATER_SECONDS: Final = (0.02, 1.0)
"""Pauses between looks at files that other programs have open for writing: the first, and the longest."""
SHARE_OF_TIME: Final = 0.1
"""Largest share of the time that polling may take; a large tree is looked at less often."""


class Due(Struct, frozen=True, kw_only=True):
    """The comparisons that are due."""

    hints: Mapping[FolderId, Names]
    doubtful: frozenset[str]
    """Keys that count as gone if they are missed once more."""
    reasons: frozenset[str]
    """Why the whole tree is to be compared, such as "overflow" or "poll"; empty if it is not."""


class Agenda:
    """The pending looks of one root's observations.

    Hints and polls may come from any thread; everything else is for one thread at a time.

    Args:
        wake: Called without a lock, in the thread of the caller, each time the first hint arrives.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.RLock()
        self._folders: dict[FolderId, Names] = {}
        self._reasons: set[str] = set()
        self._poll_seconds = self._poll_at = math.inf
        self._again: dict[FolderId, Names] = {}
        self._again_at = math.inf
        self._pause = LATER_SECONDS[0]
        self._missing: dict[str, float] = {}
        """When each missing key was first missed, on the monotonic clock."""

    def hint(self, folder: FolderId, name: str | None) -> None:
        """Add a hint at one name in a folder, or at all of them; names that only filetools uses are ignored.

        Args:
            folder: Device and inode.
            name: As the disk has it, with surrogate escapes if it is not UTF-8; None for all names.
        """
        if name is not None and is_ours(name):
            return
        folder = (signed(folder[0]), signed(folder[1]))
        with self._lock:
            was_empty = self._is_unhinted
            join(self._folders, {folder: None if name is None else frozenset((name,))})
            if len(self._folders[folder] or ()) > MOST_NAMES:
                self._folders[folder] = None
        # Outside of the lock: the woken thread may call `take` before this one continues.
        if was_empty:
            self._wake()

    def hint_everything(self, reason: str) -> None:
        """Add a hint at the whole tree.

        Args:
            reason: One word, such as "overflow", "start" or "resync".
        """
        with self._lock:
            was_empty = self._is_unhinted
            self._reasons.add(reason)
        if was_empty:
            self._wake()

    def poll(self, seconds: float) -> None:
        """From now on look at the whole tree again and again, for the reason "poll"; these looks miss nothing.

        Args:
            seconds: Shortest pause between two looks.
        """
        self._poll_seconds, self._poll_at = seconds, time.monotonic() + seconds

    def note_whole_look(self, seconds: float) -> None:
        """Note how long a look at the whole tree took; polling then pauses for at least nine times as long."""
        self._poll_at = time.monotonic() + max(self._poll_seconds, seconds * (1 / SHARE_OF_TIME - 1))

    def due_at(self) -> float | None:
        """Return when the next look is due, on the monotonic clock; None if there is nothing to look at."""
        at = min(self._again_at, self._poll_at) if self._is_unhinted else 0.0
        return None if at == math.inf else at

    def take(self, *, with_again: bool) -> Due:
        """Return and clear what is due. Later changes are hinted at again.

        Args:
            with_again: True to look once more at names that were doubtful or busy.
        """
        now = time.monotonic()
        with self._lock:
            reasons, self._reasons = self._reasons, set()
            folders, self._folders = self._folders, {}
        if self._poll_at <= now:
            reasons.add("poll")
            self._poll_at = now + self._poll_seconds
        doubtful: frozenset[str] = frozenset()
        if with_again and self._again_at <= now:
            join(folders, self._again)
            self._again, self._again_at = {}, math.inf
            doubtful = frozenset(key for key, at in self._missing.items() if at + SECOND_LOOK_SECONDS <= now)
            self._missing = {key: at for key, at in self._missing.items() if key not in doubtful}
        return Due(hints=folders, doubtful=doubtful, reasons=frozenset(reasons))

    def note(self, again: Mapping[FolderId, Names], later: Mapping[FolderId, Names], missing: frozenset[str]) -> None:
        """Note what an observation requests; the arguments are its attributes of these names."""
        for key in missing:  # before the time of the second look, which takes those that are old enough
            self._missing.setdefault(key, time.monotonic())
        self.look_again(again)
        if later:  # less and less often, as some programs keep a file open for days
            self.look_again(later, self._pause)
            self._pause = min(2 * self._pause, LATER_SECONDS[1])
        elif not self._again:
            self._pause = LATER_SECONDS[0]

    def look_again(self, folders: Mapping[FolderId, Names], pause_seconds: float = SECOND_LOOK_SECONDS) -> None:
        """Schedule another look at names, together with those that are already to be looked at again."""
        if folders:
            self._again_at = min(time.monotonic() + pause_seconds, self._again_at)
        join(self._again, folders)

    @property
    def _is_unhinted(self) -> bool:
        return not (self._folders or self._reasons)


def join(folders: dict[FolderId, Names], others: Mapping[FolderId, Names]) -> None:
    """Add names to those of the same folders."""
    for folder, names in others.items():
        known = folders.get(folder, frozenset())
        folders[folder] = None if known is None or names is None else known | names
