"""The tree as it would be after some changes: their effects in memory, over a tree that stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from filetools.changes.seen_path import SeenPath
from filetools.errors import (
    DirectoryNotFoundError,
    InvalidArgumentError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from filetools.models.words import EntryType
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.stores.private import refuse_other_kinds


class BaseTree(Struct, frozen=True, kw_only=True):
    """Reads the tree that an overlay lies over; what it returns must not change while the overlay is used."""

    seen_path: Callable[[WorkspacePath], SeenPath]
    """What is at a path; `kind` is None if nothing is."""
    children: Callable[[WorkspacePath], Sequence[SeenPath]]
    """What is in a folder."""
    key: Callable[[WorkspacePath], str] = str
    """The text that all spellings of a path share."""


class OverlayNode(Struct, frozen=True, kw_only=True):
    """One name of an overlay's tree. The names of a folder that has an origin show through if it does not list them."""

    name: str
    kind: EntryType | None
    """None if the name was removed."""
    origin: SeenPath | None = None
    """What it was before the changes, wherever that was; None if they made it."""
    content: bytes | None = None
    """New bytes of a file; None for those of the origin."""
    encoding: str | None = None
    """Codec that an actor named for its new bytes."""
    mode: int | None = None
    """New permission bits; None for those of the origin, or the default."""
    children: dict[str, OverlayNode] = field(default_factory=dict)
    """By the last part of the key."""


def shown(seen_path: SeenPath) -> OverlayNode:
    """Return the node of what has not changed."""
    return OverlayNode(name=seen_path.path.name, kind=seen_path.kind, origin=seen_path)


