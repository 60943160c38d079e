"""Pages of a listing or a name search. A page reads only what it shows and the folders above, however large the tree is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from filetools.errors import AccessDeniedError, InvalidArgumentError
from filetools.models.searching import ListResult, SearchResult
from filetools.models.words import Row
from filetools.paths.lexical import is_addressable
from filetools.paths.names import escaped
from filetools.paths.patterns import is_glob, matcher_of
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.options import ListOptions, decode_cursor, encode_cursor
from filetools.search.source import Abort, Listable, Source
from filetools.search.walk import Found, OrderedWalk

FIRST_PORTION: Final = 256
LARGEST_PORTION: Final = 4_096
"""Maximum number of rows per portion, which takes about 10 ms."""

COMPARED: Final = 256
"""Number of names between two progress reports of a search."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

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

    Depth first; within a folder, subfolders first, then by case-insensitive name, then by exact name. A cursor stays valid
    while files are added and removed, even its own: every entry that exists throughout is returned exactly once.

    Args:
        store: The store to list.
        path: The folder.
        options: Select the entries to show.
        cursor: `next_cursor` of the previous page; None for the first.
        abort: Called for every folder and every 1,024 names; True stops the listing.

    Returns:
        The page. `total` is known for one folder, but not for a tree. Names that cannot be written as a path are escaped
        and have `addressable` False.

    Raises:
        InvalidArgumentError: An option is out of range, or the cursor does not belong to this listing.
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError: For the folder itself.
        AbortedError: `abort` returned True.
    """
    source = Source(store, abort, "Listing")
    walk = OrderedWalk(source, path, options, options.rules())
    total = None if options.recursive else walk.total()
    fields, _ = _page(walk, cursor, options.fingerprint(path))
    return ListResult.model_validate({**fields, "total": total})


def rows_below(
    store: Listable, path: WorkspacePath, options: ListOptions, *, abort: Abort | None = None
) -> Iterator[list[Row]]:
    """Yield all rows of a listing, in order, in portions: a small first one, then up to 4,096 rows each.

    Args:
        store: The store to list.
        path: The folder.
        options: Select the entries to show; `limit` and `details` are ignored.
        abort: As for `list_page`.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError: For the folder itself.
        AbortedError: `abort` returned True.
    """
    source, count = Source(store, abort, "Listing"), FIRST_PORTION
    walk = OrderedWalk(source, path, options, options.rules())
    while rows := walk.take(count):
        yield [(path, kind, True) if is_addressable(path) else (escaped(path), kind, False) for path, kind in rows]
        count = min(2 * count, LARGEST_PORTION)


def search_files(
    store: Listable,
    path: WorkspacePath,
    pattern: str,
    options: ListOptions | None = None,
    cursor: str | None = None,
    *,
    abort: Abort | None = None,
    looked: Callable[[int], None] | None = None,
) -> SearchResult:
    """Return one page of the files and folders whose path matches a pattern, in listing order.

    Args:
        store: The store to search.
        path: The folder to search below.
        pattern: Without `*`, `?`, `[` and `{a,b}` any part of the path, ignoring case; otherwise a glob, see `Glob`.
        options: As for a listing; always recursive. By default ignore files apply and hidden names are skipped.
        cursor: `next_cursor` of the previous page; None for the first.
        abort: As for `list_page`.
        looked: Called from time to time with the number of names compared so far.

    Raises:
        InvalidArgumentError: The pattern is empty, an option is out of range, or the cursor belongs to another search.
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError: For the folder itself.
        AbortedError: `abort` returned True.
    """
    chosen = replace(options or ListOptions(use_gitignore=True, include_hidden=False), recursive=True)
    fits, count = _wanted(pattern), 0

    def wanted(path: str) -> bool:
        nonlocal count
        count += 1
        if looked is not None and not count % COMPARED:
            looked(count)
        return fits(path)

    source = Source(store, abort, "The search")
    closed: list[AccessDeniedError] = []
    walk = OrderedWalk(source, path, chosen, chosen.rules(), on_closed=closed.append)
    fields, found = _page(walk, cursor, chosen.fingerprint(path, pattern), wanted)
    is_complete = fields["next_cursor"] is None and not closed
    more = {} if found else {"searched": count}
    return SearchResult.model_validate({**fields, "total": found, "total_is_complete": is_complete, **more})


def _wanted(pattern: str) -> Wanted:
    if not pattern:
        raise InvalidArgumentError("The pattern is empty")
    if is_glob(pattern):
        return matcher_of(pattern)
    part = pattern.replace("\\", "/").casefold()
    return lambda path: part in path.casefold()


def _page(
    walk: OrderedWalk, cursor: str | None, fingerprint: str, wanted: Wanted | None = None
) -> tuple[dict[str, object], int]:
    """Return the fields of the page after a cursor, and the number of entries found up to its end."""
    options, found = walk.options, 0
    if cursor is not None:
        fields = decode_cursor(cursor, {"after": str, "type": str, "found": int}, of=fingerprint)
        found = max(int(fields["found"]), 0)
        walk.resume(str(fields["after"]), is_directory=fields["type"] == "directory")
    # One entry more than the page holds shows if there is a next page.
    rows = walk.take(options.limit + 1, wanted)
    shown, is_last = rows[: options.limit], len(rows) <= options.limit
    found += len(shown)
    following = None
    if not is_last:
        path, kind = shown[-1]
        relative = path[len(walk.path) + 1 :] if walk.path else path
        following = encode_cursor({"after": str(relative), "type": kind, "found": found, "of": fingerprint})
    entries = _entries(walk.source, shown, details=options.details)
    return {"path": str(walk.path), "entries": entries, "truncated": not is_last, "next_cursor": following}, found


def _entries(source: Source, rows: Sequence[Found], *, details: bool) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = []
    found = source.facts(path for path, _ in rows) if details else {}
    for path, kind in rows:
        if details and path not in found:
            continue  # deleted since it was seen
        can_be_addressed = is_addressable(path)
        shown = path if can_be_addressed else escaped(path)
        entry: dict[str, object] = {"name": shown.rpartition("/")[2], "path": shown, "type": kind}
        if not can_be_addressed:
            entry["addressable"] = False
        if details:
            entry["modified"] = moment(found[path].modified_ns)
        if details and kind == "file":
            entry["size"] = found[path].size
        entries.append(entry)
    return entries


def moment(nanoseconds: int) -> datetime:
    """Return nanoseconds since the epoch, at most 292 years of them, as a time in UTC."""
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
