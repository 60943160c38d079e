"""Which folder each kernel watch stands for; follows renames of whole folders without asking the disk."""

from __future__ import annotations

from collections.abc import Iterator


class WatchedFolder:
    """One watched folder; lives until it is deleted or leaves the tree."""

    __slots__ = ("children", "name", "parent", "path", "watch")

    def __init__(self, name: str, path: str, watch: int, parent: WatchedFolder | None) -> None:
        self.name = name
        self.path = path
        """Relative to the root; "" for the root itself."""
        self.watch = watch
        self.parent = parent
        self.children: dict[str, WatchedFolder] = {}

    def child_path(self, name: str) -> str:
        """Return the path of a name in this folder."""
        return f"{self.path}/{name}" if self.path else name


class FolderTree:
    """The watched folders by watch and by place. Used by one thread."""

    def __init__(self, root_watch: int) -> None:
        self.root = WatchedFolder("", "", root_watch, None)
        self._by_watch = {root_watch: self.root}

    def find(self, watch: int) -> WatchedFolder | None:
        """Return the folder that a watch stands for."""
        return self._by_watch.get(watch)

    def watches(self) -> set[int]:
        """Return all watches."""
        return set(self._by_watch)

    def place(self, parent: WatchedFolder, name: str, watch: int) -> WatchedFolder:
        """Note that a watch stands for a name in a folder; it may have stood for another place before."""
        known = self._by_watch.get(watch)
        if known is not None:
            if known is not self.root and (known.parent is not parent or known.name != name):
                self.move(known, parent, name)
            return known
        self._drop_other(parent.children.get(name))
        folder = WatchedFolder(name, parent.child_path(name), watch, parent)
        parent.children[name] = folder
        self._by_watch[watch] = folder
        return folder

    def move(self, folder: WatchedFolder, parent: WatchedFolder, name: str) -> None:
        """Give a folder, with all below it, another place; what stood there is forgotten."""
        self._unlink(folder)
        self._drop_other(parent.children.get(name))
        folder.name, folder.parent = name, parent
        parent.children[name] = folder
        for inner in below(folder):
            inner.path = inner.parent.child_path(inner.name) if inner.parent is not None else ""

    def remove(self, folder: WatchedFolder) -> list[int]:
        """Forget a folder with all below it, and return their watches."""
        self._unlink(folder)
        watches = [inner.watch for inner in below(folder)]
        for watch in watches:
            self._by_watch.pop(watch, None)
        return watches

    def forget_watch(self, watch: int) -> None:
        """Forget the folder of a watch that the kernel has ended; folders below it end by themselves."""
        folder = self._by_watch.pop(watch, None)
        if folder is not None:
            self._unlink(folder)

    def _drop_other(self, folder: WatchedFolder | None) -> None:
        if folder is not None:
            self.remove(folder)

    def _unlink(self, folder: WatchedFolder) -> None:
        parent = folder.parent
        if parent is not None and parent.children.get(folder.name) is folder:
            del parent.children[folder.name]


def below(folder: WatchedFolder) -> Iterator[WatchedFolder]:
    """Yield a folder and all below it, parents first; without recursion, for trees of any depth."""
    stack = [folder]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(current.children.values())
