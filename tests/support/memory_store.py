"""A store in memory that keeps the promises of a disk."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from filetools.errors import (
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileTooLargeError,
    InternalError,
    InvalidArgumentError,
    InvalidPathError,
    NotRegularFileError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.owners import Owner, is_left_behind
from filetools.stores.private import private_name, refuse_nesting, refuse_other_kinds
from filetools.stores.reading import facts_of
from filetools.stores.store import Displaced, FileStat, Prepared, Reader, ScanEntry, T, Take

MEMORY_DEVICE: Final = -1
"""Device number of files in memory; no disk has it."""
_inodes: Final = itertools.count(1)


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """One file or directory in memory. A file's bytes never change: a write puts another node in its place."""

    type: EntryType
    mode: int
    modified_ns: int
    changed_ns: int
    content: bytes = b""
    children: dict[str, Node] = field(default_factory=dict)
    inode: int = field(default_factory=lambda: next(_inodes))

    @property
    def stat(self) -> FileStat:
        """Facts as a disk would give them."""
        return FileStat(
            self.type, len(self.content), self.mode, self.modified_ns, self.changed_ns, MEMORY_DEVICE, self.inode
        )


class MemoryTree:
    """A disk in memory: outlives the stores opened on it. Every use of its nodes holds `lock`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._last_ns = 0
        self.root = self.new_node("directory", 0o755)
        self.hidden: dict[str, dict[str, Node]] = {"tmp": {}, "trash": {}, "limbo": {}}
        """Files out of sight, by the name of their private folder."""

    def now_ns(self) -> int:
        """Return the time, later than ever before, so that no two changes look alike."""
        with self.lock:
            self._last_ns = max(time.time_ns(), self._last_ns + 1)
            return self._last_ns

    def new_node(self, kind: EntryType, mode: int, content: bytes = b"") -> Node:
        """Return a node that is nowhere yet."""
        now = self.now_ns()
        return Node(type=kind, mode=mode, modified_ns=now, changed_ns=now, content=content)

    def find(self, path: WorkspacePath) -> Node | None:
        """Return what stands at a path, or None.

        Raises:
            PathNotDirectoryError: A file stands on the way.
        """
        node = self.root
        for done, part in enumerate(path.parts):
            if node.type != "directory":
                raise PathNotDirectoryError("/".join(path.parts[:done]))
            found = node.children.get(part)
            if found is None:
                return None
            node = found
        return node

    def file(self, path: WorkspacePath) -> Node:
        """Return the file at a path.

        Raises:
            PathNotFoundError, PathNotDirectoryError, PathIsDirectoryError
        """
        node = self.find(path)
        if node is None:
            raise PathNotFoundError(path)
        refuse_other_kinds(node.type, path)
        return node

    def directory(self, path: WorkspacePath) -> Node:
        """Return the directory at a path.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError
        """
        node = self.find(path)
        if node is None:
            raise DirectoryNotFoundError(path)
        if node.type != "directory":
            raise PathNotDirectoryError(path)
        return node

    def names_beside(self, path: WorkspacePath) -> dict[str, Node]:
        """Return the names in the folder of `path`; to be changed only with `touch` after it.

        Raises:
            InvalidPathError: The path is the root.
            DirectoryNotFoundError, PathNotDirectoryError
        """
        if path.is_root:
            raise InvalidPathError(path, "the root has no parent inside the workspace")
        return self.directory(path.parent).children

    def touch(self, path: WorkspacePath) -> None:
        """Note that a name in the folder of `path`, and what it stands for, has changed."""
        parent = self.directory(path.parent)
        parent.modified_ns = parent.changed_ns = self.now_ns()
        moved = parent.children.get(path.name)
        if moved is not None:
            moved.changed_ns = self.now_ns()


def nodes_below(top: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Yield a node and all below it by their paths, folders before what is in them; the node itself is ""."""
    yield prefix, top
    for name, node in sorted(top.children.items()):
        yield from nodes_below(node, f"{prefix}/{name}" if prefix else name)


