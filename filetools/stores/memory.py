"""The store in memory: the same promises as on a disk, for tests, examples and mirrors that need not last."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from filetools.errors import (
    DirectoryNotEmptyError,
    FileTooLargeError,
    InternalError,
    InvalidArgumentError,
    NotRegularFileError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.checks import private_name, refuse_nesting
from filetools.stores.memory_files import MemoryDisplaced, MemoryNewFile, MemoryReader, MemoryReplacement
from filetools.stores.memory_tree import MemoryTree, Node, label, nodes_below
from filetools.stores.owners import Owner, is_left_behind
from filetools.stores.reading import facts_of
from filetools.stores.store import Displaced, FileStat, Prepared, Reader, ScanEntry, T, Take

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
