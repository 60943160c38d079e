"""Paths as clients of the official file server write them: absolute, or relative to the first root, or with `~`."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from filetools.errors import FileToolsError, InvalidArgumentError, SymlinkEscapeError
from filetools.tools.roots import Place, Root
from filetools.tools.tool import ToolContext


async def place_of(context: ToolContext, raw_path: str) -> Place:
    """Return what a path names.

    Raises:
        AbsolutePathError: It lies in none of the roots.
        SymlinkEscapeError: A link leads out of the part of a workspace that is served.
    """
    place = context.roots.locate(_without_tilde(raw_path))
    with told_as(raw_path):
        place = replace(place, path=await _as_on_disk(place))
    if place.root.base and place.files.settings.follow_symlinks:
        with told_as(raw_path):
            await real_path(place.root, place.path)
    return place


async def real_path(root: Root, path: str) -> str:
    """Return where a path of a root's workspace leads.

    Raises:
        SymlinkEscapeError: A link leads out of the root, which may be a part of the workspace.
    """
    real = await root.files.real_path(path)
    if not root.holds(real):
        raise SymlinkEscapeError(path, path)
    return real


async def _as_on_disk(place: Place) -> str:
    """Return a path by the Unicode forms that its names have on the disk: clients compose what macOS has decomposed.

    Raises:
        InvalidArgumentError: Several names there differ in nothing but their form.
    """
    if place.path.isascii() or await place.files.exists(place.path):
        return place.path
    found, missing = "", place.path.split("/")
    while missing:
        wanted = missing[0]
        names = [name async for name in _names(place, found)]
        alike = [name for name in names if _composed(name) == _composed(wanted)]
        if wanted in alike:
            alike = [wanted]
        if len(alike) > 1:
            raise InvalidArgumentError(f"Several names there are {wanted!r} in different Unicode forms; rename one")
        if not alike:
            break
        found = "/".join(filter(None, (found, alike[0])))
        missing.pop(0)
    return "/".join(filter(None, (found, *missing)))


async def _names(place: Place, folder: str) -> AsyncIterator[str]:
    """Yield the names in a folder; none of what is no folder."""
    cursor: str | None = None
    while True:
        try:
            page = await place.files.list_files(folder, all=True, details=False, cursor=cursor)
        except FileToolsError:  # missing, a file, or out of reach: the call itself tells which
            return
        for entry in page.entries:
            yield entry.name
        cursor = page.next_cursor
        if cursor is None:
            return


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


@contextmanager
def told_as(raw_path: str) -> Iterator[None]:
    """Have errors tell the path that the client gave, which says of which root it is."""
    try:
        yield
    except FileToolsError as error:
        error.path = raw_path
        raise


def _without_tilde(raw_path: str) -> str:
    is_home = raw_path == "~" or raw_path.startswith("~/")
    return Path.home().as_posix() + raw_path[1:] if is_home else raw_path
