"""Open, prepared and displaced files of a memory store."""

from __future__ import annotations

from filetools.errors import InternalError, PathExistsError, PathNotFoundError
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.checks import private_name, refuse_other_kinds
from filetools.stores.memory_tree import MemoryTree, Node, label
from filetools.stores.store import FileStat


class MemoryReader:
    """A file open for reading parts; keeps the bytes it had when it was opened."""

    def __init__(self, node: Node) -> None:
        self._content = node.content
        self._stat = node.stat

    @property
    def stat(self) -> FileStat:
        """Facts taken when it was opened."""
        return self._stat

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`; fewer only at the end of the file."""
        return self._content[offset : offset + count]

    def is_being_written(self) -> bool:
        """Return False: bytes in memory are never written in place."""
        return False

    def has_changed(self) -> bool:
        """Return False: bytes in memory are never written in place."""
        return False

    def close(self) -> None:
        """Do nothing; may be called twice."""


class MemoryDisplaced:
    """A node in a hidden folder of the tree."""

    def __init__(
        self, tree: MemoryTree, folder: str, name: str, *, path: WorkspacePath, has_origin: bool = True
    ) -> None:
        """Stand for what is hidden under a name.

        Args:
            tree: Where.
            folder: "tmp", "trash" or "limbo".
            name: Its name there.
            path: Where it came from, and what errors name.
            has_origin: False for what a dead process left.
        """
        self._tree = tree
        self._folder = folder
        self._name = name
        self._path = path
        self._has_origin = has_origin
        self._stat = tree.hidden[folder][name].stat

    @property
    def temporary(self) -> str:
        """Where it is, relative to the store; "" once it is gone."""
        with self._tree.lock:
            return label(self._folder, self._name) if self._name in self._tree.hidden[self._folder] else ""

    @property
    def stat(self) -> FileStat:
        """Facts taken after it came out."""
        return self._stat

    def read(self) -> bytes:
        """Return its whole content.

        Raises:
            PathNotFoundError: It was put back or discarded.
            PathIsDirectoryError: It has no content.
        """
        node = self._node()
        refuse_other_kinds(node.type, self._path)
        return node.content

    def is_being_written(self) -> bool:
        """Return False: bytes in memory are never written in place."""
        return False

    def is_untouched(self) -> bool:
        """Return True: bytes in memory are never written in place."""
        return True

    def put_back(self) -> None:
        """Exchange it back to its place; afterwards this object stands for what came out, if anything did."""
        if not self._has_origin:
            raise InternalError("A file without a former place cannot be put back", path=self._path)
        with self._tree.lock:
            node = self._node()
            names = self._tree.names_beside(self._path)
            came_out = names.get(self._path.name)
            names[self._path.name] = node
            self._tree.touch(self._path)
            del self._tree.hidden[self._folder][self._name]
            if came_out is not None:
                came_out.changed_ns = self._tree.now_ns()
                self._tree.hidden[self._folder][self._name] = came_out
                self._stat = came_out.stat

    def keep_in_limbo(self, name: str) -> None:
        """Move it to `.filetools/limbo/<name>`.

        Raises:
            PathExistsError: Limbo has that name already.
        """
        with self._tree.lock:
            node = self._node()
            if private_name(name) in self._tree.hidden["limbo"]:
                raise PathExistsError(label("limbo", name))
            del self._tree.hidden[self._folder][self._name]
            self._tree.hidden["limbo"][name] = node
            self._folder, self._name = "limbo", name

    def sync(self) -> None:
        """Do nothing: memory never lasts."""

    def discard(self) -> None:
        """Remove it for good; may be called twice."""
        with self._tree.lock:
            self._tree.hidden[self._folder].pop(self._name, None)

    def _node(self) -> Node:
        with self._tree.lock:
            node = self._tree.hidden[self._folder].get(self._name)
        if node is None:
            raise PathNotFoundError(self._path)
        return node


class MemoryReplacement:
    """The next bytes of an existing file, waiting in the tree's hidden folder."""

    def __init__(self, tree: MemoryTree, path: WorkspacePath, name: str, node: Node) -> None:
        self._tree = tree
        self._path = path
        self._name = name
        self._is_waiting = True
        self.stat = node.stat
        tree.hidden["tmp"][name] = node

    @property
    def temporary(self) -> str:
        """Where the file waits; "" once it is live or discarded."""
        return label("tmp", self._name) if self._is_waiting else ""

    def exchange(self) -> MemoryDisplaced:
        """Go live; what stood there comes out.

        Raises:
            PathNotFoundError: Nothing stands there now. Still prepared.
            PathIsDirectoryError: A directory does. Still prepared.
        """
        with self._tree.lock:
            _refuse_twice(self._is_waiting, self._path)
            displaced = self._tree.file(self._path)
            hidden = self._tree.hidden["tmp"]
            self._tree.names_beside(self._path)[self._path.name] = hidden[self._name]
            self._tree.touch(self._path)
            displaced.changed_ns = self._tree.now_ns()
            hidden[self._name] = displaced
            self._is_waiting = False
            return MemoryDisplaced(self._tree, "tmp", self._name, path=self._path)

    def discard(self) -> None:
        """Remove the file if it did not go live; may be called twice."""
        with self._tree.lock:
            if self._is_waiting:
                self._tree.hidden["tmp"].pop(self._name, None)
                self._is_waiting = False


class MemoryNewFile:
    """A new file without a name; gone with this object if it does not go live."""

    def __init__(self, tree: MemoryTree, path: WorkspacePath, node: Node) -> None:
        self._tree = tree
        self._path = path
        self._node: Node | None = node
        self.stat = node.stat

    @property
    def temporary(self) -> str:
        """Always "": the file has no name before it is live."""
        return ""

    def exchange(self) -> None:
        """Go live.

        Raises:
            PathExistsError: Something stands there now. Still prepared.
        """
        with self._tree.lock:
            _refuse_twice(self._node is not None, self._path)
            names = self._tree.names_beside(self._path)
            if self._path.name in names:
                raise PathExistsError(self._path)
            assert self._node is not None
            names[self._path.name] = self._node
            self._tree.touch(self._path)
            self._node = None

    def discard(self) -> None:
        """Drop the file if it did not go live; may be called twice."""
        self._node = None


def _refuse_twice(is_waiting: bool, path: WorkspacePath) -> None:
    if not is_waiting:
        raise InternalError("A prepared file can go live only once", path=path)
