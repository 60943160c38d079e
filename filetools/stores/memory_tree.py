"""The tree that memory stores share, as several processes share a disk."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from filetools.errors import DirectoryNotFoundError, InvalidPathError, PathNotDirectoryError, PathNotFoundError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.checks import refuse_other_kinds
from filetools.stores.store import FileStat

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
