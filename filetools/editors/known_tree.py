"""What is known of a tree of files: names, and the folders of which not all is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from filetools.editors.tree_nodes import NameNode, Nodes, is_within, parent_of
from filetools.events.types import (
    DirectoryCreated,
    DirectoryDeleted,
    DirectoryRenamed,
    FileCreated,
    FileDeleted,
    FileRenamed,
    TreeEvent,
)
from filetools.models.words import EntryType
from filetools.paths.patterns import compile_patterns


class KnownTree:
    """Names that listings and changes told. Lives as long as the state of a tree.

    Every change but one says itself what is there afterwards, so it may be taken in twice, or after a listing that
    shows it. The one is a moved folder: it takes along what the tree has below it.
    """

    def __init__(self, exclude: Sequence[str]) -> None:
        self.nodes = Nodes()
        self.stale = {""}
        """Folders to list again, with all below; none is within another."""
        self._rules = compile_patterns((), defaults=exclude)
        self._listed_at: dict[str, int] = {}
        """For each folder listed, the newest change that its listing may show in part."""

    def replace(self, folder: str, entries: Mapping[str, EntryType], position: int) -> bool:
        """Take over what a listing shows; False if the tree has no such folder any more."""
        old = self.nodes.find(folder)
        if old is None or old.type != "directory":
            return False
        fresh = Nodes()
        for path, kind in entries.items():
            fresh.add(path, kind)
        node = fresh.find(folder) or NameNode("directory")
        node.expand_like(old)
        old.children = node.children
        self.stale = {one for one in self.stale if not is_within(one, folder)}
        self._listed_at = {one: at for one, at in self._listed_at.items() if not is_within(one, folder)}
        self._listed_at[folder] = position
        return True

    def give_up(self, folder: str) -> None:
        """Ask for the folder above one that cannot be listed."""
        self.stale.discard(folder)
        self.mark(parent_of(folder))

    def mark(self, folder: str) -> None:
        """Ask for a folder, or the nearest above that is there, to be listed again."""
        folder = self.nodes.nearest_folder(folder)
        if not any(is_within(folder, one) for one in self.stale):
            self.stale = {folder, *(one for one in self.stale if not is_within(one, folder))}

    def take(self, event: TreeEvent, *, is_certain: bool) -> None:
        """Take a change in.

        Args:
            event: The change.
            is_certain: Whether the tree stands as it was right before; else a moved folder is listed again.
        """
        match event:
            case FileCreated():
                folder = parent_of(event.path)
                is_known = self.nodes.find(folder) is not None
                if self._add(event.path, "file"):
                    self.nodes.expand_to(event.path)
                    if not is_known:
                        self.mark(folder)  # made by the way, or gone already
            case DirectoryCreated():
                self._add(event.path, "directory")
            case FileDeleted() | DirectoryDeleted():
                self._drop(event.path)
            case FileRenamed():
                self._drop(event.old_path)
                self._add(event.path, "file")
            case DirectoryRenamed():
                self._rename(event, is_certain=is_certain and not self._may_be_listed(event))

    def _add(self, path: str, kind: EntryType) -> bool:
        if self._rules.matches(path, kind == "directory"):
            return False
        self.nodes.add(path, kind)
        return True

    def _drop(self, path: str) -> NameNode | None:
        self.stale = {one for one in self.stale if not one or not is_within(one, path)}
        return self.nodes.drop(path)

    def _rename(self, event: DirectoryRenamed, *, is_certain: bool) -> None:
        """Move a folder; list both ends again where it is not certain that the tree has it as it was."""
        old, new = event.old_path, event.path
        inner = {one for one in self.stale if one and is_within(one, old)}
        stands = self.nodes.find(new) is not None
        node = None if stands else self._drop(old)
        if self._rules.matches(new, True):
            return
        if node is not None and node.type == "directory":
            self.nodes.put(new, node)
        else:
            self.nodes.add(new, "directory")
        for one in inner:
            self.mark(f"{new}{one[len(old) :]}")
        if not is_certain or node is None:
            self.mark(new)
            self.mark(parent_of(old))

    def _may_be_listed(self, event: DirectoryRenamed) -> bool:
        """Whether a listing was made while it happened, or after: it may show one half here and the other there."""
        number = event.seq
        return number is None or any(
            number <= at and is_within(path, folder)
            for folder, at in self._listed_at.items()
            for path in paths_of(event)
        )


def paths_of(event: TreeEvent) -> tuple[str, ...]:
    """Return where a change happened: its path, and before that the old one of a move."""
    old_path = getattr(event, "old_path", None)
    return (event.path,) if old_path is None else (old_path, event.path)
