"""The tree as it would be after some changes: their effects in memory, over a tree that does not change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from filetools.errors import InvalidArgumentError, PathNotDirectoryError, PathNotFoundError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import ROOT, WorkspacePath


class SeenPath(Struct, frozen=True, kw_only=True):
    """What is at a path below the overlay."""

    path: WorkspacePath
    kind: EntryType | None = None
    """None if nothing is there."""
    version: str | None = None
    """Of a file its bytes', of a link its target's; None for the rest."""
    mode: int | None = None
    content: bytes | None = None
    """Bytes of a file, or target of a link, if they are known."""


class OverlayNode(Struct, frozen=True, kw_only=True):
    """One name of an overlay's tree. The names of a folder that has an origin show through if it does not list them."""

    name: str
    kind: EntryType | None
    """None if the name was removed."""
    origin: SeenPath | None = None
    """The entry of the base that this one was, at whatever path; None if the changes made it."""
    content: bytes | None = None
    """New bytes of a file; None for those of the origin."""
    encoding: str | None = None
    """Codec that an actor named for its new bytes."""
    mode: int | None = None
    """New permission bits of a file; None for those of the origin, or the default."""
    children: Mapping[str, OverlayNode] = field(default_factory=dict)
    """By the last part of the key."""


def shown(seen_path: SeenPath) -> OverlayNode:
    """Return the node of an entry that has not changed."""
    return OverlayNode(name=seen_path.path.name, kind=seen_path.kind, origin=seen_path)


class Overlay:
    """Changes held over a tree. Missing folders are made where needed. Not safe in threads.

    The callers have checked that each change is possible. Nodes are never modified: a change makes a new `root`, so that the
    former one can be restored.
    """

    def __init__(
        self,
        seen_path: Callable[[WorkspacePath], SeenPath],
        children: Callable[[WorkspacePath], Sequence[SeenPath]],
        key: Callable[[WorkspacePath], str] = str,
    ) -> None:
        """Begin without changes; what the functions return must not change while the overlay is used.

        Args:
            seen_path: Returns the entry below the overlay at a path; `kind` is None if there is none.
            children: Returns the entries of a folder below the overlay.
            key: Returns the text that all spellings of a path share.
        """
        self._seen_path, self._children, self._key = seen_path, children, key
        self.root = shown(SeenPath(path=ROOT, kind="directory"))

    def restore(self, root: OverlayNode) -> None:
        """Return to a former root."""
        self.root = root

    def put(self, path: WorkspacePath, content: bytes, *, mode: int | None = None, encoding: str | None = None) -> None:
        """Give a file new bytes, or make it.

        Args:
            path: The file.
            content: All bytes.
            mode: Permission bits; None keeps those of the file, or takes the default for a new one.
            encoding: Codec that an actor named for the bytes.
        """
        node = self.find(path) or OverlayNode(name=path.name, kind="file")
        self._place(path, replace(node, content=content, encoding=encoding, mode=node.mode if mode is None else mode))

    def make_folder(self, path: WorkspacePath) -> None:
        """Make a folder, unless it exists."""
        self._place(path, self.find(path) or OverlayNode(name=path.name, kind="directory"))

    def move(self, path: WorkspacePath, to: WorkspacePath) -> None:
        """Rename an entry, a folder with all below it; an entry at `to` is replaced.

        Raises:
            PathNotFoundError: There is no entry at `path`.
            InvalidArgumentError: A folder would be moved into itself.
        """
        node = self.find(path)
        if node is None:
            raise PathNotFoundError(path)
        if self._key(to).startswith(f"{self._key(path)}/"):
            raise InvalidArgumentError(f"Cannot move {path!r} into itself", path=path)
        self.remove(path)
        self._place(to, replace(node, name=to.name))

    def remove(self, path: WorkspacePath) -> None:
        """Remove the entry at a path, a folder with all below it."""
        self._place(path, OverlayNode(name=path.name, kind=None))

    def find(self, path: WorkspacePath) -> OverlayNode | None:
        """Return the node at a path; None if there is no entry."""
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
        """Return the entries of a folder, by name."""
        inside = () if node.origin is None else self._children(node.origin.path)
        found = {self._key(each.path).rpartition("/")[2]: shown(each) for each in inside}
        found.update(node.children)
        return [child for _, child in sorted(found.items()) if child.kind is not None]

    def _place(self, path: WorkspacePath, node: OverlayNode) -> None:
        """Put a node at a path in place of the one there, and make the folders above it.

        Raises:
            PathNotDirectoryError: One of them is a file or a link.
        """
        *above, (_, last) = self._steps(path)
        folder, parents = self.root, list[tuple[OverlayNode, str]]()
        for depth, (name, key) in enumerate(above):
            parents.append((folder, key))
            listed = folder.children.get(key) or self._shown(folder, name)
            folder = (
                listed if listed is not None and listed.kind is not None else OverlayNode(name=name, kind="directory")
            )
            if folder.kind != "directory":
                raise PathNotDirectoryError(path.folders[depth])
        for parent, key in ((folder, last), *reversed(parents)):
            node = replace(parent, children={**parent.children, key: node})
        self.root = node

    def _shown(self, node: OverlayNode, inside: str) -> OverlayNode | None:
        """Return the unchanged entry at a path inside a node."""
        if node.kind != "directory" or node.origin is None:
            return None
        seen_path = self._seen_path(WorkspacePath(f"{node.origin.path}/{inside}" if node.origin.path else inside))
        return None if seen_path.kind is None else shown(seen_path)

    def _steps(self, path: WorkspacePath) -> list[tuple[str, str]]:
        """Return each part of a path with that of its key."""
        return list(zip(path.parts, self._key(path).split("/"), strict=True)) if path else []
