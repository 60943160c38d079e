"""The tree as it would be after some operations: their effects in memory, over a tree that stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from filetools.changes.operations import (
    MakeFolder,
    Move,
    Put,
    Remove,
    RemoveFolder,
    SeenPath,
    TreeOperation,
)
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

_KINDS: Final[Mapping[type[Struct], EntryType]] = {Put: "file", MakeFolder: "directory"}


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
    """What it was before the operations, wherever that was; None if they made it."""
    content: bytes | None = None
    """New bytes of a file; None for those of the origin."""
    encoding: str | None = None
    """Codec that an actor named for its new bytes."""
    mode: int | None = None
    """New permission bits; None for those of the origin, or the default."""
    children: dict[str, OverlayNode] = field(default_factory=dict)
    """By the last part of the key."""


def shown(seen_path: SeenPath) -> OverlayNode:
    """Return the node of what the operations have not touched."""
    return OverlayNode(name=seen_path.path.name, kind=seen_path.kind, origin=seen_path)


class Overlay:
    """Operations held over a tree. Missing parent folders are made along with what needs them; not safe in threads."""

    def __init__(self, base: BaseTree) -> None:
        self.base = base
        self.root = shown(SeenPath(path=ROOT, kind="directory"))
        self._former: list[tuple[dict[str, OverlayNode], str, OverlayNode | None]] = []

    def save(self) -> None:
        """Have `restore` return to what is held now."""
        self._former.clear()

    def restore(self) -> None:
        """Take back all operations since `save`."""
        while self._former:
            children, key, node = self._former.pop()
            if node is None:
                del children[key]
            else:
                children[key] = node

    def apply(self, operation: TreeOperation) -> None:
        """Take one more operation; a refused one changes nothing.

        Raises:
            PathNotFoundError, DirectoryNotFoundError: There is nothing to remove or move.
            PathExistsError: Something is where the operation makes a folder, or moves something to.
            PathIsDirectoryError, PathNotDirectoryError, SymlinkNotAllowedError, NotRegularFileError: It meets something
                of another kind.
            InvalidArgumentError: A folder would be moved into itself, or the root is named.
        """
        if operation.path.is_root:
            raise InvalidArgumentError("The root itself cannot be changed")
        match operation:
            case Move():
                self._move(operation)
            case Remove() | RemoveFolder():
                self.place(operation.path, _removed(operation, self.find(operation.path)))
            case _:
                self.place(operation.path, _made(operation, self.find(operation.path)))

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
            found = {self.fold(each.path): shown(each) for each in self.base.children(node.origin.path)}
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

    def fold(self, path: WorkspacePath) -> str:
        """Return the last part of a path's key."""
        return self.base.key(path).rpartition("/")[2]

    def _set(self, folder: OverlayNode, key: str, node: OverlayNode) -> None:
        self._former.append((folder.children, key, folder.children.get(key)))
        folder.children[key] = node

    def _shown(self, node: OverlayNode, inside: str) -> OverlayNode | None:
        """Return what is at a path inside a node, if no operation has touched it."""
        if node.kind != "directory" or node.origin is None:
            return None
        seen_path = self.base.seen_path(WorkspacePath(f"{node.origin.path}/{inside}" if node.origin.path else inside))
        return None if seen_path.kind is None else shown(seen_path)

    def _steps(self, path: WorkspacePath) -> list[tuple[str, str]]:
        """Return each part of a path with that of its key."""
        return list(zip(path.parts, self.base.key(path).split("/"), strict=True)) if path else []

    def _move(self, operation: Move) -> None:
        path, to, now = operation.path, operation.to, self.find(operation.path)
        if now is None:
            raise PathNotFoundError(path)
        if to.is_root or self.base.key(to).startswith(f"{self.base.key(path)}/"):
            raise InvalidArgumentError(f"Cannot move {path!r} into itself", path=path)
        is_same = path != to and self.base.key(path) == self.base.key(to)
        if not is_same and self.find(to) is not None:
            raise PathExistsError(to)
        self.place(to, replace(now, name=to.name))
        if not is_same:
            self.place(path, OverlayNode(name=path.name, kind=None))


def _made(operation: Put | MakeFolder, now: OverlayNode | None) -> OverlayNode:
    """Return what an operation makes of what is there."""
    path, kind = operation.path, _KINDS[type(operation)]
    if now is not None and now.kind != kind:
        if isinstance(operation, Put):
            refuse_other_kinds(now.kind, path)
        raise PathExistsError(path)
    made = now or OverlayNode(name=path.name, kind=kind)
    if isinstance(operation, Put):
        made = replace(made, content=operation.content, encoding=operation.encoding)
    return made if operation.mode is None else replace(made, mode=operation.mode)


def _removed(operation: Remove | RemoveFolder, now: OverlayNode | None) -> OverlayNode:
    """Return what an operation leaves of what is there."""
    path, is_folder = operation.path, isinstance(operation, RemoveFolder)
    if now is None:
        raise DirectoryNotFoundError(path) if is_folder else PathNotFoundError(path)
    if is_folder != (now.kind == "directory"):
        raise PathNotDirectoryError(path) if is_folder else PathIsDirectoryError(path)
    return OverlayNode(name=path.name, kind=None)
