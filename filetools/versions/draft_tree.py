"""A tree as it would be: what stands on the disk, with changes on top of it that nobody has made yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from filetools.content.facts import FactsCache
from filetools.content.version import version_of
from filetools.errors import FileToolsError, VersionGoneError
from filetools.journal.storage.contents import Contents
from filetools.models.words import EntryType
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where something stands now."""

    path: str
    """Its path; of what is in the trash, the path that it had."""
    trash: str | None = None
    """Name in the trash of the folder that it is in, or is."""
    top: str = ""
    """The path that this folder had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftNode:
    """A file, a folder or a link. Its bytes, or what it points to, are those of its version or, without one, at its origin."""

    kind: EntryType
    origin: Origin | None = None
    """None for what is made anew."""
    version: str | None = None
    """Of a file that differs from what is at its origin."""
    mode: int | None = None
    """Permission bits of a file, or of a folder; None of a folder that may have any."""
    made: bytes | None = field(default=None, compare=False, repr=False)
    """The bytes of its version, where nobody has kept them yet; they go with the last file that has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """One path that a draft changes."""

    path: str
    now: DraftNode | None
    then: DraftNode | None

    @property
    def origin(self) -> Origin | None:
        """Where in the tree, or the trash, what comes there is now; None if something is there already."""
        return None if self.then is None or self.now is not None else self.then.origin

    @property
    def is_swap(self) -> bool:
        """Whether something of another kind comes there."""
        return self.now is not None and self.then is not None and self.now.kind != self.then.kind


Walk = Callable[[WorkspacePath], Iterable[str]]


