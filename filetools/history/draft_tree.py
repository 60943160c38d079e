"""A draft of the tree: the entries on disk with changes that are not made yet. And the names of entries over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct, structs

from filetools.changes.parts import Parts
from filetools.content.version import version_of
from filetools.errors import FileToolsError, VersionGoneError
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.store import FileStat


class Origin(Struct, frozen=True, kw_only=True):
    """The current place of an entry."""

    path: str
    """The path; for an entry in the trash, the path that it had."""
    trash: str | None = None
    """Name in the trash of the deleted entry that this one is, or is in; None for an entry in the tree."""
    top: str = ""
    """The path that the deleted entry had."""


class DraftNode(Struct, frozen=True, kw_only=True):
    """A file, folder or link. Its bytes, or its target, are those of its version or, without one, those at its origin."""

    kind: EntryType
    origin: Origin | None = None
    """None for an entry that is created anew."""
    version: str | None = None
    """Version of a file or link that differs from its origin."""
    mode: int | None = None
    """Permission bits of a file or folder; None for a folder whose mode does not matter."""
    made: bytes | None = None
    """The bytes of the version, if the journal does not keep them."""

    @property
    def source(self) -> str:
        """Current path of the entry; empty if it is created, or in the trash."""
        return "" if self.origin is None or self.origin.trash is not None else self.origin.path


PARENT: Final = DraftNode(kind="directory")
"""A folder that exists only because an entry is restored below it."""


class Drafted(Struct, frozen=True, kw_only=True):
    """One path that a draft changes."""

    path: str
    now: DraftNode | None
    then: DraftNode | None

    @property
    def origin(self) -> Origin | None:
        """Origin of the entry that is put at this path; None if the path is not free."""
        return None if self.then is None or self.now is not None else self.then.origin

    @property
    def is_swap(self) -> bool:
        """True if the entry is replaced by one of another kind."""
        return self.now is not None and self.then is not None and self.now.kind != self.then.kind


class DraftTree:
    """The tree of one workspace, overlaid with drafted changes. Lives for one plan in one worker thread.

    Names that no call can use, such as names that are not UTF-8, have no records. Such an entry is of the kind "other",
    a folder together with all that is in it, and moves only with the folder that holds it.
    """

    def __init__(self, parts: Parts) -> None:
        """Start with a draft that equals the disk."""
        self.contents = parts.journal.contents
        self.key = parts.workspace.key
        """Returns the lock key of a path."""
        self.wholes: set[str] = set()
        """Lock keys of folders that are moved into the trash as a whole, because they were restored from it as a whole."""
        self._parts = parts
        self._versions: dict[Origin, str] = {}
        self.drafted: Final[dict[str, tuple[str, DraftNode | None]]] = {}
        """Drafted paths and their nodes, by lock key; None for an entry that is removed."""
        self._inside: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """For the key of each folder, the keys in it that are drafted, or that have a drafted path below them."""

    def standing(self, path: str) -> DraftNode | None:
        """Return the entry on disk at a path; None if there is none."""
        try:
            stat = self._parts.store.stat(WorkspacePath(path))
        except FileToolsError:
            return None  # it cannot be reached, so it cannot be restored either
        return None if stat is None else self._node(Origin(path=path), stat)

    def standing_below(self, path: str) -> Iterable[str]:
        """Return the paths of all entries on disk below a folder, each folder before its entries."""
        return [below for below, _ in walk_tree(self._parts.store, WorkspacePath(path)) if self._is_seen(below)]

    def trashed(self, path: str, trash: str, mode: int | None = None) -> dict[str, DraftNode]:
        """Return the nodes that an entry of the trash restores, by path, the entry itself first.

        Args:
            path: The path that the entry had, and at which it is restored.
            trash: Its name in the trash.
            mode: Permission bits of the folder when it was deleted, if they are known.
        """
        found: dict[str, DraftNode] = {}
        for relative, stat in self._parts.store.trashed(WorkspacePath(path), trash).entries():
            full = f"{path}/{relative}" if relative else path
            if self._is_seen(full):
                found[full] = self._node(Origin(path=full, trash=trash, top=path), stat)
        if mode is not None and path in found and found[path].kind == "directory":
            found[path] = structs.replace(found[path], mode=mode)
        return found

    def version(self, node: DraftNode) -> str:
        """Return the version of a file or link. Its bytes are read at most once."""
        if node.version is not None:
            return node.version
        assert node.origin is not None
        if node.origin not in self._versions:
            is_file = node.source and node.kind != "symlink"
            stat = self._parts.store.stat(WorkspacePath(node.source)) if is_file else None
            known = None if stat is None else self._parts.facts.get(stat.identity)
            self._versions[node.origin] = version_of(self._content_at(node)) if known is None else known.version
        return self._versions[node.origin]

    def content(self, node: DraftNode) -> bytes:
        """Return the bytes of a file, or the target of a link.

        Raises:
            VersionGoneError: They are not kept.
        """
        if node.version is None:
            return self._content_at(node)
        return self.contents.get(node.version) if node.made is None else node.made

    def _content_at(self, node: DraftNode) -> bytes:
        origin, store = node.origin, self._parts.store
        assert origin is not None
        if origin.trash is not None:
            trashed = store.trashed(WorkspacePath(origin.top), origin.trash)
            return trashed.read(origin.path[len(origin.top) + 1 :])
        path = WorkspacePath(origin.path)
        return (
            store.read_link(path)
            if node.kind == "symlink"
            else store.read(path, limit=self._parts.settings.max_write_bytes)[0]
        )

    def _is_seen(self, path: str) -> bool:
        """True unless the path is inside an entry of the kind "other"."""
        return self._parts.workspace.is_addressable(path.rpartition("/")[0] or path)

    def _node(self, origin: Origin, stat: FileStat) -> DraftNode:
        kind: EntryType = stat.type if self._parts.workspace.is_addressable(origin.path) else "other"
        return DraftNode(kind=kind, origin=origin, mode=None if kind == "symlink" else stat.mode)

    def at(self, path: str) -> DraftNode | None:
        """Return the draft's node at a path."""
        drafted = self.drafted.get(self.key(path))
        return self.standing(path) if drafted is None else drafted[1]

    def put(self, path: str, node: DraftNode | None) -> None:
        """Draft a node at a path; None removes the entry. A folder above that the draft removes stays for a node."""
        key = self.key(path)
        for each in within(key):
            self._inside[each.rpartition("/")[0]][each] = None
            if node is not None and each in self.drafted and self.drafted[each][1] is None:
                self.drafted[each] = (self.drafted[each][0], PARENT)
        self.drafted[key] = (path, node)

    def move(self, source: str, destination: str) -> None:
        """Draft the move of an entry, with all below it."""
        found = [(path, self.at(path)) for path in (source, *self.below(source))]
        # All removals first, as some names may be equal: a folder may move into itself, or change the case of its name.
        for path, _ in found:
            self.put(path, None)
        for path, node in found:
            if node is not None:
                self.put(f"{destination}{path[len(source) :]}", node)

    def below(self, folder: str) -> Iterator[str]:
        """Yield the paths of the draft's entries below a folder."""
        keys = [self.key(folder)]
        for key in keys:  # it grows
            keys += self._inside.get(key, ())
        drafted = {key: self.drafted[key] for key in keys[1:] if key in self.drafted}
        present = self.standing(folder)
        if present is not None and present.kind == "directory":
            for path in self.standing_below(folder):
                if self.key(path) not in drafted:
                    yield path
        yield from (path for path, node in drafted.values() if node is not None)

    def file_above(self, path: str) -> str | None:
        """Return the path of a file or link at which a path needs a folder; None if there is none."""
        for parent in within(path.rpartition("/")[0]):
            if (node := self.at(parent)) is not None:
                return None if node.kind == "directory" else parent
        return None

    def keep_within(self, path: str) -> None:
        """Drop all drafted changes except those of a path, of entries below it, and of missing folders above it.

        An entry that would have moved there from elsewhere is created from its bytes instead, and also stays elsewhere.
        """
        top = self.key(path)
        above = {*within(top)} - {top}
        for key, (where, node) in list(self.drafted.items()):
            if top in within(key):
                self.drafted[key] = (where, self.made_anew(node, lambda origin: top not in within(origin)))
            elif not (key in above and node is not None and self.standing(where) is None):
                del self.drafted[key]

    def leave(self, path: str) -> None:
        """Drop the drafted changes of a folder and of all below it, and the removal of folders above it.

        An entry that would have moved from there to elsewhere is created from its bytes instead.
        """
        top = self.key(path)
        for key, (where, node) in list(self.drafted.items()):
            if top in within(key) or (node is None and key in within(top)):
                del self.drafted[key]
            else:
                with suppress(FileToolsError):  # its bytes are too large, or cannot be read
                    self.drafted[key] = (where, self.made_anew(node, lambda origin: top in within(origin)))

    def made_anew(self, node: DraftNode | None, is_elsewhere: Callable[[str], bool]) -> DraftNode | None:
        """Return a node that needs no origin, if it has one in the tree for whose lock key `is_elsewhere` is true."""
        if node is None or not node.source or not is_elsewhere(self.key(node.source)):
            return node
        return structs.replace(self.with_bytes(node), origin=None)

    def with_bytes(self, node: DraftNode) -> DraftNode:
        """Return a node that has its bytes without its origin; a folder has no bytes."""
        if node.kind == "directory" or node.version is not None:
            return node
        version, made = self.version(node), None
        try:
            self.contents.get(version)
        except VersionGoneError:
            made = self._content_at(node)
        return structs.replace(node, version=version, made=made)

    def changes(self) -> list[Drafted]:
        """Return each path whose draft differs from the current tree."""
        found = [Drafted(path=path, now=self.standing(path), then=node) for path, node in self.drafted.values()]
        return [one for one in found if not self.is_same(one.now, one.then)]

    def is_same(self, now: DraftNode | None, then: DraftNode | None) -> bool:
        """True if two nodes are equal in kind, mode and bytes, whatever their origins."""
        if now is None or then is None or now.kind != then.kind:
            return now is then
        if now.kind in ("directory", "other"):
            return now.kind == "other" or then.mode in (None, now.mode)
        return now == then or (now.mode == then.mode and self.version(now) == self.version(then))


