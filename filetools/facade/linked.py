"""Which names a file has: found by a walk once, remembered by inode, and looked at again before they are relied on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from filetools.errors import FileToolsError, HardLinkedError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.store import FileStat, Store

MOST_FILES: Final = 1000
Inode = tuple[int, int]
"""Device and inode."""


class LinkedNames:
    """The names of files that have several. Lives as long as the workspace is open; safe in every thread."""

    def __init__(self) -> None:
        self._names: OrderedDict[Inode, tuple[WorkspacePath, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, inode: Inode, names: Sequence[WorkspacePath]) -> None:
        """Remember the names of a file."""
        with self._lock:
            self._names[inode] = tuple(names)
            self._names.move_to_end(inode)
            if len(self._names) > MOST_FILES:
                self._names.popitem(last=False)

    def get(self, inode: Inode) -> tuple[WorkspacePath, ...]:
        """Return the names that are remembered of a file; they may have changed since."""
        with self._lock:
            return self._names.get(inode, ())


class LinkedPlace(Protocol):
    """The parts of a workspace in which names are looked for."""

    @property
    def store(self) -> Store:
        """The tree."""

    @property
    def workspace(self) -> Workspace:
        """What a path may be."""

    @property
    def links(self) -> LinkedNames:
        """What is remembered."""


def names_of(place: LinkedPlace, path: WorkspacePath, stat: FileStat) -> tuple[WorkspacePath, ...]:
    """Return all names of a file, the one given first. Call it in a worker thread; may walk through the whole tree.

    Args:
        place: Where to look.
        path: One name.
        stat: What stands there.

    Raises:
        HardLinkedError: There is a name outside the workspace, or one that no path can say.
    """
    inode = (stat.device, stat.inode)
    remembered = place.links.get(inode)
    if (
        len(remembered) == stat.links
        and path in remembered
        and all(_is_name(place, name, inode) for name in remembered)
    ):
        return _ordered(path, remembered)
    for knows_inodes in (True, False):
        # The inodes that a folder lists are those of its files nearly everywhere, and then only the names wanted need
        # a look of their own; on layered file systems they may be others.
        found = [path, *(name for name in _search(place, inode, knows_inodes=knows_inodes) if name != path)]
        if len(found) == stat.links or len(found) + _left_behind(place, inode) == stat.links:
            place.links.note(inode, found)
            return _ordered(path, found)
    raise HardLinkedError(path, stat.links)


def _ordered(path: WorkspacePath, names: Sequence[WorkspacePath]) -> tuple[WorkspacePath, ...]:
    return (path, *(name for name in names if name != path))


def _search(place: LinkedPlace, inode: Inode, *, knows_inodes: bool) -> Iterator[WorkspacePath]:
    for name, entry in walk_tree(place.store, ROOT):
        wanted = entry.type == "file" and (not knows_inodes or entry.inode in (0, inode[1]))
        if wanted and _is_sayable(place, name) and _is_name(place, name, inode):
            yield name


def _is_name(place: LinkedPlace, name: WorkspacePath, inode: Inode) -> bool:
    try:
        stat = place.store.stat(name)
    except FileToolsError:
        return False
    return stat is not None and (stat.device, stat.inode) == inode


def _is_sayable(place: LinkedPlace, name: WorkspacePath) -> bool:
    try:
        return place.workspace.resolve(name) == name
    except FileToolsError:
        return False


def _left_behind(place: LinkedPlace, inode: Inode) -> int:
    """Count the temporary names that a dead process left of a file; the keeper's sweep takes them away."""
    return sum((left.stat.device, left.stat.inode) == inode for left in place.store.leftovers())
