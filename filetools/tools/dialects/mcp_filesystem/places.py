"""Paths as clients of the official file server write them: absolute, or relative to the first root, or with `~`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filetools.errors import FileToolsError, SymlinkEscapeError
from filetools.tools.roots import Place
from filetools.tools.tool import ToolContext


async def place_of(context: ToolContext, raw_path: str) -> Place:
    """Return what a path names.

    Raises:
        AbsolutePathError: It lies in none of the roots.
        SymlinkEscapeError: Of its workspace only a part is served, and a link leads out of that part.
    """
    place = context.roots.locate(_without_tilde(raw_path))
    base = place.root.base
    if base and place.files.settings.follow_symlinks:
        real = await place.files.real_path(place.path)
        if real != base and not real.startswith(f"{base}/"):
            raise SymlinkEscapeError(raw_path, raw_path)
    return place


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