def label(folder: str, name: str) -> str:
    """Return how a hidden place is written in the journal."""
    return f"{STATE_DIRECTORY}/{folder}/{name}"


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
        """Move it to `.filetools/state/limbo/<name>`.

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


_NEW_FILE_MODE = 0o644


class MemoryReading:
    """The reading half of a memory store."""

    def __init__(self, tree: MemoryTree) -> None:
        self._tree = tree

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of a path, or None if nothing is there."""
        with self._tree.lock:
            try:
                node = self._tree.find(path)
            except PathNotDirectoryError:
                return None
            return None if node is None else node.stat

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Return a file's whole content and its facts.

        Args:
            path: A file.
            limit: Largest size in bytes.

        Raises:
            PathNotFoundError, PathIsDirectoryError, PathNotDirectoryError
            FileTooLargeError: It has more than `limit` bytes.
        """
        with self._tree.lock:
            node = self._tree.file(path)
            if limit is not None and len(node.content) > limit:
                raise FileTooLargeError(path, len(node.content), limit)
            return node.content, node.stat

    def read_now(self, path: WorkspacePath, limit: int, take: Take[T]) -> T | None:
        """As `Store.read_now`."""
        try:
            content, found = self.read(path, limit=limit)
        except FileTooLargeError:
            return None
        return take(memoryview(content), facts_of(found))

    def read_lent(self, path: WorkspacePath, limit: int, take: Take[T]) -> T:
        """As `Store.read_lent`."""
        content, found = self.read(path, limit=limit)
        return take(memoryview(content), facts_of(found))

    def open(self, path: WorkspacePath) -> Reader:
        """Open a file for reading parts.

        Raises:
            PathNotFoundError, PathIsDirectoryError, PathNotDirectoryError
        """
        with self._tree.lock:
            return MemoryReader(self._tree.file(path))

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        """Yield the names in a directory, as they are when the first is asked for.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError
        """
        with self._tree.lock:
            found = [
                ScanEntry(name, node.type)
                for name, node in self._tree.directory(path).children.items()
                if name != STATE_DIRECTORY or not path.is_root
            ]
        yield from found

    def read_link(self, path: WorkspacePath) -> bytes:
        """Return what a symbolic link points to, as it says it.

        Raises:
            PathNotFoundError: Nothing is there.
            NotRegularFileError: It is no link.
        """
        with self._tree.lock:
            node = self._tree.find(path)
            if node is None:
                raise PathNotFoundError(path)
            if node.type != "symlink":
                raise NotRegularFileError(path)
            return node.content

    def state_below(self, path: WorkspacePath) -> None:
        """Return None: no state is kept in memory."""


class MemoryStore(MemoryReading):
    """One opener of a tree in memory; thread-safe. Several stores on one tree stand for several processes.

    Lives as long as the workspace is open; the tree outlives it. Special files do not exist here, nobody
    follows links, and `sync` has nothing to do.
    """

    def __init__(self, tree: MemoryTree | None = None, *, name: str = "memory") -> None:
        """Open a tree.

        Args:
            tree: The tree; a new, empty one if None.
            name: Short name for messages.
        """
        super().__init__(tree or MemoryTree())
        self._name = name
        self._owner = Owner()

    @property
    def name(self) -> str:
        """Short name for messages, such as "primary" or "mirror"."""
        return self._name

    @property
    def tick_ns(self) -> int:
        """0: every change has a time of its own."""
        return 0

    @property
    def tree(self) -> MemoryTree:
        """The tree, for another store to be opened on it."""
        return self._tree

    def prepare(
        self,
        path: WorkspacePath,
        content: bytes,
        *,
        new: bool,
        mode: int | None = None,
        like: WorkspacePath | None = None,
    ) -> Prepared:
        """Make a file that can replace `path`.

        Args:
            path: Where it will go; its parent directory must exist.
            content: The bytes.
            new: True if nothing stands there; False if it replaces a file, whose mode it takes over.
            mode: Permission bits to set instead.
            like: Of no account: there is nothing but a mode here.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError: The parent is not there.
            PathNotFoundError, PathIsDirectoryError: No file to replace.
        """
        with self._tree.lock:
            self._tree.names_beside(path)
            usual = _NEW_FILE_MODE if new else self._tree.file(path).mode
            node = self._tree.new_node("file", usual if mode is None else mode, bytes(content))
            if new:
                return MemoryNewFile(self._tree, path, node)
            return MemoryReplacement(self._tree, path, self._owner.new_name(), node)

    def prepare_link(self, path: WorkspacePath, prepared: Prepared) -> Prepared:
        """Refuse: no file here has several names."""
        raise InternalError("Files in memory have one name each", path=path)

    def make_directory(self, path: WorkspacePath, mode: int = 0o777) -> bool:
        """Create one directory whose parent exists; False if it was there already.

        Raises:
            PathExistsError: A file is there.
        """
        with self._tree.lock:
            names = self._tree.names_beside(path)
            found = names.get(path.name)
            if found is None:
                names[path.name] = self._tree.new_node("directory", mode & 0o755)
                self._tree.touch(path)
            elif found.type != "directory":
                raise PathExistsError(path)
            return found is None

    def remove_empty_directory(self, path: WorkspacePath) -> None:
        """Remove a directory only if nothing is in it.

        Raises:
            DirectoryNotEmptyError: Something is in it.
            PathNotFoundError, PathNotDirectoryError
        """
        with self._tree.lock:
            names = self._tree.names_beside(path)
            found = names.get(path.name)
            if found is None:
                raise PathNotFoundError(path)
            if found.type != "directory":
                raise PathNotDirectoryError(path)
            if found.children:
                raise DirectoryNotEmptyError(path)
            del names[path.name]
            self._tree.touch(path)

    def remove(self, path: WorkspacePath, trash: str | None = None) -> Displaced:
        """Take a file or a whole directory out of the tree.

        Args:
            path: What goes.
            trash: Name to keep it as in the trash; None keeps it only until `discard`.

        Raises:
            PathNotFoundError: Nothing is there.
            PathExistsError: The trash has that name already.
        """
        folder, name = ("tmp", self._owner.new_name()) if trash is None else ("trash", private_name(trash))
        with self._tree.lock:
            names = self._tree.names_beside(path)
            if path.name not in names:
                raise PathNotFoundError(path)
            if name in self._tree.hidden[folder]:
                raise PathExistsError(label(folder, name))
            return self._hide(path, folder, name)

    def restore(self, path: WorkspacePath, trash: str) -> None:
        """Move something from the trash back to `path`, whose parent must exist.

        Raises:
            PathExistsError: Something is there.
            PathNotFoundError: The trash has no such name.
        """
        with self._tree.lock:
            names = self._tree.names_beside(path)
            if private_name(trash) not in self._tree.hidden["trash"]:
                raise PathNotFoundError(path)
            if path.name in names:
                raise PathExistsError(path)
            names[path.name] = self._tree.hidden["trash"].pop(trash)
            self._tree.touch(path)

    def trashed(self, path: WorkspacePath, trash: str) -> list[tuple[str, FileStat]]:
        """Return what `restore` would bring back; see `Store.trashed`."""
        with self._tree.lock:
            top = self._tree.hidden["trash"].get(private_name(trash))
            return [] if top is None else [(relative, node.stat) for relative, node in nodes_below(top)]

    def read_trashed(self, path: WorkspacePath, trash: str, relative: str) -> bytes:
        """Return the bytes of a file that `trashed` has named.

        Raises:
            PathNotFoundError: It is gone.
        """
        with self._tree.lock:
            top = self._tree.hidden["trash"].get(private_name(trash))
            found = {} if top is None else dict(nodes_below(top))
            if relative not in found:
                raise PathNotFoundError(path)
            return found[relative].content

    def trash_names(self) -> list[str]:
        """Return the names in the trash."""
        with self._tree.lock:
            return list(self._tree.hidden["trash"])

    def trash_bytes(self, trash: str) -> int:
        """Return the bytes of all files under a name in the trash; 0 if it is gone."""
        with self._tree.lock:
            top = self._tree.hidden["trash"].get(private_name(trash))
            waiting, total = [] if top is None else [top], 0
            while waiting:
                node = waiting.pop()
                total += len(node.content)
                waiting += node.children.values()
            return total

    def empty_trash(self, trash: str) -> None:
        """Remove a name from the trash for good, if it is there."""
        with self._tree.lock:
            self._tree.hidden["trash"].pop(private_name(trash), None)

    def has_trash(self, path: WorkspacePath, trash: str) -> bool:
        """Whether the trash has that name."""
        with self._tree.lock:
            return private_name(trash) in self._tree.hidden["trash"]

    def move(self, source: WorkspacePath, destination: WorkspacePath, *, overwrite: bool = False) -> Displaced | None:
        """Rename a file or directory; the destination's parent must exist.

        Returns:
            With `overwrite`, the displaced destination if one was there.

        Raises:
            PathExistsError: The destination exists and `overwrite` is False.
            PathNotFoundError: The source does not exist.
            InvalidArgumentError: One of the two lies inside the other.
        """
        refuse_nesting(source, destination)
        with self._tree.lock:
            old, new = self._tree.names_beside(source), self._tree.names_beside(destination)
            if source.name not in old:
                raise PathNotFoundError(source)
            if destination.name in new and not overwrite:
                raise PathExistsError(destination)
            if source == destination:
                return None
            displaced = None
            if destination.name in new:
                displaced = self._hide(destination, "tmp", self._owner.new_name())
            new[destination.name] = old.pop(source.name)
            self._tree.touch(source)
            self._tree.touch(destination)
            return displaced

    def _hide(self, path: WorkspacePath, folder: str, name: str) -> MemoryDisplaced:
        node = self._tree.names_beside(path).pop(path.name)
        node.changed_ns = self._tree.now_ns()
        self._tree.hidden[folder][name] = node
        self._tree.touch(path)
        return MemoryDisplaced(self._tree, folder, name, path=path)

    def set_mode(self, path: WorkspacePath, mode: int) -> None:
        """Set the permission bits of a file."""
        self._set_mode(self._tree.file, path, mode)

    def set_directory_mode(self, path: WorkspacePath, mode: int) -> None:
        """Set the permission bits of a directory."""
        self._set_mode(self._tree.directory, path, mode)

    def _set_mode(self, find: Callable[[WorkspacePath], Node], path: WorkspacePath, mode: int) -> None:
        with self._tree.lock:
            node = find(path)
            node.mode = mode
            node.changed_ns = self._tree.now_ns()

    def make_link(self, path: WorkspacePath, target: bytes) -> None:
        """Make a symbolic link, which nobody follows here.

        Raises:
            PathExistsError: Something is there.
        """
        with self._tree.lock:
            names = self._tree.names_beside(path)
            if path.name in names:
                raise PathExistsError(path)
            names[path.name] = self._tree.new_node("symlink", 0o777, target)
            self._tree.touch(path)

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        """Make nothing durable, for memory never lasts; returns as `Store.sync` does."""
        found = self.stat(path)
        return found is not None and found.type in ("file", "directory")

    def leftovers(self) -> Iterator[Displaced]:
        """Yield the temporary files of closed stores and dead processes, and everything in limbo."""
        with self._tree.lock:
            names = [
                ("tmp", name)
                for name, node in self._tree.hidden["tmp"].items()
                if is_left_behind(name, node.changed_ns)
            ]
            names += [("limbo", name) for name in self._tree.hidden["limbo"]]
        for folder, name in names:
            left = self.leftover_at(label(folder, name))
            if left is not None:
                yield left

    def leftover_at(self, temporary: str) -> Displaced | None:
        """Return what stands at a place that `temporary` of a `Prepared` or `Displaced` named, or None.

        Raises:
            InvalidArgumentError: Not the name of a temporary file.
        """
        top, _, rest = temporary.partition("/")
        folder, _, name = rest.partition("/")
        if top != STATE_DIRECTORY or folder not in ("tmp", "limbo"):
            raise InvalidArgumentError(f"Not the name of a temporary file: {temporary!r}")
        with self._tree.lock:
            if private_name(name) not in self._tree.hidden[folder]:
                return None
            return MemoryDisplaced(self._tree, folder, name, path=WorkspacePath(temporary), has_origin=False)

    def probe(self) -> None:
        """Do nothing: memory is always there."""

    def close(self) -> None:
        """Give up what is still prepared; may be called twice. The tree stays."""
        self._owner.close()
