"""Pages of a listing: each touches what it shows and the folders above, whatever the size of the tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Final, get_args

from filetools.content.identity_cache import IdentityCache
from filetools.content.pages import CursorValue, decode_cursor, encode_cursor
from filetools.errors import InvalidArgumentError
from filetools.models.listing import ListResult
from filetools.models.searching import SearchResult
from filetools.models.words import EntryType, Row
from filetools.paths.names import escaped
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.folder import SortedFolder
from filetools.search.ignores import IgnoreCache
from filetools.search.options import ListOptions
from filetools.search.source import Abort, Listable, Source
from filetools.search.walk import OrderedWalk

MAX_CACHED_NAMES: Final = 1_048_576
FOLDERS: Final = IdentityCache[SortedFolder](MAX_CACHED_NAMES)
"""Shared by all listings of the process."""
IGNORES: Final = IgnoreCache()

FIRST_PORTION: Final = 256
LARGEST_PORTION: Final = 4_096
"""Rows made in one go, in some 10 ms."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_START_AGAIN: Final = "Pass next_cursor with the arguments of the first page, or leave it out to start again."

_CAN_BE_ADDRESSED: Final = itemgetter(2)

Wanted = Callable[[str], bool]


def list_page(
    store: Listable,
    path: WorkspacePath,
    options: ListOptions,
    cursor: str | None = None,
    *,
    abort: Abort | None = None,
) -> ListResult:
    """Return one page of the entries of a folder, for a worker thread.

    Depth first; in a folder the subfolders first, then by name without case, then by exact name. A cursor stays valid
    while files come and go, its own too: every entry that exists throughout is given exactly once.

    Args:
        store: What to list.
        path: The folder.
        options: What to show.
        cursor: `next_cursor` of the page before; None for the first.
        abort: Looked at for every folder and every 1,024 names; True stops the listing.

    Returns:
        The page. `total` is known for one folder, not for a tree. Names that cannot be written as a path are escaped
        and have `addressable` False.

    Raises:
        InvalidArgumentError: An option is out of range, or the cursor is not one of this listing.
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError: Of the folder itself.
        AbortedError: `abort` said so.
    """
    source = Source(store, FOLDERS, abort, "Listing")
    page = Page(source, path, options, options.fingerprint(path))
    with OrderedWalk(source, path, options, options.rules(), IGNORES) as walk:
        return page.build(walk, cursor, total=None if options.recursive else walk.total())


def rows_below(
    store: Listable, path: WorkspacePath, options: ListOptions, *, abort: Abort | None = None
) -> Generator[list[Row], None, None]:
    """Yield all that a listing shows, in its order, in portions: the first small, the others of up to 4,096 rows.

    Closing the iterator ends the walk.

    Args:
        store: What to list.
        path: The folder.
        options: What to show; `limit` and `details` say nothing here.
        abort: As for `list_page`.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError: Of the folder itself.
        AbortedError: `abort` said so.
    """
    source, count = Source(store, FOLDERS, abort, "Listing"), FIRST_PORTION
    with OrderedWalk(source, path, options, options.rules(), IGNORES) as walk:
        while rows := walk.take(count):
            if not all(map(_CAN_BE_ADDRESSED, rows)):
                rows = [row if row[2] else (escaped(row[0]), row[1], False) for row in rows]
            yield rows
            count = min(2 * count, LARGEST_PORTION)


class Page:
    """Makes the result of one page from a walk."""

    def __init__(self, source: Source, path: WorkspacePath, options: ListOptions, fingerprint: str) -> None:
        self._source = source
        self._path = path
        self._options = options
        self._fingerprint = fingerprint
        self._counts = False
        """Whether the cursor tells how many entries the pages before had."""
        self._found = 0

    def build_counted(self, walk: OrderedWalk, cursor: str | None, *, wanted: Wanted) -> SearchResult:
        """Return the page of a search behind `cursor`, with the number of matches up to its end."""
        self._counts = True
        fields = self._fields(walk, cursor, wanted)
        is_last = fields["next_cursor"] is None
        return SearchResult.model_validate({**fields, "total": self._found, "total_is_complete": is_last})

    def build(
        self, walk: OrderedWalk, cursor: str | None, *, total: int | None = None, wanted: Wanted | None = None
    ) -> ListResult:
        """Return the page behind `cursor`."""
        return ListResult.model_validate({**self._fields(walk, cursor, wanted), "total": total})

    def _fields(self, walk: OrderedWalk, cursor: str | None, wanted: Wanted | None) -> dict[str, object]:
        if cursor is not None:
            walk.resume(*self._decode(cursor))
        # One more than the page holds tells whether there is a next one.
        rows = walk.take(self._options.limit + 1, wanted)
        is_last = len(rows) <= self._options.limit
        shown = rows[: self._options.limit]
        self._found += len(shown)
        return {
            "path": str(self._path),
            "entries": self._entries(shown),
            "truncated": not is_last,
            "next_cursor": None if is_last else self._encode(shown[-1]),
        }

    def _encode(self, row: Row) -> str:
        path, kind, _ = row
        relative = path[len(self._path) + 1 :] if self._path else path
        place: dict[str, CursorValue] = {"after": str(relative), "type": kind, "of": self._fingerprint}
        return encode_cursor(place | ({"found": self._found} if self._counts else {}))

    def _decode(self, cursor: str) -> tuple[str, EntryType]:
        fields = decode_cursor(cursor)
        after, kind = fields.get("after"), fields.get("type")
        if not isinstance(after, str) or not after:
            raise InvalidArgumentError("bad cursor", suggested_action=_START_AGAIN)
        if fields.get("of") != self._fingerprint:
            raise InvalidArgumentError(
                "The cursor belongs to a listing of another path or with other options", suggested_action=_START_AGAIN
            )
        found = fields.get("found", 0)
        self._found = found if isinstance(found, int) and found >= 0 else 0
        for known in get_args(EntryType):
            if kind == known:
                return after, known
        raise InvalidArgumentError("bad cursor", suggested_action=_START_AGAIN)

    def _entries(self, rows: Sequence[Row]) -> list[dict[str, object]]:
        entries: list[dict[str, object]] = []
        names: defaultdict[str, list[str]] = defaultdict(list)
        inside: defaultdict[str, list[dict[str, object]]] = defaultdict(list)
        for path, kind, can_be_addressed in rows:
            parent, _, name = path.rpartition("/")
            entry: dict[str, object] = {"name": name, "path": path, "type": kind}
            if not can_be_addressed:
                entry = {"name": escaped(name), "path": escaped(path), "type": kind, "addressable": False}
            entries.append(entry)
            names[parent].append(name)
            inside[parent].append(entry)
        if not self._options.details:
            return entries
        for several, found in zip(inside.values(), self._source.facts(names), strict=True):
            for entry, facts in zip(several, found, strict=True):
                if facts is not None:
                    if entry["type"] == "file":
                        entry["size"] = facts[0]
                    entry["modified"] = _moment(facts[1])
        # Whatever vanished since it was seen is left out.
        return [entry for entry in entries if "modified" in entry]


def _moment(nanoseconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(0, nanoseconds // 1_000_000_000, nanoseconds // 1_000 % 1_000_000)
    except OverflowError:  # a file system may hold a year beyond 9999
        return None
