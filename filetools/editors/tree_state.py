"""The tree of files as an editor shows it: built from listings, kept in place as the bus tells of changes."""

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
"""How often `refresh` lists what became stale while it listed."""
KEPT_CHANGES: Final = 1000
"""The changes heard last, by which one that comes late is judged."""


class Listed(Protocol):
    """What `refresh` asks; a facade is one."""

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
    """One name of a tree, with all below. Lives as long as the tree has it."""

    type: EntryType
    is_expanded: bool = False
    children: dict[str, NameNode] = field(default_factory=dict)

    def walk(self, path: str = "") -> Iterator[tuple[str, NameNode]]:
        """Yield path and node of all below, in the order of a listing."""
        for name, child in sorted(self.children.items(), key=_order):
            inner = f"{path}/{name}" if path else name
            yield inner, child
            yield from child.walk(inner)

    def find(self, path: str) -> NameNode | None:
        """Return what stands at a path below; "" is this node."""
        node: NameNode | None = self
        for name in _names(path):
            node = node.children.get(name) if node is not None else None
        return node

    def folders(self, path: str) -> list[NameNode]:
        """Return this node and the folders on the way to a path and at it, made where they are missing."""
        found = [self]
        for name in _names(path):
            node = found[-1].children.get(name)
            if node is None or node.type != "directory":
                node = found[-1].children[name] = NameNode("directory")
            found.append(node)
        return found

    def put(self, path: str, node: NameNode) -> None:
        """Let a node stand at a path below, unless something of its type is there."""
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
    """A tree of files; follows the bus. Lives as long as the editor; use it on the bus's loop.

    Attach it, then `refresh` it. A created file expands the folders above it, a deleted folder goes with all below, a
    moved one keeps what is expanded. What events cannot tell is never guessed: `stale` names the folders to list again.

    Every change but one says itself what is there afterwards, so it may be taken in twice, or after a listing that shows
    it. The one is a moved folder: it takes along what the tree has below it.

    Args:
        exclude: Patterns that listings leave out; the workspace's `settings.exclude`.
    """

    def __init__(self, *, exclude: Sequence[str] = DEFAULT_EXCLUDES) -> None:
        self._rules = compile_patterns((), defaults=exclude)
        self._root = NameNode("directory", is_expanded=True)
        self._stale = {""}
        """None is within another."""
        self._listings: list[list[TreeEvent | None]] = []
        """For each listing that is under way, what happened meanwhile; None stands for what nobody knows."""
        self._listed = 0
        """The newest change that a listing may show in part."""
        self._kept: dict[int, tuple[str, ...]] = {}
        self._forgotten = 0
        self._subscriptions: list[Subscription] = []

    @property
    def stale(self) -> frozenset[str]:
        """The folders to list again, with all below; "" is the root. At first it is the root."""
        return frozenset(self._stale)

    def entries(self, *, visible_only: bool = False) -> list[TreeEntry]:
        """Return all rows in the order of a listing, or those that no closed folder hides."""
        found: list[TreeEntry] = []
        closed = None
        for path, node in self._root.walk():
            if visible_only and closed is not None and _is_within(path, closed):
                continue
            closed = None if node.is_expanded else path
            found.append(TreeEntry(path=path, type=node.type, is_expanded=node.is_expanded))
        return found

    def expand(self, path: AnyPath, *, is_expanded: bool = True) -> None:
        """Expand or close a folder.

        Raises:
            InvalidArgumentError: There is no such folder in the tree.
        """
        path = plain_path(path)
        node = self._root.find(path)
        if node is None or node.type != "directory":
            raise InvalidArgumentError(f"No folder {path!r} is in the tree", path=path)
        node.is_expanded = is_expanded

    def attach(self, bus: EventBus) -> None:
        """Follow a bus from now on; attach before the first listing."""
        self._subscriptions += [bus.subscribe(name, self.apply) for name in FOLLOWED]

    def detach(self) -> None:
        """Follow no bus any more; may be called twice."""
        for subscription in self._subscriptions:
            subscription.unsubscribe()
        self._subscriptions.clear()

    async def refresh(self, files: Listed) -> bool:
        """List what is stale until nothing is; return whether nothing is left.

        Raises:
            FileToolsError: A listing failed for another reason than that its folder is gone.
        """
        for _ in range(MOST_ROUNDS):
            for folder in sorted(self._stale):
                if folder in self._stale:
                    await self._list(files, folder)
            if not self._stale:
                return True
        return False

    def apply(self, event: Event) -> None:
        """Take in one event; events about other things, or known already, change nothing.

        A process hears of its own changes at once and of those of others a moment later, so numbers do not only grow. A
        late change does no harm unless a newer one at the same place, above or below was applied before it.
        """
        if isinstance(event, TreeEvent) and event.name in FOLLOWED and event.seq not in self._kept:
            if self._is_crossed(event):
                self._miss()
            else:
                for told in self._listings:
                    told.append(event)
                self._take(event, is_certain=event.seq is not None and event.seq > self._listed)
        elif isinstance(event, Resync):
            self._miss()

    def _is_crossed(self, event: TreeEvent) -> bool:
        """Note a change, and return whether it came too late: a newer one touches its paths, or may have."""
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
        for told in self._listings:
            told.append(None)

    async def _list(self, files: Listed, folder: str) -> None:
        told, found, position = list[TreeEvent | None](), NameNode("directory"), None
        self._listings.append(told)
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
            self._listings.remove(told)
        old = self._root.find(folder)
        if position is None or old is None or old.type != "directory":
            self._stale.discard(folder)
            self._mark(_parent_of(folder))
            return
        node = found.find(folder) or NameNode("directory")
        node.expand_like(old)
        old.children, self._listed = node.children, max(self._listed, position)
        self._stale = {one for one in self._stale if not _is_within(one, folder)}
        for event in told:
            if event is None:
                self._mark(folder)
            elif any(_is_within(path, folder) for path in _paths_of(event)):
                self._take(event, is_certain=False)

    def _mark(self, folder: str) -> None:
        """Ask for a folder, or the nearest above that is there, to be listed again."""
        while (node := self._root.find(folder)) is None or node.type != "directory":
            folder = _parent_of(folder)
        if not any(_is_within(folder, one) for one in self._stale):
            self._stale = {folder, *(one for one in self._stale if not _is_within(one, folder))}

    def _take(self, event: TreeEvent, *, is_certain: bool) -> None:
        """Take a change in.

        Args:
            event: The change.
            is_certain: Whether the tree stands as it was right before; else a moved folder is listed again.
        """
        folder = _parent_of(event.path)
        match event:
            case FileCreated():
                is_known = self._root.find(folder) is not None
                if self._add(event.path, "file"):
                    for node in self._root.folders(folder):
                        node.is_expanded = True
                    if not is_known:
                        self._mark(folder)  # made by the way, or gone already
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
        """Move a folder; list both ends again where it is not certain that the tree has it as it was."""
        inner = {one for one in self._stale if one and _is_within(one, old)}
        stands = self._root.find(new) is not None
        node = self._drop(old)
        if self._rules.matches(new, True):
            return
        is_moved = not stands and node is not None and node.type == "directory"
        self._root.put(new, node if is_moved and node is not None else NameNode("directory"))
        for one in inner:
            self._mark(f"{new}{one[len(old) :]}")
        if not (is_certain and is_moved):
            self._mark(new)
            self._mark(_parent_of(old))


def _paths_of(event: TreeEvent) -> tuple[str, ...]:
    """Return where a change happened: its path, and before that the old one of a move."""
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
