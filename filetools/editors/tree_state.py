"""The tree of files as an editor shows it: built from listings, updated by events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct, field

from filetools.errors import InvalidArgumentError
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
"""How often `refresh` lists a tree again that became stale meanwhile."""


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

    def walk(self, path: str = "", *, visible_only: bool = False) -> Iterator[tuple[str, NameNode]]:
        """Yield path and node of everything below, in the order of a listing."""
        for name, child in sorted(self.children.items(), key=_order):
            inner = f"{path}/{name}" if path else name
            yield inner, child
            if child.is_expanded or not visible_only:
                yield from child.walk(inner, visible_only=visible_only)

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

    Call `attach`, then `refresh`, and `refresh` again whenever the tree is stale. A created file expands the folders above
    it, a deleted folder is removed with everything below, and a moved folder keeps what is expanded.

    Args:
        exclude: Patterns that listings leave out; the workspace's `settings.exclude`.
    """

    def __init__(self, *, exclude: Sequence[str] = DEFAULT_EXCLUDES) -> None:
        self._rules = compile_patterns((), defaults=exclude)
        self._root = NameNode("directory", is_expanded=True)
        self._is_stale = True
        self._meanwhile: list[TreeEvent] = []
        """The changes since the current listing began, to be applied after it, too."""
        self._is_listing = asyncio.Lock()
        self._newest = 0
        """Number of the newest change that the tree may include."""
        self._subscriptions: list[Subscription] = []

    @property
    def is_stale(self) -> bool:
        """True if events do not determine the whole tree, so that it is to be listed."""
        return self._is_stale

    def entries(self, *, visible_only: bool = False) -> list[TreeEntry]:
        """Return all rows in the order of a listing, or only those not hidden by a collapsed folder."""
        return [
            TreeEntry(path=path, type=node.type, is_expanded=node.is_expanded)
            for path, node in self._root.walk(visible_only=visible_only)
        ]

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
        """List the tree until it is not stale; return False if it still is, because changes keep coming.

        Raises:
            FileToolsError: A listing failed.
        """
        async with self._is_listing:
            for _ in range(MOST_ROUNDS):
                if self._is_stale:
                    await self._list(files)
        return not self._is_stale

    def apply(self, event: Event) -> None:
        """Apply one event; unrelated events are ignored.

        A process gets its own changes at once and those of other processes a moment later, so numbers may go down. Such a
        late change, or one that the listing may include, is not applied: it makes the tree stale.
        """
        if isinstance(event, TreeEvent) and event.name in FOLLOWED:
            if event.seq is None or event.seq <= self._newest:
                self._is_stale = True
                return
            self._newest = event.seq
            is_whole = self._take(event)
            if self._is_listing.locked():
                self._meanwhile.append(event)
                is_whole = not isinstance(event, DirectoryRenamed)  # a listing may show a part of what moves meanwhile
            self._is_stale = self._is_stale or not is_whole
        elif isinstance(event, Resync):
            self._is_stale = True

    async def _list(self, files: Listed) -> None:
        found, cursor, is_done = NameNode("directory"), None, False
        self._is_stale, self._meanwhile = False, []
        try:
            while not is_done:
                page = await files.list_files("", recursive=True, details=False, cursor=cursor)
                for entry in page.entries:
                    found.put(entry.path, NameNode(entry.type))
                cursor, is_done = page.next_cursor, page.next_cursor is None
            position = int((await files.status())["position"])
        except BaseException:
            self._is_stale = True
            raise
        former, self._root, self._newest = self._root, found, max(self._newest, position)
        for event in self._meanwhile:
            self._is_stale = not self._take(event) or self._is_stale
        self._root.expand_like(former)

    def _take(self, event: TreeEvent) -> bool:
        """Apply the next change; returns False if it brings a folder into the tree whose content no event reported."""
        folder, is_whole = _parent_of(event.path), True
        match event:
            case FileCreated():
                is_known = self._root.find(folder) is not None
                if self._add(event.path, "file"):
                    is_whole = is_known
                    for node in self._root.folders(folder):
                        node.is_expanded = True
            case DirectoryCreated():
                self._add(event.path, "directory")
            case FileDeleted() | DirectoryDeleted():
                self._drop(event.path)
            case FileRenamed():
                self._drop(event.old_path)
                self._add(event.path, "file")
            case DirectoryRenamed():
                is_whole = self._rename(event.old_path, event.path)
        return is_whole

    def _add(self, path: str, kind: EntryType) -> bool:
        is_shown = not self._rules.matches(path, kind == "directory")
        if is_shown:
            self._root.put(path, NameNode(kind))
        return is_shown

    def _drop(self, path: str) -> NameNode | None:
        parent = self._root.find(_parent_of(path))
        return None if parent is None else parent.children.pop(path.rpartition("/")[2], None)

    def _rename(self, old: str, new: str) -> bool:
        node = self._drop(old)
        if self._rules.matches(new, True):
            return True
        if node is None or node.type != "directory":
            self._add(new, "directory")
            return False
        self._drop(new)
        self._root.put(new, node)
        return True


def _parent_of(path: str) -> str:
    return path.rpartition("/")[0]


def _names(path: str) -> list[str]:
    return path.split("/") if path else []


def _order(item: tuple[str, NameNode]) -> tuple[bool, str, str]:
    name, node = item
    return node.type != "directory", name.casefold(), name
