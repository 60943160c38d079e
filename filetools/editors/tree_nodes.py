"""A tree of names in memory: folders, what is in them, and which of them are expanded."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from filetools.models.words import EntryType


class NameNode(Struct):
    """One name of a tree. Lives as long as the tree has it."""

    type: EntryType
    is_expanded: bool = False
    children: dict[str, NameNode] = field(default_factory=dict)

    def walk(self, path: str = "") -> Iterator[tuple[str, NameNode]]:
        """Yield path and node of all below, in the order of a listing."""
        for name, child in sorted(self.children.items(), key=_order):
            inner = f"{path}/{name}" if path else name
            yield inner, child
            yield from child.walk(inner)

    def expand_like(self, other: NameNode) -> None:
        """Expand the folders that are expanded in another tree."""
        self.is_expanded = self.is_expanded or other.is_expanded
        for name, child in other.children.items():
            mine = self.children.get(name)
            if mine is not None and mine.type == child.type == "directory":
                mine.expand_like(child)


class Nodes:
    """A tree by path; "" is its root. Lives as long as its owner."""

    def __init__(self) -> None:
        self.root = NameNode("directory", is_expanded=True)

    def find(self, path: str) -> NameNode | None:
        """Return what stands at a path."""
        node = self.root
        for name in _names(path):
            found = node.children.get(name)
            if found is None:
                return None
            node = found
        return node

    def put(self, path: str, node: NameNode) -> None:
        """Let a node stand at a path; missing folders above come into being, a file in their place goes."""
        *above, name = _names(path)
        self._folders(above)[-1].children[name] = node

    def add(self, path: str, kind: EntryType) -> NameNode:
        """Return what stands at a path, new unless something of this type is there."""
        node = self.find(path)
        if node is None or node.type != kind:
            node = NameNode(kind)
            self.put(path, node)
        return node

    def drop(self, path: str) -> NameNode | None:
        """Take away what stands at a path, with all below, and return it."""
        parent = self.find(parent_of(path))
        return None if parent is None else parent.children.pop(path.rpartition("/")[2], None)

    def expand_to(self, path: str) -> None:
        """Expand all folders above a path."""
        for folder in self._folders(_names(parent_of(path))):
            folder.is_expanded = True

    def nearest_folder(self, path: str) -> str:
        """Return the path of the folder that is there: this one, or the nearest above."""
        while (node := self.find(path)) is None or node.type != "directory":
            path = parent_of(path)
        return path

    def _folders(self, names: list[str]) -> list[NameNode]:
        """Return the folders on the way, made where they are missing."""
        found = [self.root]
        for name in names:
            node = found[-1].children.get(name)
            if node is None or node.type != "directory":
                node = found[-1].children[name] = NameNode("directory")
            found.append(node)
        return found


def parent_of(path: str) -> str:
    """Return the folder a path is in; "" for the root's own entries."""
    return path.rpartition("/")[0]


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder, or somewhere below it."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def _names(path: str) -> list[str]:
    return path.split("/") if path else []


def _order(item: tuple[str, NameNode]) -> tuple[bool, str, str]:
    name, node = item
    return node.type != "directory", name.casefold(), name
