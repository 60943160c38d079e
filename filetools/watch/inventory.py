"""The names in a watched tree, as everybody has been told of them: what a later look is compared with.

A hint says only where something happened. Whether a name is new, was there before, or is gone, the names say.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, Literal

from filetools.watch.exclusion import Excluded, watched_depth

Known = Literal["file", "directory", "absent", "unknown"]
"""What was at a path: "unknown" where nobody has looked, as in folders that are not watched or cannot be read."""


class _ListedFolder:
    """One folder; lives as long as it is in the tree."""

    __slots__ = ("is_listed", "is_told", "names")

    def __init__(self, *, is_listed: bool, is_told: bool = True) -> None:
        self.is_listed = is_listed
        """Whether a name that is not in `names` is not in the folder."""
        self.is_told = is_told
        """False where only what is in it has been told of: an agent was quicker in a new folder than the watcher."""
        self.names: dict[str, _ListedFolder | None] = {}
        """None for whatever is not a folder."""


_FILE: Final = None
REMEMBERED_FOLDERS: Final = 100
"""Folders whose contents are remembered after they went, since a deletion may be set back."""


class Inventory:
    """Names and kinds, no facts of files. Lives as long as its workspace is open; safe in every thread.

    Args:
        excluded: What is not watched; of that nothing is known.
        key: Returns the text that is equal for all spellings of a path.
    """

    def __init__(self, excluded: Excluded, key: Callable[[str], str]) -> None:
        self._excluded = excluded
        self._key = key
        self._root = _ListedFolder(is_listed=False)
        self._lock = threading.Lock()
        self._dropped: dict[str, _ListedFolder] = {}
        self.is_complete = False
        """Whether it has the names of the whole tree."""
        self.complete_ns = 0
        """When it was completed, in nanoseconds since the epoch."""

    def complete(self) -> None:
        """Note that all folders that can be read are listed."""
        self.complete_ns = time.time_ns()
        self.is_complete = True

    def find(self, path: str) -> Known:
        """Return what was at a path."""
        return self.on_the_way(path)[-1]

    def on_the_way(self, path: str) -> list[Known]:
        """Return what was at each folder above a path, the outermost first, and at the path itself."""
        way: list[Known] = []
        with self._lock:
            names, folder = self._key(path).split("/"), self._root
            for name in names:
                if name not in folder.names:
                    break
                found = folder.names[name]
                if found is _FILE:
                    way.append("file")
                    break
                way.append("directory" if found.is_told else "absent")
                folder = found
            if len(way) < len(names):
                # Where all names were listed, a name that is not known is not there, unless it is left out.
                certain = watched_depth(path, False, self._excluded) if folder.is_listed else 0
                way += ["absent" if depth < certain else "unknown" for depth in range(len(way), len(names))]
        return way

    def inside(self, path: str) -> list[str]:
        """Return the names known in a folder, as `key` spells them."""
        with self._lock:
            folder = self._at(path)
            return [] if folder is None else [*folder.names]

    def below(self, path: str) -> list[tuple[str, bool]]:
        """Return the path of everything known below a folder, and whether it is a folder, the innermost first."""
        with self._lock:
            found: list[tuple[str, bool]] = []
            waiting = [(self._key(path), self._at(path))]
            while waiting:
                above, folder = waiting.pop()
                for name, inner in folder.names.items() if folder is not None else ():
                    inner_path = f"{above}/{name}" if above else name
                    found.append((inner_path, inner is not _FILE))
                    if inner is not _FILE:
                        waiting.append((inner_path, inner))
            return found[::-1]

    def add(self, path: str, *, is_directory: bool, is_listed: bool = True) -> None:
        """Note that something is at a path; a new folder counts as empty unless it is not listed yet."""
        with self._lock:
            parent, name = self._parent_of(path)
            found = parent.names.get(name)
            if not is_directory:
                parent.names[name] = _FILE
            elif found is _FILE:
                parent.names[name] = _ListedFolder(is_listed=is_listed)
            else:
                found.is_told = True

    def list_folder(self, path: str, names: Iterable[tuple[str, bool]]) -> None:
        """Note all that is in a folder: names, and whether each is a folder, which is to be listed as well."""
        with self._lock:
            folder = self._make(path)
            folder.is_listed = True
            for name, is_directory in names:
                name = self._key(name)
                if not is_directory:
                    folder.names[name] = _FILE
                elif folder.names.get(name) is _FILE:
                    folder.names[name] = _ListedFolder(is_listed=False)

    def drop(self, path: str) -> None:
        """Note that a path is gone, with all below."""
        with self._lock:
            parent, _, name = path.rpartition("/")
            folder = self._at(parent)
            dropped = None if folder is None else folder.names.pop(self._key(name), None)
            if dropped is not None:
                self._dropped.pop(self._key(path), None)
                self._dropped[self._key(path)] = dropped
                if len(self._dropped) > REMEMBERED_FOLDERS:
                    del self._dropped[next(iter(self._dropped))]

    def bring_back(self, path: str) -> None:
        """Note that a folder is there again as it was when it was dropped; what was in it is unknown if that is long ago."""
        with self._lock:
            parent, name = self._parent_of(path)
            standing = parent.names.get(name)
            folder = parent.names[name] = self._dropped.pop(self._key(path), None) or _ListedFolder(is_listed=False)
            if standing is not _FILE:
                folder.names |= standing.names  # what was in it may have been dropped, and come back, by itself

    def move(self, old_path: str, path: str) -> None:
        """Note that something has another path, with all below; nothing if it is not known at the old one.

        What is known at the new path stays known: the listing may have met it there already.
        """
        with self._lock:
            old_parent, _, name = old_path.rpartition("/")
            origin = self._at(old_parent)
            if origin is None or self._key(name) not in origin.names:
                return
            moved = origin.names.pop(self._key(name))
            target, new_name = self._parent_of(path)
            standing = target.names.get(new_name)
            if isinstance(moved, _ListedFolder) and isinstance(standing, _ListedFolder):
                _take_over(standing, moved)
            else:
                target.names[new_name] = moved

    def _at(self, path: str) -> _ListedFolder | None:
        folder = self._root
        for name in self._key(path).split("/") if path else ():
            found = folder.names.get(name)
            if not isinstance(found, _ListedFolder):
                return None
            folder = found
        return folder

    def _make(self, path: str) -> _ListedFolder:
        """Return a folder, made where it is missing on the way: of those above nothing else is known."""
        folder = self._root
        for name in self._key(path).split("/") if path else ():
            found = folder.names.get(name)
            if not isinstance(found, _ListedFolder):
                # A name that a listed folder did not have is new, and so is all that is in it.
                found = folder.names[name] = _ListedFolder(is_listed=folder.is_listed, is_told=not folder.is_listed)
            folder = found
        return folder

    def _parent_of(self, path: str) -> tuple[_ListedFolder, str]:
        parent, _, name = path.rpartition("/")
        return self._make(parent), self._key(name)


def _take_over(standing: _ListedFolder, moved: _ListedFolder) -> None:
    """Add the names of one folder, and of those in it, to another's; without recursion, for trees of any depth."""
    waiting = [(standing, moved)]
    while waiting:
        there, arrived = waiting.pop()
        there.is_listed = there.is_listed or arrived.is_listed
        for name, inner in arrived.names.items():
            met = there.names.setdefault(name, inner)
            if met is not inner and met is not _FILE and inner is not _FILE:
                waiting.append((met, inner))
