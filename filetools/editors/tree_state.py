"""The tree of files as an editor shows it: built from listings, kept in place as the bus tells of changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from msgspec import Struct, field

from filetools.editors.known_tree import KnownTree, paths_of
from filetools.editors.tree_nodes import is_within, parent_of
from filetools.errors import DirectoryNotFoundError, InvalidArgumentError, PathNotDirectoryError
from filetools.events.bus import EventBus
from filetools.events.subscriptions import Subscription
from filetools.events.types import Event, Resync, TreeEvent
from filetools.models.listing import ListResult
from filetools.models.words import EntryType
from filetools.paths.lexical import AnyPath, plain_path
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


class TreeListing(Struct, kw_only=True):
    """The pages of one listing of a folder and all below it; lives until it is finished or given up."""

    folder: str
    entries: dict[str, EntryType] = field(default_factory=dict)
    told: list[TreeEvent] = field(default_factory=list)
    """What happened meanwhile; the pages may show it or not."""
    has_gap: bool = False

    def add(self, page: ListResult) -> None:
        """Take in a page."""
        self.entries.update((entry.path, entry.type) for entry in page.entries)


class TreeState:
    """A tree of files; follows the bus. Lives as long as the editor; use it on the bus's loop.

    Attach it, then `refresh` it. A created file expands the folders above it, a deleted folder goes with all below, a
    moved one keeps what is expanded. What events cannot tell is never guessed: `stale` names the folders to list again.

    Args:
        exclude: Patterns that listings leave out; the workspace's `settings.exclude`.
    """

    def __init__(self, *, exclude: Sequence[str] = DEFAULT_EXCLUDES) -> None:
        self._tree = KnownTree(exclude)
        self._arrivals = Arrivals()
        self._listings: list[TreeListing] = []
        self._subscriptions: list[Subscription] = []

    @property
    def stale(self) -> frozenset[str]:
        """The folders to list again, with all below; "" is the root. At first it is the root."""
        return frozenset(self._tree.stale)

    def entries(self, *, visible_only: bool = False) -> list[TreeEntry]:
        """Return all rows in the order of a listing, or those that no closed folder hides."""
        found: list[TreeEntry] = []
        closed = None
        for path, node in self._tree.nodes.root.walk():
            if visible_only and closed is not None and is_within(path, closed):
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
        node = self._tree.nodes.find(path)
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
            for folder in sorted(self._tree.stale):
                if folder in self._tree.stale:
                    await self._list(files, folder)
            if not self._tree.stale:
                return True
        return False

    def begin(self, folder: str) -> TreeListing:
        """Begin to list a folder, before its first page is asked for."""
        listing = TreeListing(folder=folder)
        self._listings.append(listing)
        return listing

    def finish(self, listing: TreeListing, position: int | None) -> None:
        """Take a listing over, and what was told meanwhile.

        Args:
            listing: All pages were added, in order.
            position: Number of the workspace's newest change, asked for after the last page. None gives the listing up:
                its folder could not be listed, so that the one above must be.
        """
        self._listings.remove(listing)
        if position is None or not self._tree.replace(listing.folder, listing.entries, position):
            self._tree.give_up(listing.folder)
            return
        for event in listing.told:
            if any(is_within(path, listing.folder) for path in paths_of(event)):
                self._tree.take(event, is_certain=False)
        if listing.has_gap:
            self._tree.mark(listing.folder)

    def apply(self, event: Event) -> None:
        """Take in one event; events about other things, or known already, change nothing."""
        if isinstance(event, Resync):
            self._miss("")
        elif isinstance(event, TreeEvent) and event.name in FOLLOWED:
            verdict = self._arrivals.judge(event.seq, paths_of(event))
            if verdict == "next":
                for listing in self._listings:
                    listing.told.append(event)
                self._tree.take(event, is_certain=True)
            elif verdict == "crossed" and event.seq is not None:
                for path in self._arrivals.places(event.seq, paths_of(event)):
                    self._miss(parent_of(path))

    async def _list(self, files: Listed, folder: str) -> None:
        listing = self.begin(folder)
        position = None
        try:
            page = await files.list_files(folder, recursive=True, details=False)
            listing.add(page)
            while page.next_cursor is not None:
                page = await files.list_files(folder, recursive=True, details=False, cursor=page.next_cursor)
                listing.add(page)
            position = int((await files.status())["position"])
        except (DirectoryNotFoundError, PathNotDirectoryError):
            if not folder:
                raise
        finally:
            self.finish(listing, position)

    def _miss(self, folder: str) -> None:
        self._tree.mark(folder)
        for listing in self._listings:
            if is_within(folder, listing.folder) or is_within(listing.folder, folder):
                listing.has_gap = True


KEPT_ARRIVALS: Final = 1000

Verdict = Literal["next", "known", "crossed"]


class Arrivals:
    """Judges whether a change that is told may still be applied. Lives as long as the tree that it is asked for.

    A process hears of its own changes at once and of those of others a moment later, so numbers do not only grow. A
    late change does no harm unless a newer one at the same place, above or below was applied before it.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[int, tuple[str, ...]]] = deque(maxlen=KEPT_ARRIVALS)
        self._newest = 0

    def judge(self, number: int | None, paths: tuple[str, ...]) -> Verdict:
        """Return what a change is: the next one, one that was told before, or one that came too late.

        Args:
            number: Its number in the journal; None for what the journal does not keep.
            paths: Where it happened.
        """
        if number is None:
            return "next"
        verdict: Verdict = "next" if number > self._newest else self._judge_late(number, paths)
        if verdict != "known":
            self._kept.append((number, paths))
        self._newest = max(self._newest, number)
        return verdict

    def places(self, number: int, paths: tuple[str, ...]) -> set[str]:
        """Return the paths of a change that came too late, and where newer ones may have moved what it is about."""
        found = set(paths)
        for one, others in sorted(self._kept):
            if one > number and _touch(tuple(found), others):
                found.update(others)
        return found

    def _judge_late(self, number: int, paths: tuple[str, ...]) -> Verdict:
        if any(number == one for one, _ in self._kept):
            return "known"
        if len(self._kept) == KEPT_ARRIVALS and number < min(one for one, _ in self._kept):
            return "crossed"
        newer = (others for one, others in self._kept if one > number)
        return "crossed" if any(_touch(paths, others) for others in newer) else "next"


def _touch(paths: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(is_within(one, other) or is_within(other, one) for one in paths for other in others)
