"""Hints at folders that may have changed, collected until the writer looks. A hint carries no facts."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from filetools.models.words import STATE_DIRECTORY

FolderId: TypeAlias = tuple[int, int]
"""Device and inode of a folder. A path would be wrong as soon as a folder above is renamed."""

MOST_NAMES: Final = 64
"""Names kept of one folder; with more of them the folder is compared whole."""

_TEMPORARY: Final = re.compile(r"\.ft-[0-9a-f]{16}")


class Hinted(Struct, frozen=True, kw_only=True):
    """Where to compare the disk with the rows."""

    folders: Mapping[FolderId, frozenset[str] | None]
    """Names in each folder that may have changed; None stands for all of them."""
    everything: bool
    """True if the whole tree is to be compared."""
    reasons: frozenset[str] = frozenset()
    """Why the whole tree is to be compared, such as "overflow" or "poll"; empty unless `everything`."""


class DirtyFolders:
    """Folders that may have changed since the last `take`. Thread-safe; lives as long as its workspace.

    Args:
        wake: Called without a lock, in the thread of the caller, each time the first hint arrives.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._folders: dict[FolderId, set[str] | None] = {}
        self._reasons: set[str] = set()

    @property
    def is_empty(self) -> bool:
        """True if `take` would return nothing to look at."""
        return not (self._folders or self._reasons)

    def note(self, folder: FolderId, name: str | None) -> None:
        """Add a hint at one name in a folder, or at all of them; names that only filetools uses are ignored.

        Args:
            folder: Device and inode.
            name: As the disk has it, with surrogate escapes if it is not UTF-8; None for all names.
        """
        if name is not None and is_own_name(name):
            return
        with self._lock:
            was_empty = self.is_empty
            names = self._folders.setdefault(folder, set())
            if names is not None and name is not None:
                names.add(name)
            if names is None or name is None or len(names) > MOST_NAMES:
                self._folders[folder] = None
        self._wake_if(was_empty)

    def everything(self, reason: str) -> None:
        """Add a hint at the whole tree.

        Args:
            reason: One word, such as "overflow", "poll" or "resync".
        """
        with self._lock:
            was_empty = self.is_empty
            self._reasons.add(reason)
        self._wake_if(was_empty)

    @property
    def is_everything(self) -> bool:
        """Whether the whole tree is hinted at."""
        return bool(self._reasons)

    def take_folders(self) -> Mapping[FolderId, frozenset[str] | None]:
        """Return the hints at folders and forget them; one at the whole tree stays."""
        with self._lock:
            return self._taken_folders()

    def _taken_folders(self) -> Mapping[FolderId, frozenset[str] | None]:
        folders, self._folders = self._folders, {}
        return {folder: None if names is None else frozenset(names) for folder, names in folders.items()}

    def take(self) -> Hinted:
        """Return all hints and forget them. What changes from now on is hinted at again."""
        with self._lock:
            folders = self._taken_folders()
            reasons, self._reasons = self._reasons, set()
        return Hinted(folders=folders, everything=bool(reasons), reasons=frozenset(reasons))

    def _wake_if(self, was_empty: bool) -> None:
        # Outside of the lock: the woken thread may call `take` before this one goes on.
        if was_empty:
            self._wake()


def is_own_name(name: str) -> bool:
    """True for the state directory and for filetools' temporary files, in any folder."""
    if not name.startswith("."):
        return False
    return name.casefold() == STATE_DIRECTORY or _TEMPORARY.fullmatch(name) is not None
