"""Names over time: which file, folder or link had a name at some moment, and the name that it has now."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field


class Entry(Struct, eq=False):
    """A file, folder or link."""

    path: str | None
    """Its current path; a deleted entry keeps its last one. None while another entry, which was moved there, has its name."""
    replaced: dict[str, Entry] = field(default_factory=dict)
    """The entries whose names it took by its last move, by the rest of their paths."""


class Names:
    """The entries at all paths that were asked for, at a moment that each move advances."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._folders: set[str] = set()
        """Paths above these entries, so that most moves need no search."""

    def at(self, path: str) -> Entry:
        """Return the entry that has a path."""
        if path not in self._entries:
            self._put(path, {"": Entry(path)})
        return self._entries[path]

    def below(self, path: str) -> list[str]:
        """Return the path, and those below it that were asked for."""
        found = [each for each in self._entries if each.startswith(f"{path}/")] if path in self._folders else []
        return [path, *found]

    def forget(self, path: str) -> None:
        """Make the next entry at a path another one."""
        self._entries.pop(path, None)

    def move(self, old: str, new: str) -> None:
        """Move an entry with all below it. Entries whose names it takes get them back when it is moved away again."""
        top = self.at(old)
        moved, replaced = self._take(old), self._take(new)
        self._put(old, top.replaced)
        for each in replaced.values():
            each.path = None
        top.replaced = replaced
        self._put(new, moved)

    def _take(self, top: str) -> dict[str, Entry]:
        """Remove the entries at a path and below it; returns them by the rest of their paths."""
        return {path[len(top) :]: self._entries.pop(path) for path in self.below(top) if path in self._entries}

    def _put(self, top: str, entries: dict[str, Entry]) -> None:
        """Add entries by the rest of their paths below a path."""
        for rest, entry in entries.items():
            entry.path = top + rest
            self._entries[entry.path] = entry
            self._folders.update([*within(entry.path)][1:])


def within(key: str) -> Iterator[str]:
    """Yield a lock key, or path, and those of the folders above it, innermost first."""
    while key:
        yield key
        key = key.rpartition("/")[0]
