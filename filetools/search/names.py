"""Searching the tree by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from filetools.errors import AccessDeniedError, InvalidArgumentError
from filetools.models import SearchResult
from filetools.paths import WorkspacePath
from filetools.paths.patterns import Glob, alternatives, is_glob
from filetools.search.listing import FOLDERS, IGNORES, Page, Wanted
from filetools.search.options import ListOptions
from filetools.search.source import Abort, Listable, Source
from filetools.search.walk import OrderedWalk

COMPARED: Final = 256
"""Names between two reports of how many there were."""


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
    """Return one page of the files and folders whose path fits a pattern, in the order of listings.

    Args:
        store: What to search.
        path: The folder to search below.
        pattern: Without `*`, `?`, `[` and `{a,b}` any part of the path, in any case; else a glob, see `Glob`.
        options: As for a listing; always recursive. By default ignore files hold and hidden names are skipped.
        cursor: `next_cursor` of the page before; None for the first.
        abort: As for `list_page`.
        looked: Told now and then how many names were compared so far.

    Raises:
        InvalidArgumentError: The pattern is empty, an option is out of range, or the cursor is of another search.
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError: Of the folder itself.
        AbortedError: `abort` said so.
    """
    chosen = replace(options or ListOptions(use_gitignore=True, include_hidden=False), recursive=True)
    wanted = _wanted(pattern) if looked is None else _counted(_wanted(pattern), looked)
    source = Source(store, FOLDERS, abort, "The search")
    page = Page(source, path, chosen, chosen.fingerprint(path, pattern))
    closed: list[AccessDeniedError] = []
    with OrderedWalk(source, path, chosen, chosen.rules(), IGNORES, on_closed=closed.append) as walk:
        found = page.build_counted(walk, cursor, wanted=wanted)
    return found if not closed else found.model_copy(update={"total_is_complete": False})


def _counted(wanted: Wanted, looked: Callable[[int], None]) -> Wanted:
    count = 0

    def is_wanted(path: str) -> bool:
        nonlocal count
        count += 1
        if not count % COMPARED:
            looked(count)
        return wanted(path)

    return is_wanted


def _wanted(pattern: str) -> Wanted:
    if not pattern:
        raise InvalidArgumentError("The pattern is empty")
    if is_glob(pattern):
        globs = tuple(map(Glob, alternatives(pattern)))
        return globs[0].matches if len(globs) == 1 else lambda path: any(glob.matches(path) for glob in globs)
    part = pattern.replace("\\", "/").casefold()
    return lambda path: part in path.casefold()