class Overlay:
    """Changes held over a tree; a refused one changes nothing. Missing folders are made where needed. Not safe in threads."""

    def __init__(self, base: BaseTree) -> None:
        self.base = base
        self.root = shown(SeenPath(path=ROOT, kind="directory"))
        self._former: list[tuple[dict[str, OverlayNode], str, OverlayNode | None]] = []

    def save(self) -> None:
        """Mark the state to which `restore` returns."""
        self._former.clear()

    def restore(self) -> None:
        """Undo all changes since `save`."""
        while self._former:
            children, key, node = self._former.pop()
            if node is None:
                del children[key]
            else:
                children[key] = node

    def put(self, path: WorkspacePath, content: bytes, *, mode: int | None = None, encoding: str | None = None) -> None:
        """Give a file new bytes, or make it.

        Args:
            path: The file.
            content: All bytes.
            mode: Permission bits; None keeps those of the file, or takes the default for a new one.
            encoding: Codec that an actor named for the bytes.

        Raises:
            PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError: Something else is there.
            PathNotDirectoryError: Something else is where a folder is needed.
        """
        node = self._changing(path) or OverlayNode(name=path.name, kind="file")
        refuse_other_kinds(node.kind, path)
        self.place(path, replace(node, content=content, encoding=encoding, mode=node.mode if mode is None else mode))

    def make_folder(self, path: WorkspacePath, mode: int | None = None) -> None:
        """Make a folder; an existing one gets the mode.

        Raises:
            PathExistsError: Something else is there.
            PathNotDirectoryError: Something else is where a folder is needed.
        """
        node = self._changing(path) or OverlayNode(name=path.name, kind="directory")
        if node.kind != "directory":
            raise PathExistsError(path)
        self.place(path, node if mode is None else replace(node, mode=mode))

    def remove(self, path: WorkspacePath) -> None:
        """Remove a file or a symbolic link.

        Raises:
            PathNotFoundError, PathIsDirectoryError
        """
        node = self._changing(path)
        if node is None:
            raise PathNotFoundError(path)
        if node.kind == "directory":
            raise PathIsDirectoryError(path)
        self.clear(path)

    def remove_folder(self, path: WorkspacePath) -> None:
        """Remove a folder with all below it.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError
        """
        node = self._changing(path)
        if node is None:
            raise DirectoryNotFoundError(path)
        if node.kind != "directory":
            raise PathNotDirectoryError(path)
        self.clear(path)

    def move(self, path: WorkspacePath, to: WorkspacePath) -> None:
        """Rename a file, a link, or a folder with all below it.

        Raises:
            PathNotFoundError: Nothing is at `path`.
            PathExistsError: Something is at `to`.
            InvalidArgumentError: A folder would be moved into itself.
        """
        node = self._changing(path)
        if node is None:
            raise PathNotFoundError(path)
        if to.is_root or self.base.key(to).startswith(f"{self.base.key(path)}/"):
            raise InvalidArgumentError(f"Cannot move {path!r} into itself", path=path)
        is_same = path != to and self.base.key(path) == self.base.key(to)
        if not is_same and self.find(to) is not None:
            raise PathExistsError(to)
        self.place(to, replace(node, name=to.name))
        if not is_same:
            self.clear(path)

    def find(self, path: WorkspacePath) -> OverlayNode | None:
        """Return the node at a path; None if nothing is there."""
        node = self.root
        for depth, (_, key) in enumerate(self._steps(path)):
            listed = node.children.get(key)
            if listed is None:
                # From here on everything is as it was below the folder's origin, so one look is enough.
                return self._shown(node, "/".join(path.parts[depth:]))
            if listed.kind is None:
                return None
            node = listed
        return node

    def children(self, node: OverlayNode) -> list[OverlayNode]:
        """Return what would be in a folder, by name."""
        found: dict[str, OverlayNode] = {}
        if node.kind == "directory" and node.origin is not None:
            found = {self._fold(each.path): shown(each) for each in self.base.children(node.origin.path)}
        found.update(node.children)
        return [child for _, child in sorted(found.items()) if child.kind is not None]

    def child(self, node: OverlayNode, name: str, key: str) -> OverlayNode | None:
        """Return what a folder has under a name; `key` is the last part of its key."""
        listed = node.children.get(key)
        if listed is None:
            return self._shown(node, name)
        return None if listed.kind is None else listed

    def place(self, path: WorkspacePath, node: OverlayNode) -> None:
        """Put a node at a path, whatever is there, and make the folders above it.

        Raises:
            PathNotDirectoryError: One of them is something else.
        """
        folder = self.root
        *above, (_, last) = self._steps(path)
        for depth, (name, key) in enumerate(above):
            child = self.child(folder, name, key) or OverlayNode(name=name, kind="directory")
            if child.kind != "directory":
                raise PathNotDirectoryError(path.folders[depth])
            self._set(folder, key, child)
            folder = child
        self._set(folder, last, node)

    def clear(self, path: WorkspacePath) -> None:
        """Have nothing at a path."""
        self.place(path, OverlayNode(name=path.name, kind=None))

    def _changing(self, path: WorkspacePath) -> OverlayNode | None:
        """Return the node at a path that changes.

        Raises:
            InvalidArgumentError: It is the root.
        """
        if path.is_root:
            raise InvalidArgumentError("The root itself cannot be changed")
        return self.find(path)

    def _fold(self, path: WorkspacePath) -> str:
        """Return the last part of a path's key."""
        return self.base.key(path).rpartition("/")[2]

    def _set(self, folder: OverlayNode, key: str, node: OverlayNode) -> None:
        self._former.append((folder.children, key, folder.children.get(key)))
        folder.children[key] = node

    def _shown(self, node: OverlayNode, inside: str) -> OverlayNode | None:
        """Return what is at a path inside a node, unless it was changed."""
        if node.kind != "directory" or node.origin is None:
            return None
        seen_path = self.base.seen_path(WorkspacePath(f"{node.origin.path}/{inside}" if node.origin.path else inside))
        return None if seen_path.kind is None else shown(seen_path)

    def _steps(self, path: WorkspacePath) -> list[tuple[str, str]]:
        """Return each part of a path with that of its key."""
        return list(zip(path.parts, self.base.key(path).split("/"), strict=True)) if path else []