class EntryNames:
    """Numbers for the files, folders and links whose paths are asked for, at a moment that each move advances."""

    def __init__(self) -> None:
        self.paths: list[str | None] = []
        """The current path of each entry, the last one of a deleted entry; None while another one that was moved has it."""
        self._entries: dict[str, int] = {}
        self._replaced: dict[int, dict[str, int]] = {}
        """For each moved entry those whose names it took by its last move, by the rest of their paths."""
        self._folders: set[str] = set()
        """Paths above the entries, so that most moves need no search."""

    def at(self, path: str) -> int:
        """Return the entry that has a path."""
        if path not in self._entries:
            self.paths.append(path)
            self._put(path, {"": len(self.paths) - 1})
        return self._entries[path]

    def below(self, path: str) -> list[str]:
        """Return the path, and those below it that were asked for."""
        found = [each for each in self._entries if each.startswith(f"{path}/")] if path in self._folders else []
        return [path, *found]

    def forget(self, path: str) -> None:
        """Make the next entry at a path another one."""
        self._entries.pop(path, None)

    def move(self, old: str, new: str) -> None:
        """Move an entry with all below it. Entries whose names it takes get them back when it is moved away again."""
        top = self.at(old)
        moved, replaced = self._take(old), self._take(new)
        self._put(old, self._replaced.pop(top, {}))
        self._replaced[top] = replaced
        self._put(new, moved)

    def _take(self, top: str) -> dict[str, int]:
        """Remove the entries at a path and below it; returns them by the rest of their paths."""
        taken = {path[len(top) :]: self._entries.pop(path) for path in self.below(top) if path in self._entries}
        for entry in taken.values():
            self.paths[entry] = None
        return taken

    def _put(self, top: str, entries: dict[str, int]) -> None:
        """Add entries by the rest of their paths below a path."""
        for rest, entry in entries.items():
            path = top + rest
            self.paths[entry] = path
            self._entries[path] = entry
            self._folders.update([*within(path)][1:])


def within(key: str) -> Iterator[str]:
    """Yield a lock key, or path, and those of the folders above it, innermost first."""
    while key:
        yield key
        key = key.rpartition("/")[0]
