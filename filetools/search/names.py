"""Searching the tree by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from filetools.errors import AccessDeniedError, InvalidArgumentError
from filetools.models.searching import SearchResult
from filetools.paths.patterns import Glob, alternatives, is_glob
from filetools.paths.workspace_path import WorkspacePath
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
    wanted = _Counted(_wanted(pattern), looked)
    source = Source(store, FOLDERS, abort, "The search")
    page = Page(source, path, chosen, chosen.fingerprint(path, pattern))
    closed: list[AccessDeniedError] = []
    with OrderedWalk(source, path, chosen, chosen.rules(), IGNORES, on_closed=closed.append) as walk:
        found = page.build_counted(walk, cursor, wanted=wanted)
    more: dict[str, object] = {"total_is_complete": False} if closed else {}
    if not found.total:
        more["searched"] = wanted.count
    return found.model_copy(update=more) if more else found


class _Counted:
    """Counts the names that are compared; lives for one page."""

    def __init__(self, wanted: Wanted, looked: Callable[[int], None] | None) -> None:
        self._wanted = wanted
        self._looked = looked
        self.count = 0

    def __call__(self, path: str) -> bool:
        self.count += 1
        if self._looked is not None and not self.count % COMPARED:
            self._looked(self.count)
        return self._wanted(path)


def _wanted(pattern: str) -> Wanted:
    if not pattern:
        raise InvalidArgumentError("The pattern is empty")
    if is_glob(pattern):
        globs = tuple(map(Glob, alternatives(pattern)))
        return globs[0].matches if len(globs) == 1 else lambda path: any(glob.matches(path) for glob in globs)
    part = pattern.replace("\\", "/").casefold()
    return lambda path: part in path.casefold()
