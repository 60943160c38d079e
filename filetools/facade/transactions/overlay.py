"""The tree as a transaction has made it so far: its own changes in memory, over the disk."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from filetools.errors import InvalidArgumentError
from filetools.facade.transactions.states import MISSING, Base, BufferedFolder, PathState, State, base_of, folder
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Store

_IMPLIED: Final = folder()
Saved = tuple[dict[str, PathState], Counter[str]]


class TransactionOverlay:
    """The changes of one transaction, path by path. Lives as long as it; whoever reads or changes it holds `lock`."""

    def __init__(self, disk: Store, key: Callable[[WorkspacePath], str]) -> None:
        """Begin without changes.

        Args:
            disk: The store below.
            key: Gives the text that all spellings of a path share.
        """
        self.disk = disk
        self.key = key
        self.lock = threading.RLock()
        self._entries: dict[str, PathState] = {}
        self._live_below: Counter[str] = Counter()

    @property
    def entries(self) -> list[PathState]:
        """All paths that were changed, those above before those below."""
        return [self._entries[key] for key in sorted(self._entries)]

    def entry(self, path: WorkspacePath) -> PathState | None:
        """Return what was changed at a path itself."""
        return self._entries.get(self.key(path))

    def is_changed(self, key: str) -> bool:
        """Whether the path of a key was changed itself."""
        return key in self._entries

    def has_live_below(self, path: WorkspacePath) -> bool:
        """Whether the transaction has put anything below a path."""
        return self._live_below[self.key(path)] > 0

    def state(self, path: WorkspacePath) -> State | FileStat:
        """Return what stands at a path: the transaction's own, or the disk's."""
        key = self.key(path)
        entry = self._entries.get(key)
        implied = _IMPLIED if self._live_below[key] else None
        if entry is not None:
            return entry.now or implied
        if self.is_hidden(path):
            return implied
        found = self.disk.stat(path)
        # What others put there meanwhile is met at the exit; here the transaction's own tree is whole.
        return implied if implied is not None and (found is None or found.type != "directory") else found

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of what stands at a path."""
        found = self.state(path)
        return found if found is None or isinstance(found, FileStat) else found.stat

    def is_hidden(self, path: WorkspacePath) -> bool:
        """Whether the disk does not show through at a path, because something above it went, moved or was made."""
        while not path.is_root:
            path = path.parent
            if self.key(path) in self._entries:
                return True
        return False

    def names_in(self, path: WorkspacePath) -> Iterator[tuple[str, str]]:
        """Yield the changed names in a folder with their keys, and those that only hold something changed."""
        prefix = f"{self.key(path)}/" if path else ""
        depth = len(path.parts)
        for key, entry in list(self._entries.items()):
            if key.startswith(prefix) and key != prefix:
                yield entry.path.parts[depth], prefix + key[len(prefix) :].partition("/")[0]

    def below(self, path: WorkspacePath) -> list[PathState]:
        """Return the changed paths below one."""
        prefix = f"{self.key(path)}/"
        return [self._entries[key] for key in sorted(self._entries) if key.startswith(prefix)]

    def put(self, path: WorkspacePath, now: State, *, base: Base | None = None) -> None:
        """Have something stand at a path from now on.

        Args:
            path: Where.
            now: What; None takes away what is there.
            base: What stands there on the disk, if the caller has looked; counts at the path's first change only.

        Raises:
            InvalidArgumentError: A file and a folder would take each other's place.
        """
        key = self.key(path)
        old = self._entries.get(key)
        if old is None:
            base = MISSING if self.is_hidden(path) else base or base_of(self.disk.stat(path))
            old = PathState(path=path, base=base, now=None)
        if now is not None:
            self._refuse_other_kind(path, old, is_folder=isinstance(now, BufferedFolder))
        self._count(path, (now is not None) - (old.now is not None))
        self._entries[key] = replace(old, path=path if now is not None else old.path, now=now)

    def demand(self, path: WorkspacePath) -> None:
        """Have a changed path refuse at the exit what others changed there, in place of merging it."""
        entry = self.entry(path)
        if entry is not None:
            self._entries[self.key(path)] = replace(entry, is_strict=True)

    def decree(self, path: WorkspacePath, now: State, *, base: Base) -> None:
        """Have something stand at a changed path that counts only if its base, as it is given here, still stands there."""
        key = self.key(path)
        self._entries[key] = replace(self._entries[key], now=now, base=base, is_strict=True)

    def save(self) -> Saved:
        """Return the present state, for `restore`."""
        return dict(self._entries), Counter(self._live_below)

    def restore(self, saved: Saved) -> None:
        """Go back to a saved state."""
        self._entries, self._live_below = saved

    def _count(self, path: WorkspacePath, more: int) -> None:
        while more and not path.is_root:
            path = path.parent
            self._live_below[self.key(path)] += more

    def _refuse_other_kind(self, path: WorkspacePath, entry: PathState, *, is_folder: bool) -> None:
        wrong = entry.base.type not in (None, "directory" if is_folder else "file")
        above = path.parent
        while not above.is_root and not wrong:
            over = self._entries.get(self.key(above))
            wrong = over is not None and over.base.type not in (None, "directory")
            above = above.parent
        if wrong:
            raise InvalidArgumentError(
                f"{path} cannot take the place of something of another kind in the same transaction; delete that first, "
                "in a transaction of its own",
                path=path,
            )
