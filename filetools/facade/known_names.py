"""Which names were in the tree before: the watcher's inventory, kept up with the journal, or else the tree index.

Without it a file seen for the first time could be new, changed, or merely found; and what is new may be taken back,
while what stood there before must never be.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from filetools.content.identity_cache import CLOCK_TICK_NS
from filetools.journal.history import NameChange
from filetools.journal.journal import Journal
from filetools.models.records import Operation
from filetools.stores.store import FileStat
from filetools.watch.exclusion import Excluded
from filetools.watch.inventory import Inventory, Known

_REMOVALS = (Operation.DELETE, Operation.DELETE_DIRECTORY)
_MOVES = (Operation.MOVE, Operation.MOVE_DIRECTORY)


class KnownNames:
    """What every listener has been told of the tree. Lives as long as the workspace is open; safe in every thread.

    Only the process that watches the tree has an inventory; the others ask the index, once the tree was looked at.

    Args:
        journal: Follows what happens to names.
        key: Returns the text that is equal for all spellings of a path.
        is_ignored: Whether a path, and whether it is a folder, is left out of the index.
    """

    def __init__(self, journal: Journal, key: Callable[[str], str], is_ignored: Excluded = lambda *_: False) -> None:
        self._journal = journal
        self._key = key
        self._is_ignored = is_ignored
        self._origin: KnownNames | None = None
        self._is_of_batches = False
        self._lock = threading.Lock()
        self._inventory: Inventory | None = None
        self._position = 0

    def without_inventory(self) -> KnownNames:
        """Return the names as the index alone knows them, for those who have compared the whole tree with it."""
        names = KnownNames(self._journal, self._key, self._is_ignored)
        names._origin = self
        return names

    def for_batches(self) -> KnownNames:
        """Return the names as they were at the last `follow`, for those who ask for many in one turn."""
        if self._origin is not None:
            return self
        names = KnownNames(self._journal, self._key, self._is_ignored)
        names._origin, names._is_of_batches = self, True
        return names

    def follow(self, position: int) -> None:
        """Know what happened to names up to a record, at least."""
        if self._is_of_batches and self._origin is not None:
            self._inventory = self._origin._followed(position)

    def begin(self, excluded: Excluded) -> Inventory:
        """Return an empty inventory for the watcher to fill; call it in a worker thread."""
        with self._lock:
            self._position = self._journal.position()
            self._inventory = Inventory(excluded, self._key)
            return self._inventory

    def find(self, path: str) -> Known:
        """Return what was at a path after the newest change in the journal."""
        inventory = self._current()
        return self._indexed(path) if inventory is None else inventory.find(path)

    def on_the_way(self, path: str) -> list[Known]:
        """Return what was at each folder above a path, the outermost first, and at the path itself."""
        inventory = self._current()
        if inventory is not None:
            return inventory.on_the_way(path)
        way: list[Known] = []
        names = path.split("/")
        for depth in range(1, len(names) + 1):
            # What is not there, or unknown, has nothing in it that is known.
            is_known = not way or way[-1] == "directory"
            way.append(self._indexed("/".join(names[:depth])) if is_known else way[-1])
        return way

    def first_look(self, path: str, stat: FileStat, folder: Callable[[], FileStat | None]) -> Operation:
        """Return what has happened to a file that the journal does not know: created, modified, or merely found.

        Args:
            path: Where it is.
            stat: What it is.
            folder: Returns what the folder is that it is in.
        """
        inventory = self._current()
        if self._is_by_index and self._origin is not None and self.is_watched(stat):
            inventory = self._origin._current()
        known = self._indexed(path) if inventory is None else inventory.find(path)
        if known == "unknown":
            return Operation.FOUND
        if known != "file":
            is_old = inventory is None and self._was_overlooked(path, stat, folder)
            return Operation.FOUND if is_old else Operation.CREATE
        # A program cannot set the time back at which an inode was changed.
        return Operation.MODIFY if stat.changed_ns > self._known_since_ns(path, inventory) else Operation.FOUND

    def is_watched(self, stat: FileStat | None) -> bool:
        """Whether a change that has led to these facts, or to nothing, was bound to be seen as it happened."""
        inventory = self._inventory if self._origin is None else self._origin._inventory
        if inventory is None or not inventory.is_complete:
            return False
        return not self._is_by_index if stat is None else stat.changed_ns > inventory.complete_ns

    def is_left_out(self, path: str) -> bool:
        """Whether no look at the whole tree meets a path, be it a file or a folder."""
        return any(self._is_ignored(path, is_directory) for is_directory in (False, True))

    def inside(self, path: str) -> list[str]:
        """Return the keys of all that was in a folder."""
        inventory = self._current()
        return [] if inventory is None else inventory.inside(path)

    def below(self, path: str) -> list[tuple[str, bool]]:
        """Return the keys of all that was below a folder, and whether each is a folder, the innermost first."""
        inventory = self._current()
        return [] if inventory is None else inventory.below(path)

    def _indexed(self, path: str) -> Known:
        index, key = self._journal.tree_index, self._key(path)
        if (row := index.get(key)) is not None:
            return row.kind if row.kind in ("directory", "absent") else "file"
        return "unknown" if index.looked() is None or self.is_left_out(path) else "absent"

    def _was_overlooked(self, path: str, stat: FileStat, folder: Callable[[], FileStat | None]) -> bool:
        """Whether a file may have stood there at the last look, which left it out."""
        index = self._journal.tree_index
        looked = None if self._is_by_index else index.looked()
        # What was made while the tree was looked at may have come after its folder was read.
        if looked is None or stat.changed_ns >= int((looked.began or looked.time) * 1e9) - CLOCK_TICK_NS:
            return False
        above = path.rpartition("/")[0]
        if not above:
            return True
        # A folder that no look has met is new, and so is another one in its place; it may have come with old files.
        row, found = index.get(self._key(above)), folder()
        if row is None or row.identity is None or found is None:
            return False
        return row.identity[:2] == (found.device, found.inode)

    def _known_since_ns(self, path: str, inventory: Inventory | None) -> int:
        if inventory is not None:
            return inventory.complete_ns
        row = self._journal.tree_index.get(self._key(path))
        return 0 if row is None or row.identity is None else max(row.identity[3:])

    @property
    def _is_by_index(self) -> bool:
        """Whether names are asked of the index although there is an inventory."""
        return self._origin is not None and not self._is_of_batches

    def _current(self) -> Inventory | None:
        """Return the inventory as of the newest record; a change that is only being applied counts already."""
        return self._inventory if self._is_of_batches else self._followed()

    def _followed(self, newest: int | None = None) -> Inventory | None:
        """Return the inventory as of a record at least, by default the newest one; None as long as it is not complete."""
        inventory = self._inventory
        if inventory is None or not inventory.is_complete:
            return None
        with self._lock:
            newest = self._journal.position() if newest is None else newest
            if newest > self._position:
                for change in self._journal.history.names_since(self._position):
                    _follow(inventory, change)
                    newest = max(newest, change.number)
                self._position = newest
        return inventory


def _follow(inventory: Inventory, change: NameChange) -> None:
    if change.operation in _REMOVALS:
        inventory.drop(change.path)
    elif change.operation in _MOVES:
        assert change.old_path is not None
        inventory.move(change.old_path, change.path)
        inventory.add(change.path, is_directory=change.operation is Operation.MOVE_DIRECTORY, is_listed=False)
    else:
        is_directory = change.operation is Operation.CREATE_DIRECTORY
        if is_directory and change.actor_kind == "system":
            inventory.bring_back(change.path)  # as after a deletion that failed
        else:
            inventory.add(change.path, is_directory=is_directory)
