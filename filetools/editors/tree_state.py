"""The tree of files as an editor shows it: built from listings, updated by events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct, field

from filetools.errors import DirectoryNotFoundError, InvalidArgumentError, PathNotDirectoryError
from filetools.events.bus import EventBus
from filetools.events.subscriptions import Subscription
from filetools.events.types import (
    DirectoryCreated,
    DirectoryDeleted,
    DirectoryRenamed,
    Event,
    FileCreated,
    FileDeleted,
    FileRenamed,
    Resync,
    TreeEvent,
)
from filetools.models.searching import ListResult
from filetools.models.words import EntryType
from filetools.paths.lexical import AnyPath, plain_path
from filetools.paths.patterns import compile_patterns
from filetools.settings import DEFAULT_EXCLUDES

FOLLOWED: Final = (
    "file:created",
    "file:deleted",
    "file:renamed",
    "directory:created",
    "directory:deleted",
    "directory:renamed",
    "feed:resync",
)
MOST_ROUNDS: Final = 10
"""How often `refresh` lists folders again that became stale meanwhile."""
KEPT_CHANGES: Final = 1000
"""Number of recent changes kept to judge late ones."""


class Listed(Protocol):
    """The calls that `refresh` needs; a facade has them."""

    async def list_files(
        self, path: str = "", *, recursive: bool = False, cursor: str | None = None, details: bool = True
    ) -> ListResult:
        """Return one page of a folder."""

    async def status(self) -> Mapping[str, Any]:
        """Return the state of the workspace, with the number of its newest change as "position"."""


class TreeEntry(Struct, frozen=True, kw_only=True):
    """One row of a tree, at one moment."""

    path: str
    type: EntryType
    is_expanded: bool = False


class NameNode(Struct):
    """One name of a tree, with everything below it."""

    type: EntryType
    is_expanded: bool = False
    children: dict[str, NameNode] = field(default_factory=dict)

    def walk(self, path: str = "") -> Iterator[tuple[str, NameNode]]:
        """Yield path and node of everything below, in the order of a listing."""
        for name, child in sorted(self.children.items(), key=_order):
            inner = f"{path}/{name}" if path else name
            yield inner, child
            yield from child.walk(inner)

    def find(self, path: str) -> NameNode | None:
        """Return the node at a path below, or None; "" is this node."""
        node: NameNode | None = self
        for name in _names(path):
            node = node.children.get(name) if node is not None else None
        return node

    def folders(self, path: str) -> list[NameNode]:
        """Return this node and the folders down to a path, adding missing ones."""
        found = [self]
        for name in _names(path):
            node = found[-1].children.get(name)
            if node is None or node.type != "directory":
                node = found[-1].children[name] = NameNode("directory")
            found.append(node)
        return found

    def put(self, path: str, node: NameNode) -> None:
        """Put a node at a path below, unless a node of its type is there."""
        folder, _, name = path.rpartition("/")
        known = self.folders(folder)[-1].children
        if name not in known or known[name].type != node.type:
            known[name] = node

    def expand_like(self, other: NameNode) -> None:
        """Expand the folders that are expanded in another tree."""
        self.is_expanded = self.is_expanded or other.is_expanded
        for name, child in other.children.items():
            mine = self.children.get(name)
            if mine is not None and mine.type == child.type == "directory":
                mine.expand_like(child)


class TreeState:
    """A tree of files, updated by events. Use it on the bus's loop.

    Call `attach`, then `refresh`. A created file expands the folders above it, a deleted folder is removed with everything
    below, and a moved folder keeps what is expanded. Folders whose content events do not determine are named by `stale`, to
    be listed again.

    All changes but the move of a folder are idempotent: they may be applied twice, or after a listing that includes them. A
    moved folder takes along what the tree has below it.

    Args:
        exclude: Patterns that listings leave out; the workspace's `settings.exclude`.
    """

    def __init__(self, *, exclude: Sequence[str] = DEFAULT_EXCLUDES) -> None:
        self._rules = compile_patterns((), defaults=exclude)
        self._root = NameNode("directory", is_expanded=True)
        self._stale = {""}
        """Stale folders; none is inside another."""
        self._listings: list[list[TreeEvent | None]] = []
        """For each listing in progress, the events meanwhile; None for missed events."""
        self._listed = 0
        """Number of the newest change that a listing may include in part."""
        self._kept: dict[int, tuple[str, ...]] = {}
        self._forgotten = 0
        self._subscriptions: list[Subscription] = []

    @property
    def stale(self) -> frozenset[str]:
        """The folders to list again, with everything below; "" is the root, the initial value."""
        return frozenset(self._stale)

    def entries(self, *, visible_only: bool = False) -> list[TreeEntry]:
        """Return all rows in the order of a listing, or only those not hidden by a collapsed folder."""
        found: list[TreeEntry] = []
        closed = None
        for path, node in self._root.walk():
            if visible_only and closed is not None and _is_within(path, closed):
                continue
            closed = None if node.is_expanded else path
            found.append(TreeEntry(path=path, type=node.type, is_expanded=node.is_expanded))
        return found

    def expand(self, path: AnyPath, *, is_expanded: bool = True) -> None:
        """Expand or collapse a folder.

        Raises:
            InvalidArgumentError: The tree has no such folder.
        """
        path = plain_path(path)
        node = self._root.find(path)
        if node is None or node.type != "directory":
            raise InvalidArgumentError(f"No folder {path!r} is in the tree", path=path)
        node.is_expanded = is_expanded

    def attach(self, bus: EventBus) -> None:
        """Subscribe to a bus; call it before the first listing."""
        self._subscriptions += [bus.subscribe(name, self.apply) for name in FOLLOWED]

    def detach(self) -> None:
        """Unsubscribe; may be called twice."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()
        self._subscriptions.clear()

    async def refresh(self, files: Listed) -> bool:
        """List stale folders until there are none; return False if some are left.

        Raises:
            FileToolsError: A listing failed, other than because its folder is gone.
        """
        for _ in range(MOST_ROUNDS):
            for folder in sorted(self._stale):
                if folder in self._stale:
                    await self._list(files, folder)
            if not self._stale:
                return True
        return False

    def apply(self, event: Event) -> None:
        """Apply one event; unrelated and already applied events are ignored.

        A process gets its own changes at once and those of other processes a moment later, so numbers may go down. A late
        change is harmless unless a newer change at, above or below its path was applied before it.
        """
        if isinstance(event, TreeEvent) and event.name in FOLLOWED and event.seq not in self._kept:
            if self._is_crossed(event):
                self._miss()
            else:
                for meanwhile in self._listings:
                    meanwhile.append(event)
                self._take(event, is_certain=event.seq is not None and event.seq > self._listed)
        elif isinstance(event, Resync):
            self._miss()

    def _is_crossed(self, event: TreeEvent) -> bool:
        """Note a change; True if it is too late, because a newer change concerns its paths, or may have."""
        number, paths = event.seq, _paths_of(event)
        if number is None:
            return False
        newer = () if number > max(self._kept, default=0) else [self._kept[one] for one in self._kept if one > number]
        self._kept[number] = paths
        if len(self._kept) > KEPT_CHANGES:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._forgotten = max(self._forgotten, oldest)
        touched = (path for others in newer for path in others)
        return number <= self._forgotten or any(
            _is_within(path, other) or _is_within(other, path) for other in touched for path in paths
        )

    def _miss(self) -> None:
        self._stale = {""}
        for meanwhile in self._listings:
            meanwhile.append(None)

    async def _list(self, files: Listed, folder: str) -> None:
        meanwhile, found, position = list[TreeEvent | None](), NameNode("directory"), None
        self._listings.append(meanwhile)
        try:
            cursor, is_done = None, False
            while not is_done:
                page = await files.list_files(folder, recursive=True, details=False, cursor=cursor)
                for entry in page.entries:
                    found.put(entry.path, NameNode(entry.type))
                cursor, is_done = page.next_cursor, page.next_cursor is None
            position = int((await files.status())["position"])
        except (DirectoryNotFoundError, PathNotDirectoryError):
            if not folder:
                raise
        finally:
            self._listings.remove(meanwhile)
        old = self._root.find(folder)
        if position is None or old is None or old.type != "directory":
            self._stale.discard(folder)
            self._mark(_parent_of(folder))
            return
        node = found.find(folder) or NameNode("directory")
        node.expand_like(old)
        old.children, self._listed = node.children, max(self._listed, position)
        self._stale = {one for one in self._stale if not _is_within(one, folder)}
        for event in meanwhile:
            if event is None:
                self._mark(folder)
            elif any(_is_within(path, folder) for path in _paths_of(event)):
                self._take(event, is_certain=False)

    def _mark(self, folder: str) -> None:
        """Mark a folder, or the nearest existing one above it, as stale."""
        while (node := self._root.find(folder)) is None or node.type != "directory":
            folder = _parent_of(folder)
        if not any(_is_within(folder, one) for one in self._stale):
            self._stale = {folder, *(one for one in self._stale if not _is_within(one, folder))}

    def _take(self, event: TreeEvent, *, is_certain: bool) -> None:
        """Apply a change.

        Args:
            event: The change.
            is_certain: True if the tree is in the state right before the change; otherwise a moved folder is listed again.
        """
        folder = _parent_of(event.path)
        match event:
            case FileCreated():
                is_known = self._root.find(folder) is not None
                if self._add(event.path, "file"):
                    for node in self._root.folders(folder):
                        node.is_expanded = True
                    if not is_known:
                        self._mark(folder)  # made implicitly, or already gone
            case DirectoryCreated():
                self._add(event.path, "directory")
            case FileDeleted() | DirectoryDeleted():
                self._drop(event.path)
            case FileRenamed():
                self._drop(event.old_path)
                self._add(event.path, "file")
            case DirectoryRenamed():
                self._rename(event.old_path, event.path, is_certain=is_certain)

    def _add(self, path: str, kind: EntryType) -> bool:
        is_shown = not self._rules.matches(path, kind == "directory")
        if is_shown:
            self._root.put(path, NameNode(kind))
        return is_shown

    def _drop(self, path: str) -> NameNode | None:
        self._stale = {one for one in self._stale if not one or not _is_within(one, path)}
        parent = self._root.find(_parent_of(path))
        return None if parent is None else parent.children.pop(path.rpartition("/")[2], None)

    def _rename(self, old: str, new: str, *, is_certain: bool) -> None:
        """Move a folder; both ends become stale unless the tree certainly had the right content."""
        inner = {one for one in self._stale if one and _is_within(one, old)}
        exists = self._root.find(new) is not None
        node = self._drop(old)
        if self._rules.matches(new, True):
            return
        is_moved = not exists and node is not None and node.type == "directory"
        self._root.put(new, node if is_moved and node is not None else NameNode("directory"))
        for one in inner:
            self._mark(f"{new}{one[len(old) :]}")
        if not (is_certain and is_moved):
            self._mark(new)
            self._mark(_parent_of(old))


def _paths_of(event: TreeEvent) -> tuple[str, ...]:
    """Return the path of a change, for a move preceded by the old path."""
    old_path = getattr(event, "old_path", None)
    return (event.path,) if old_path is None else (old_path, event.path)


def _parent_of(path: str) -> str:
    return path.rpartition("/")[0]


def _is_within(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


def _names(path: str) -> list[str]:
    return path.split("/") if path else []


def _order(item: tuple[str, NameNode]) -> tuple[bool, str, str]:
    name, node = item
    return node.type != "directory", name.casefold(), name