class DraftTree:
    """What stands in one workspace, with changes on top. Lives for one plan in one worker thread. Paths are workspace-relative.

    What no call can name, such as a name that is not UTF-8, has no records either: it is something "other", a folder with
    all that is in it, and goes where the folder goes that it is in.
    """

    def __init__(
        self, workspace: Workspace, store: Store, contents: Contents, facts: FactsCache, *, walk: Walk, most_bytes: int
    ) -> None:
        """Look at a workspace.

        Args:
            workspace: Its names.
            store: The files.
            contents: The bytes that the journal keeps.
            facts: The versions of files that are known already.
            walk: Yields the paths of all below a folder, folders before what is in them.
            most_bytes: No larger file is read.
        """
        self.contents = contents
        self.key = workspace.key
        """Returns the lock key of a path."""
        self.wholes: set[str] = set()
        """Lock keys of folders that go as a whole, as they came."""
        self._is_addressable = workspace.is_addressable
        self._store = store
        self._facts = facts
        self._walk = walk
        self._most_bytes = most_bytes
        self._versions: dict[Origin, str] = {}
        self.drafted: Final[dict[str, tuple[str, DraftNode | None]]] = {}
        """By lock key, the paths of which anything was said, and what."""
        self._inside: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """By the key of a folder, the keys in it that have a node, or of which one below has."""

    def standing(self, path: str) -> DraftNode | None:
        """Return what stands at a path."""
        try:
            stat = self._store.stat(WorkspacePath(path))
        except FileToolsError:
            return None  # what cannot be reached is nothing that could be put back
        return None if stat is None else self._node(Origin(path=path), stat)

    def standing_below(self, path: str) -> Iterable[str]:
        """Return the paths of all that stands below a folder, folders before what is in them."""
        return [below for below in self._walk(WorkspacePath(path)) if self._is_seen(below)]

    def trashed(self, path: str, trash: str, mode: int | None = None) -> dict[str, DraftNode]:
        """Return by its path what would come back out of the trash with a folder to its path, the folder itself first.

        It has the mode that it had when it went there, where that is given.
        """
        found: dict[str, DraftNode] = {}
        for relative, stat in self._store.trashed(WorkspacePath(path), trash):
            full = f"{path}/{relative}" if relative else path
            node = self._node(Origin(path=full, trash=trash, top=path), stat)
            if not relative and node.kind == "directory" and mode is not None:
                node = replace(node, mode=mode)
            if self._is_seen(full):
                found[full] = node
        return found

    def version(self, node: DraftNode) -> str:
        """Return the version of a file; a plan takes it for the same as long as it lives."""
        if node.version is not None:
            return node.version
        assert node.origin is not None
        if node.origin not in self._versions:
            self._versions[node.origin] = self.read_version(node)
        return self._versions[node.origin]

    def read_version(self, node: DraftNode) -> str:
        """Return the version of the file that is at the origin of a node now."""
        at = None if node.origin is None or node.origin.trash is not None else WorkspacePath(node.origin.path)
        stat = None if at is None or node.kind == "symlink" else self._store.stat(at)
        known = None if stat is None else self._facts.get(stat.identity)
        return version_of(self._content_at(node)) if known is None else known.version

    def content(self, node: DraftNode) -> bytes:
        """Return the bytes of a file.

        Raises:
            VersionGoneError: They are not kept.
        """
        if node.version is None:
            return self._content_at(node)
        return self.contents.get(node.version) if node.made is None else node.made

    def _content_at(self, node: DraftNode) -> bytes:
        origin, store = node.origin, self._store
        assert origin is not None
        if origin.trash is not None:
            return store.read_trashed(WorkspacePath(origin.top), origin.trash, origin.path[len(origin.top) + 1 :])
        path = WorkspacePath(origin.path)
        return store.read_link(path) if node.kind == "symlink" else store.read(path, limit=self._most_bytes)[0]

    def _is_seen(self, path: str) -> bool:
        """Whether a path is not inside something "other"."""
        return self._is_addressable(path.rpartition("/")[0] or path)

    def _node(self, origin: Origin, stat: FileStat) -> DraftNode:
        kind: EntryType = stat.type if self._is_addressable(origin.path) else "other"
        return DraftNode(kind=kind, origin=origin, mode=None if kind == "symlink" else stat.mode)

    def at(self, path: str) -> DraftNode | None:
        """Return what would stand at a path."""
        drafted = self.drafted.get(self.key(path))
        return self.standing(path) if drafted is None else drafted[1]

    def put(self, path: str, node: DraftNode | None) -> None:
        """Have something stand at a path, or nothing."""
        key = self.key(path)
        for each in within(key):
            self._inside[each.rpartition("/")[0]][each] = None
        self.drafted[key] = (path, node)

    def move(self, source: str, destination: str) -> None:
        """Have what stands at one path, with all below it, stand at another."""
        found = [(path, self.at(path)) for path in (source, *self.below(source))]
        # First, as some names may be the same: a folder may go into itself, or change the case of its name.
        for path, _ in found:
            self.put(path, None)
        for path, node in found:
            if node is not None:
                self.put(f"{destination}{path[len(source) :]}", node)

    def below(self, folder: str) -> Iterator[str]:
        """Yield the paths of all that would stand below a folder."""
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

    def keep_within(self, path: str) -> None:
        """Forget all that was said of anything but a path, what is below it, and missing folders above it.

        What would have come from elsewhere is made anew, and stays there, too.
        """
        top = self.key(path)
        is_needed = any(node is not None and top in within(key) for key, (_, node) in self.drafted.items())
        above = set(within(top)) - {top} if is_needed else set()
        for key, (where, node) in list(self.drafted.items()):
            if top in within(key):
                self.drafted[key] = (where, self.made_anew(node, lambda origin: top not in within(origin)))
            elif not (key in above and node is not None and self.standing(where) is None):
                del self.drafted[key]

    def made_anew(self, node: DraftNode | None, is_elsewhere: Callable[[str], bool]) -> DraftNode | None:
        """Return a node without its origin, if that is a name in the tree whose lock key says so."""
        origin = None if node is None else node.origin
        if node is None or origin is None or origin.trash is not None or not is_elsewhere(self.key(origin.path)):
            return node
        return replace(self.with_bytes(node), origin=None)

    def with_bytes(self, node: DraftNode) -> DraftNode:
        """Return a node that has its bytes, if it has any, wherever it goes and whatever becomes of what is at its origin."""
        if node.kind == "directory":
            return node
        named = replace(node, version=self.version(node))
        try:
            self.content(named)
        except VersionGoneError:
            return named if node.version is not None else replace(named, made=self._content_at(node))
        return named

    def changes(self) -> list[Drafted]:
        """Return each path whose draft differs from the current tree."""
        found = [Drafted(path=path, now=self.standing(path), then=node) for path, node in self.drafted.values()]
        return [one for one in found if not self.is_same(one.now, one.then)]

    def is_same(self, now: DraftNode | None, then: DraftNode | None) -> bool:
        """Whether a node is what another one is, wherever it comes from."""
        if now is None or then is None or now == then:
            return now == then
        if now.kind != then.kind or now.kind == "other":
            return now.kind == then.kind
        if now.kind == "directory":
            return then.mode in (None, now.mode)
        return now.mode == then.mode and self.version(now) == self.version(then)


def within(key: str) -> Iterator[str]:
    """Yield a lock key and those of the folders above, innermost first."""
    while key:
        yield key
        key = key.rpartition("/")[0]
